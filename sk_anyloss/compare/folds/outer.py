"""Outer folds, on which methods are compared."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.model_selection import StratifiedKFold

from sk_anyloss._compat import shuffled_group_folds
from sk_anyloss.compare.errors import TableError, quote_some
from sk_anyloss.compare.folds.splits import (
    Splits,
    encode_groups,
    forward_splits,
    have_classes,
)
from sk_anyloss.compare.tables.table import Table
from sk_anyloss.training.data.strata import strata

__all__ = ["describe_folds", "make_splits"]


def make_splits(table: Table, folds: int, repeats: int = 1, seed: int = 0) -> Splits:
    """Stratified folds; of whole groups, or forward in time, if the table has them.

    Parameters
    ----------
    table : Table
        The samples.
    folds : int
        Number of folds.
    repeats : int, default=1
        Number of repetitions, each with another shuffle.
    seed : int, default=0
        Seed of the first shuffle.

    Returns
    -------
    splits : list of pairs of ndarray of int
        Indices of the training and of the test samples; the former have all classes,
        the latter at least two.

    Examples
    --------
    >>> from sk_anyloss.compare import built_in
    >>> from sk_anyloss.compare.folds.outer import make_splits
    >>> len(make_splits(built_in(), folds=5, repeats=2))
    10
    """
    _check_class_sizes(table, folds)
    if table.time is not None:
        return _split_forward(table, table.time, folds, repeats)
    splits: Splits = []
    groups = encode_groups(table)
    for repeat in range(repeats):
        if groups is not None:
            splits += shuffled_group_folds(folds, table.y, groups, seed + repeat)
            continue
        splitter = StratifiedKFold(folds, shuffle=True, random_state=seed + repeat)
        with warnings.catch_warnings():
            # The rarest label of a sample may be the rarest one of few.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            splits += list(splitter.split(np.zeros(len(table.y)), strata(table.y)))
    if table.has_labels:
        return splits
    if not have_classes(splits, table.y):
        raise TableError(
            f"A fold of {table.name} {_lacks(table)}, since the groups cannot be "
            "split; use fewer folds."
        )
    return splits


def _check_class_sizes(table: Table, folds: int) -> None:
    """Refuse classes with fewer samples than folds, and say what to do."""
    counts = table.class_counts
    smallest = int(counts.min())
    if folds <= smallest:
        return
    if table.has_labels:
        raise TableError(
            f"{folds} folds need at least {folds} samples with each label, and "
            f"{quote_some([table.classes[int(counts.argmin())]])} is on {smallest}; "
            f"use --folds {max(smallest, 2)} or fewer, or leave it out."
        )
    need = (
        f"{folds} folds need at least {folds} samples of each class, and {table.name}"
    )
    if table.n_classes == 2:
        raise TableError(
            f"{need} has {smallest} of one; use --folds {max(smallest, 2)} or fewer."
        )
    small = [int(code) for code in np.argsort(counts, kind="stable")]
    small = [code for code in small if counts[code] < folds]
    shown = ", ".join(
        f"{quote_some([table.classes[code]])} ({counts[code]})" for code in small[:8]
    )
    more = f" and {len(small) - 8} more" if len(small) > 8 else ""
    remedy = "merge these classes with others or leave their samples out"
    if smallest >= 2:
        remedy = f"use --folds {smallest} or fewer, or {remedy}"
    raise TableError(f"{need} has fewer of {shown}{more}; {remedy}.")


def _lacks(table: Table) -> str:
    return "has one class only" if table.n_classes == 2 else "lacks a class"


def _split_forward(table: Table, times: np.ndarray, folds: int, repeats: int) -> Splits:
    if repeats > 1:
        raise TableError(
            f"--repeats {repeats} cannot be used with --time, since folds forward in "
            "time are not shuffled; omit --repeats."
        )
    splits = _equal_blocks(times, folds)
    if have_classes(splits, table.y):
        return splits
    fewer = next(
        (
            n
            for n in range(folds - 1, 1, -1)
            if have_classes(_equal_blocks(times, n), table.y)
        ),
        None,
    )
    remedy = (
        f"use --folds {fewer}"
        if fewer
        else "no number of folds avoids it, so omit --time or use more samples"
    )
    left = "with one class only" if table.n_classes == 2 else "in which a class is new"
    raise TableError(
        f"{folds} folds forward in time leave a block of {table.name} {left}; {remedy}."
    )


def _equal_blocks(times: np.ndarray, folds: int) -> Splits:
    """As scikit-learn's TimeSeriesSplit, but no point in time is in two blocks."""
    return forward_splits(times, folds, first=1 / (folds + 1))


def describe_folds(table: Table) -> str:
    """The kind of folds that a table is split into.

    Parameters
    ----------
    table : Table
        The samples.

    Returns
    -------
    kind : str
        For the terminal, the report and the settings.

    Examples
    --------
    >>> from sk_anyloss.compare import built_in
    >>> from sk_anyloss.compare.folds.outer import describe_folds
    >>> describe_folds(built_in())
    'stratified, shuffled'
    """
    if table.time is not None:
        return "forward in time"
    if table.has_labels:
        return "stratified by the rarest label of a sample, shuffled"
    if table.groups is not None:
        return "stratified, of whole groups, shuffled"
    return "stratified, shuffled"
