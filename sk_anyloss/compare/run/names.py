"""Names of tables, and of the files that hold their results."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

__all__ = ["distinct_names", "file_name"]

#: Characters of each part that a file name keeps; the digest tells the rest apart.
KEPT = 40


def file_name(*parts: str | int) -> str:
    """Return a file name for any names, another one for each.

    Characters that not every file system takes are replaced and long names are cut;
    a digest of the names as they were keeps the files apart, also where a file system
    does not distinguish capital letters.

    Parameters
    ----------
    *parts : str or int
        The name of a table, and what else the file belongs to.

    Returns
    -------
    name : str
        ASCII letters, digits, ``_``, ``-`` and ``.``, without a suffix.

    Examples
    --------
    >>> from sk_anyloss.compare.run.names import file_name
    >>> file_name("a b", "bce", 0)
    'a_b.bce.0-8e13d9b99912'
    >>> file_name("a_b", "bce", 0)
    'a_b.bce.0-3937fa5af935'
    """
    plain = (re.sub(r"[^A-Za-z0-9_-]+", "_", str(part))[:KEPT] for part in parts)
    # JSON escapes what is no valid Unicode, as the names of some files are not.
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]
    return f"{'.'.join(plain)}-{digest}"


def distinct_names(names: Sequence[str], sources: Sequence[str]) -> list[str]:
    """Tell tables of the same name apart by where they come from.

    Parameters
    ----------
    names : sequence of str
        What the tables are called.
    sources : sequence of str
        Files, or ``'openml:<name or id>'``.

    Returns
    -------
    names : list of str
        Those that were used once as they were; others with as much of their folder
        as it takes.

    Examples
    --------
    >>> from sk_anyloss.compare.run.names import distinct_names
    >>> distinct_names(["data", "data"], ["d1/data.csv", "d2/data.csv"])
    ['d1/data', 'd2/data']
    """
    result, places = list(names), defaultdict(list)
    for place, name in enumerate(names):
        places[name].append(place)
    for name, equal in places.items():
        if len(equal) == 1:
            continue
        paths = [Path(sources[place]).absolute() for place in equal]
        openml = any(sources[place].startswith("openml:") for place in equal)
        choices = [] if openml else _choices([path.parts for path in paths])
        choices.append([sources[place] for place in equal])
        taken = {other for other in result if other != name}
        for choice in choices:
            if len(set(choice)) == len(equal) and not taken & set(choice):
                for place, longer in zip(equal, choice, strict=True):
                    result[place] = longer
                break
        else:
            raise ValueError(
                f"The data set {name!r} is given more than once; name each one once."
            )
    return result


def _choices(paths: Sequence[tuple[str, ...]]) -> list[list[str]]:
    """Longer and longer ends of the paths, each without and with the suffix."""
    found = []
    for n in range(1, max(map(len, paths))):
        with_suffix = ["/".join(parts[-n:]) for parts in paths]
        found += [[str(Path(text).with_suffix("")) for text in with_suffix]]
        found += [with_suffix]
    return found
