"""Checks of samples and labels: duplicates, order, small classes, similar labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import hypergeom

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
            "another fold; if twins are one thing recorded twice, scores are too good: "
            f"remove the duplicates{groups}; if they are different ones with equal "
            "values, such as customers of whom little is known, leave them, since new "
            "samples will have twins as well."
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
    """Labels in blocks are a sign of an order in time, or of groups.

    In a random order, the number of blocks r of a class with n of N samples has the
    hypergeometric distribution C(n - 1, r - 1) C(N - n + 1, r) / C(N, n) (Wald and
    Wolfowitz, 1940), which is far from normal for rare classes.
    """

    code, title, severity = "T6", "order of the labels", "medium"

    #: Probability of so few blocks in a random order below which it is reported.
    MAX_PROBABILITY = 1e-6

    def find(self, table: Table, folds: int) -> str | None:
        """The class that is in fewer blocks than a random order would have."""
        if table.time is not None or table.groups is not None:
            raise NotApplicable("the folds respect time or groups")
        if table.has_labels:
            raise NotApplicable("the target has several labels")
        n, sizes = len(table.y), table.class_counts
        if n < 50:
            raise NotApplicable("there are fewer than 50 samples")
        begins = np.append(True, np.diff(table.y) != 0)
        if begins.sum() == table.n_classes:
            raise NotApplicable("the samples are sorted by their label")
        blocks = np.bincount(table.y[begins], minlength=table.n_classes)
        logs = hypergeom.logcdf(blocks, n, n - sizes + 1, sizes)
        code = int(np.argmin(logs))
        if table.n_classes * np.exp(logs[code]) > self.MAX_PROBABILITY:
            return None
        expected = sizes[code] * (n - sizes[code] + 1) / n
        return (
            "Neighbouring samples often have the same label (the "
            f"{sizes[code]:,} samples of {quote_some([table.classes[code]])} are in "
            f"{blocks[code]:,} blocks, {expected:,.0f} expected): if the samples are "
            "in the order of time, compare with --time; if neighbours belong together, "
            "with --groups; shuffled folds are too optimistic in both cases."
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
