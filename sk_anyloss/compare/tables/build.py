"""Making a checked table from features and labels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import issparse, spmatrix

from sk_anyloss.compare.errors import TableError, missing_column, quote_some
from sk_anyloss.compare.tables.columns import check_columns, convert_columns
from sk_anyloss.compare.tables.indicator import as_indicator
from sk_anyloss.compare.tables.labels import (
    Label,
    Order,
    as_labels,
    encode_labels,
    find_missing_labels,
    order_of,
)
from sk_anyloss.compare.tables.reading.delimited import free_memory
from sk_anyloss.compare.tables.selection import (
    check_kept,
    columns_to_drop,
    drop_columns,
    informative_columns,
    leave_out_ids,
)
from sk_anyloss.compare.tables.table import Table, as_frame
from sk_anyloss.compare.tables.timing import extract_time, sort_by_time
from sk_anyloss.compare.tables.weights import extract_weight

__all__ = ["make_table"]


def make_table(
    X: ArrayLike,
    y: ArrayLike,
    positive: Label | None = None,
    groups: str | ArrayLike | None = None,
    name: str = "data",
    *,
    time: str | ArrayLike | None = None,
    weight: str | ArrayLike | None = None,
    drop: Sequence[str] | str = (),
    keep: Sequence[str] | str = (),
    allow_missing_labels: bool = False,
    separator: str | None = None,
    order: Order | None = None,
) -> Table:
    """Check features and labels, and drop features without information and IDs.

    Parameters
    ----------
    X : {DataFrame, array-like, sparse matrix} of shape (n_samples, n_features)
        The features.
    y : array-like of shape (n_samples,) or (n_samples, n_labels)
        The classes; or a column of 0 and 1 for each of several labels.
    positive : label, default=None
        Label of the positive class, against all others; by default the rarer of two,
        and none of more than two.
    groups : str or array-like of shape (n_samples,), default=None
        Group of each sample, or the column of X that holds it.
    name : str, default='data'
        Name of the data set.
    time : str or array-like of shape (n_samples,), default=None
        Numbers or dates by which to sort the samples, or the column of X that holds
        them.
    weight : str or array-like of shape (n_samples,), default=None
        Weight of each sample, or the column of X that holds it.
    drop : sequence of str, default=()
        Columns to drop.
    keep : sequence of str, default=()
        Columns that stay even if they look like IDs, which are left out otherwise.
    allow_missing_labels : bool, default=False
        Whether samples without a label are dropped even if they are more than 1 % of
        all samples.
    separator : str, default=None
        Delimiter of the CSV file that X was read from.
    order : sequence of labels or 'ascending', default=None
        More than two classes in their order, which kappa with weights needs: by default
        that of ordered categories, else ascending. ``'ascending'`` says of more than 20
        distinct numbers that they are classes.

    Returns
    -------
    table : Table
        The checked table.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare import make_table
    >>> X = pd.DataFrame({"a": [1.5, 2.5, 0.5, 3.5], "b": "always"})
    >>> table = make_table(X, ["no", "yes", "no", "no"])
    >>> table.classes, table.notes[-1]
    (['no', 'yes'], "Dropped, since it has one value only: 'b'.")
    """
    notes: list[str] = []
    frame = _to_frame(X, notes)
    _check_same_order(X, y, "y")
    if hasattr(y, "to_pandas"):
        y = y.to_pandas()
    indicator = as_indicator(y)
    if indicator is not None:
        _check_options_of_labels(positive, groups, time, weight, order)
    # A sample that lacks a value for one of several labels has no target.
    labels = as_labels(y if indicator is None else indicator.sum(axis=1, skipna=False))
    if len(labels) != len(frame):
        raise TableError(f"There are {len(frame)} samples, but {len(labels)} labels.")
    codes: np.ndarray | None = None
    if isinstance(groups, str):
        if groups not in frame.columns:
            raise missing_column(groups, frame.columns, "to group by")
        if groups in columns_to_drop(drop, frame.columns):
            raise TableError(f"--drop names {groups!r}, which is the group column.")
        codes = _encode_groups(frame.pop(groups), f"The group column {groups!r}")
    elif groups is not None:
        _check_same_order(X, groups, "groups")
        codes = _encode_groups(groups, "groups")
    if codes is not None and len(codes) != len(frame):
        raise TableError(f"There are {len(frame)} samples, but {len(codes)} groups.")
    if not len(frame):
        raise TableError("The table has no samples; those of two classes are needed.")
    times = extract_time(frame, time, groups is not None)
    if isinstance(weight, str) and weight in columns_to_drop(drop, frame.columns):
        raise TableError(f"--drop names {weight!r}, which is the weight column.")
    if weight is not None and not isinstance(weight, str):
        _check_same_order(X, weight, "weight")
    weights, weight_notes = extract_weight(frame, weight)
    missing = find_missing_labels(labels, allow_missing_labels, notes)
    if missing.any():
        frame, labels = frame[~missing].reset_index(drop=True), labels[~missing]
        indicator = None if indicator is None else indicator[~missing]
        codes = None if codes is None else codes[~missing]
        times = None if times is None else times[~missing]
        weights = None if weights is None else weights[~missing]
    ranks = None
    if times is not None:
        rows, ranks, note = sort_by_time(times)
        frame = frame.iloc[rows].reset_index(drop=True)
        labels = labels.iloc[rows].reset_index(drop=True)
        weights = None if weights is None else weights[rows]
        notes.append(note)
    notes += weight_notes
    classes: Sequence[Label]
    stated = order_of(y) if order is None and positive is None else order
    if stated is not None and not isinstance(stated, str):
        stated = list(stated)
    if indicator is None:
        target, classes = encode_labels(labels, positive, notes, stated)
    else:
        target, classes = indicator.to_numpy(int), list(indicator.columns)
    check_kept(keep, drop, frame.columns)
    frame = drop_columns(frame, drop, notes)
    frame, converted = convert_columns(frame, separator)
    notes += converted
    check_columns(frame)
    frame = informative_columns(frame, notes)
    frame, left_out = leave_out_ids(frame, keep)
    # Floats need no encoder; an array of them stays an array.
    numeric = all(pd.api.types.is_float_dtype(dtype) for dtype in frame.dtypes)
    has_names = isinstance(X, pd.DataFrame) or hasattr(X, "to_pandas")
    stays_array = numeric and not has_names
    data = frame.to_numpy(float) if stays_array else frame
    return Table(
        name,
        data,
        target,
        classes,
        codes,
        notes,
        ranks,
        left_out,
        int(missing.sum()),
        weights,
        is_ordered=stated not in (None, "ascending"),
    )


def _check_options_of_labels(positive: object, *others: object) -> None:
    """Refuse what a target of several labels cannot be compared with."""
    if positive is not None:
        raise TableError(
            "--positive names one of several classes; of a target of several labels "
            "each has 1 for positive."
        )
    if any(other is not None for other in others):
        raise TableError(
            "Several labels are not compared with --groups, --time, --weight or "
            "--order; compare each label by itself with them."
        )


def _to_frame(X: ArrayLike, notes: list[str]) -> pd.DataFrame:
    """The features, with names that are strings and without an index."""
    if not isinstance(X, pd.DataFrame) and hasattr(X, "to_pandas"):
        X = X.to_pandas()  # Of polars and pyarrow, with the names of the columns.
    if isinstance(X, pd.DataFrame):
        unused = [name for name in X.index.names if name is not None]
        if unused:
            notes.append(f"The index is not used as a column: {quote_some(unused)}.")
        frame = X.reset_index(drop=True)
        frame.columns = pd.Index([str(column) for column in X.columns])
    else:
        X = np.asarray(_to_dense(X, notes) if issparse(X) else X)
        if X.ndim != 2:
            raise TableError(f"X must be two-dimensional, got the shape {X.shape}.")
        frame = as_frame(X)
    duplicates = frame.columns[frame.columns.duplicated()].unique()
    if len(duplicates):
        raise TableError(
            f"Column names come twice: {quote_some(duplicates)}; rename them."
        )
    return frame


def _to_dense(X: spmatrix, notes: list[str]) -> np.ndarray:
    n_bytes = 8.0 * X.shape[0] * X.shape[1]
    # The folds and the methods make copies.
    if 4 * n_bytes > free_memory():
        raise TableError(
            f"The sparse X takes {n_bytes / 2**30:.1f} GB when it is made dense, which "
            "most methods need; use fewer samples or features."
        )
    notes.append("The sparse X was made dense, since most methods need a dense one.")
    return np.asarray(X.toarray())


def _check_same_order(X: ArrayLike, other: ArrayLike, name: str) -> None:
    """Refuse labels or groups whose index is that of X in another order."""
    if not (
        isinstance(X, pd.DataFrame) and isinstance(other, (pd.Series, pd.DataFrame))
    ):
        return
    one, two = X.index, other.index
    if len(one) == len(two) and not one.equals(two) and set(one) == set(two):
        raise TableError(
            f"X and {name} have the same index in another order; align them, for "
            f"example with {name}.loc[X.index]."
        )


def _encode_groups(groups: ArrayLike, subject: str) -> np.ndarray:
    """Integer codes of groups of any hashable values."""
    values = np.asarray(groups, dtype=object)
    if values.ndim != 1:
        raise TableError(f"{subject} must have one value a sample, got {values.shape}.")
    try:
        codes, _ = pd.factorize(values)
    except TypeError as error:
        raise TableError(
            f"{subject} holds values such as {quote_some(values[:1])}, which name no "
            "groups."
        ) from error
    if (codes < 0).any():
        raise TableError(
            f"{subject} has no value in {int((codes < 0).sum()):,} of "
            f"{len(values):,} samples; give each its group."
        )
    return np.asarray(codes)
