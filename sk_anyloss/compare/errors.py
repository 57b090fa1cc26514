"""What is said of input and output that cannot be used, in one sentence each."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["OutputError", "TableError", "TableWarning", "no_column", "some"]

#: Characters of a value that a message quotes.
QUOTED = 60


class TableError(ValueError):
    """A table that cannot be compared on; the message is one sentence."""


class OutputError(ValueError):
    """A file that cannot be written; the message is one sentence."""


class TableWarning(UserWarning):
    """Something noticed in a table; it stands in the notes of the table too."""


def some(values: Iterable[object], most: int = 8) -> str:
    """The first values, quoted and shortened, and how many more there are.

    Examples
    --------
    >>> from sk_anyloss.compare.errors import some
    >>> some(["a", 2, 3.5], most=2)
    "'a', 2 and 1 more"
    """
    found = [_quoted(getattr(value, "item", lambda v=value: v)()) for value in values]
    more = f" and {len(found) - most} more" if len(found) > most else ""
    return ", ".join(found[:most]) + more


def _quoted(value: object) -> str:
    text = repr(value)
    return text if len(text) <= QUOTED else f"{text[: QUOTED - 3]}..."


def no_column(name: object, columns: Iterable[object], where: str) -> TableError:
    """The error for a column that is not there, with the nearest one that is.

    Examples
    --------
    >>> from sk_anyloss.compare.errors import no_column
    >>> print(no_column("agee", ["Age", "y"], "to drop"))
    There is no column 'agee' to drop (did you mean 'Age'?); there are 'Age', 'y'.
    """
    columns = list(columns)
    known = {str(column).lower(): str(column) for column in columns}
    near = difflib.get_close_matches(str(name).lower(), known, n=1)
    hint = f" (did you mean {known[near[0]]!r}?)" if near else ""
    return TableError(
        f"There is no column {name!r} {where}{hint}; there are {some(columns)}."
    )
