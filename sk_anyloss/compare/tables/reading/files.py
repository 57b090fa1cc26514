"""Reading a file, by the suffix of its name."""

from __future__ import annotations

import warnings
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from sk_anyloss.compare.errors import TableError, TableWarning
from sk_anyloss.compare.tables.columns import convert_columns
from sk_anyloss.compare.tables.reading.delimited import read_delimited
from sk_anyloss.compare.tables.reading.encoding import find_encoding
from sk_anyloss.compare.tables.reading.formats import (
    read_excel,
    read_feather,
    read_json,
    read_npz,
    read_parquet,
)

__all__ = ["SUFFIXES", "Content", "one_line", "read_file", "read_frame"]

#: Suffixes of delimited text and its delimiter; None if it is found in the header.
DELIMITED: dict[str, str | None] = {
    ".csv": None,
    ".txt": None,
    ".tsv": "\t",
    ".tab": "\t",
}
#: Suffixes of the formats that can be read.
JSON, EXCEL = (".jsonl", ".ndjson", ".json"), (".xlsx", ".xlsm")
SUFFIXES = (*DELIMITED, *EXCEL, *JSON, ".parquet", ".feather", ".npz")


@dataclass
class Content:
    """What a file holds.

    Parameters
    ----------
    frame : DataFrame
        Its columns as they are.
    separator : str or None
        Delimiter of a file of delimited text.
    notes : list of str
        What was guessed.
    """

    frame: pd.DataFrame
    separator: str | None = None
    notes: list[str] = field(default_factory=list)


def read_frame(path: Path, encoding: str | None = None) -> pd.DataFrame:
    r"""All columns of a file, converted to types that a model can use.

    Parameters
    ----------
    path : Path
        A file as for :func:`read_file`.
    encoding : str, default=None
        Encoding of a text file; guessed by default.

    Returns
    -------
    frame : DataFrame
        Its columns; of ``.npz`` files ``x0``, ``x1``, ... and ``y``. A warning says
        where decimal commas and infinite values were converted.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sk_anyloss.compare.tables.reading.files import read_frame
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("a;b\n1;x\n")
    ...     read_frame(path).to_dict("records")
    [{'a': 1, 'b': 'x'}]
    """
    content = read_file(path, encoding=encoding)
    frame, notes = convert_columns(content.frame, content.separator)
    for note in (*content.notes, *notes):
        warnings.warn(note, TableWarning, stacklevel=2)
    return frame


def read_file(
    path: Path, labels: Collection[str] = (), encoding: str | None = None
) -> Content:
    r"""All columns of a file as they are.

    Parameters
    ----------
    path : Path
        A file of delimited text (``.csv``, ``.tsv``, ``.tab``, ``.txt``; by commas,
        semicolons, tabs or bars), ``.xlsx``, ``.jsonl``, ``.ndjson``, ``.json``,
        ``.parquet``, ``.feather`` or ``.npz``.
    labels : collection of str, default=()
        Columns of a text or Excel file in which only an empty cell is missing, and
        strings such as "None" and "NA" are values.
    encoding : str, default=None
        Encoding of a text file; guessed by default.

    Returns
    -------
    content : Content
        Its columns, its delimiter, and what was guessed.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sk_anyloss.compare.tables.reading.files import read_file
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("a;y\n1;NA\n")
    ...     content = read_file(path, labels=["y"])
    >>> content.frame.to_dict("records"), content.separator
    ([{'a': 1, 'y': 'NA'}], ';')
    """
    text, kind = str(path), path.suffix.lower()
    if path.is_dir():
        raise TableError(f"There is no file {text!r}: it is a directory.")
    if path.exists() and not path.is_file():
        raise TableError(
            f"{text!r} is not a regular file, but a pipe or a device; store the table "
            "in a file."
        )
    if not path.is_file():
        raise TableError(f"There is no file {text!r}.")
    if kind == ".xls":
        raise TableError(
            f"{text!r} is in an old format of Excel; save it as .xlsx or .csv."
        )
    if kind not in SUFFIXES:
        raise TableError(
            f"{text!r} ends in {path.suffix!r}; {', '.join(SUFFIXES[:-1])} and "
            f"{SUFFIXES[-1]} can be read, and 'openml:<name or id>'."
        )
    try:
        return _read(path, kind, labels, encoding)
    except TableError:
        raise
    except Exception as error:
        raise TableError(f"{text!r} cannot be read: {one_line(error)}") from error


def _read(
    path: Path, kind: str, labels: Collection[str], encoding: str | None
) -> Content:
    if kind in DELIMITED or kind in JSON:
        encoding, note = find_encoding(path, encoding)
        notes = [note] if note else []
        if kind in JSON:
            return Content(read_json(path, encoding), None, notes)
        found = read_delimited(path, labels, encoding, DELIMITED[kind])
        return Content(*found, notes)
    if kind in EXCEL:
        frame, notes = read_excel(path, labels)
        return Content(frame, None, notes)
    if kind == ".parquet":
        return Content(read_parquet(path, labels))
    return Content(read_feather(path, labels) if kind == ".feather" else read_npz(path))


def one_line(error: Exception) -> str:
    r"""The message of an error in one line, or the name of its class.

    Examples
    --------
    >>> from sk_anyloss.compare.tables.reading.files import one_line
    >>> one_line(ValueError("not\na number")), one_line(ValueError())
    ('not a number', 'ValueError')
    """
    return " ".join(str(error).split()) or type(error).__name__
