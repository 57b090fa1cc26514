"""Splits of the samples into the folds of a search."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import process_routing

from sk_anyloss._compat import raise_for_unrouted, routing_enabled
from sk_anyloss.estimators.folds import CV, check_folds, split_folds
from sk_anyloss.training.data.source import Matrix, short
from sk_anyloss.training.data.strata import strata

__all__ = ["split_params", "split_samples"]


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
        smaller class is lowered to it, with a warning; of several classes, one with
        fewer samples than folds is missing in some of them. Labels are stratified by
        the rarest one that a sample has.
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
    of_samples = strata(y)
    n_strata, least, most = _sizes(of_samples)
    is_binary = n_strata == 2 and y.ndim == 1
    if is_binary and least < 2:
        raise ValueError(
            "AnyLossClassifierCV needs at least two samples of each class, one to "
            "train on and one to leave out; got one of the smaller class."
        )
    if is_binary and isinstance(cv, numbers.Integral) and int(cv) > least:
        warnings.warn(
            f"cv={cv} is lowered to {least}, the number of samples in the smaller "
            "class.",
            UserWarning,
            stacklevel=5,  # Of the caller of the estimator's fit.
        )
        cv = int(least)
    elif isinstance(cv, numbers.Integral) and int(cv) > most:
        raise ValueError(
            f"cv={cv} folds need a class with at least {cv} samples, but the largest "
            f"one has {most}; lower cv."
        )
    with warnings.catch_warnings():
        if not is_binary:  # A class with few samples is not in every fold.
            warnings.filterwarnings("ignore", message="The least populated class")
        folds = split_folds(cv, seed, X, of_samples, params)
    check_folds(folds, of_samples, sample_weight)
    # Positions of all folds weigh as much as several features.
    return [(short(train), short(test)) for train, test in folds]


def split_params(search: BaseEstimator, params: Mapping[str, Any]) -> dict[str, Any]:
    """What the ``fit`` of a search hands on to its splitter.

    Parameters
    ----------
    search : AnyLossClassifierCV
        It says what its splitter has requested.
    params : dict
        What its ``fit`` was given; without metadata routing, nothing may be.

    Returns
    -------
    params : dict
        For ``split``.
    """
    if routing_enabled():
        return dict(process_routing(search, "fit", **params).splitter.split)
    raise_for_unrouted(params, "AnyLossClassifierCV.fit")
    return {}


def _sizes(strata: np.ndarray) -> tuple[int, int, int]:
    """Number of strata, and of samples in the smallest and in the largest one."""
    counts = np.unique(strata, return_counts=True)[1]
    return len(counts), int(counts.min()), int(counts.max())
