"""A checked table of samples with a target of two or more classes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pandas as pd

from sk_anyloss.compare.tables.labels import Label

if TYPE_CHECKING:
    from sk_anyloss.compare.checks.base import Finding

__all__ = ["Features", "Table", "as_frame", "needs_encoder", "to_numbers"]

#: Samples of any kinds of features, or of numbers only.
Features: TypeAlias = pd.DataFrame | np.ndarray


@dataclass
class Table:
    """Samples with a target of two or more classes.

    Parameters
    ----------
    name : str
        Name of the data set.
    X : DataFrame or ndarray of shape (n_samples, n_features)
        The features.
    y : ndarray of int of shape (n_samples,) or (n_samples, n_labels)
        The place of each sample's class in ``classes``; of several labels a column of
        0 and 1 for each.
    classes : sequence of labels
        The negative and the positive class, or more than two in ascending order; the
        names of several labels.
    groups : ndarray of shape (n_samples,) or None
        Group of each sample; a group is never split between folds.
    notes : list of str
        What was changed or noticed while the table was read.
    time : ndarray of int of shape (n_samples,) or None
        Rank of each sample's point in time, by which the samples are sorted: 0 for the
        first point in time, and so on. Each fold then trains on earlier samples than
        it tests on.
    left_out : list of str
        Columns that look like IDs and were left out.
    n_unlabelled : int
        Number of samples that were dropped, since they have no label.
    weight : ndarray of float of shape (n_samples,) or None
        Weight of each sample, in fits and in scores.
    source, target : str
        Path of the file, or ``openml:...``, and name of the column of the labels, where
        they are known.
    is_ordered : bool
        Whether an order of the classes was given.
    findings : dict of int to list of Finding
        Results of the checks that were made, by the number of folds.
    """

    name: str
    X: Features
    y: np.ndarray
    classes: Sequence[Label]
    groups: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)
    time: np.ndarray | None = None
    left_out: list[str] = field(default_factory=list)
    n_unlabelled: int = 0
    weight: np.ndarray | None = None
    source: str = ""
    target: str = ""
    is_ordered: bool = False
    findings: dict[int, list[Finding]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @property
    def n_classes(self) -> int:
        """Number of classes or labels."""
        return len(self.classes)

    @property
    def has_labels(self) -> bool:
        """Whether a sample may have any number of several labels."""
        return self.y.ndim == 2

    @property
    def is_binary(self) -> bool:
        """Whether each sample is of one of two classes."""
        return not self.has_labels and self.n_classes == 2

    @property
    def positive(self) -> Label | None:
        """The positive one of two classes; else None."""
        return self.classes[1] if self.is_binary else None

    @property
    def negative(self) -> Label | None:
        """The negative one of two classes; else None."""
        return self.classes[0] if self.is_binary else None

    @property
    def class_counts(self) -> np.ndarray:
        """Number of samples of each class, or with each label."""
        if self.has_labels:
            return np.asarray(self.y.sum(axis=0))
        return np.bincount(self.y, minlength=self.n_classes)

    def fingerprint(self) -> str:
        """Digest of the features, labels, groups, order in time and weights."""
        digest = hashlib.sha256()
        frame = as_frame(self.X)
        digest.update(repr([*map(str, frame.columns), frame.shape]).encode())
        digest.update(pd.util.hash_pandas_object(frame, index=False).to_numpy().data)
        dtype = np.int8 if self.is_binary or self.has_labels else np.int16
        digest.update(self.y.astype(dtype).tobytes())
        if self.groups is not None:
            digest.update(pd.util.hash_array(np.asarray(self.groups, dtype=object)))
        if self.time is not None:
            digest.update(b"time" + self.time.astype(np.int64).tobytes())
        if self.weight is not None:
            digest.update(b"weight" + self.weight.tobytes())
        return digest.hexdigest()[:16]

    def facts(self) -> dict[str, str]:
        """Where the data came from and what is predicted, for a report.

        Examples
        --------
        >>> from sk_anyloss.compare import built_in
        >>> built_in().facts()["positive label"]
        'malignant'
        """
        numbers = zip(self.classes, self.class_counts, strict=True)
        classes = [f"{label} ({count:,})" for label, count in list(numbers)[:20]]
        more = f" and {self.n_classes - 20} more" if self.n_classes > 20 else ""
        found = {
            "path": self.source,
            "weights": "" if self.weight is None else f"sum {self.weight.sum():,.6g}",
            "target": self.target,
            "positive label": "" if self.positive is None else str(self.positive),
            "labels" if self.has_labels else "classes": ", ".join(classes) + more,
            "samples": f"{len(self.y):,}",
            "columns": f"{self.X.shape[1]:,}",
            "fingerprint": self.fingerprint(),
        }
        return {name: text for name, text in found.items() if text}

    def describe(self) -> str:
        """Name, size, and proportion of positives or number of classes, in one line.

        Examples
        --------
        >>> from sk_anyloss.compare import built_in
        >>> built_in().describe()
        'breast cancer, 10:1: 393 samples, 30 columns, 36 (9.2 %) are malignant'
        """
        n, n_columns = len(self.y), self.X.shape[1]
        columns = f"{n_columns:,} column{'s' if n_columns != 1 else ''}"
        size = f"{self.name}: {n:,} samples, {columns}"
        counts = self.class_counts
        if self.is_binary:
            proportion = f"{counts[1] / n:.1%}".replace("%", " %")
            return f"{size}, {counts[1]:,} ({proportion}) are {self.positive}"
        span = f"{counts.min():,}"
        if counts.max() > counts.min():
            span += f" to {counts.max():,}"
        if self.has_labels:
            return (
                f"{size}, {self.n_classes} labels on {span} samples, "
                f"{counts.sum() / n:.1f} on a sample"
            )
        return f"{size}, {self.n_classes} classes of {span} samples"


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


def needs_encoder(X: Features) -> bool:
    """Whether some features are no numbers: text, categories or dates.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables.table import needs_encoder
    >>> needs_encoder(pd.DataFrame({"a": [1, 2]}))
    False
    """
    if not isinstance(X, pd.DataFrame):
        return False
    return not all(pd.api.types.is_numeric_dtype(dtype) for dtype in X.dtypes)


def to_numbers(X: Features) -> np.ndarray:
    """Numeric features as an array of floats, with NaN where a value is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.tables.table import to_numbers
    >>> to_numbers(pd.DataFrame({"a": pd.array([1, None], dtype="Int64")})).tolist()
    [[1.0], [nan]]
    """
    if not isinstance(X, pd.DataFrame):
        return X
    return X.to_numpy(float, na_value=np.nan)
