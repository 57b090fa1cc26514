"""Columns of any kind, made such that every method can use them."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from sk_anyloss.compare.errors import TableError, some

__all__ = ["check_columns", "convert_columns"]

#: Beyond it a number is infinite in single precision, which the encoders return.
LARGEST = float(np.finfo(np.float32).max)
#: Kinds of objects, as pandas infers them, that are numbers.
NUMBERS = ("decimal", "floating", "integer", "integer-na", "mixed-integer-float")
MEANINGS = {"decimal": "decimal comma", "thousands": "separator of thousands"}
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
    """Make numbers of what means numbers, and missing values of infinite ones.

    Objects that are numbers (such as ``Decimal``) and sparse columns become plain
    numbers, bytes become text, text such as ``"29,85"`` becomes numbers where all
    cells of a column can be read so. Other columns stay as they are.

    Parameters
    ----------
    frame : DataFrame
        Columns of any kinds. It is not changed.
    separator : str, default=None
        What separated the cells of the file, if there was one: in a file with
        semicolons, a comma is a decimal comma.

    Returns
    -------
    frame : DataFrame
        The columns, in the same order.
    notes : list of str
        What was done, where it changes the meaning of cells.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables.columns import convert_columns
    >>> frame = pd.DataFrame({"price": ["29,85", "1.100,5"], "word": ["a", "b"]})
    >>> found, notes = convert_columns(frame)
    >>> found["price"].tolist(), notes
    ([29.85, 1100.5], ["The comma is read as a decimal comma in 'price'."])
    """
    new = {name: _plain(frame[name]) for name in frame.columns}
    notes = _read_commas(new, separator)
    beyond = {}
    for name, column in new.items():
        if pd.api.types.is_float_dtype(column):
            # False where missing, also in nullable columns.
            strange = (column.abs() > LARGEST).fillna(False).to_numpy(bool)
            if strange.any():
                beyond[name] = int(strange.sum())
                new[name] = column.mask(strange)
    if beyond:
        counts = ", ".join(f"{some([name])} ({n})" for name, n in beyond.items())
        notes.append(
            f"Values that are infinite or beyond {LARGEST:.1e} count as missing: "
            f"{counts}."
        )
    return pd.DataFrame(new, index=frame.index, columns=frame.columns), notes


def check_columns(frame: pd.DataFrame) -> None:
    """Refuse columns that hold neither numbers, text, categories nor dates."""
    for name in frame.columns:
        column, kind = frame[name], ""
        if pd.api.types.is_complex_dtype(column):
            kind = "complex numbers"
        elif pd.api.types.is_object_dtype(column):
            kind = _strange(column)
        if kind:
            raise TableError(
                f"The column {name!r} holds {kind}, which no method can learn from; "
                f"make numbers or text of it, or leave it out with --drop {name} "
                f"(drop=[{name!r}])."
            )


def _strange(column: pd.Series) -> str:
    """What a column of objects holds that cannot be used, or nothing."""
    for kind in column.dropna().map(type).unique():
        if issubclass(kind, (bytes, bytearray, memoryview)):
            return "bytes that are not UTF-8 text"
        if issubclass(kind, (complex, np.complexfloating)):
            return "complex numbers"
        # What cannot be hashed cannot be a category: lists, dicts, sets, arrays.
        if issubclass(kind, tuple) or kind.__hash__ is None:
            return f"values of type {kind.__name__}"
    return ""


def _plain(column: pd.Series) -> pd.Series:
    """Sparse columns made dense, and objects that are numbers or bytes converted."""
    if isinstance(column.dtype, pd.SparseDtype):
        return column.sparse.to_dense()
    if not pd.api.types.is_object_dtype(column):
        return column
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if kind in NUMBERS:
        return column.map(_float).astype(float)
    if kind == "bytes":
        try:
            return column.map(bytes.decode, na_action="ignore")
        except UnicodeDecodeError:
            return column
    return column


def _float(value: object) -> float:
    if pd.isna(value):
        return np.nan
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:  # A whole number beyond all floats.
        return np.inf


def _read_commas(columns: dict[str, pd.Series], separator: str | None) -> list[str]:
    """Read text with commas as numbers, in place, where all cells allow it."""
    found: dict[str, list[str]] = {"decimal": [], "thousands": [], "either": []}
    for name, column in columns.items():
        meaning = _meaning_of_commas(column)
        if meaning:
            found[meaning].append(name)
    for name in found["either"]:
        found[_likely(columns[name], found, separator)].append(name)
    notes = []
    for meaning, what in MEANINGS.items():
        for name in found[meaning]:
            columns[name] = _without_commas(columns[name], meaning)
        if found[meaning]:
            names = [name for name in columns if name in found[meaning]]
            notes.append(f"The comma is read as a {what} in {some(names)}.")
    return notes


def _meaning_of_commas(column: pd.Series) -> str:
    """``'decimal'``, ``'thousands'`` or ``'either'``; nothing if it is just text."""
    if not (
        pd.api.types.is_string_dtype(column) or pd.api.types.is_object_dtype(column)
    ):
        return ""
    cells = column.dropna()
    # A few cells tell most columns of text apart, before all are read.
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


def _likely(
    column: pd.Series, others: dict[str, list[str]], separator: str | None
) -> str:
    """How to read a column of numbers such as 1,234, which can mean both."""
    if bool(others["decimal"]) != bool(others["thousands"]):
        return "decimal" if others["decimal"] else "thousands"
    if separator == ";":
        return "decimal"
    # With three decimals everywhere no number would come without a comma.
    all_have_it = column.dropna().str.contains(",", regex=False).all()
    return "decimal" if all_have_it and separator != "," else "thousands"


def _without_commas(column: pd.Series, meaning: str) -> pd.Series:
    text = column.str.strip()
    if meaning == "thousands":
        text = text.str.replace(",", "", regex=False)
    else:
        text = text.str.replace(r"[. \u00a0\u202f]", "", regex=True)
        text = text.str.replace(",", ".", regex=False)
    return pd.to_numeric(text).astype(float)
