"""Splits forward in time, groups as integers, and the check for all classes."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pandas as pd

from sk_anyloss.compare.tables.table import Table

__all__ = ["Splits", "encode_groups", "forward_splits", "have_classes"]

#: Indices of the training samples and of the test samples of each fold.
Splits: TypeAlias = list[tuple[np.ndarray, np.ndarray]]


def forward_splits(times: np.ndarray, n_splits: int, first: float) -> Splits:
    """Test blocks of about equal size, each preceded in time by its training samples.

    Parameters
    ----------
    times : ndarray of shape (n_samples,)
        Points in time, in any order; samples of one point in time share a block.
    n_splits : int
        Number of folds.
    first : float
        Fraction of the samples that the first fold trains on.

    Returns
    -------
    splits : list of pairs of ndarray of int
        Indices of the earlier samples, and of the samples of the next block.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.compare.folds.splits import forward_splits
    >>> forward_splits(np.arange(4), 2, first=0.5)
    [(array([0, 1]), array([2])), (array([0, 1, 2]), array([3]))]
    """
    fractions = first + (1 - first) * np.arange(n_splits) / n_splits
    # A tolerance, since 0.333... + 0.333... can round to less than two thirds.
    starts = np.sort(times)[(fractions * len(times) + 1e-6).astype(int)]
    blocks = np.searchsorted(starts, times, side="right")  # 0 before the first one.
    return [
        (np.flatnonzero(blocks < k), np.flatnonzero(blocks == k))
        for k in range(1, n_splits + 1)
    ]


def have_classes(splits: Splits, y: np.ndarray) -> bool:
    """Whether every fold trains on all classes and tests on at least two of them.

    With two classes, both parts of every fold then have both.

    Parameters
    ----------
    splits : list of pairs of ndarray of int
        Folds.
    y : ndarray of shape (n_samples,)
        Labels.

    Returns
    -------
    enough : bool
        False if a class cannot be learnt in some fold, or if it has nothing to tell
        apart.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.compare.folds.splits import have_classes
    >>> have_classes([([0, 1], [2, 3])], np.array([0, 1, 1, 1]))
    False
    """
    n_classes = len(np.unique(y))
    return all(
        len(np.unique(y[train])) == n_classes and len(np.unique(y[test])) >= 2
        for train, test in splits
    )


def encode_groups(table: Table) -> np.ndarray | None:
    """Groups of a table as integers; a missing value is a group of its own.

    Parameters
    ----------
    table : Table
        Samples, with groups or without.

    Returns
    -------
    codes : ndarray of int of shape (n_samples,) or None
        In the sorted order of the groups.
    """
    if table.groups is None:
        return None
    groups = np.asarray(table.groups)
    return pd.factorize(groups, sort=True, use_na_sentinel=False)[0]
