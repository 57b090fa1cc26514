"""Reading CSV, Parquet and NPZ files."""

from __future__ import annotations

import os
import warnings
from collections.abc import Collection
from pathlib import Path
from zipfile import is_zipfile

import numpy as np
import pandas as pd

from sk_anyloss.compare.errors import TableError, TableWarning, quote_some
from sk_anyloss.compare.tables.columns import convert_columns

__all__ = ["MISSING_WORDS", "free_memory", "one_line", "read_file", "read_frame"]

#: Bytes of a CSV file above which the memory that it needs is estimated first.
LARGE_FILE = 2**26
#: Strings that pandas documents as missing values. They are missing in a feature; in
#: a column of labels they are labels.
MISSING_WORDS = (
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND",
    "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip


def read_frame(path: Path) -> pd.DataFrame:
    r"""All columns of a file, converted to types that a model can use.

    Parameters
    ----------
    path : Path
        A ``.csv`` (delimited by commas, semicolons, tabs or bars), ``.parquet`` or
        ``.npz`` file.

    Returns
    -------
    frame : DataFrame
        Its columns; of ``.npz`` files ``x0``, ``x1``, ... and ``y``. A warning says
        where decimal commas and infinite values were converted.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sk_anyloss.compare.tables.files import read_frame
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("a;b\n1;x\n")
    ...     read_frame(path).to_dict("records")
    [{'a': 1, 'b': 'x'}]
    """
    frame, separator = read_file(path)
    frame, notes = convert_columns(frame, separator)
    for note in notes:
        warnings.warn(note, TableWarning, stacklevel=2)
    return frame


def read_file(
    path: Path, labels: Collection[str] = ()
) -> tuple[pd.DataFrame, str | None]:
    r"""All columns of a file as they are, and the delimiter of a CSV file.

    Parameters
    ----------
    path : Path
        A ``.csv``, ``.parquet`` or ``.npz`` file.
    labels : collection of str, default=()
        Columns of a CSV file in which only an empty cell is missing, and strings such
        as "None" and "NA" are values.

    Returns
    -------
    frame : DataFrame
        Its columns.
    separator : str or None
        Delimiter of a CSV file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sk_anyloss.compare.tables.files import read_file
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("a;y\n1;NA\n")
    ...     frame, separator = read_file(path, labels=["y"])
    >>> frame.to_dict("records"), separator
    ([{'a': 1, 'y': 'NA'}], ';')
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
            "UTF-8, or give it the suffix of its format."
        ) from error
    except Exception as error:
        raise TableError(f"{text!r} cannot be read: {one_line(error)}") from error


def one_line(error: Exception) -> str:
    r"""The message of an error in one line, or the name of its class.

    Examples
    --------
    >>> from sk_anyloss.compare.tables.files import one_line
    >>> one_line(ValueError("not\na number")), one_line(ValueError())
    ('not a number', 'ValueError')
    """
    return " ".join(str(error).split()) or type(error).__name__


def free_memory() -> float:
    """Free memory in bytes; infinite where the system does not report it.

    Examples
    --------
    >>> from sk_anyloss.compare.tables.files import free_memory
    >>> free_memory() > 0
    True
    """
    if not hasattr(os, "sysconf"):
        return np.inf
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _read_csv(path: Path, labels: Collection[str]) -> tuple[pd.DataFrame, str]:
    """A CSV file, if it fits into the memory."""
    with path.open(encoding="utf-8", errors="replace") as file:
        header = file.readline()
    sep = max(",;\t|", key=header.count)  # The first one of a tie.
    first = pd.read_csv(path, header=None, nrows=1, dtype=str, sep=sep)
    names = pd.Index(first.iloc[0].dropna())
    # pandas would rename duplicates.
    duplicates = names[names.duplicated()].unique()
    if len(duplicates):
        raise TableError(
            f"Column names come twice: {quote_some(duplicates)}; rename them."
        )
    if path.stat().st_size > LARGE_FILE:
        _check_memory(path, sep)
    with warnings.catch_warnings():
        # Cells beyond the header, which pandas would drop or use as an index.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame = pd.read_csv(
                path,
                sep=sep,
                index_col=False,
                low_memory=False,  # A column has one dtype, in a large file too.
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
        frame[name] = _parse_labels(frame[name])
    return frame, sep


def _check_memory(path: Path, sep: str) -> None:
    """Refuse a CSV file that would not fit into the free memory."""
    size = path.stat().st_size
    sample = pd.read_csv(path, nrows=10_000, sep=sep)
    on_disk = len(sample.to_csv(index=False).encode())
    # The factor is a margin for the copies that pandas makes while it parses.
    need = 2.5 * size * sample.memory_usage(deep=True).sum() / on_disk
    free = free_memory()
    if need > free:
        raise TableError(
            f"{str(path)!r} takes about {need / 2**30:.1f} GB of memory, and "
            f"{free / 2**30:.1f} GB are free; use a subsample, or save it as .parquet "
            "with narrower types."
        )


def _parse_labels(column: pd.Series) -> pd.Series:
    """Labels as they are written, whole numbers as numbers; blank ones are missing."""
    written = column.where(column.str.strip() != "")
    if written.str.strip().nunique() < written.nunique():
        # Leading and trailing spaces do not make another label.
        written = written.str.strip()
    present = written.dropna()
    numbers = pd.to_numeric(present, errors="coerce")
    if present.empty or numbers.isna().any():
        return written
    whole = bool(present.str.fullmatch(r"0|-?[1-9]\d{0,17}").all())
    if whole:
        return written.astype("Int64")
    if present.nunique() > numbers.nunique():  # One number in several spellings.
        return pd.to_numeric(written)
    return written


def _read_parquet(path: Path, labels: Collection[str]) -> pd.DataFrame:
    """All columns, and the levels of the index that are labels."""
    frame = pd.read_parquet(path)
    levels = [name for name in frame.index.names if name in labels]
    return frame.reset_index(level=levels) if levels else frame


def _read_npz(path: Path) -> pd.DataFrame:
    if not is_zipfile(path):
        raise TableError(f"{str(path)!r} cannot be read: it is not an .npz file.")
    with np.load(path, allow_pickle=False) as data:
        if "X" not in data or "y" not in data:
            raise TableError(
                f"{str(path)!r} must hold X and y; it holds {quote_some(data.files)}."
            )
        X, y = data["X"], data["y"]
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise TableError(
            f"{str(path)!r} must hold X of shape (n, d) and y of shape (n,), got "
            f"{X.shape} and {y.shape}."
        )
    columns = [f"x{i}" for i in range(X.shape[1])]
    return pd.DataFrame(X, columns=columns).assign(y=y)
