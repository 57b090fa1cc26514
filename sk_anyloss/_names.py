"""Lookup of names without regard to case, and messages for unknown names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import TypeVar

Value = TypeVar("Value")


def spelled(name: Value, known: Iterable[str]) -> Value | str:
    """The registered spelling of a name, found without regard to case.

    Parameters
    ----------
    name : str or object
        A name; other objects are returned unchanged.
    known : iterable of str
        The registered names.

    Returns
    -------
    name : str or object
        The registered name, or ``name`` itself if there is none.

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
    matches = (other for other in known if other.casefold() == name.casefold())
    return next(matches, name)


def unknown(kind: str, name: object, known: Iterable[str], otherwise: str) -> str:
    """Message for an unknown name, with the most similar one and all known names.

    Parameters
    ----------
    kind : str
        What the name should be, such as ``'metric'``.
    name : object
        The unknown name.
    known : iterable of str
        The registered names.
    otherwise : str
        Another possibility, as the end of the sentence.

    Returns
    -------
    message : str
        For an exception.

    Examples
    --------
    >>> from sk_anyloss._names import unknown
    >>> unknown("step", "cosin", ["cosine", "linear"], "or a function.")
    "Unknown step 'cosin'. Did you mean 'cosine'? Known: cosine, linear; or a function."
    """
    known = sorted(known)
    text = name.lower() if isinstance(name, str) else ""
    similar = difflib.get_close_matches(text, known, n=1)
    hint = f" Did you mean {similar[0]!r}?" if similar else ""
    return f"Unknown {kind} {name!r}.{hint} Known: {', '.join(known)}; {otherwise}"
