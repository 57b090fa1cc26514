"""The target: missing labels, the classes, and their encoding as 0, 1, ..., C - 1."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from decimal import Decimal, InvalidOperation
from typing import SupportsFloat, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sk_anyloss.compare.errors import TableError, quote_some
from sk_anyloss.compare.tables.columns import NUMERIC_OBJECTS
from sk_anyloss.compare.tables.reading.delimited import MISSING_WORDS

__all__ = [
    "MAX_CLASSES",
    "Label",
    "Order",
    "as_labels",
    "encode_labels",
    "find_missing_labels",
    "match_label",
    "order_of",
]

#: A label of a class: text, a number, a truth value.
Label: TypeAlias = Hashable
#: All classes in their order, also as text with commas; ``'ascending'`` for the order
#: that they have without one.
Order: TypeAlias = "Sequence[Label] | str"
#: Proportion of missing labels above which they must be allowed.
MAX_MISSING = 0.01
#: A target of more distinct numbers than this is continuous, unless they are said to be
#: classes.
MAX_NUMBERS = 20
#: The largest number of classes: a fold stores a matrix of as many rows and columns.
MAX_CLASSES = 500


def as_labels(y: ArrayLike) -> pd.Series:
    """The labels as a series of objects, whole numbers as int.

    Programs store whole numbers as floats beside a missing one, so that a label is
    read as 1 whether it is 1 or 1.0.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, 1)
        The labels.

    Returns
    -------
    labels : Series of shape (n_samples,)
        The same labels, of dtype object.

    Examples
    --------
    >>> from sk_anyloss.compare.tables.labels import as_labels
    >>> as_labels([["no"], ["yes"]]).tolist(), as_labels([1.0, None, 0.0]).tolist()
    (['no', 'yes'], [1, None, 0])
    """
    values = np.asarray(y, dtype=object)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values.ravel()
    if values.ndim != 1:
        raise TableError(
            f"y must have one label a sample, or a column of 0 and 1 for each of "
            f"several labels, got shape {values.shape}."
        )
    labels = pd.Series(values, dtype=object)
    if pd.api.types.infer_dtype(labels, skipna=True) in NUMERIC_OBJECTS:
        present = labels.notna().to_numpy(bool)
        numbers = values[present]
        kind = int if all(map(_is_whole, numbers)) else float
        values = values.copy()
        values[present] = [kind(number) for number in numbers]
        labels = pd.Series(values, dtype=object)
    return labels


def _is_whole(number: SupportsFloat) -> bool:
    return isinstance(number, (int, np.integer)) or (
        float(number).is_integer() and abs(float(number)) < 2**53
    )


def find_missing_labels(labels: pd.Series, allow: bool, notes: list[str]) -> np.ndarray:
    """Mask of the missing labels; refuse too many of them unless they are allowed.

    Parameters
    ----------
    labels : Series
        The labels.
    allow : bool
        Whether more than 1 % of them may be missing.
    notes : list of str
        Notes on the table; new ones are appended.

    Returns
    -------
    missing : ndarray of bool
        True where there is no label.

    Examples
    --------
    >>> from sk_anyloss.compare.tables.labels import as_labels, find_missing_labels
    >>> notes = []
    >>> find_missing_labels(as_labels(["a", None, "b"]), True, notes)
    array([False,  True, False])
    >>> notes
    ['Dropped 1 samples without a label.']
    """
    missing = labels.isna().to_numpy(bool)
    n = int(missing.sum())
    proportion = float(missing.mean()) if len(missing) else 0.0
    if proportion > MAX_MISSING and not allow:
        held = sorted({repr(value) for value in labels[missing]})
        raise TableError(
            f"{n:,} of {len(labels):,} labels ({100 * proportion:.1f} %) are missing: "
            f"their cells are empty or hold {' or '.join(held)}; fill them in, or drop "
            "these samples with --allow-missing-labels (allow_missing_labels=True)."
        )
    if n:
        notes.append(f"Dropped {n} samples without a label.")
    strings = [label for label in labels if isinstance(label, str)]
    found = pd.Series(strings, dtype=object)
    for word, count in found[found.isin(MISSING_WORDS)].value_counts().items():
        notes.append(
            f"The target holds {word!r} {count:,} times, taken as a label; only an "
            "empty cell is a missing label."
        )
    return missing


def order_of(y: ArrayLike) -> Order | None:
    """The order of the categories of a target that says what its classes are.

    Parameters
    ----------
    y : array-like
        The labels.

    Returns
    -------
    order : sequence of labels, 'ascending' or None
        ``'ascending'`` for categories without an order; None if there are none.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables.labels import order_of
    >>> order_of(pd.Categorical(["b", "a", "c"], ["b", "d", "c", "a"], ordered=True))
    ['b', 'c', 'a']
    """
    if isinstance(y, pd.DataFrame) and y.shape[1] == 1:
        y = y.iloc[:, 0]
    dtype = getattr(y, "dtype", None)
    if not isinstance(dtype, pd.CategoricalDtype):
        return None
    present = set(pd.Series(y).dropna().unique())
    in_order = [label for label in dtype.categories if label in present]
    return in_order if dtype.ordered and len(in_order) > 2 else "ascending"


def encode_labels(
    labels: pd.Series,
    positive: Label | None,
    notes: list[str],
    order: Order | None = None,
) -> tuple[np.ndarray, list[Label]]:
    """Encode the classes as 0, 1, ..., C - 1.

    Parameters
    ----------
    labels : Series
        Labels, none of them missing.
    positive : label or None
        The positive class, or its text, against all others; None for the rarer of two,
        and for no positive class among more than two.
    notes : list of str
        Notes on the table; new ones are appended.
    order : sequence of labels, 'ascending' or None
        The order of more than two classes; it says that numbers are classes.

    Returns
    -------
    target : ndarray of int
        The place of each label in the classes.
    classes : list of labels
        The negative class, ``'others'`` for several ones, and the positive class; or
        more than two classes, in the given order or in ascending order.

    Examples
    --------
    >>> from sk_anyloss.compare.tables.labels import as_labels, encode_labels
    >>> encode_labels(as_labels(["no", "yes", "no"]), None, [])
    (array([0, 1, 0]), ['no', 'yes'])
    >>> encode_labels(as_labels([10, 9, 7, 9]), None, [])
    (array([2, 1, 0, 1]), [7, 9, 10])
    """
    unhashable = [label for label in labels if type(label).__hash__ is None]
    if unhashable:
        raise TableError(
            f"The target holds values such as {quote_some(unhashable[:1])}, which are "
            "no labels; it needs classes of numbers or text."
        )
    if not len(labels):
        raise TableError("There are no samples with a label; two classes are needed.")
    counts = labels.value_counts()
    if len(counts) < 2:
        raise TableError(
            f"The target has one class only, {counts.index[0]!r}; it needs two."
        )
    is_listed = order not in (None, "ascending")
    if is_listed and (positive is not None or len(counts) == 2):
        raise TableError(
            f"The order {order!r} is for more than two classes; leave --order (order=) "
            "out, and name the positive class with --positive (positive=)."
        )
    if positive is not None:
        positive = match_label(positive, list(counts.index))
    if positive is None and len(counts) > 2:
        _check_many_classes(labels, counts, is_stated=order is not None)
        classes = _in_order(list(counts.index))
        if is_listed:
            classes = _as_ordered(classes, order)
            notes.append(f"The classes are ordered: {quote_some(classes)}.")
        codes = {label: code for code, label in enumerate(classes)}
        return np.array([codes[label] for label in labels]), classes
    if positive is None:
        positive = counts.index[-1]  # Sorted by count, the rarest one last.
        if counts.iloc[0] == counts.iloc[1]:
            positive = _in_order(list(counts.index))[-1]
            notes.append(
                f"Both labels come {counts.iloc[0]:,} times; {positive!r}, the last in "
                "order, is taken as the positive class."
            )
        else:
            notes.append(
                f"The rarer label, {positive!r}, is taken as the positive class."
            )
    others = [value for value in counts.index if value != positive]
    negative = others[0] if len(others) == 1 else "others"
    if len(others) > 1 and str(positive) == negative:
        negative = "all others"
    return (labels == positive).to_numpy().astype(int), [negative, positive]


def _check_many_classes(labels: pd.Series, counts: pd.Series, is_stated: bool) -> None:
    """Refuse a continuous target, and more classes than can be compared."""
    is_numeric = pd.api.types.infer_dtype(labels) in NUMERIC_OBJECTS
    if is_numeric and len(counts) > (MAX_CLASSES if is_stated else MAX_NUMBERS):
        way_out = (
            ""
            if len(counts) > MAX_CLASSES
            else "; if they are classes, say so with --order ascending "
            "(order='ascending')"
        )
        raise TableError(
            f"The target is continuous: {len(counts)} distinct numbers from "
            f"{min(counts.index):g} to {max(counts.index):g}; turn it into classes "
            f"first, such as low, medium and high{way_out}."
        )
    if len(counts) > MAX_CLASSES:
        raise TableError(
            f"The target has {len(counts)} classes, {quote_some(counts.index)}, and at "
            f"most {MAX_CLASSES} can be compared; merge some of them, or name the "
            "positive class with --positive, and the others are negative."
        )
    texts = counts.index.map(str)
    if texts.has_duplicates:
        double = counts.index[texts.duplicated(keep=False)]
        raise TableError(
            f"Some labels of the target have the same text: {quote_some(double)}; make "
            "them different."
        )


def _in_order(labels: list[Label]) -> list[Label]:
    """Numbers, dates and text in ascending order, a mix of them by their text."""
    try:
        return sorted(labels)  # type: ignore[type-var]
    except TypeError:
        return sorted(labels, key=str)


def _as_ordered(labels: list[Label], order: Order | None) -> list[Label]:
    """The labels in a given order, which has each of them once."""
    names = order.split(",") if isinstance(order, str) else list(order or ())
    found = [match_label(name, labels, "label of the order") for name in names]
    if len(found) != len(labels) or set(found) != set(labels):
        raise TableError(
            f"The order names {quote_some(found)} of {quote_some(labels)}; name each "
            "class once, as in --order low,medium,high (order=['low', ...])."
        )
    return found


def match_label(
    wanted: Label, labels: Sequence[Label], what: str = "positive label"
) -> Label:
    """The label itself, or the only one with the same text, number or truth value.

    Parameters
    ----------
    wanted : label
        What is asked for.
    labels : sequence of labels
        What there is.
    what : str, default='positive label'
        What it is called in messages.

    Returns
    -------
    label : label
        One of the labels.

    Examples
    --------
    >>> from sk_anyloss.compare.tables.labels import match_label
    >>> match_label("1.0", [0, 1]), match_label("TRUE", [False, True])
    (1, True)
    """
    keys: list[Callable[[Label], object]] = [
        lambda value: (value, isinstance(value, (bool, np.bool_))),
        str,
        lambda value: str(value).strip(),
        _as_number,
    ]
    if len(labels) == 2 and all(_as_bool(label) is not None for label in labels):
        keys.append(_as_bool)
    for key in keys:
        value = key(wanted)
        if value is None:
            continue
        found = [label for label in labels if key(label) == value]
        if len(found) > 1:
            raise TableError(
                f"The {what} {wanted!r} can mean several labels of the target: "
                f"{quote_some(found)}; make them different."
            )
        if found:
            return found[0]
    raise TableError(
        f"The {what} {wanted!r} is not in the target; there are {quote_some(labels)}."
    )


def _as_number(value: object) -> Decimal | None:
    """The number that a label is or spells, to its last digit."""
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return None if number.is_nan() else number


def _as_bool(value: object) -> bool | None:
    """True for True, "TRUE" and 1, and False for their opposites."""
    text = str(value).strip().lower()
    if text in ("true", "false"):
        return text == "true"
    number = _as_number(value)
    return bool(number) if number in (0, 1) else None
