"""Tables in files: CSV, Parquet and NPZ."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection
from pathlib import Path
from zipfile import is_zipfile

import numpy as np
import pandas as pd

from sk_anyloss.compare.errors import TableError, TableWarning, some
from sk_anyloss.compare.tables.columns import convert_columns

__all__ = ["MISSING_WORDS", "free_memory", "read_file", "read_frame", "reason"]

#: Of a CSV file of more bytes it is asked first whether it fits into the memory.
LARGE_FILE = 2**26
#: Words that mean a missing value in a column to learn from, as pandas documents
#: them; in a column of labels they are labels.
MISSING_WORDS = (
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND",
    "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip


def read_frame(path: Path) -> pd.DataFrame:
    """All columns of a file, in kinds that a model can use.

    Parameters
    ----------
    path : Path
        A ``.csv`` (with commas, semicolons, tabs or bars), ``.parquet`` or ``.npz``
        file.

    Returns
    -------
    frame : DataFrame
        Its columns; of ``.npz`` files ``x0``, ``x1``, ... and ``y``. Decimal commas
        and infinite values, which are told of in a warning, are converted.
    """
    frame, separator = read_file(path)
    frame, notes = convert_columns(frame, separator)
    for note in notes:
        warnings.warn(note, TableWarning, stacklevel=2)
    return frame


def read_file(
    path: Path, labels: Collection[str] = ()
) -> tuple[pd.DataFrame, str | None]:
    """All columns of a file as they are, and what separates the cells of a CSV file.

    Parameters
    ----------
    path : Path
        A ``.csv``, ``.parquet`` or ``.npz`` file.
    labels : collection of str, default=()
        Columns of a CSV file in which only an empty cell is missing, and words such
        as "None" and "NA" stand for themselves.

    Returns
    -------
    frame : DataFrame
        Its columns.
    separator : str or None
        Of a CSV file.
    """
    text, kind = str(path), path.suffix.lower()
    if path.is_dir():
        raise TableError(f"There is no file {text!r}: it is a directory.")
    if not path.is_file():
        raise TableError(f"There is no file {text!r}.")
    if kind not in (".csv", ".parquet", ".npz"):
        raise TableError(
            f"{text!r} ends in {path.suffix!r}; .csv, .parquet and .npz can be read, "
            "and 'openml:<name or id>'."
        )
    try:
        if kind == ".csv":
            return _read_csv(path, labels)
        if kind == ".parquet":
            return _read_parquet(path, labels), None
        return _read_npz(path), None
    except TableError:
        raise
    except UnicodeDecodeError as error:
        raise TableError(
            f"{text!r} cannot be read: it is not text in UTF-8; save it as CSV in "
            "UTF-8, or give it the ending of what it is."
        ) from error
    except Exception as error:
        raise TableError(f"{text!r} cannot be read: {reason(error)}") from error


def reason(error: Exception) -> str:
    """What an error says, in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def free_memory() -> float:
    """Bytes; where the system does not tell, all there are."""
    if not hasattr(os, "sysconf"):
        return np.inf
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _read_csv(path: Path, labels: Collection[str]) -> tuple[pd.DataFrame, str]:
    """All of a CSV file, if it fits into the memory."""
    with path.open(encoding="utf-8", errors="replace") as file:
        header = file.readline()
    sep = max(",;\t|", key=header.count)  # The first of equals.
    first = pd.read_csv(path, header=None, nrows=1, dtype=str, sep=sep)
    names = pd.Index(first.iloc[0].dropna())
    # pandas would rename those that come twice.
    repeated = names[names.duplicated()].unique()
    if len(repeated):
        raise TableError(f"Column names come twice: {some(repeated)}; rename them.")
    size = path.stat().st_size
    if size > LARGE_FILE:
        sample = pd.read_csv(path, nrows=10_000, sep=sep)
        on_disk = len(sample.to_csv(index=False).encode())
        need = 2.5 * size * sample.memory_usage(deep=True).sum() / on_disk
        free = free_memory()
        if need > free:
            raise TableError(
                f"{str(path)!r} takes about {need / 2**30:.1f} GB of memory, and "
                f"{free / 2**30:.1f} GB are free; take a sample of the rows, or save "
                "it as .parquet with narrower types."
            )
    with warnings.catch_warnings():
        # Cells beyond the header, which pandas would leave out or take as an index.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame = pd.read_csv(
                path,
                sep=sep,
                index_col=False,
                low_memory=False,  # A column has one kind, in a large file too.
                dtype={name: str for name in labels if name in names},
                keep_default_na=False,
                na_values={
                    name: [""] if name in labels else ["", *MISSING_WORDS]
                    for name in names
                },
            )
        except pd.errors.ParserWarning as error:
            raise TableError(
                f"{str(path)!r} has lines with more cells than its header has names; "
                "give every column a name."
            ) from error
    for name in set(labels) & set(frame.columns):
        frame[name] = _labels(frame[name])
    return frame, sep


def _labels(column: pd.Series) -> pd.Series:
    """Labels as they are written, whole numbers as numbers; blank ones are missing."""
    written = column.where(column.str.strip() != "")
    if written.str.strip().nunique() < written.nunique():
        # A space before or after a word makes no other label of it.
        written = written.str.strip()
    present = written.dropna()
    numbers = pd.to_numeric(present, errors="coerce")
    if present.empty or numbers.isna().any():
        return written
    whole = bool(present.str.fullmatch(r"0|-?[1-9]\d{0,17}").all())
    if whole:
        return written.astype("Int64")
    if present.nunique() > numbers.nunique():  # One number is written in several ways.
        return pd.to_numeric(written)
    return written


def _read_parquet(path: Path, labels: Collection[str]) -> pd.DataFrame:
    """All columns, and of the index those that are asked for."""
    frame = pd.read_parquet(path)
    asked = [name for name in frame.index.names if name in labels]
    return frame.reset_index(level=asked) if asked else frame


def _read_npz(path: Path) -> pd.DataFrame:
    if not is_zipfile(path):
        raise TableError(f"{str(path)!r} cannot be read: it is not an .npz file.")
    with np.load(path, allow_pickle=False) as data:
        if "X" not in data or "y" not in data:
            raise TableError(
                f"{str(path)!r} must hold X and y; it holds {some(data.files)}."
            )
        X, y = data["X"], data["y"]
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise TableError(
            f"{str(path)!r} must hold X of shape (n, d) and y of shape (n,), got "
            f"{X.shape} and {y.shape}."
        )
    columns = [f"x{i}" for i in range(X.shape[1])]
    return pd.DataFrame(X, columns=columns).assign(y=y)
