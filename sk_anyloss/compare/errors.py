"""Exceptions and warnings about input and output, and how their messages quote values.

Each message is one sentence, since the command prints it as it is.
"""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Iterable

__all__ = [
    "OutputError",
    "TableError",
    "TableWarning",
    "as_argument",
    "missing_column",
    "quote_some",
    "unusable_column",
]

#: Longest quotation of a value in a message, in characters.
MAX_QUOTED = 60


class TableError(ValueError):
    """A table that cannot be used for a comparison."""


class OutputError(ValueError):
    """A file that cannot be written."""


class TableWarning(UserWarning):
    """Something to check in a table; the notes of the table have it too."""


def quote_some(values: Iterable[object], most: int = 8) -> str:
    """The first values, quoted and shortened, and how many more there are.

    Parameters
    ----------
    values : iterable of object
        Values to quote.
    most : int, default=8
        How many of them.

    Returns
    -------
    text : str
        The quoted values with commas between them.

    Examples
    --------
    >>> from sk_anyloss.compare.errors import quote_some
    >>> quote_some(["a", 2, 3.5], most=2)
    "'a', 2 and 1 more"
    """
    # numpy's scalars have another repr than Python's.
    quoted = [_quote(getattr(value, "item", lambda v=value: v)()) for value in values]
    more = f" and {len(quoted) - most} more" if len(quoted) > most else ""
    return ", ".join(quoted[:most]) + more


def _quote(value: object) -> str:
    text = repr(value)
    return text if len(text) <= MAX_QUOTED else f"{text[: MAX_QUOTED - 3]}..."


def as_argument(names: Iterable[object]) -> str:
    """Some names as the value of an option of the command, quoted for a shell.

    Examples
    --------
    >>> from sk_anyloss.compare.errors import as_argument
    >>> as_argument(["id", "row"]), as_argument(["Unnamed: 0"])
    ('id,row', "'Unnamed: 0'")
    """
    return shlex.quote(",".join(map(str, list(names)[:8])))


def missing_column(name: object, columns: Iterable[object], where: str) -> TableError:
    """The error for a column that does not exist, with the most similar one.

    Parameters
    ----------
    name : object
        The column that was asked for.
    columns : iterable of object
        The columns of the table.
    where : str
        What it was asked for, or where.

    Returns
    -------
    error : TableError
        To be raised.

    Examples
    --------
    >>> from sk_anyloss.compare.errors import missing_column
    >>> print(missing_column("agee", ["Age", "y"], "to drop"))
    There is no column 'agee' to drop (did you mean 'Age'?); there are 'Age', 'y'.
    """
    columns = list(columns)
    known = {str(column).lower(): str(column) for column in columns}
    similar = difflib.get_close_matches(str(name).lower(), known, n=1)
    hint = f" (did you mean {known[similar[0]]!r}?)" if similar else ""
    return TableError(
        f"There is no column {name!r} {where}{hint}; there are {quote_some(columns)}."
    )


def unusable_column(name: str, held: str) -> TableError:
    """The error for a column that is neither numbers, text, categories nor dates.

    Examples
    --------
    >>> from sk_anyloss.compare.errors import unusable_column
    >>> print(unusable_column("tags", "values of type list"))
    The column 'tags' holds values of type list, which no method can learn from; ...
    """
    return TableError(
        f"The column {name!r} holds {held}, which no method can learn from; convert it "
        f"to numbers or text, or leave it out with --drop {name} (drop=[{name!r}])."
    )
