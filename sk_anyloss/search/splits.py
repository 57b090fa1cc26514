"""Splits of the samples into the folds of a search."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from sk_anyloss.estimators.folds import CV, check_folds, inner_cv
from sk_anyloss.training.data.source import Matrix

__all__ = ["split_samples"]


def split_samples(
    cv: CV,
    X: Matrix,
    y: np.ndarray,
    sample_weight: np.ndarray | None,
    seed: int,
    params: Mapping[str, Any],
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds whose training samples have both classes.

    Parameters
    ----------
    cv : int, splitter or iterable
        How to split; a number of folds greater than the number of samples in the
        smaller class is lowered to it, with a warning.
    X : array or sparse matrix
        All samples.
    y : ndarray
        Their labels.
    sample_weight : ndarray or None
        Their weights; a sample of weight 0 is no training sample.
    seed : int
        Seed of the order in which samples are shuffled.
    params : dict
        For ``split`` of the splitter, ``groups`` say.

    Returns
    -------
    folds : list of pairs of arrays
        Positions to train on, and positions to leave out.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.search.splits import split_samples
    >>> y = np.array([0, 0, 0, 0, 1, 1])
    >>> [len(test) for _, test in split_samples(2, np.eye(6), y, None, 0, {})]
    [3, 3]
    """
    least = np.unique(y, return_counts=True)[1].min()
    if least < 2:
        raise ValueError(
            "AnyLossClassifierCV needs at least two samples of each class, one to "
            "train on and one to leave out; got one of the smaller class."
        )
    if isinstance(cv, numbers.Integral) and cv > least:
        warnings.warn(
            f"cv={cv} is lowered to {least}, the number of samples in the smaller "
            "class.",
            UserWarning,
            stacklevel=4,  # Of the caller of the estimator's fit.
        )
        cv = int(least)
    folds = list(inner_cv(cv, seed).split(X, y, **params))
    check_folds(folds, y, sample_weight)
    return folds
