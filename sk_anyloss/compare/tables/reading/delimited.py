"""Reading delimited text: CSV, and TSV."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Collection
from pathlib import Path
from typing import TypedDict

import numpy as np
import pandas as pd

from sk_anyloss.compare.errors import TableError, quote_some

__all__ = ["MISSING_WORDS", "free_memory", "parse_labels", "read_delimited"]

#: Bytes of a CSV file above which the memory that it needs is estimated first.
LARGE_FILE = 2**26
#: Strings that pandas documents as missing values. They are missing in a feature; in
#: a column of labels they are labels.
MISSING_WORDS = (
    "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND",
    "1.#QNAN", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip

#: Labels that are true or false, or numbers; a code such as 007 is none.
BOOLEAN = re.compile("true|false", re.IGNORECASE)
WHOLE = re.compile(r"[+-]?(0|[1-9]\d*)")
NUMBER = re.compile(WHOLE.pattern + r"(\.\d*)?([eE][+-]?\d+)?")


class _Text(TypedDict):
    """How the text of a file is read."""

    sep: str
    encoding: str


def free_memory() -> float:
    """Free memory in bytes; infinite where the system does not report it.

    Examples
    --------
    >>> from sk_anyloss.compare.tables.reading.delimited import free_memory
    >>> free_memory() > 0
    True
    """
    if not hasattr(os, "sysconf"):
        return np.inf
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def read_delimited(
    path: Path, labels: Collection[str], encoding: str, sep: str | None = None
) -> tuple[pd.DataFrame, str]:
    r"""A file of delimited text, if it fits into the memory.

    Parameters
    ----------
    path : Path
        The file.
    labels : collection of str
        Columns in which only an empty cell is missing.
    encoding : str
        Its encoding.
    sep : str, default=None
        The delimiter; by default the most frequent of ``,;|`` and tabs in the header.

    Returns
    -------
    frame : DataFrame
        Its columns.
    sep : str
        The delimiter.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sk_anyloss.compare.tables.reading.delimited import read_delimited
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.tsv"
    ...     _ = path.write_text("a\ty\n1\tno\n")
    ...     frame, sep = read_delimited(path, ["y"], "utf-8")
    >>> frame.to_dict("records"), sep
    ([{'a': 1, 'y': 'no'}], '\t')
    """
    with path.open(encoding=encoding, errors="replace") as file:
        header = next((line for line in file if line.strip()), "")
    if not header:
        raise TableError(f"{str(path)!r} is empty.")
    sep = sep or max(",;\t|", key=header.count)  # The first one of a tie.
    text: _Text = {"sep": sep, "encoding": encoding}
    first = pd.read_csv(path, header=None, nrows=1, dtype=str, **text)
    names = pd.Index(first.iloc[0].dropna())
    # pandas would rename duplicates.
    duplicates = names[names.duplicated()].unique()
    if len(duplicates):
        raise TableError(
            f"Column names come twice: {quote_some(duplicates)}; rename them."
        )
    if path.stat().st_size > LARGE_FILE:
        _check_memory(path, text)
    with warnings.catch_warnings():
        # Cells beyond the header, which pandas would drop or use as an index.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame = pd.read_csv(
                path,
                **text,
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
        frame[name] = parse_labels(frame[name])
    return frame, sep


def _check_memory(path: Path, text: _Text) -> None:
    """Refuse a CSV file that would not fit into the free memory."""
    size = path.stat().st_size
    sample = pd.read_csv(path, nrows=10_000, **text)
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


def parse_labels(column: pd.Series) -> pd.Series:
    """Labels as they are written; numbers, true and false where all of them are.

    Parameters
    ----------
    column : Series of str
        The labels. Blank ones are missing; codes such as 007 are text.

    Returns
    -------
    labels : Series of object
        Text, numbers or truth values.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables.reading.delimited import parse_labels
    >>> parse_labels(pd.Series(["0", "1", " "])).dropna().tolist()
    [0, 1]
    >>> parse_labels(pd.Series(["TRUE", "false"])).tolist()
    [True, False]
    """
    written = column.where(column.str.strip() != "")
    stripped = written.str.strip()
    present = stripped.dropna()
    if present.str.fullmatch(BOOLEAN).all():
        parsed = {text: text.lower() == "true" for text in present.unique()}
    elif present.str.fullmatch(NUMBER).all():
        parsed = {
            text: int(text) if WHOLE.fullmatch(text) else float(text)
            for text in present.unique()
        }
    else:
        # Leading and trailing spaces do not make another label.
        return stripped if stripped.nunique() < written.nunique() else written
    return pd.Series([parsed.get(text, np.nan) for text in stripped], dtype=object)
