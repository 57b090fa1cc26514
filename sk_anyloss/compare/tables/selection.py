"""Which columns are features: not those that are dropped, empty or constant."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import pandas as pd

from sk_anyloss.compare.errors import (
    TableError,
    TableWarning,
    missing_column,
    quote_some,
)

__all__ = ["columns_to_drop", "drop_columns", "informative_columns"]

#: Fraction of distinct values from which text or whole numbers look like an ID.
MIN_DISTINCT_IN_ID = 0.99


def columns_to_drop(drop: Sequence[str] | str, columns: pd.Index) -> list[str]:
    """Names of the columns to drop.

    Parameters
    ----------
    drop : sequence of str
        Columns; a string that is not a column may name several, with commas.
    columns : Index
        The columns of the table.

    Returns
    -------
    names : list of str
        Distinct names, which need not be columns of the table.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables.selection import columns_to_drop
    >>> columns_to_drop(["a, b", "c"], pd.Index(["a", "b", "c"]))
    ['a', 'b', 'c']
    """
    given = [drop] if isinstance(drop, str) else list(drop)
    names: list[str] = []
    for text in given:
        parts = [text] if text in columns else str(text).split(",")
        names += [part if part in columns else part.strip() for part in parts]
    return list(dict.fromkeys(name for name in names if name))


def drop_columns(
    frame: pd.DataFrame, drop: Sequence[str] | str, notes: list[str]
) -> pd.DataFrame:
    """Drop the columns that the user asked to drop, all of which must exist.

    Parameters
    ----------
    frame, notes
        As in :func:`informative_columns`.
    drop : sequence of str
        As in :func:`columns_to_drop`.

    Returns
    -------
    frame : DataFrame
        All columns but these.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables.selection import drop_columns
    >>> list(drop_columns(pd.DataFrame({"id": [1, 2], "a": [3, 4]}), "id", []))
    ['a']
    """
    names = columns_to_drop(drop, frame.columns)
    for name in names:
        if name not in frame.columns:
            raise missing_column(name, frame.columns, "to drop")
    if names:
        notes.append(f"Dropped, as asked for: {quote_some(names)}.")
    return frame.drop(columns=names)


def informative_columns(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Drop empty and constant columns, and warn of those that look like IDs.

    Parameters
    ----------
    frame : DataFrame
        The features.
    notes : list of str
        Notes on the table; new ones are appended.

    Returns
    -------
    frame : DataFrame
        The columns that can tell samples apart.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables.selection import informative_columns
    >>> list(informative_columns(pd.DataFrame({"a": [1, 2], "b": [5, 5]}), []))
    ['a']
    """
    empty = [name for name in frame.columns if frame[name].isna().all()]
    constant = [
        name
        for name in frame.columns
        if name not in empty and frame[name].nunique(dropna=False) == 1
    ]
    for names, why in ((empty, "no value at all"), (constant, "one value only")):
        if names:
            has = "it has" if len(names) == 1 else "they have"
            notes.append(f"Dropped, since {has} {why}: {quote_some(names)}.")
    frame = frame.drop(columns=empty + constant)
    if frame.shape[1] == 0:
        raise TableError("There is no column left to predict from.")
    ids = [name for name in frame.columns if _looks_like_id(frame[name])]
    if ids:
        many = len(ids) > 1
        note = (
            f"The column{'s' * many} {quote_some(ids)} {'have' if many else 'has'} a "
            "distinct value in almost every sample, as an ID has; nothing that a model "
            "learns from an ID generalises to new samples: leave "
            f"{'them' if many else 'it'} out with --drop {','.join(ids[:8])} if "
            f"{'they are IDs' if many else 'it is one'}."
        )
        notes.append(note)
        warnings.warn(note, TableWarning, stacklevel=4)
    return frame


def _looks_like_id(column: pd.Series) -> bool:
    values = column.dropna()
    fractional = pd.api.types.is_float_dtype(values) and (values % 1 != 0).any()
    if fractional or len(values) < 20 or _are_dates(values):
        return False
    return bool(values.nunique() >= MIN_DISTINCT_IN_ID * len(values))


def _are_dates(values: pd.Series) -> bool:
    if pd.api.types.is_numeric_dtype(values):
        return False
    first = pd.to_datetime(values.head(20), errors="coerce", format="mixed", utc=True)
    return bool(first.notna().all())
