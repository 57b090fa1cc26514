"""Folds on which methods are compared."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import StratifiedKFold

from sk_anyloss._compat import shuffled_group_folds
from sk_anyloss.compare.errors import TableError
from sk_anyloss.compare.folds.inner import (
    Splits,
    forward_splits,
    group_codes,
    have_both_classes,
)
from sk_anyloss.compare.tables.table import Table

__all__ = ["describe_folds", "splits"]


def splits(table: Table, folds: int, repeats: int = 1, seed: int = 0) -> Splits:
    """Stratified folds; of whole groups, or forward in time, if the table has them.

    Parameters
    ----------
    table : Table
        The samples.
    folds : int
        Number of folds.
    repeats : int, default=1
        How often to split anew.
    seed : int, default=0
        Of the order in which samples are shuffled.

    Returns
    -------
    splits : list of pairs of ndarray of int
        Samples to train on, and samples left out; both have both classes.

    Examples
    --------
    >>> from sk_anyloss.compare.folds.outer import splits
    >>> from sk_anyloss.compare.tables.table import built_in
    >>> len(splits(built_in(), folds=5, repeats=2))
    10
    """
    least = int(min(table.y.sum(), len(table.y) - table.y.sum()))
    if folds > least:
        raise TableError(
            f"{folds} folds need at least {folds} rows of each class, and {table.name} "
            f"has {least} of one; use --folds {max(least, 2)} or fewer."
        )
    if table.time is not None:
        return _outer_forward(table, folds, repeats)
    found: Splits = []
    groups = group_codes(table)
    for repeat in range(repeats):
        if groups is not None:
            found += shuffled_group_folds(folds, table.y, groups, seed + repeat)
            continue
        splitter = StratifiedKFold(folds, shuffle=True, random_state=seed + repeat)
        found += list(splitter.split(np.zeros(len(table.y)), table.y))
    if not have_both_classes(found, table.y):
        raise TableError(
            f"A fold of {table.name} has one class only, since the groups cannot "
            "be split; use fewer folds."
        )
    return found


def _outer_forward(table: Table, folds: int, repeats: int) -> Splits:
    if repeats > 1:
        raise TableError(
            f"--repeats {repeats} cannot be used with --time, since there is one way "
            "only to split forward in time; leave --repeats out."
        )
    assert table.time is not None
    found = _equal_blocks(table.time, folds)
    if have_both_classes(found, table.y):
        return found
    fewer = next(
        (
            n
            for n in range(folds - 1, 1, -1)
            if have_both_classes(_equal_blocks(table.time, n), table.y)
        ),
        None,
    )
    way = (
        f"use --folds {fewer}"
        if fewer
        else "there is no number of folds that helps, so leave --time out or take more "
        "samples"
    )
    raise TableError(
        f"{folds} folds forward in time leave a block of {table.name} with one class "
        f"only; {way}."
    )


def _equal_blocks(times: np.ndarray, folds: int) -> Splits:
    """As scikit-learn's TimeSeriesSplit, but no point in time is in two blocks."""
    return forward_splits(times, folds, first=1 / (folds + 1))


def describe_folds(table: Table) -> str:
    """Say of what kind the folds of a table are.

    Examples
    --------
    >>> from sk_anyloss.compare.folds.outer import describe_folds
    >>> from sk_anyloss.compare.tables.table import built_in
    >>> describe_folds(built_in())
    'stratified, shuffled'
    """
    if table.time is not None:
        return "forward in time"
    if table.groups is not None:
        return "stratified, of whole groups, shuffled"
    return "stratified, shuffled"
