"""Distinct names of data sets, and names of the files with their results."""

from __future__ import annotations

import hashlib
import json
import re
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

__all__ = ["distinct_names", "file_name", "folder_name"]

#: Characters of each part in a file name; a digest distinguishes longer parts.
MAX_LENGTH = 40


def file_name(*parts: str | int) -> str:
    """A portable file name, distinct for distinct parts.

    Characters that some file systems do not support are replaced and long parts are
    truncated; a digest of the original parts keeps the names distinct, also where a
    file system ignores case.

    Parameters
    ----------
    *parts : str or int
        The name of a data set, and whatever else identifies the file.

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
    plain = (re.sub(r"[^A-Za-z0-9_-]+", "_", str(part))[:MAX_LENGTH] for part in parts)
    # JSON escapes invalid Unicode, which the names of some files are.
    digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]
    return f"{'.'.join(plain)}-{digest}"


def folder_name(names: Sequence[str]) -> str:
    """A portable name of a folder for the results on some data sets.

    Parameters
    ----------
    names : sequence of str
        Names of the data sets.

    Returns
    -------
    name : str
        The names themselves where they are short and of ASCII letters, digits, ``_``
        and ``-``; else with other characters replaced, and a digest.

    Examples
    --------
    >>> from sk_anyloss.compare.run.names import folder_name
    >>> folder_name(["churn"]), folder_name(["a", "b"])
    ('churn', 'a+b')
    >>> folder_name(["breast cancer, 10:1"])
    'breast_cancer_10_1'
    """
    plain = "+".join(re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_") for name in names)
    is_ascii = all(name.isascii() for name in names)
    if is_ascii and len(plain) <= MAX_LENGTH and plain.strip("+_-"):
        return plain
    return file_name("+".join(names))


def distinct_names(names: Sequence[str], sources: Sequence[str]) -> list[str]:
    """Distinguish data sets of the same name by their sources.

    Parameters
    ----------
    names : sequence of str
        Names of the data sets.
    sources : sequence of str
        Files, or ``'openml:<name or id>'``.

    Returns
    -------
    names : list of str
        Unique names unchanged; the others with as much of their path as needed.

    Examples
    --------
    >>> from sk_anyloss.compare.run.names import distinct_names
    >>> distinct_names(["data", "data"], ["d1/data.csv", "d2/data.csv"])
    ['d1/data', 'd2/data']
    """
    result, positions = list(names), defaultdict(list)
    for i, name in enumerate(names):
        positions[name].append(i)
    for name, equal in positions.items():
        if len(equal) == 1:
            continue
        paths = [Path(sources[i]).absolute() for i in equal]
        openml = any(sources[i].startswith("openml:") for i in equal)
        choices = [] if openml else _path_suffixes([path.parts for path in paths])
        choices.append([sources[i] for i in equal])
        taken = {other for other in result if other != name}
        for choice in choices:
            if len(set(choice)) == len(equal) and not taken & set(choice):
                for i, longer in zip(equal, choice, strict=True):
                    result[i] = longer
                break
        else:
            raise ValueError(
                f"The data set {name!r} is given more than once; name each one once."
            )
    return result


def _path_suffixes(paths: Sequence[tuple[str, ...]]) -> list[list[str]]:
    """The last parts of the paths, more and more, without and with the extension."""
    found = []
    for n in range(1, max(map(len, paths))):
        full = ["/".join(parts[-n:]) for parts in paths]
        found += [[str(Path(text).with_suffix("")) for text in full]]
        found += [full]
    return found
