"""Which columns to learn from: not the dropped, empty and constant ones."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import pandas as pd

from sk_anyloss.compare.errors import TableError, TableWarning, no_column, some

__all__ = ["columns_to_drop", "drop_columns", "useful_columns"]

#: Share of distinct values from which a column of words or whole numbers is an ID.
LIKE_AN_ID = 0.99


def columns_to_drop(drop: Sequence[str] | str, columns: pd.Index) -> list[str]:
    """Columns to drop; text that is no column can name several, with commas."""
    words = [drop] if isinstance(drop, str) else list(drop)
    names: list[str] = []
    for word in words:
        parts = [word] if word in columns else str(word).split(",")
        names += [part if part in columns else part.strip() for part in parts]
    return list(dict.fromkeys(name for name in names if name))


def drop_columns(
    frame: pd.DataFrame, drop: Sequence[str] | str, notes: list[str]
) -> pd.DataFrame:
    """Leave out the columns that are asked for, if all of them are there."""
    names = columns_to_drop(drop, frame.columns)
    for name in names:
        if name not in frame.columns:
            raise no_column(name, frame.columns, "to drop")
    if names:
        notes.append(f"Dropped, as asked for: {some(names)}.")
    return frame.drop(columns=names)


def useful_columns(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Leave out columns without information, and tell of those that look like IDs."""
    empty = [name for name in frame.columns if frame[name].isna().all()]
    constant = [
        name
        for name in frame.columns
        if name not in empty and frame[name].nunique(dropna=False) == 1
    ]
    for names, why in ((empty, "no value at all"), (constant, "one value only")):
        if names:
            has = "it has" if len(names) == 1 else "they have"
            notes.append(f"Left out, since {has} {why}: {some(names)}.")
    frame = frame.drop(columns=empty + constant)
    if frame.shape[1] == 0:
        raise TableError("There is no column left to predict from.")
    ids = [name for name in frame.columns if _is_like_an_id(frame[name])]
    if ids:
        many = len(ids) > 1
        note = (
            f"The column{'s' * many} {some(ids)} {'have' if many else 'has'} another "
            "value in almost every sample, as an ID has; a model can learn nothing "
            f"from an ID that holds for new samples: leave {'them' if many else 'it'} "
            f"out with --drop {','.join(ids[:8])} if {'they are' if many else 'it is'} "
            "one."
        )
        notes.append(note)
        warnings.warn(note, TableWarning, stacklevel=4)
    return frame


def _is_like_an_id(column: pd.Series) -> bool:
    values = column.dropna()
    real = pd.api.types.is_float_dtype(values) and (values % 1 != 0).any()
    if real or len(values) < 20 or _are_dates(values):
        return False
    return bool(values.nunique() >= LIKE_AN_ID * len(values))


def _are_dates(values: pd.Series) -> bool:
    if pd.api.types.is_numeric_dtype(values):
        return False
    first = pd.to_datetime(values.head(20), errors="coerce", format="mixed", utc=True)
    return bool(first.notna().all())
