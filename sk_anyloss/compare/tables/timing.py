"""Samples that are ordered in time: the column that says so, and the order."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd

from sk_anyloss.compare.errors import TableError

__all__ = ["sort_in_time", "take_time"]


def take_time(frame: pd.DataFrame, time: Any, grouped: bool) -> pd.Series | None:
    """Take the points in time out of the features.

    Parameters
    ----------
    frame : DataFrame
        The features; a column that is named by ``time`` leaves them.
    time : str, array-like of shape (n,) or None
        The name of a column, or the points in time themselves.
    grouped : bool
        Whether the samples are in groups, which cannot be held at the same time.

    Returns
    -------
    moments : Series or None
        As they came, with the name of the column.
    """
    if time is None:
        return None
    if grouped:
        raise TableError(
            "--time and --groups cannot be used together, since a group can reach from "
            "the past into the future; leave one of them out."
        )
    if isinstance(time, str):
        if time not in frame.columns:
            names = ", ".join(repr(str(name)) for name in frame.columns[:8])
            more = " and more" if frame.shape[1] > 8 else ""
            raise TableError(
                f"There is no column {time!r} to sort by in time; there are "
                f"{names}{more}."
            )
        return frame.pop(time)
    moments = pd.Series(time).reset_index(drop=True).rename("time")
    if len(moments) != len(frame):
        raise TableError(
            f"There are {len(frame)} samples, but time has {len(moments)} values."
        )
    return moments


def sort_in_time(moments: pd.Series) -> tuple[np.ndarray, np.ndarray, str]:
    """Order samples by numbers or dates.

    Parameters
    ----------
    moments : Series
        Numbers, dates, or text that can be read as one of them.

    Returns
    -------
    order : ndarray of int
        The samples, those of one point in time in the order they came in.
    places : ndarray of int
        For each sample in that order, the number of its point in time.
    note : str
        The range, in a sentence.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables.timing import sort_in_time
    >>> days = pd.Series(["2024-02-01", "2024-01-31", "2024-02-01"], name="day")
    >>> order, places, note = sort_in_time(days)
    >>> order, places
    (array([1, 0, 2]), array([0, 1, 1]))
    >>> note
    "Sorted by 'day', from 2024-01-31 to 2024-02-01; 2 points in time."
    """
    missing = int(moments.isna().sum())
    if missing:
        raise TableError(
            f"The column {moments.name!r} to sort by in time has no value in {missing} "
            f"of {len(moments)} samples; fill them in, or leave these samples out."
        )
    known = _parse(moments)
    places, points = pd.factorize(known, sort=True)
    order = np.argsort(places, kind="stable")
    first, last = (_text(points[k]) for k in (0, -1))
    note = (
        f"Sorted by {moments.name!r}, from {first} to {last}; {len(points):,} points "
        "in time."
    )
    return order, places[order], note


def _parse(moments: pd.Series) -> pd.Series:
    if pd.api.types.is_datetime64_any_dtype(moments):
        return moments
    if isinstance(moments.dtype, pd.CategoricalDtype):
        moments = moments.astype(moments.cat.categories.dtype)
    numbers = pd.to_numeric(moments, errors="coerce")
    if numbers.notna().all():
        return numbers
    text = moments.astype(str)
    # One format for all of them: read one by one, 3/4 and 13/4 would be of different
    # months. Formats in the order of ISO come first, then month first, then day first.
    for options in ({"format": "ISO8601"}, {"dayfirst": False}, {"dayfirst": True}):
        with warnings.catch_warnings(record=True) as guesses, suppress(ValueError):
            warnings.simplefilter("always")  # pandas warns where it begins to guess.
            found = pd.to_datetime(text, utc=True, **options)
            if not guesses:
                return found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        single = pd.to_datetime(text, utc=True, errors="coerce", format="mixed")
    strange = text[single.isna() & numbers.isna()]
    fault = (
        f"holds {strange.iloc[0]!r}, which is neither a number nor a date"
        if len(strange)
        else "does not hold dates of one format"
    )
    raise TableError(
        f"The column {moments.name!r} to sort by in time {fault}; write all dates as "
        "2024-01-31."
    )


def _text(point: Any) -> str:
    if not isinstance(point, pd.Timestamp):
        return f"{point:.10g}"
    return str(point.date()) if point == point.normalize() else str(point)
