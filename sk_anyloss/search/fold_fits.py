"""Candidates trained on the folds of a search, within memory and time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import train_test_split

from sk_anyloss._compat import is_out_of_memory
from sk_anyloss.estimators.classifier import AnyLossClassifier
from sk_anyloss.estimators.labels import Labels
from sk_anyloss.estimators.stack import fit_stack
from sk_anyloss.search.candidates import ESTIMATOR
from sk_anyloss.search.effort.budget import Clock, OutOfTimeError
from sk_anyloss.search.effort.forecast import (
    MarkEpochs,
    check_few_samples,
    load_optimizers,
    seconds_of_epochs,
)
from sk_anyloss.search.members import fit_member, outputs_of
from sk_anyloss.search.trials import CrossValidationData, Trial
from sk_anyloss.training.data.strata import strata

__all__ = ["fit_on_all", "run_trials"]


def run_trials(
    base: AnyLossClassifier,
    candidates: Sequence[dict[str, Any]],
    data: CrossValidationData,
    deadline: float | None = None,
    is_first: bool = False,
) -> list[Trial]:
    """Train candidates on folds, in one stack if they are of one shape.

    Parameters
    ----------
    base : AnyLossClassifier
        What the candidates have in common.
    candidates : sequence of dict
        What they do not; or ``{'estimator': ...}``, a classifier of another kind.
    data : CrossValidationData
        What they are trained on.
    deadline : float, default=None
        When to be finished, in seconds as of :func:`time.time`. Networks that would
        take longer are trained in fewer epochs; classifiers of another kind are dropped
        as soon as fits on few samples, or their first folds, say so.
    is_first : bool, default=False
        Whether there is nothing to fall back on: no candidate is dropped.

    Returns
    -------
    trials : list of Trial
        One for each candidate; if the stack fails, its candidates are trained one by
        one, and those that fail have an error.
    """
    clock = Clock(None if deadline is None else deadline - time.time(), is_first)
    try:
        clock.check_left()
        if any(ESTIMATOR in candidate for candidate in candidates):
            trials = [
                _run_estimator(base, params, data, clock) for params in candidates
            ]
        else:
            trials = _run_stack(base, candidates, data, clock)
    except OutOfTimeError as error:
        share = clock.spent / len(candidates)
        return [Trial.dropped(params, str(error), share) for params in candidates]
    except Exception as error:
        if len(candidates) == 1:
            return [Trial.failed(candidates[0], error, clock.spent)]
        # One failure ends the training of the whole stack.
        return [
            trial
            for candidate in candidates
            for trial in run_trials(base, [candidate], data, deadline, is_first)
        ]
    for trial in trials:
        trial.seconds = clock.spent / len(candidates)
    return trials


def fit_on_all(
    trial: Trial,
    data: CrossValidationData,
    labels: Labels,
    class_weight: Mapping[Any, float] | str | None,
) -> BaseEstimator:
    """A candidate, trained on all samples.

    Parameters
    ----------
    trial : Trial
        The candidate, trained on folds.
    data : CrossValidationData
        The samples.
    labels : Labels
        All classes or labels.
    class_weight : dict or 'balanced' or None
        For a classifier of another kind; networks have it as a parameter.

    Returns
    -------
    model : estimator
        The fitted model.
    """
    model = trial.models[0]
    if trial.is_network:
        return clone(model).fit(data.for_networks, data.y, data.weight)
    return fit_member(
        model,
        data.X,
        data.y,
        labels,
        sample_weight=data.weight,
        class_weight=class_weight,
    )


def _run_stack(
    base: AnyLossClassifier,
    candidates: Sequence[dict[str, Any]],
    data: CrossValidationData,
    clock: Clock,
) -> list[Trial]:
    """What :func:`run_trials` does, unless a candidate fails."""
    folds = data.folds
    if clock.left is not None:
        candidates = _shortened(base, candidates, data, clock)
    models = _fit_stack(base, candidates, data)
    trials = []
    for i, params in enumerate(candidates):
        own = models[i * len(folds) : (i + 1) * len(folds)]
        trials.append(Trial(params, own, _pooled_outputs(base, own, data), 0.0))
    return trials


def _shortened(
    base: AnyLossClassifier,
    candidates: Sequence[dict[str, Any]],
    data: CrossValidationData,
    clock: Clock,
) -> list[dict[str, Any]]:
    """The candidates with as many epochs as the time suffices for."""
    load_optimizers()
    start = clock.spent
    once = [
        {
            **params,
            "max_epochs": 1,
            "callbacks": [*(params.get("callbacks") or ()), MarkEpochs],
        }
        for params in candidates
    ]
    nets = [model.net_ for model in _fit_stack(base, once, data)]
    of_one = seconds_of_epochs(nets)
    wanted = [int(params.get("max_epochs", base.max_epochs)) for params in candidates]
    allowed = clock.epochs(max(wanted), clock.spent - start - of_one, of_one)
    return [
        params if n <= allowed else {**params, "max_epochs": allowed}
        for params, n in zip(candidates, wanted, strict=True)
    ]


def _fit_stack(
    base: AnyLossClassifier,
    candidates: Sequence[dict[str, Any]],
    data: CrossValidationData,
) -> list[AnyLossClassifier]:
    """The networks of each candidate, one for each fold."""
    folds = data.folds
    models = [clone(base).set_params(**params) for params in candidates for _ in folds]
    rows = [train for train, _ in folds] * len(candidates)
    with warnings.catch_warnings():
        # A candidate that collapses is not chosen, so its warning is of no use.
        warnings.simplefilter("ignore")
        # All networks have an output for each class, also for one that a fold lacks.
        classes = np.unique(data.y) if data.y.ndim == 1 else None
        _fit_in_memory(models, rows, data, classes)
    if any(model.net_.interrupted_ for model in models):
        raise KeyboardInterrupt  # A net that trains alone keeps what it has learned.
    return models


def _fit_in_memory(
    models: Sequence[AnyLossClassifier],
    rows: Sequence[np.ndarray],
    data: CrossValidationData,
    classes: np.ndarray | None,
) -> None:
    """Train networks in a stack, or in smaller ones if the memory does not suffice."""
    try:
        fit_stack(
            models,
            data.for_networks,
            data.y,
            rows=rows,
            sample_weight=data.weight,
            classes=classes,
        )
    except (MemoryError, RuntimeError) as error:
        if len(models) == 1 or not is_out_of_memory(error):
            raise
        half = len(models) // 2
        _fit_in_memory(models[:half], rows[:half], data, classes)
        _fit_in_memory(models[half:], rows[half:], data, classes)


def _run_estimator(
    base: AnyLossClassifier,
    params: dict[str, Any],
    data: CrossValidationData,
    clock: Clock,
) -> Trial:
    """A classifier of another kind, fitted on each fold by itself."""
    labels = Labels.of(data.y, base.pos_label)
    n_folds = len(data.folds)

    def fit(rows: np.ndarray) -> BaseEstimator:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return fit_member(
                params[ESTIMATOR],
                data.X[rows],
                data.y[rows],
                labels,
                sample_weight=None if data.weight is None else data.weight[rows],
                class_weight=base.class_weight,
                seed=base.random_state,
            )

    def fit_some(n: int) -> BaseEstimator:
        train = data.folds[0][0]
        classes = strata(data.y[train])
        return fit(
            train_test_split(train, train_size=n, stratify=classes, random_state=0)[0]
        )

    check_few_samples(clock, fit_some, len(data.folds[0][0]), n_folds)
    start, models = clock.spent, []
    for k, (train, _) in enumerate(data.folds):
        try:
            models.append(fit(train))
        except Exception as error:
            number = k if data.numbers is None else data.numbers[k]
            error.add_note(f"in fold {number} of {data.n_folds or n_folds}")
            raise
        done = k + 1
        needed = (clock.spent - start) / done * (n_folds - done)
        clock.check(needed, f"after {done} of {n_folds} folds it would take about")
    return Trial(params, models, _pooled_outputs(base, models, data), 0.0)


def _pooled_outputs(
    base: AnyLossClassifier, models: Sequence[BaseEstimator], data: CrossValidationData
) -> np.ndarray:
    """Outputs for the samples that each fold leaves out, by its own model."""
    labels = Labels.of(data.y, base.pos_label)
    pairs = zip(models, data.folds, strict=True)
    return np.concatenate(
        [outputs_of(model, data.X[test], labels) for model, (_, test) in pairs]
    )
