"""Samples that are ordered in time: the column that says so, and the order."""

from __future__ import annotations

import warnings
from contextlib import suppress

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sk_anyloss.compare.errors import TableError, missing_column

__all__ = ["extract_time", "sort_by_time"]


def extract_time(
    frame: pd.DataFrame, time: str | ArrayLike | None, grouped: bool
) -> pd.Series | None:
    """The time of each sample; a column that holds it is removed from the features.

    Parameters
    ----------
    frame : DataFrame
        The features, changed in place.
    time : str, array-like of shape (n_samples,) or None
        The name of a column, or the times themselves.
    grouped : bool
        Whether the samples are in groups, which cannot be combined with an order in
        time.

    Returns
    -------
    times : Series or None
        The values as they are, with the name of the column.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables.timing import extract_time
    >>> frame = pd.DataFrame({"day": [2, 1], "a": [0.5, 1.5]})
    >>> extract_time(frame, "day", False).tolist(), list(frame)
    ([2, 1], ['a'])
    """
    if time is None:
        return None
    if grouped:
        raise TableError(
            "--time and --groups cannot be used together, since a group can extend "
            "from the past into the future; use one of them."
        )
    if isinstance(time, str):
        if time not in frame.columns:
            raise missing_column(time, frame.columns, "to sort by in time")
        return frame.pop(time)
    times = pd.Series(time).reset_index(drop=True).rename("time")
    if len(times) != len(frame):
        raise TableError(
            f"There are {len(frame)} samples, but time has {len(times)} values."
        )
    return times


def sort_by_time(times: pd.Series) -> tuple[np.ndarray, np.ndarray, str]:
    """Order of the samples in time, by numbers or dates.

    Parameters
    ----------
    times : Series
        Numbers, dates, or text that can be parsed as one of them.

    Returns
    -------
    order : ndarray of int
        Indices that sort the samples; ties keep their order.
    ranks : ndarray of int
        For each sample in that order, the rank of its point in time, from 0.
    note : str
        A sentence with the range.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables.timing import sort_by_time
    >>> days = pd.Series(["2024-02-01", "2024-01-31", "2024-02-01"], name="day")
    >>> order, ranks, note = sort_by_time(days)
    >>> order, ranks
    (array([1, 0, 2]), array([0, 1, 1]))
    >>> note
    "Sorted by 'day', from 2024-01-31 to 2024-02-01; 2 points in time."
    """
    missing = int(times.isna().sum())
    if missing:
        raise TableError(
            f"The column {times.name!r} to sort by in time has no value in {missing} "
            f"of {len(times)} samples; fill them in, or drop these samples."
        )
    ranks, points = pd.factorize(_parse(times), sort=True)
    order = np.argsort(ranks, kind="stable")
    first, last = (_format(points[k]) for k in (0, -1))
    note = (
        f"Sorted by {times.name!r}, from {first} to {last}; {len(points):,} points "
        "in time."
    )
    return order, ranks[order], note


def _parse(times: pd.Series) -> pd.Series:
    """Times as numbers or dates."""
    if pd.api.types.is_datetime64_any_dtype(times):
        return times
    if isinstance(times.dtype, pd.CategoricalDtype):
        times = times.astype(times.cat.categories.dtype)
    numbers = pd.to_numeric(times, errors="coerce")
    if numbers.notna().all():
        return numbers
    text = times.astype(str)
    # One format for the whole column: parsed one by one, 3/4 and 13/4 would be in
    # different months. ISO 8601 is tried first, then month first, then day first.
    for options in ({"format": "ISO8601"}, {"dayfirst": False}, {"dayfirst": True}):
        with warnings.catch_warnings(record=True) as guesses, suppress(ValueError):
            warnings.simplefilter("always")  # pandas warns when it guesses a format.
            dates = pd.to_datetime(text, utc=True, **options)
            if not guesses:
                return dates
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        single = pd.to_datetime(text, utc=True, errors="coerce", format="mixed")
    invalid = text[single.isna() & numbers.isna()]
    problem = (
        f"holds {invalid.iloc[0]!r}, which is neither a number nor a date"
        if len(invalid)
        else "does not hold dates of one format"
    )
    raise TableError(
        f"The column {times.name!r} to sort by in time {problem}; write all dates as "
        "2024-01-31."
    )


def _format(point: float | pd.Timestamp) -> str:
    if not isinstance(point, pd.Timestamp):
        return f"{point:.10g}"
    return str(point.date()) if point == point.normalize() else str(point)
