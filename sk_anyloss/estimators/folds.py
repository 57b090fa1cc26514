"""Folds for tuning inside a fit: shuffled and seeded where they are given by number."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.model_selection import BaseCrossValidator, StratifiedKFold, check_cv

from sk_anyloss.training.data.strata import strata

if TYPE_CHECKING:
    from sk_anyloss.estimators.tuned_decision import TunedDecisionClassifier

__all__ = ["check_folds", "inner_cv", "make_folds", "split_folds"]

#: What scikit-learn takes as ``cv``: a number of folds, a splitter, or the splits.
CV: TypeAlias = "int | BaseCrossValidator | list[tuple[np.ndarray, np.ndarray]] | None"


def inner_cv(
    cv: CV = None, random_state: int | np.random.RandomState | None = None
) -> BaseCrossValidator:
    """Return a splitter; an integer gives stratified folds of shuffled samples.

    scikit-learn's own meaning of an integer is contiguous folds. Tables are often
    ordered by date, class or id, and a threshold or a candidate chosen on contiguous
    folds of such a table is chosen on samples unlike those it was trained on.

    Parameters
    ----------
    cv : int, splitter, iterable or None, default=None
        The number of folds, 5 for None; anything else is taken as it is. Samples
        that are ordered in time want ``TimeSeriesSplit``, samples in groups
        ``StratifiedGroupKFold``.
    random_state : int, RandomState instance or None, default=None
        Seed of the order in which samples are shuffled.

    Returns
    -------
    splitter : cross-validation generator
        With ``split`` and ``get_n_splits``.

    Examples
    --------
    >>> from sk_anyloss.estimators.folds import inner_cv
    >>> inner_cv(3, random_state=0)
    StratifiedKFold(n_splits=3, random_state=0, shuffle=True)
    """
    if cv is None or (isinstance(cv, numbers.Integral) and not isinstance(cv, bool)):
        n_splits = 5 if cv is None else int(cv)
        return StratifiedKFold(n_splits, shuffle=True, random_state=random_state)
    return check_cv(cv, classifier=True)


def split_folds(
    cv: CV,
    seed: int,
    X: ArrayLike,
    of_samples: np.ndarray,
    params: Mapping[str, Any],
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The folds of a splitter, as positions.

    Parameters
    ----------
    cv : int, splitter, iterable or None
        As :func:`inner_cv` takes it.
    seed : int
        Seed of the order in which samples are shuffled.
    X : array-like
        Samples.
    of_samples : ndarray of shape (n_samples,)
        What to stratify by.
    params : mapping of str to object
        For ``split`` of the splitter.

    Returns
    -------
    folds : list of pairs of ndarray of int
        Positions to train on, and positions to leave out, also where the splits are
        given as masks.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.estimators.folds import split_folds
    >>> first = np.array([True, True, False, False])
    >>> split_folds([(first, ~first)], 0, np.eye(4), np.array([0, 1, 0, 1]), {})
    [(array([0, 1]), array([2, 3]))]
    """
    folds = [
        (_positions(train), _positions(test))
        for train, test in inner_cv(cv, seed).split(X, of_samples, **params)
    ]
    if not folds:
        raise ValueError(
            f"cv={cv!r} makes no folds. A generator of splits can be used only once; "
            "pass a list of them."
        )
    return folds


def _positions(part: np.ndarray) -> np.ndarray:
    part = np.asarray(part)
    return np.flatnonzero(part) if part.dtype == bool else part


def check_folds(
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
    y: np.ndarray,
    sample_weight: np.ndarray | None,
) -> None:
    """Refuse folds that test nothing, or whose training samples have one class.

    Parameters
    ----------
    folds : sequence of pairs of arrays
        Positions to train on, and positions to leave out.
    y : ndarray
        Labels.
    sample_weight : ndarray or None
        Weights; a sample of weight 0 is no training sample.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.estimators.folds import check_folds
    >>> check_folds([(np.array([0, 1]), np.array([]))], np.array([0, 1]), None)
    Traceback (most recent call last):
    ...
    ValueError: Fold 0 of 1 leaves no sample out.
    """
    if sample_weight is not None and len(np.unique(y[sample_weight > 0])) < 2:
        raise ValueError(
            "y has only one class among the samples of positive sample_weight, and a "
            "classifier needs two."
        )
    for k, (train, test) in enumerate(folds):
        used = train
        if sample_weight is not None:
            used = train[sample_weight[train] > 0]
        if len(test) == 0:
            raise ValueError(f"Fold {k} of {len(folds)} leaves no sample out.")
        if len(np.unique(y[used])) < 2:
            raise ValueError(
                f"Fold {k} of {len(folds)} leaves only one class to train on; use "
                "fewer folds, or a splitter that keeps both classes together, such "
                "as StratifiedKFold or StratifiedGroupKFold."
            )


def make_folds(
    model: TunedDecisionClassifier,
    X: ArrayLike,
    target: np.ndarray,
    weight: np.ndarray | None,
    seed: int,
    split_params: Mapping[str, Any],
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The folds of a :class:`TunedDecisionClassifier`, by its ``cv``.

    Parameters
    ----------
    model : TunedDecisionClassifier
        With the parameter ``cv``.
    X : array-like
        Samples.
    target : ndarray of shape (n,) or (n, Q)
        Their classes; of several labels, the rarest of each sample is stratified by.
    weight : ndarray or None
        Weights of the samples.
    seed : int
        Of the order in which they are shuffled.
    split_params : mapping of str to object
        For ``split`` of the splitter.

    Returns
    -------
    folds : list of pairs of arrays
        Positions to train on, and positions to leave out.
    """
    cv, of_samples = model.cv, strata(target)
    if cv is None or isinstance(cv, numbers.Integral):
        cv = 5 if cv is None else int(cv)
        classes, counts = np.unique(of_samples, return_counts=True)
        if target.ndim == 1 and counts.min() < 2:
            rarest = classes.tolist()[counts.argmin()]
            raise ValueError(
                f"The class {rarest!r} has one sample, and "
                f"{type(model).__name__} needs two of each class, one to train on "
                "and one to leave out; merge the class with another, leave it out, "
                "or pass a splitter as cv."
            )
        if cv > counts.max():
            warnings.warn(
                f"cv={cv} is lowered to {counts.max()}, the number of samples in "
                "the largest class.",
                UserWarning,
                stacklevel=4,  # Of the caller of the estimator's fit.
            )
            cv = max(int(counts.max()), 2)
    with warnings.catch_warnings():
        # Folds without a sample of a rare class do no harm to pooled scores.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        folds = split_folds(cv, seed, X, of_samples, split_params)
    if target.ndim == 1:
        check_folds(folds, target, weight)
    return folds
