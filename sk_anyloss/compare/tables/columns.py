"""Converting columns of any dtype to numbers, text, categories and dates."""

from __future__ import annotations

import re
from typing import SupportsFloat

import numpy as np
import pandas as pd

from sk_anyloss.compare.errors import quote_some, unusable_column

__all__ = ["check_columns", "convert_columns"]

#: Larger numbers are infinite in single precision, which the encoders return.
MAX_FLOAT32 = float(np.finfo(np.float32).max)
#: Types of objects, as pandas infers them, that are numbers.
NUMERIC_OBJECTS = (
    "decimal",
    "floating",
    "integer",
    "integer-na",
    "mixed-integer-float",
)
#: What a comma in a number can be.
COMMAS = {"decimal": "decimal comma", "thousands": "separator of thousands"}
#: "29,85" and "1.234,56", and whole numbers.
DECIMAL_COMMA = re.compile(
    r"[+-]?(?:\d+|\d{1,3}(?:[. \u00a0\u202f]\d{3})+)(?:,\d+)?(?:[eE][+-]?\d+)?"
)
#: "1,234" and "1,234.56", and numbers without a comma.
THOUSANDS_COMMA = re.compile(
    r"[+-]?(?:\d+|[1-9]\d{0,2}(?:,\d{3})+)(?:\.\d+)?(?:[eE][+-]?\d+)?"
)


def convert_columns(
    frame: pd.DataFrame, separator: str | None = None
) -> tuple[pd.DataFrame, list[str]]:
    """Convert columns that hold numbers in other forms, and mask infinite values.

    Objects that are numbers (such as ``Decimal``) and sparse columns become dense
    floats, bytes become text, and text such as ``"29,85"`` becomes floats where all
    cells of a column can be parsed in this way. Other columns stay as they are.
    Values that are infinite in single precision become missing values.

    Parameters
    ----------
    frame : DataFrame
        Columns of any dtypes. It is not changed.
    separator : str, default=None
        Delimiter of the CSV file, if there was one: in a file with semicolons, a
        comma is a decimal comma.

    Returns
    -------
    frame : DataFrame
        The columns, in the same order.
    notes : list of str
        Conversions that change the meaning of cells.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables.columns import convert_columns
    >>> frame = pd.DataFrame({"price": ["29,85", "1.100,5"], "word": ["a", "b"]})
    >>> converted, notes = convert_columns(frame)
    >>> converted["price"].tolist(), notes
    ([29.85, 1100.5], ["The comma is read as a decimal comma in 'price'."])
    """
    new = {name: _to_plain(frame[name]) for name in frame.columns}
    notes = _read_commas(new, separator)
    too_large = {}
    for name, column in new.items():
        if pd.api.types.is_float_dtype(column):
            # False where missing, also in nullable columns.
            infinite = (column.abs() > MAX_FLOAT32).fillna(False).to_numpy(bool)
            if infinite.any():
                too_large[name] = int(infinite.sum())
                new[name] = column.mask(infinite)
    if too_large:
        counts = ", ".join(
            f"{quote_some([name])} ({n})" for name, n in too_large.items()
        )
        notes.append(
            f"Values that are infinite or beyond {MAX_FLOAT32:.1e} count as missing: "
            f"{counts}."
        )
    return pd.DataFrame(new, index=frame.index, columns=frame.columns), notes


def check_columns(frame: pd.DataFrame) -> None:
    """Refuse columns that hold neither numbers, text, categories nor dates.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables.columns import check_columns
    >>> check_columns(pd.DataFrame({"a": [[1], [2]]}))
    Traceback (most recent call last):
    ...
    sk_anyloss.compare.errors.TableError: The column 'a' holds values of type list, ...
    """
    for name in frame.columns:
        column, kind = frame[name], ""
        if pd.api.types.is_complex_dtype(column):
            kind = "complex numbers"
        elif pd.api.types.is_object_dtype(column):
            kind = _unsupported(column)
        if kind:
            raise unusable_column(name, kind)


def _unsupported(column: pd.Series) -> str:
    """What a column of objects holds that cannot be used, or an empty string."""
    for kind in column.dropna().map(type).unique():
        if issubclass(kind, (bytes, bytearray, memoryview)):
            return "bytes that are not UTF-8 text"
        if issubclass(kind, (complex, np.complexfloating)):
            return "complex numbers"
        # Lists, dicts, sets and arrays have no hash, so they cannot be categories.
        if issubclass(kind, tuple) or kind.__hash__ is None:
            return f"values of type {kind.__name__}"
    return ""


def _to_plain(column: pd.Series) -> pd.Series:
    """Make sparse columns dense, and convert objects that are numbers or bytes."""
    if isinstance(column.dtype, pd.SparseDtype):
        return column.sparse.to_dense()
    if not pd.api.types.is_object_dtype(column):
        return column
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind in NUMERIC_OBJECTS:
        return column.map(_to_float).astype(float)
    if kind == "bytes":
        try:
            return column.map(bytes.decode, na_action="ignore")
        except UnicodeDecodeError:
            return column
    return column


def _to_float(value: SupportsFloat) -> float:
    if pd.isna(value):
        return np.nan
    try:
        return float(value)
    except OverflowError:  # A whole number larger than any float.
        return np.inf


def _read_commas(columns: dict[str, pd.Series], separator: str | None) -> list[str]:
    """Parse text with commas as numbers, in place, where all cells allow it."""
    found: dict[str, list[str]] = {"decimal": [], "thousands": [], "either": []}
    for name, column in columns.items():
        meaning = _comma_meaning(column)
        if meaning:
            found[meaning].append(name)
    for name in found["either"]:
        found[_likely_meaning(columns[name], found, separator)].append(name)
    notes = []
    for meaning, what in COMMAS.items():
        for name in found[meaning]:
            columns[name] = _parse_numbers(columns[name], meaning)
        if found[meaning]:
            names = [name for name in columns if name in found[meaning]]
            notes.append(f"The comma is read as a {what} in {quote_some(names)}.")
    return notes


def _comma_meaning(column: pd.Series) -> str:
    """``'decimal'``, ``'thousands'`` or ``'either'``; empty if it is just text."""
    if not (
        pd.api.types.is_string_dtype(column) or pd.api.types.is_object_dtype(column)
    ):
        return ""
    cells = column.dropna()
    # The first cells rule out most columns of text, before all are parsed.
    for part in (cells.head(100), cells):
        if not len(part) or not all(isinstance(cell, str) for cell in part):
            return ""
        texts = part.astype(str).str.strip()
        decimal = bool(texts.str.fullmatch(DECIMAL_COMMA).all())
        thousands = bool(texts.str.fullmatch(THOUSANDS_COMMA).all())
        if not (decimal or thousands):
            return ""
    if not texts.str.contains(",", regex=False).any():
        return ""
    if decimal and thousands:
        return "either"
    return "decimal" if decimal else "thousands"


def _likely_meaning(
    column: pd.Series, others: dict[str, list[str]], separator: str | None
) -> str:
    """How to parse a column of numbers such as 1,234, which are ambiguous."""
    if bool(others["decimal"]) != bool(others["thousands"]):
        return "decimal" if others["decimal"] else "thousands"
    if separator == ";":
        return "decimal"
    # Decimal commas with three digits after them would be in every number.
    in_all = column.dropna().str.contains(",", regex=False).all()
    return "decimal" if in_all and separator != "," else "thousands"


def _parse_numbers(column: pd.Series, meaning: str) -> pd.Series:
    """Numbers from text whose commas have the given meaning."""
    text = column.str.strip()
    if meaning == "thousands":
        text = text.str.replace(",", "", regex=False)
    else:
        text = text.str.replace(r"[. \u00a0\u202f]", "", regex=True)
        text = text.str.replace(",", ".", regex=False)
    return pd.to_numeric(text).astype(float)
