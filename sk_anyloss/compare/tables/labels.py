"""The target: labels as they are, missing ones, and which one is positive."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
import pandas as pd

from sk_anyloss.compare.errors import TableError, some
from sk_anyloss.compare.tables.files import MISSING_WORDS

__all__ = ["labels_of", "missing_labels", "two_classes"]

#: Share of missing labels from which they are not left out unless one says so.
MOST_MISSING = 0.01


def labels_of(y: Any) -> pd.Series:
    """The labels as objects, in their order."""
    values = np.asarray(y, dtype=object)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values.ravel()
    if values.ndim != 1:
        raise TableError(f"y must have one label a sample, got shape {values.shape}.")
    return pd.Series(values, dtype=object)


def missing_labels(labels: pd.Series, allow: bool, notes: list[str]) -> np.ndarray:
    """Which labels are missing, if they are few or it is allowed.

    Parameters
    ----------
    labels : Series
        The labels.
    allow : bool
        Whether more than one in a hundred may be missing.
    notes : list of str
        What is noticed is added to it.

    Returns
    -------
    missing : ndarray of bool
        True where there is no label.
    """
    missing = labels.isna().to_numpy(bool)
    n, share = int(missing.sum()), float(missing.mean()) if len(missing) else 0.0
    if share > MOST_MISSING and not allow:
        held = sorted({repr(value) for value in labels[missing]})
        raise TableError(
            f"{n:,} of {len(labels):,} labels ({100 * share:.1f} %) are missing: their "
            f"cells are empty or hold {' or '.join(held)}; fill them in, or leave "
            "these samples out with --allow-missing-labels (allow_missing_labels=True)."
        )
    if n:
        notes.append(f"Left out {n} rows that have no label.")
    words = [label for label in labels if isinstance(label, str)]
    found = pd.Series(words, dtype=object)
    for word, count in found[found.isin(MISSING_WORDS)].value_counts().items():
        notes.append(
            f"The target holds {word!r} {count:,} times, taken as a label; only an "
            "empty cell is a missing label."
        )
    return missing


def two_classes(
    labels: pd.Series, positive: Any, notes: list[str]
) -> tuple[np.ndarray, Any, Any]:
    """1 for the positive label and 0 for others, and what the two are called.

    Parameters
    ----------
    labels : Series
        None of them missing.
    positive : label or None
        The positive one, or text that means it; None for the rarer of two.
    notes : list of str
        What is noticed is added to it.

    Returns
    -------
    target : ndarray of int
        0 and 1.
    positive, negative : label
        What they stand for.
    """
    strange = [label for label in labels if type(label).__hash__ is None]
    if strange:
        raise TableError(
            f"The target holds values such as {some(strange[:1])}, which are no "
            "labels; it needs two classes of numbers or words."
        )
    counts = labels.value_counts()
    if len(counts) < 2:
        found = repr(counts.index[0]) if len(counts) else "no label at all"
        if not len(labels):
            raise TableError(
                "There are no samples with a label; two classes are needed."
            )
        raise TableError(f"The target has one class only, {found}; it needs two.")
    if positive is not None:
        positive = _find(positive, list(counts.index))
    if positive is None and len(counts) > 2:
        numbers = pd.to_numeric(labels, errors="coerce")
        if len(counts) > 20 and numbers.notna().all() and (numbers % 1 != 0).any():
            raise TableError(
                f"The target is continuous: {len(counts)} different numbers from "
                f"{numbers.min():g} to {numbers.max():g}; make two classes of it first."
            )
        raise TableError(
            f"The target has {len(counts)} classes, {some(counts.index)}; name the "
            "one to find with --positive, and the others count as negative."
        )
    if positive is None:
        positive = counts.index[-1]  # In the order of their number.
        notes.append(f"The rarer label, {positive!r}, is taken as the positive one.")
    others = [value for value in counts.index if value != positive]
    negative = others[0] if len(others) == 1 else "others"
    return (labels == positive).to_numpy().astype(int), positive, negative


def _find(asked: Any, labels: Sequence[Hashable]) -> Any:
    """The label that is meant: itself, or the only one with that text or number."""
    ways: list[Callable[[Any], object]] = [
        lambda value: (value, isinstance(value, (bool, np.bool_))),
        str,
        lambda value: str(value).strip(),
        _number,
    ]
    if len(labels) == 2 and all(_truth(label) is not None for label in labels):
        ways.append(_truth)
    for way in ways:
        wanted = way(asked)
        if wanted is None:
            continue
        found = [label for label in labels if way(label) == wanted]
        if len(found) > 1:
            raise TableError(
                f"The positive label {asked!r} can mean several labels of the target: "
                f"{some(found)}; make them different."
            )
        if found:
            return found[0]
    raise TableError(
        f"The positive label {asked!r} is not in the target; there are {some(labels)}."
    )


def _number(value: object) -> Decimal | None:
    """The number that a label is or spells, to its last digit."""
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return None if number.is_nan() else number


def _truth(value: object) -> bool | None:
    """True for True, "TRUE" and 1, and False for their opposites."""
    word = str(value).strip().lower()
    if word in ("true", "false"):
        return word == "true"
    number = _number(value)
    return bool(number) if number in (0, 1) else None
