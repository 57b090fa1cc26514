"""Weights of samples: the column that holds them, and what they may be."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from sk_anyloss.compare.errors import TableError, missing_column, quote_some

__all__ = ["extract_weight"]


def extract_weight(
    frame: pd.DataFrame, weight: str | ArrayLike | None
) -> tuple[np.ndarray | None, list[str]]:
    """The weight of each sample; a column that holds it is removed from the features.

    Parameters
    ----------
    frame : DataFrame
        The features, changed in place.
    weight : str, array-like of shape (n_samples,) or None
        The name of a column, or the weights themselves.

    Returns
    -------
    weight : ndarray of float of shape (n_samples,) or None
        Numbers of at least 0, not all of them 0.
    notes : list of str
        What they are used for.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables.weights import extract_weight
    >>> frame = pd.DataFrame({"w": [2, 1], "a": [0.5, 1.5]})
    >>> extract_weight(frame, "w")[0].tolist(), list(frame)
    ([2.0, 1.0], ['a'])
    """
    if weight is None:
        return None, []
    if isinstance(weight, str):
        if weight not in frame.columns:
            raise missing_column(weight, frame.columns, "to weight by")
        subject, values = f"The weight column {weight!r}", frame.pop(weight)
    else:
        subject, values = "weight", pd.Series(np.asarray(weight).tolist())
    if len(values) != len(frame):
        raise TableError(
            f"There are {len(frame)} samples, but weight has {len(values)} values."
        )
    numbers = pd.to_numeric(values, errors="coerce").to_numpy(float, na_value=np.nan)
    wrong = ~(np.isfinite(numbers) & (numbers >= 0))
    if wrong.any():
        raise TableError(
            f"{subject} holds {quote_some(values[wrong][:1])}; a weight is a number of "
            "at least 0."
        )
    if not numbers.any():
        raise TableError(f"{subject} is 0 for every sample.")
    by = f" by {weight!r}" if isinstance(weight, str) else ""
    return numbers, [
        f"Samples are weighted{by} in fits and scores; methods that resample use the "
        "weights in scores only."
    ]
