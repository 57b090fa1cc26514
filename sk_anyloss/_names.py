"""Names that users write: how they are looked up, and what is said of unknown ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TypeVar

Value = TypeVar("Value")


def spelled(name: Value, known: Iterable[str]) -> Value | str:
    """The registered spelling of a name, which is found without regard to case.

    Parameters
    ----------
    name : str or object
        What a user wrote; what is not a string is handed back.
    known : iterable of str
        The registered names.

    Returns
    -------
    name : str or object
        The registered name, or the name as it is if there is none.

    Examples
    --------
    >>> from sk_anyloss._names import spelled
    >>> spelled("Apple", ["apple", "pear"]), spelled("plum", ["apple", "pear"])
    ('apple', 'plum')
    """
    if not isinstance(name, str):
        return name
    known = list(known)
    if name in known:
        return name
    alike = (other for other in known if other.casefold() == name.casefold())
    return next(alike, name)


def unknown(kind: str, name: object, known: Iterable[str], otherwise: str) -> str:
    """Message for an unknown name: what it might have meant, and what there is.

    Examples
    --------
    >>> from sk_anyloss._names import unknown
    >>> unknown("fruit", "aple", ["apple", "pear"], "or bring your own.")
    "Unknown fruit 'aple'. Did you mean 'apple'? Known: apple, pear; or bring your own."
    """
    known = sorted(known)
    text = name.lower() if isinstance(name, str) else ""
    near = difflib.get_close_matches(text, known, n=1)
    hint = f" Did you mean {near[0]!r}?" if near else ""
    return f"Unknown {kind} {name!r}.{hint} Known: {', '.join(known)}; {otherwise}"
