"""One wording for every name that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


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
