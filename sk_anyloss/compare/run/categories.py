"""Categories that a model was not fitted on, named with their columns."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from sk_anyloss.compare.errors import TableWarning, quote_some

__all__ = ["named_categories"]


@contextmanager
def named_categories(
    model: BaseEstimator, X: pd.DataFrame | np.ndarray
) -> Iterator[None]:
    """Warn of new categories once, with the names of their columns.

    scikit-learn's own warning, which numbers the columns of each encoder from 0, is
    suppressed in this block.

    Parameters
    ----------
    model : estimator
        A fitted pipeline of a comparison.
    X : DataFrame or ndarray
        The samples that it is applied to.
    """
    encoder: Any = getattr(model, "named_steps", {}).get("encoder")
    if isinstance(X, pd.DataFrame) and hasattr(encoder, "transformers_"):
        for name, transformer in encoder.transformers_.items():
            categories = getattr(transformer, "categories_", None)
            if categories is None or name not in X.columns:
                continue
            known = {str(value) for value in categories[0]}
            values = cleaned = X[name].dropna().drop_duplicates()
            # Words such as "none" are missing values there, and numbers are text.
            for step in encoder.all_processing_steps_[name][:-2]:
                cleaned = step.transform(cleaned)
            is_new = cleaned.notna() & ~cleaned.astype(str).isin(known)
            new = values[is_new.to_numpy()].tolist()
            if new:
                warnings.warn(
                    f"The column {name!r} holds {quote_some(new)}, which no sample had "
                    "that the model was fitted on; these count as no category.",
                    TableWarning,
                    stacklevel=4,
                )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Found unknown categories")
        yield
