"""A checked table of samples with a target of two classes."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
import pandas as pd

from sk_anyloss.compare.tables.labels import Label

__all__ = ["Features", "Table", "as_frame"]

#: Samples of any kinds of features, or of numbers only.
Features: TypeAlias = pd.DataFrame | np.ndarray


@dataclass
class Table:
    """Samples with a target of two classes.

    Parameters
    ----------
    name : str
        Name of the data set.
    X : DataFrame or ndarray of shape (n_samples, n_features)
        The features.
    y : ndarray of int of shape (n_samples,)
        1 for the positive class, 0 for all others.
    positive, negative : label
        Labels of the two classes.
    groups : ndarray of shape (n_samples,) or None
        Group of each sample; a group is never split between folds.
    notes : list of str
        What was changed or noticed while the table was read.
    time : ndarray of int of shape (n_samples,) or None
        Rank of each sample's point in time, by which the samples are sorted: 0 for the
        first point in time, and so on. Each fold then trains on earlier samples than
        it tests on.
    """

    name: str
    X: Features
    y: np.ndarray
    positive: Label
    negative: Label
    groups: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)
    time: np.ndarray | None = None

    def fingerprint(self) -> str:
        """Digest of the features, labels, groups and order in time."""
        digest = hashlib.sha256()
        frame = as_frame(self.X)
        digest.update(repr([*map(str, frame.columns), frame.shape]).encode())
        digest.update(pd.util.hash_pandas_object(frame, index=False).to_numpy().data)
        digest.update(self.y.astype(np.int8).tobytes())
        if self.groups is not None:
            digest.update(pd.util.hash_array(np.asarray(self.groups, dtype=object)))
        if self.time is not None:
            digest.update(b"time" + self.time.astype(np.int64).tobytes())
        return digest.hexdigest()[:16]

    def describe(self) -> str:
        """Name, size and proportion of positives in one line.

        Examples
        --------
        >>> from sk_anyloss.compare import built_in
        >>> built_in().describe()
        'breast cancer, 10:1: 393 rows, 30 columns, 36 (9.2 %) are malignant'
        """
        n, positives = len(self.y), int(self.y.sum())
        return (
            f"{self.name}: {n:,} rows, {self.X.shape[1]:,} columns, {positives:,} "
            f"({positives / n:.1%}) are {self.positive}".replace("%", " %")
        )


def as_frame(X: Features) -> pd.DataFrame:
    """Features with names: those of an array are ``x0``, ``x1`` and so on.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.compare.tables.table import as_frame
    >>> list(as_frame(np.zeros((3, 2))).columns)
    ['x0', 'x1']
    """
    if isinstance(X, pd.DataFrame):
        return X
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
