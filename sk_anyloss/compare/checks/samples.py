"""Checks of samples and labels: duplicates, order, small classes, similar labels."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sk_anyloss.compare.checks.base import NotApplicable, TableCheck
from sk_anyloss.compare.errors import quote_some
from sk_anyloss.compare.tables.table import Table, as_frame

__all__ = [
    "DuplicateSamples",
    "LabelOrder",
    "SimilarLabels",
    "SmallClasses",
    "UnlabelledSamples",
]


class DuplicateSamples(TableCheck):
    """A sample whose twin is among the training samples tests the memory."""

    code, title, severity = "T5", "near-duplicate samples across folds", "medium"

    #: Fraction of samples with a twin from which it is reported.
    MIN_FRACTION = 0.01
    #: Numbers that differ by less than this many standard deviations are the same.
    RESOLUTION = 0.01
    #: Times that twins are more frequent than independent columns would make them.
    MIN_EXCESS = 10

    def find(self, table: Table, folds: int) -> str | None:
        """Samples that agree in every column, more than chance would make."""
        if table.groups is not None:
            raise NotApplicable("groups are kept together")
        codes = _discretize(as_frame(table.X), self.RESOLUTION)
        hashes = pd.util.hash_pandas_object(codes, index=False)
        twins = hashes.duplicated(keep=False).to_numpy()
        fraction = float(twins.mean())
        # Probability that two samples agree in every column, if these are independent.
        agree = np.prod(
            [
                float((codes[name].value_counts(normalize=True) ** 2).sum())
                for name in codes
            ]
        )
        if fraction < self.MIN_FRACTION:
            return None
        if fraction < self.MIN_EXCESS * len(codes) * float(agree):
            raise NotApplicable("so few distinct samples are possible that many agree")
        # Groups can extend from the past into the future.
        groups = (
            "" if table.time is not None else ", or keep them together with --groups"
        )
        return (
            f"{int(twins.sum()):,} of {len(twins):,} samples ({100 * fraction:.1f} %) "
            "have a twin with the same or almost the same values, which may be in "
            "another fold, so that scores are too good; remove the duplicates"
            f"{groups}."
        )


def _discretize(frame: pd.DataFrame, resolution: float) -> pd.DataFrame:
    """Numbers on a grid of a fraction of their standard deviation, others as text."""
    codes = {}
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column):
            values = column.to_numpy(float, na_value=np.nan)
            step = resolution * np.nanstd(values) if np.isfinite(values).any() else 0.0
            grid = np.round(values / step) if step > 0 else values
            codes[name] = pd.factorize(grid, use_na_sentinel=True)[0]
        else:
            codes[name] = pd.factorize(column.astype(str))[0]
    return pd.DataFrame(codes)


class LabelOrder(TableCheck):
    """Labels in blocks are a sign of an order in time, or of groups."""

    code, title, severity = "T6", "order of the labels", "medium"

    #: Standard deviations below the expected number of runs.
    MIN_DEVIATIONS = 6

    def find(self, table: Table, folds: int) -> str | None:
        """Runs of equal labels, fewer than a random order would have."""
        if table.time is not None or table.groups is not None:
            raise NotApplicable("the folds respect time or groups")
        if table.has_labels:
            raise NotApplicable("the target has several labels")
        n, p = len(table.y), table.class_counts / len(table.y)
        if n < 50:
            raise NotApplicable("there are fewer than 50 samples")
        runs = 1 + int((np.diff(table.y) != 0).sum())
        if runs == table.n_classes:
            raise NotApplicable("the samples are sorted by their label")
        # Changes between neighbours, if the labels were in random order.
        change = 1 - float((p**2).sum())
        deviation = np.sqrt((n - 1) * change * (1 - change))
        deviations = (1 + (n - 1) * change - runs) / max(float(deviation), 1e-9)
        if deviations < self.MIN_DEVIATIONS:
            return None
        return (
            f"Neighbouring samples often have the same label ({runs:,} runs of equal "
            f"labels, {1 + (n - 1) * change:,.0f} expected): if the samples are in the "
            "order of time, compare with --time; if neighbours belong together, with "
            "--groups; shuffled folds are too optimistic in both cases."
        )


class SmallClasses(TableCheck):
    """One sample changes the score of a fold with a handful of them by a lot."""

    code, title, severity = "T7", "classes that are small for the folds", "medium"

    #: Test samples of a class in a fold below which it is reported.
    MIN_SAMPLES = 4

    def find(self, table: Table, folds: int) -> str | None:
        """The smallest class, if a fold tests a few samples of it."""
        counts = table.class_counts
        code = int(counts.argmin())
        in_a_fold = counts[code] / (folds if table.time is None else folds + 1)
        if in_a_fold >= self.MIN_SAMPLES:
            return None
        return (
            f"Each fold tests {in_a_fold:.1f} of the {counts[code]} samples of "
            f"{quote_some([table.classes[code]])}, so that a single one changes the "
            "score of a fold by a lot; use fewer --folds and more --repeats, or "
            "collect more of them."
        )


class SimilarLabels(TableCheck):
    """Labels that differ in case or spaces only are mostly one label."""

    code, title, severity = "T8", "labels that are almost the same", "medium"

    def find(self, table: Table, folds: int) -> str | None:
        """Labels that are equal but for case and spaces."""
        texts = [str(label) for label in table.classes]
        keys = pd.Series([" ".join(text.casefold().split()) for text in texts])
        alike = keys.duplicated(keep=False)
        if not alike.any():
            return None
        labels = [table.classes[i] for i, same in enumerate(alike) if same]
        return (
            f"The labels {quote_some(labels)} differ in case or spaces only, and count "
            "as different classes; spell them alike if they are the same."
        )


class UnlabelledSamples(TableCheck):
    """Samples without a label are dropped."""

    code, title, severity = "T9", "labels that are lost in reading", "low"

    def find(self, table: Table, folds: int) -> str | None:
        """The number of samples that were dropped."""
        n = table.n_unlabelled
        if not n:
            return None
        return (
            f"{n:,} of {n + len(table.y):,} samples have no label and were dropped; "
            "check that an empty cell is not a label of its own."
        )
