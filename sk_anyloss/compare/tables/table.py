"""Where the rows come from: files, OpenML, arrays and the built-in set."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import issparse
from sklearn.datasets import load_breast_cancer

from sk_anyloss.compare.errors import TableError, no_column, some
from sk_anyloss.compare.tables.columns import check_columns, convert_columns
from sk_anyloss.compare.tables.files import free_memory, read_file, read_frame, reason
from sk_anyloss.compare.tables.labels import labels_of, missing_labels, two_classes
from sk_anyloss.compare.tables.selection import (
    columns_to_drop,
    drop_columns,
    useful_columns,
)
from sk_anyloss.compare.tables.timing import sort_in_time, take_time

__all__ = [
    "Table",
    "TableError",
    "built_in",
    "make_table",
    "read_frame",
    "read_table",
]


@dataclass
class Table:
    """Rows with a target of two classes.

    Parameters
    ----------
    name : str
        What to call it.
    X : DataFrame or ndarray
        The columns to predict from.
    y : ndarray of int
        1 for the positive class, 0 for all others.
    positive, negative : str
        What the classes are called.
    groups : ndarray or None
        Rows of one group are never in two folds.
    time : ndarray of int or None
        Places of the samples in time, by which they are sorted: 0 for all samples of
        the first point in time, and so on. Folds then look forward only.
    notes : list of str
        What was noticed and done.
    """

    name: str
    X: Any
    y: np.ndarray
    positive: Any
    negative: Any
    groups: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)
    time: np.ndarray | None = None

    def fingerprint(self) -> str:
        """Another one for other rows, columns or labels."""
        digest = hashlib.sha256()
        frame = as_frame(self.X)
        digest.update(repr([*map(str, frame.columns), frame.shape]).encode())
        digest.update(pd.util.hash_pandas_object(frame, index=False).to_numpy().data)
        digest.update(self.y.astype(np.int8).tobytes())
        if self.groups is not None:
            digest.update(pd.util.hash_array(np.asarray(self.groups, dtype=object)))
        if self.time is not None:
            digest.update(b"time" + self.time.astype(np.int64).tobytes())
        return digest.hexdigest()[:16]

    def describe(self) -> str:
        """A sentence on it.

        Examples
        --------
        >>> from sk_anyloss.compare.tables.table import built_in
        >>> built_in().describe()
        'breast cancer, 10:1: 393 rows, 30 columns, 36 (9.2 %) are malignant'
        """
        n, positives = len(self.y), int(self.y.sum())
        return (
            f"{self.name}: {n:,} rows, {self.X.shape[1]:,} columns, {positives:,} "
            f"({positives / n:.1%}) are {self.positive}".replace("%", " %")
        )


def as_frame(X: Any) -> pd.DataFrame:
    """Columns with names: those of an array are ``x0``, ``x1`` and so on.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.compare.tables.table import as_frame
    >>> list(as_frame(np.zeros((3, 2))).columns)
    ['x0', 'x1']
    """
    if isinstance(X, pd.DataFrame):
        return X
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])


def built_in(seed: int = 0, drop: Sequence[str] | str = ()) -> Table:
    """scikit-learn's breast cancer data with 36 of its malignant rows, positive.

    Parameters
    ----------
    seed : int, default=0
        Which of the malignant rows.
    drop : sequence of str, default=()
        Columns to leave out.

    Returns
    -------
    table : Table
        393 rows.

    Examples
    --------
    >>> from sk_anyloss.compare.tables.table import built_in
    >>> table = built_in()
    >>> table.X.shape, int(table.y.sum())
    ((393, 30), 36)
    """
    data = load_breast_cancer(as_frame=True)
    malignant = np.flatnonzero(data.target == 0)
    kept = np.random.default_rng(seed).choice(malignant, 36, replace=False)
    rows = np.sort(np.concatenate((np.flatnonzero(data.target == 1), kept)))
    X = data.data.iloc[rows].reset_index(drop=True)
    y = 1 - data.target.to_numpy()[rows]
    notes: list[str] = []
    X = drop_columns(X, drop, notes)
    return Table("breast cancer, 10:1", X, y, "malignant", "benign", notes=notes)


def read_table(
    source: str | os.PathLike,
    target: str | None = None,
    positive: str | None = None,
    groups: str | None = None,
    *,
    time: str | None = None,
    drop: Sequence[str] | str = (),
    allow_missing_labels: bool = False,
) -> Table:
    """Read a table from a file or from OpenML.

    Parameters
    ----------
    source : str or path
        A ``.csv``, ``.parquet`` or ``.npz`` file (with ``X`` and ``y``), or
        ``'openml:<name or id>'``.
    target : str, default=None
        The column to predict. Not needed for ``.npz`` and OpenML.
    positive : str, default=None
        The label that counts as positive; by default the rarer of two.
    groups : str, default=None
        A column whose values say which rows belong together.
    time : str, default=None
        A column of numbers or dates that says in which order the samples came.
    drop : sequence of str, default=()
        Columns to leave out.
    allow_missing_labels : bool, default=False
        Whether to leave out samples without a label if they are more than one in a
        hundred, too.

    Returns
    -------
    table : Table
        Checked.
    """
    text = str(source)
    options: dict[str, Any] = {
        "time": time,
        "drop": drop,
        "allow_missing_labels": allow_missing_labels,
    }
    if text.startswith("openml:"):
        X, y, name = _from_openml(text.removeprefix("openml:"), target)
        return make_table(X, y, positive, groups, name, **options)
    path = Path(source)
    frame, separator = read_file(path, [name for name in (target, groups) if name])
    frame.columns = frame.columns.map(str)
    if path.suffix.lower() == ".npz" and target is None:
        target = "y"
    if target is None:
        raise TableError(
            f"Say which column to predict with --target; there are {some(frame)}."
        )
    if target not in frame.columns:
        raise no_column(target, frame.columns, f"in {text!r}")
    if target in columns_to_drop(drop, frame.columns):
        raise TableError(f"--drop names {target!r}, which is the target.")
    for option, column in (("--groups", groups), ("--time", time)):
        if column == target:
            raise TableError(f"{option} names {target!r}, which is the target.")
    y = frame.pop(target)
    # A file may be called by bytes that are no text.
    name = path.stem.encode(errors="replace").decode()
    table = make_table(frame, y, positive, groups, name, separator=separator, **options)
    if path.suffix.lower() == ".npz" and all(map(_is_number, table.X.dtypes)):
        table.X = table.X.to_numpy()  # Numbers, that need no more care.
    return table


def make_table(
    X: Any,
    y: Any,
    positive: Any = None,
    groups: Any = None,
    name: str = "data",
    *,
    time: Any = None,
    drop: Sequence[str] | str = (),
    allow_missing_labels: bool = False,
    separator: str | None = None,
) -> Table:
    """Check rows and labels, and take out what says nothing.

    Parameters
    ----------
    X : DataFrame, array or sparse matrix of shape (n, d)
        The columns to predict from.
    y : array-like of shape (n,)
        The labels.
    positive : label, default=None
        The positive one; by default the rarer of two.
    groups : str or array-like of shape (n,), default=None
        Which rows belong together, as a column of X or by itself.
    name : str, default='data'
        What to call it.
    time : str or array-like of shape (n,), default=None
        Numbers or dates by which to sort the samples, as a column of X or by itself.
    drop : sequence of str, default=()
        Columns to leave out.
    allow_missing_labels : bool, default=False
        Whether to leave out samples without a label if they are more than one in a
        hundred, too.
    separator : str, default=None
        What separated the cells of the file that X was read from.

    Returns
    -------
    table : Table
        Checked.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables.table import make_table
    >>> X = pd.DataFrame({"a": [1.5, 2.5, 0.5, 3.5], "b": "always"})
    >>> table = make_table(X, ["no", "yes", "no", "no"])
    >>> table.positive, table.notes[-1]
    ('yes', "Left out, since it has one value only: 'b'.")
    """
    notes: list[str] = []
    frame = _frame_of(X, notes)
    _check_order(X, y, "y")
    labels = labels_of(y)
    if len(labels) != len(frame):
        raise TableError(f"There are {len(frame)} rows, but {len(labels)} labels.")
    of_rows: np.ndarray | None = None
    if isinstance(groups, str):
        if groups not in frame.columns:
            raise no_column(groups, frame.columns, "to group by")
        if groups in columns_to_drop(drop, frame.columns):
            raise TableError(f"--drop names {groups!r}, which is the group column.")
        of_rows = _group_numbers(frame.pop(groups), f"The group column {groups!r}")
    elif groups is not None:
        _check_order(X, groups, "groups")
        of_rows = _group_numbers(groups, "groups")
    if of_rows is not None and len(of_rows) != len(frame):
        raise TableError(f"There are {len(frame)} rows, but {len(of_rows)} groups.")
    moments = take_time(frame, time, groups is not None)
    missing = missing_labels(labels, allow_missing_labels, notes)
    if missing.any():
        frame, labels = frame[~missing].reset_index(drop=True), labels[~missing]
        of_rows = None if of_rows is None else of_rows[~missing]
        moments = None if moments is None else moments[~missing]
    places = None
    if moments is not None:
        order, places, note = sort_in_time(moments)
        frame = frame.iloc[order].reset_index(drop=True)
        labels = labels.iloc[order].reset_index(drop=True)
        notes.append(note)
    target, positive, negative = two_classes(labels, positive, notes)
    frame = drop_columns(frame, drop, notes)
    frame, converted = convert_columns(frame, separator)
    notes += converted
    check_columns(frame)
    frame = useful_columns(frame, notes)
    # Plain numbers need no more care; a table of them stays an array.
    plain = all(pd.api.types.is_float_dtype(kind) for kind in frame.dtypes)
    data = frame.to_numpy(float) if plain and not isinstance(X, pd.DataFrame) else frame
    return Table(name, data, target, positive, negative, of_rows, notes, places)


def _frame_of(X: Any, notes: list[str]) -> pd.DataFrame:
    """The columns, with names that are text and without an index."""
    if isinstance(X, pd.DataFrame):
        unused = [name for name in X.index.names if name is not None]
        if unused:
            notes.append(f"The index is not used as a column: {some(unused)}.")
        frame = X.reset_index(drop=True)
        frame.columns = pd.Index([str(column) for column in X.columns])
    else:
        if issparse(X):
            X = _dense(X, notes)
        X = np.asarray(X)
        if X.ndim != 2:
            raise TableError(f"X must have rows and columns, got the shape {X.shape}.")
        frame = as_frame(X)
    twice = frame.columns[frame.columns.duplicated()].unique()
    if len(twice):
        raise TableError(f"Column names come twice: {some(twice)}; rename them.")
    return frame


def _dense(X: Any, notes: list[str]) -> np.ndarray:
    need = 8.0 * X.shape[0] * X.shape[1]
    # The folds and the methods make copies.
    if 4 * need > free_memory():
        raise TableError(
            f"The sparse X takes {need / 2**30:.1f} GB when it is made dense, which "
            "most methods need; take fewer samples or columns."
        )
    notes.append("The sparse X was made dense, since most methods need it so.")
    return np.asarray(X.toarray())


def _check_order(X: Any, other: Any, what: str) -> None:
    """Refuse samples whose index says that they stand in another order."""
    if not (
        isinstance(X, pd.DataFrame) and isinstance(other, (pd.Series, pd.DataFrame))
    ):
        return
    one, two = X.index, other.index
    if len(one) == len(two) and not one.equals(two) and set(one) == set(two):
        raise TableError(
            f"X and {what} have the same index in another order; bring them into one, "
            f"for example with {what}.loc[X.index]."
        )


def _group_numbers(groups: Any, what: str) -> np.ndarray:
    """Groups of any hashable values, numbered."""
    values = np.asarray(groups, dtype=object)
    if values.ndim != 1:
        raise TableError(f"{what} must have one value a sample, got {values.shape}.")
    try:
        numbers, _ = pd.factorize(values)
    except TypeError as error:
        raise TableError(
            f"{what} holds values such as {some(values[:1])}, which name no groups."
        ) from error
    if (numbers < 0).any():
        raise TableError(
            f"{what} has no value in {int((numbers < 0).sum()):,} of {len(values):,} "
            "samples; give each its group."
        )
    return np.asarray(numbers)


def _is_number(kind: object) -> bool:
    return bool(pd.api.types.is_numeric_dtype(kind))


def _from_openml(what: str, target: str | None) -> tuple[Any, Any, str]:
    from sklearn.datasets import fetch_openml

    number = {"data_id": int(what)} if what.isdigit() else {"name": what}
    column = {} if target is None else {"target_column": target}
    try:
        data = fetch_openml(**number, **column, as_frame=True)
    except Exception as error:
        raise TableError(f"OpenML did not give {what!r}: {reason(error)}") from error
    if data.target is None:
        raise TableError(f"{what!r} of OpenML has no target; name one with --target.")
    return data.data, data.target, data.details["name"]
