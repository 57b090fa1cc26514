"""Folds for tuning inside a fit: shuffled and seeded where they are given by number."""

from __future__ import annotations

import numbers
from typing import TypeAlias

import numpy as np
from sklearn.model_selection import BaseCrossValidator, StratifiedKFold, check_cv

__all__ = ["inner_cv"]

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
