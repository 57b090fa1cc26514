"""Where the rows come from: files, OpenML, arrays and the built-in set."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

__all__ = ["Table", "TableError", "built_in", "make_table", "read_table"]

#: Share of distinct values from which a column of words or whole numbers is an ID.
LIKE_AN_ID = 0.99
#: Of a CSV file of more bytes it is asked first whether it fits into the memory.
LARGE_FILE = 2**26


class TableError(ValueError):
    """A table that cannot be compared on; the message is one sentence."""


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

    def fingerprint(self) -> str:
        """Another one for other rows, columns or labels."""
        digest = hashlib.sha256()
        frame = as_frame(self.X)
        digest.update(repr([*map(str, frame.columns), frame.shape]).encode())
        digest.update(pd.util.hash_pandas_object(frame, index=False).to_numpy().data)
        digest.update(self.y.astype(np.int8).tobytes())
        if self.groups is not None:
            digest.update(pd.util.hash_array(np.asarray(self.groups, dtype=object)))
        return digest.hexdigest()[:16]

    def describe(self) -> str:
        """A sentence on it.

        Examples
        --------
        >>> from sk_anyloss.compare.tables import built_in
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
    >>> from sk_anyloss.compare.tables import as_frame
    >>> list(as_frame(np.zeros((3, 2))).columns)
    ['x0', 'x1']
    """
    if isinstance(X, pd.DataFrame):
        return X
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])


def built_in(seed: int = 0) -> Table:
    """scikit-learn's breast cancer data with 36 of its malignant rows, positive.

    Examples
    --------
    >>> from sk_anyloss.compare.tables import built_in
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
    return Table("breast cancer, 10:1", X, y, "malignant", "benign")


def read_table(
    source: str | os.PathLike,
    target: str | None = None,
    positive: str | None = None,
    groups: str | None = None,
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

    Returns
    -------
    table : Table
        Checked.
    """
    text = str(source)
    if text.startswith("openml:"):
        X, y, name = _from_openml(text.removeprefix("openml:"), target)
        return make_table(X, y, positive, groups, name)
    path = Path(source)
    frame = read_frame(path)
    if path.suffix.lower() == ".npz" and target is None:
        target = "y"
    if target is None:
        raise TableError(
            "Say which column to predict with --target; there are "
            f"{_some(frame.columns)}."
        )
    if target not in frame.columns:
        raise TableError(
            f"There is no column {target!r} in {text!r}; there are "
            f"{_some(frame.columns)}."
        )
    y = frame.pop(target)
    table = make_table(frame, y, positive, groups, path.stem)
    if path.suffix.lower() == ".npz":  # Numbers, that need no more care.
        table.X = table.X.to_numpy()
    return table


def read_frame(path: Path) -> pd.DataFrame:
    """All columns of a file.

    Parameters
    ----------
    path : Path
        A ``.csv`` (with commas, semicolons, tabs or bars), ``.parquet`` or ``.npz``
        file.

    Returns
    -------
    frame : DataFrame
        Its columns; of ``.npz`` files ``x0``, ``x1``, ... and ``y``.
    """
    text = str(path)
    if not path.is_file():
        raise TableError(f"There is no file {text!r}.")
    readers = {".csv": _read_csv, ".parquet": pd.read_parquet, ".npz": _read_npz}
    if path.suffix.lower() not in readers:
        raise TableError(
            f"{text!r} ends in {path.suffix!r}; .csv, .parquet and .npz can be read, "
            "and 'openml:<name or id>'."
        )
    try:
        return readers[path.suffix.lower()](path)
    except TableError:
        raise
    except Exception as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TableError(f"{text!r} cannot be read: {why}") from error


def make_table(
    X: Any,
    y: Any,
    positive: Any = None,
    groups: Any = None,
    name: str = "data",
) -> Table:
    """Check rows and labels, and take out what says nothing.

    Parameters
    ----------
    X : DataFrame or array of shape (n, d)
        The columns to predict from.
    y : array-like of shape (n,)
        The labels.
    positive : label, default=None
        The positive one; by default the rarer of two.
    groups : str or array-like of shape (n,), default=None
        Which rows belong together, as a column of X or by itself.
    name : str, default='data'
        What to call it.

    Returns
    -------
    table : Table
        Checked.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables import make_table
    >>> X = pd.DataFrame({"a": [1.5, 2.5, 0.5, 3.5], "b": "always"})
    >>> table = make_table(X, ["no", "yes", "no", "no"])
    >>> table.positive, table.notes[-1]
    ('yes', "Left out, since it has one value only: 'b'.")
    """
    notes: list[str] = []
    if isinstance(X, pd.DataFrame):
        frame = X.reset_index(drop=True)
    else:
        X = np.asarray(X)
        if X.ndim != 2:
            raise TableError(f"X must have rows and columns, got the shape {X.shape}.")
        frame = as_frame(X)
    twice = frame.columns[frame.columns.duplicated()].unique()
    if len(twice):
        raise TableError(f"Column names come twice: {_some(twice)}; rename them.")
    labels = pd.Series(np.asarray(y, dtype=object)).reset_index(drop=True)
    if len(labels) != len(frame):
        raise TableError(f"There are {len(frame)} rows, but {len(labels)} labels.")
    if isinstance(groups, str):
        if groups not in frame.columns:
            raise TableError(
                f"There is no column {groups!r} to group by; there are "
                f"{_some(frame.columns)}."
            )
        groups = frame.pop(groups)
    of_rows = None if groups is None else np.asarray(groups)
    missing = labels.isna().to_numpy()
    if missing.any():
        notes.append(f"Left out {int(missing.sum())} rows that have no label.")
        frame, labels = frame[~missing].reset_index(drop=True), labels[~missing]
        of_rows = None if of_rows is None else of_rows[~missing]
    target, positive, negative = _two_classes(labels, positive, notes)
    frame = _useful_columns(frame, notes)
    # Plain numbers need no more care; a table of them stays an array.
    plain = all(pd.api.types.is_float_dtype(kind) for kind in frame.dtypes)
    data = frame.to_numpy(float) if plain and not isinstance(X, pd.DataFrame) else frame
    return Table(name, data, target, positive, negative, of_rows, notes)


def _two_classes(
    labels: pd.Series, positive: Any, notes: list[str]
) -> tuple[np.ndarray, Any, Any]:
    counts = labels.value_counts()
    if len(counts) < 2:
        found = repr(counts.index[0]) if len(counts) else "no label at all"
        raise TableError(f"The target has one class only, {found}; it needs two.")
    names = {str(value): value for value in counts.index}
    if positive is not None and positive not in counts.index:
        positive = names.get(str(positive), positive)
    if positive is not None and positive not in counts.index:
        raise TableError(
            f"The positive label {positive!r} is not in the target; there are "
            f"{_some(counts.index)}."
        )
    if positive is None and len(counts) > 2:
        numbers = pd.to_numeric(labels, errors="coerce")
        if len(counts) > 20 and numbers.notna().all() and (numbers % 1 != 0).any():
            raise TableError(
                f"The target is continuous: {len(counts)} different numbers from "
                f"{numbers.min():g} to {numbers.max():g}; make two classes of it first."
            )
        raise TableError(
            f"The target has {len(counts)} classes, {_some(counts.index)}; name the "
            "one to find with --positive, and the others count as negative."
        )
    if positive is None:
        positive = counts.index[-1]  # In the order of their number.
        notes.append(f"The rarer label, {positive!r}, is taken as the positive one.")
    others = [value for value in counts.index if value != positive]
    negative = others[0] if len(others) == 1 else "others"
    return (labels == positive).to_numpy().astype(int), positive, negative


def _useful_columns(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    empty = [name for name in frame.columns if frame[name].isna().all()]
    constant = [
        name
        for name in frame.columns
        if name not in empty and frame[name].nunique(dropna=False) == 1
    ]
    for names, why in ((empty, "no value at all"), (constant, "one value only")):
        if names:
            has = "it has" if len(names) == 1 else "they have"
            notes.append(f"Left out, since {has} {why}: {_some(names)}.")
    frame = frame.drop(columns=empty + constant)
    if frame.shape[1] == 0:
        raise TableError("There is no column left to predict from.")
    for name in frame.columns:
        values = frame[name].dropna()
        real = pd.api.types.is_float_dtype(values) and (values % 1 != 0).any()
        if real or len(values) < 20 or _are_dates(values):
            continue
        if values.nunique() >= LIKE_AN_ID * len(values):
            warnings.warn(
                f"The column {name!r} has another value in almost every row, as an ID "
                "has; a model can learn nothing from an ID that holds for new rows. "
                "Take it out if it is one.",
                UserWarning,
                stacklevel=4,
            )
    return frame


def _are_dates(values: pd.Series) -> bool:
    if pd.api.types.is_numeric_dtype(values):
        return False
    first = pd.to_datetime(values.head(20), errors="coerce", format="mixed")
    return bool(first.notna().all())


def _some(values: Iterable[Any], most: int = 8) -> str:
    found = [repr(getattr(value, "item", lambda v=value: v)()) for value in values]
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more


def _read_csv(path: Path) -> pd.DataFrame:
    """All of a CSV file, if it fits into the memory."""
    # pandas would rename those that come twice.
    with path.open(encoding="utf-8", errors="replace") as file:
        header = file.readline()
    sep = max(",;\t|", key=header.count)  # The first of equals.
    first = pd.read_csv(path, header=None, nrows=1, dtype=str, sep=sep)
    repeated = pd.Index(first.iloc[0].dropna())
    repeated = repeated[repeated.duplicated()].unique()
    if len(repeated):
        raise TableError(f"Column names come twice: {_some(repeated)}; rename them.")
    size = path.stat().st_size
    if size > LARGE_FILE:
        sample = pd.read_csv(path, nrows=10_000, sep=sep)
        on_disk = len(sample.to_csv(index=False).encode())
        need = 2.5 * size * sample.memory_usage(deep=True).sum() / on_disk
        free = _free_memory()
        if need > free:
            raise TableError(
                f"{str(path)!r} takes about {need / 2**30:.1f} GB of memory, and "
                f"{free / 2**30:.1f} GB are free; take a sample of the rows, or save "
                "it as .parquet with narrower types."
            )
    return pd.read_csv(path, sep=sep)


def _free_memory() -> float:
    """Bytes; where the system does not tell, no file is too large."""
    if not hasattr(os, "sysconf"):
        return np.inf
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _read_npz(path: Path) -> pd.DataFrame:
    with np.load(path, allow_pickle=False) as data:
        if "X" not in data or "y" not in data:
            raise TableError(
                f"{str(path)!r} must hold X and y; it holds {_some(data.files)}."
            )
        X, y = data["X"], data["y"]
    return as_frame(X).assign(y=y)


def _from_openml(what: str, target: str | None) -> tuple[Any, Any, str]:
    from sklearn.datasets import fetch_openml

    number = {"data_id": int(what)} if what.isdigit() else {"name": what}
    column = {} if target is None else {"target_column": target}
    try:
        data = fetch_openml(**number, **column, as_frame=True)
    except Exception as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TableError(f"OpenML did not give {what!r}: {why}") from error
    if data.target is None:
        raise TableError(f"{what!r} of OpenML has no target; name one with --target.")
    return data.data, data.target, data.details["name"]
