"""A method with its preprocessing, fitted on a fold or on all samples."""

from __future__ import annotations

import time
import warnings
from contextlib import suppress

import numpy as np
from imblearn.pipeline import Pipeline
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

from sk_anyloss.compare.folds.tuning import (
    fit_with_groups,
    inner_groups,
    set_inner_folds,
)
from sk_anyloss.compare.methods.labels import build_method
from sk_anyloss.compare.metrics import count_decisions, encode_metric
from sk_anyloss.compare.run.encoded import encode_fold, make_preprocessor
from sk_anyloss.compare.run.stopping import end_with_parent
from sk_anyloss.compare.run.store import Fold
from sk_anyloss.compare.tables.table import Features, Table, needs_encoder, to_numbers
from sk_anyloss.metrics import Metric

__all__ = ["fit_fold", "fit_method", "make_model", "make_tuned_model"]


def make_model(
    method: str, metric: str | Metric, seed: int, X: Features
) -> BaseEstimator:
    """A method behind an encoder and an imputer, which make all features numbers.

    Parameters
    ----------
    method : str
        Name of the method.
    metric : str or callable
        The metric that it is trained or tuned for, if it is for any.
    seed : int
        Seed of the method.
    X : DataFrame or ndarray
        Samples that it will be fitted on; numbers need no encoder.

    Returns
    -------
    model : Pipeline
        Not fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.compare.run.models import make_model
    >>> list(make_model("logistic", "f1", 0, np.zeros((4, 2))).named_steps)
    ['imputer', 'classifier']
    """
    steps = list(make_preprocessor(X, seed).steps)
    steps.append(("classifier", build_method(method, metric, seed)))
    return Pipeline(steps)


def make_tuned_model(
    table: Table, method: str, metric: str | Metric, seed: int
) -> BaseEstimator:
    """As :func:`make_model`, with inner folds that respect groups or time.

    Parameters
    ----------
    table : Table
        Samples that it will be fitted on.
    method : str
        Name of the method.
    metric : str or callable
        The metric that it is trained or tuned for, if it is for any.
    seed : int
        Seed of the method and of the inner folds.

    Returns
    -------
    model : Pipeline
        Not fitted.
    """
    encoded = encode_metric(metric, table.classes)
    return set_inner_folds(make_model(method, encoded, seed, table.X), table, seed)


def fit_method(
    table: Table, method: str, metric: str | Metric, seed: int = 0
) -> BaseEstimator:
    """Fit a method on all samples of a table, as it is fitted on the folds.

    Parameters
    ----------
    table : Table
        The samples; a tuning respects their groups, or their order in time.
    method : str
        Name of the method.
    metric : str or callable
        The metric that it is trained or tuned for, if it is for any.
    seed : int, default=0
        Seed of the method and of the inner folds.

    Returns
    -------
    model : Pipeline
        Fitted.

    Examples
    --------
    >>> from sk_anyloss.compare import built_in
    >>> from sk_anyloss.compare.run.models import fit_method
    >>> table = built_in()
    >>> X = table.X.to_numpy()  # As it is fitted where all columns are numbers.
    >>> fit_method(table, "logistic", "f1").predict(X).shape
    (393,)
    """
    model = make_tuned_model(table, method, metric, seed)
    with threadpool_limits(1):
        X = table.X if needs_encoder(table.X) else to_numbers(table.X)
        return fit_with_groups(model, X, table.y, inner_groups(table), table.weight)


def fit_fold(
    X: Features,
    y: np.ndarray,
    name: str,
    method: str,
    model: BaseEstimator,
    fold: int,
    train: np.ndarray,
    test: np.ndarray,
    groups: np.ndarray | None = None,
    digest: str | None = None,
    weight: np.ndarray | None = None,
) -> Fold:
    """Fit on the training samples of a fold and predict its test samples.

    Parameters
    ----------
    X : DataFrame or ndarray of shape (n_samples, n_features)
        All samples.
    y : ndarray of shape (n_samples,) or (n_samples, n_labels)
        Their classes, 0, 1, ..., C - 1, or labels, 0 or 1.
    name, method : str
        Names of the data set and of the method.
    model : estimator
        From :func:`make_tuned_model`.
    fold : int
        Number of the fold.
    train, test : ndarray of int
        Indices of the training and of the test samples.
    groups : ndarray of shape (n_samples,), default=None
        From :func:`~sk_anyloss.compare.folds.tuning.inner_groups`.
    digest : str, default=None
        Of the samples and the seed: fits of one fold in one process encode the samples
        once. By default each fit encodes them anew.
    weight : ndarray of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    fold : Fold
        The predictions; a failure is recorded in it, not raised.
    """
    end_with_parent()
    n_classes = 0 if y.ndim == 2 else int(y.max()) + 1

    def count(
        rows: np.ndarray, predicted: np.ndarray, weight: np.ndarray | None = None
    ) -> list[float]:
        own = None if weight is None else weight[rows]
        return count_decisions(y[rows], predicted, n_classes, own)

    start = time.perf_counter()
    try:
        # One thread, for results that are bitwise reproducible on any machine.
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            encoded = encode_fold(Pipeline(model.steps[:-1]), X, train, test, digest)
            classifier = Pipeline(model.steps[-1:])
            own = [None if a is None else a[train] for a in (groups, weight)]
            start = time.perf_counter()
            fit_with_groups(classifier, encoded.train, y[train], *own)
            seconds = encoded.seconds + time.perf_counter() - start
            predicted = classifier.predict(encoded.test)
            scores = _scores(classifier, encoded.test, n_classes)
            train_counts: list[float] = []
            # Not needed for the comparison, so that no failure of it counts.
            with suppress(Exception):
                # As many as there are test samples, so that it takes as little time.
                order = np.random.default_rng(fold).permutation(len(train))
                some = order[: len(test)]
                refitted = classifier.predict(encoded.train[some])
                train_counts = count(train[some], refitted, weight)
    except Exception as error:
        lines = str(error).splitlines() or [""]
        why = f"{type(error).__name__}: {lines[0]}"[:300]
        return Fold(name, method, fold, time.perf_counter() - start, failed=why)
    counts = [int(n) for n in count(test, predicted)]
    weights = []
    if weight is not None:
        weights = count(test, predicted, weight)
    return Fold(
        name, method, fold, seconds, counts, test, scores,
        train_counts=train_counts, weights=weights,
    )  # fmt: skip


def _scores(model: BaseEstimator, X: Features, n_classes: int) -> np.ndarray:
    """Scores of the positive class, or a column for each of more classes or labels."""
    if hasattr(model, "predict_proba"):
        scores = np.asarray(model.predict_proba(X), dtype=float)
        if n_classes == 2:
            return scores[:, 1]
        if n_classes == 0:
            return scores
        every = np.zeros((len(scores), n_classes))
        # A resampler may have removed all samples of a class.
        every[:, np.asarray(model.classes_, dtype=int)] = scores
        return every
    return np.asarray(model.decision_function(X), dtype=float)
