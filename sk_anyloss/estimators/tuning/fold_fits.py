"""Fits of any classifier on folds, and its scores of the samples left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator

from sk_anyloss.estimators.labels import Labels

__all__ = ["fit_fold"]


def fit_fold(
    estimator: BaseEstimator,
    X: ArrayLike,
    target: np.ndarray,
    labels: Labels,
    fit_params: Mapping[str, Any],
    train: np.ndarray,
    test: np.ndarray,
) -> tuple[BaseEstimator, np.ndarray]:
    """The estimator fitted on one fold, and its scores of the samples left out.

    Parameters
    ----------
    estimator : estimator
        Not fitted.
    X : array-like
        All samples.
    target : ndarray
        Their classes or labels.
    labels : Labels
        All classes or labels.
    fit_params : mapping of str to object
        For ``fit``; what has an entry for each sample is split.
    train, test : ndarray of int
        The samples to fit on, and to score.

    Returns
    -------
    estimator : estimator
        Fitted.
    outputs : ndarray
        Scores of the test samples.
    """
    own = {
        name: _take(value, train) if _is_per_sample(value, len(target)) else value
        for name, value in fit_params.items()
    }
    estimator.fit(_take(X, train), target[train], **own)
    return estimator, labels.outputs_of(estimator, _take(X, test))


def _take(X: Any, index: np.ndarray) -> Any:
    """Some of the samples, of an array, a sparse matrix, a table or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[index]
    if hasattr(X, "shape"):
        return X[index]
    return [X[i] for i in index]


def _is_per_sample(value: object, n: int) -> bool:
    if isinstance(value, (str, bytes, Mapping)):
        return False
    if hasattr(value, "shape"):
        return len(value.shape) > 0 and value.shape[0] == n
    return hasattr(value, "__len__") and len(value) == n
