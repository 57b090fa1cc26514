"""Many fits in one pass: folds, settings and seeds, trained in lockstep."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import ExitStack
from operator import attrgetter

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import validate_data

from sk_anyloss.estimators.classifier import AnyLossClassifier
from sk_anyloss.estimators.fitting.encoding import Encoding, fit_encoding
from sk_anyloss.estimators.fitting.finish import finish
from sk_anyloss.estimators.fitting.plan import make_plan
from sk_anyloss.estimators.fitting.tasks import new_tasks
from sk_anyloss.estimators.parameters import (
    check_params,
    restored_on_error,
    warn_of_class_weight,
)
from sk_anyloss.training.data.dataset import Subset
from sk_anyloss.training.data.source import Source, as_source
from sk_anyloss.training.threads import single_thread
from sk_anyloss.training.trainer import Task, train

__all__ = ["fit_stack"]


def fit_stack(
    models: Sequence[AnyLossClassifier],
    X: ArrayLike | Source,
    y: ArrayLike,
    *,
    rows: Sequence[ArrayLike | None] | None = None,
    sample_weight: ArrayLike | None = None,
    classes: ArrayLike | None = None,
) -> list[AnyLossClassifier]:
    """Fit many estimators at once, each as if it were fitted alone.

    ``models[k]`` becomes what ``models[k].fit(X[rows[k]], y[rows[k]])`` would make of
    it, up to rounding, in a fraction of the time. Those of one shape are trained in
    lockstep: the same ``hidden``, ``activation``, ``batch_norm``, ``optimizer``,
    ``max_epochs`` and ``early_stopping``, and as many batches. They may differ in their
    samples and weights, ``metric``, ``step``, ``L``, ``loss``, ``lr``, ``threshold``
    and ``random_state``; those with the same samples, weights and ``random_state`` see
    the same batches and share the work on them. What shares its shape with no other, or
    cannot be trained in a stack (callbacks that look at results, ``verbose``, a loss
    without a gradient in closed form, an optimiser other than Adam, AdamW and plain
    SGD), is fitted by itself.

    Parameters
    ----------
    models : sequence of AnyLossClassifier
        The estimators; each is fitted anew.
    X : {array-like, sparse matrix} of shape (n_samples, n_features)
        Samples for all of them.
    y : array-like of shape (n_samples,) or (n_samples, n_labels)
        Their labels.
    rows : sequence of arrays, default=None
        For each estimator the samples to learn from, as positions or as a mask, such as
        the training parts of a splitter; None, for one or for all, means every sample.
    sample_weight : array-like, default=None
        Weights of the samples, of shape (n_samples,) for all estimators, or of shape
        (n_models, n_samples), a set for each.
    classes : array-like of shape (n_classes,), default=None
        All classes, which all networks are to have, also where the samples of an
        estimator lack one.

    Returns
    -------
    models : list of AnyLossClassifier
        The same estimators, fitted. If one of them fails, all are left as they were.

    Examples
    --------
    Five folds and three values of L, fifteen networks in one pass:

    >>> import numpy as np
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.model_selection import StratifiedKFold
    >>> from sk_anyloss import AnyLossClassifier, fit_stack
    >>> X, y = make_classification(500, weights=[0.9], class_sep=2, random_state=0)
    >>> folds = list(StratifiedKFold(5).split(X, y))
    >>> Ls = np.repeat([5, 20, 73], 5)
    >>> models = [AnyLossClassifier(L=L, random_state=0) for L in Ls]
    >>> models = fit_stack(models, X, y, rows=[train for train, _ in folds] * 3)
    >>> tests = [test for _, test in folds] * 3
    >>> scores = [m.score(X[test], y[test]) for m, test in zip(models, tests)]
    >>> bool((np.reshape(scores, (3, 5)).mean(axis=1) > 0.8).all())
    True
    """
    models = list(models)
    _check_models(models)
    with ExitStack() as undo, single_thread():
        for model in models:
            undo.enter_context(restored_on_error(model))
        n = X.shape[0] if hasattr(X, "shape") else len(X)  # type: ignore[arg-type]
        chosen = _check_rows(rows, len(models), n)
        weights = _check_weights(sample_weight, len(models), n)
        tasks = _prepare(models, X, y, chosen, weights, classes)
        train([task for of_model in tasks for task in of_model])
        for model, own in zip(models, tasks, strict=True):
            _keep_best(model, own)
    return models


def _check_models(models: list[AnyLossClassifier]) -> None:
    if not models:
        raise ValueError("models is empty; fit_stack needs at least one estimator.")
    for model in models:
        if not isinstance(model, AnyLossClassifier):
            raise TypeError(
                f"fit_stack takes AnyLossClassifier, got {type(model).__name__}; "
                "other estimators have to be fitted one by one."
            )
        check_params(model)
    if len({id(model) for model in models}) < len(models):
        raise ValueError(
            "models holds the same estimator twice; make copies with "
            "sklearn.base.clone, so that each can keep what it learns."
        )


def _check_rows(
    rows: Sequence[ArrayLike | None] | None, K: int, n: int
) -> list[np.ndarray | None]:
    """For each of K models its positions within n samples, or None for all."""
    rows = [None] * K if rows is None else list(rows)
    if len(rows) != K:
        raise ValueError(
            f"rows must have one entry for each of the {K} models, got {len(rows)}."
        )
    return [None if part is None else _positions(np.asarray(part), n) for part in rows]


def _positions(rows: np.ndarray, n: int) -> np.ndarray:
    """Positions within n samples, from positions or a mask."""
    if rows.dtype == bool and rows.shape == (n,):
        return np.flatnonzero(rows)
    whole = np.issubdtype(rows.dtype, np.integer) and rows.ndim == 1
    if not whole or not ((rows >= 0) & (rows < n)).all():
        raise ValueError(
            f"rows must hold, for each model, positions from 0 to {n - 1} or a mask of "
            f"{n} entries; got an array of {rows.dtype} and of the shape {rows.shape}."
        )
    return rows


def _check_weights(
    sample_weight: ArrayLike | None, K: int, n: int
) -> list[np.ndarray] | list[None]:
    """For each of K models the weights of n samples."""
    if sample_weight is None:
        return [None] * K
    table = np.asarray(sample_weight)
    if table.shape not in ((n,), (K, n)):
        raise ValueError(
            f"sample_weight must have the shape ({n},) or ({K}, {n}), one set for "
            f"each model; got {table.shape}."
        )
    return list(np.broadcast_to(table, (K, n)))


def _prepare(
    models: Sequence[AnyLossClassifier],
    X: ArrayLike | Source,
    y: ArrayLike,
    rows: Sequence[np.ndarray | None],
    weights: Sequence[np.ndarray | None],
    classes: ArrayLike | None = None,
) -> list[list[Task]]:
    """Tasks of estimators that learn from parts of the same samples.

    Parameters
    ----------
    models : sequence of AnyLossClassifier
        The estimators.
    X, y
        All samples, and their labels.
    rows : sequence of arrays of int or None
        For each estimator the samples to learn from; None for all of them.
    weights : sequence of arrays or None
        For each estimator the weights of all samples.
    classes : array-like, default=None
        Classes that all networks are to have.

    Returns
    -------
    tasks : list of lists of Task
        For each estimator its tasks, of which the best one is to be kept.
    """
    data, labels = models[0]._validate(X, y, reset=True)
    source, dtype = as_source(data), data.dtype
    encodings: dict[Hashable, Encoding] = {}
    samples: dict[Hashable, Subset] = {}
    tasks = []
    for model, index, weight in zip(models, rows, weights, strict=True):
        if model is not models[0]:
            validate_data(model, X, skip_check_array=True)
        if index is None:
            plan = make_plan(model, labels, weight, dtype, classes=classes)
        else:
            part = None if weight is None else weight[index]
            plan = make_plan(model, labels[index], part, dtype, classes=classes)
            plan = plan.within(index)
        warn_of_class_weight(model)
        of_sample = plan.sample.key()
        # Models of the same samples have their labels and weights in common.
        plan = plan._replace(sample=samples.setdefault(of_sample, plan.sample))
        key = (*of_sample, model.standardize, model.n_bins)
        if key not in encodings:
            encodings[key] = fit_encoding(
                source, plan.sample, model.standardize, model.n_bins
            )
        tasks.append(new_tasks(model, source, plan, encodings[key]))
    return tasks


def _keep_best(model: AnyLossClassifier, tasks: Sequence[Task]) -> None:
    """Give an estimator the net of the best of its tasks."""
    finish(model, max(tasks, key=attrgetter("outcome")))
