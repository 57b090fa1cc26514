"""Which columns are features: not those that are dropped, empty or constant."""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence

import pandas as pd

from sk_anyloss.compare.errors import (
    TableError,
    TableWarning,
    as_argument,
    missing_column,
    quote_some,
)

__all__ = [
    "ID_NAME",
    "MIN_DISTINCT_IN_ID",
    "check_kept",
    "columns_to_drop",
    "describe_ids",
    "drop_columns",
    "holds_tokens",
    "informative_columns",
    "leave_out_ids",
    "looks_distinct",
    "looks_like_dates",
]

#: Fraction of distinct values from which text or whole numbers look like an ID.
MIN_DISTINCT_IN_ID = 0.99
#: Names of IDs: "id", "row_id", "customerID", "uuid", "Unnamed: 0" of a stored index.
ID_NAME = re.compile(
    r"(^|[_\W])(id|ids|uuid|guid|index|rownum)$|[a-z]I[Dd]$|^ID|^Unnamed: 0$", re.ASCII
)
#: Mean number of words from which text is not an ID.
MIN_WORDS = 1.5


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


def check_kept(
    keep: Sequence[str] | str, drop: Sequence[str] | str, columns: pd.Index
) -> None:
    """Refuse columns to keep that do not exist, or that are to be dropped.

    Parameters
    ----------
    keep, drop : sequence of str
        As in :func:`columns_to_drop`.
    columns : Index
        The columns of the table.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables.selection import check_kept
    >>> check_kept("row", "row", pd.Index(["row", "a"]))
    Traceback (most recent call last):
    ...
    sk_anyloss.compare.errors.TableError: --keep and --drop both name 'row'; ...
    """
    dropped = columns_to_drop(drop, columns)
    for name in columns_to_drop(keep, columns):
        if name not in columns:
            raise missing_column(name, columns, "to keep")
        if name in dropped:
            raise TableError(
                f"--keep and --drop both name {name!r}; name it in one of them."
            )


def informative_columns(frame: pd.DataFrame, notes: list[str]) -> pd.DataFrame:
    """Drop empty and constant columns.

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
        raise TableError(
            "There is no column left to predict from: all others were dropped, are "
            "empty or have one value only."
        )
    return frame


def leave_out_ids(
    frame: pd.DataFrame, keep: Sequence[str] | str = ()
) -> tuple[pd.DataFrame, list[str]]:
    """Leave out the columns that look like IDs, and warn of it.

    Parameters
    ----------
    frame : DataFrame
        The features.
    keep : sequence of str, default=()
        Columns that stay whatever they look like, as in :func:`columns_to_drop`.

    Returns
    -------
    frame : DataFrame
        The other columns; all of them if no other would be left.
    names : list of str
        The columns that were left out.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables.selection import leave_out_ids
    >>> frame = pd.DataFrame({"row": range(1, 31), "a": [1.5, 2.5] * 15})
    >>> list(leave_out_ids(frame, keep="row")[0])
    ['row', 'a']
    """
    kept = columns_to_drop(keep, frame.columns)
    ids = [str(n) for n in frame.columns if n not in kept and _is_id(frame[n])]
    if not ids or len(ids) == frame.shape[1]:
        return frame, []
    warnings.warn(describe_ids(ids), TableWarning, stacklevel=4)
    return frame.drop(columns=ids), ids


def describe_ids(names: Sequence[str]) -> str:
    """The sentence on columns that were left out as IDs.

    Parameters
    ----------
    names : sequence of str
        The columns.

    Returns
    -------
    sentence : str
        With the option that brings them back.

    Examples
    --------
    >>> from sk_anyloss.compare.tables.selection import describe_ids
    >>> describe_ids(["row"]).split(",")[0]
    "'row' looks like an ID and was left out"
    """
    one = len(names) == 1
    looks = "looks like an ID and was" if one else "look like IDs and were"
    return (
        f"{quote_some(names)} {looks} left out, since nothing that a model learns from "
        f"an ID generalises to new samples; --keep {as_argument(names)} "
        f"(keep={list(names[:8])}) brings {'it' if one else 'them'} back."
    )


def _is_id(column: pd.Series) -> bool:
    """Whether distinct values are also named or numbered like those of an ID."""
    if not looks_distinct(column):
        return False
    if ID_NAME.search(str(column.name)):
        return True
    values = column.dropna()
    if pd.api.types.is_numeric_dtype(values):
        # Numbers that are all distinct in so small a range have been counted off.
        return bool(values.max() - values.min() < 2 * len(values))
    return holds_tokens(values)


def holds_tokens(values: pd.Series) -> bool:
    """Whether values are whole numbers or words, unlike fractions, dates and free text.

    Parameters
    ----------
    values : Series
        Values, none of them missing.

    Returns
    -------
    are_tokens : bool
        False for fewer than 20 values.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables.selection import holds_tokens
    >>> holds_tokens(pd.Series(["a7"] * 30)), holds_tokens(pd.Series(["a 7 b"] * 30))
    (True, False)
    """
    if len(values) < 20 or looks_like_dates(values):
        return False
    if pd.api.types.is_numeric_dtype(values):
        return bool((values % 1 == 0).all())
    # Names and free text have several words.
    return float(values.astype(str).str.split().str.len().mean()) < MIN_WORDS


def looks_distinct(column: pd.Series) -> bool:
    """Whether text or whole numbers differ in almost every sample, as those of IDs do.

    Parameters
    ----------
    column : Series
        A feature.

    Returns
    -------
    is_distinct : bool
        False for fractions, dates, and fewer than 20 values.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables.selection import looks_distinct
    >>> looks_distinct(pd.Series(range(30))), looks_distinct(pd.Series([1, 2] * 15))
    (True, False)
    """
    values = column.dropna()
    fractional = pd.api.types.is_float_dtype(values) and (values % 1 != 0).any()
    if fractional or len(values) < 20 or looks_like_dates(values):
        return False
    return bool(values.nunique() >= MIN_DISTINCT_IN_ID * len(values))


def looks_like_dates(values: pd.Series) -> bool:
    """Whether values are dates, or text that can be read as such.

    Parameters
    ----------
    values : Series
        Values, none of them missing.

    Returns
    -------
    are_dates : bool
        From the first 20 values; False for numbers and for no values.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables.selection import looks_like_dates
    >>> looks_like_dates(pd.Series(["2024-02-01", "2024-03-01"]))
    True
    """
    if pd.api.types.is_numeric_dtype(values) or values.empty:
        return False
    if isinstance(values.iloc[0], pd.Period):
        return True
    first = pd.to_datetime(values.head(20), errors="coerce", format="mixed", utc=True)
    return bool(first.notna().all())
