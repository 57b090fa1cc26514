"""A target of several labels: a column of 0 and 1 for each."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sk_anyloss.compare.errors import TableError, quote_some

__all__ = ["as_indicator"]


def as_indicator(y: ArrayLike) -> pd.DataFrame | None:
    """The columns of a target of several labels.

    Parameters
    ----------
    y : array-like of shape (n_samples,) or (n_samples, n_labels)
        The target.

    Returns
    -------
    labels : DataFrame or None
        A column of 1, where a sample has the label, 0, and NaN for each label; None if
        the target has one column.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables.indicator import as_indicator
    >>> y = pd.DataFrame({"sad": [True, False], "calm": [1, 1]})
    >>> as_indicator(y[["sad"]]) is None
    True
    >>> as_indicator(y.assign(calm=[0.5, 1.0]))
    Traceback (most recent call last):
    ...
    sk_anyloss.compare.errors.TableError: A target of several columns holds 1 where...
    """
    if isinstance(y, pd.DataFrame):
        frame = y
    else:
        values = np.asarray(y, dtype=object)
        if values.ndim != 2:
            return None
        names = [f"label {k}" for k in range(values.shape[1])]
        frame = pd.DataFrame(values, columns=names)
    if frame.shape[1] == 1:
        return None
    columns = {}
    for name, column in zip(map(str, frame.columns), _columns(frame), strict=True):
        numbers = pd.to_numeric(column, errors="coerce").astype(float)
        other = column[column.notna() & ~numbers.isin([0, 1])]
        if len(other):
            raise TableError(
                "A target of several columns holds 1 where a sample has the label and "
                f"0 elsewhere, and {name!r} holds {quote_some(other.head(1))}; compare "
                "a target of classes by itself."
            )
        known = numbers.dropna()
        if known.nunique() < 2:
            held = f"{known.iloc[0]:g} only" if len(known) else "no value"
            raise TableError(
                f"The label {name!r} holds {held}; leave it out of the target."
            )
        columns[name] = numbers.reset_index(drop=True)
    if len(columns) < frame.shape[1]:
        raise TableError("Two labels have the same name; rename them.")
    return pd.DataFrame(columns)


def _columns(frame: pd.DataFrame) -> list[pd.Series]:
    """All columns, also those of the same name."""
    return [frame.iloc[:, k] for k in range(frame.shape[1])]
