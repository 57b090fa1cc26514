"""Checks of single columns: leaks, IDs, dates, and columns that are almost empty."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.metrics import balanced_accuracy_score
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

from sk_anyloss.compare.checks.base import NotApplicable, TableCheck
from sk_anyloss.compare.errors import as_argument, quote_some
from sk_anyloss.compare.tables.selection import (
    ID_NAME,
    MIN_DISTINCT_IN_ID,
    describe_ids,
    holds_tokens,
    looks_distinct,
    looks_like_dates,
)
from sk_anyloss.compare.tables.table import Table, as_frame

__all__ = [
    "AlmostEmptyColumns",
    "DateColumns",
    "GroupColumns",
    "IdColumns",
    "LeakingColumns",
]


class LeakingColumns(TableCheck):
    """A column that predicts the target alone is often known only after it."""

    code, title, severity = "T1", "columns that predict the target alone", "high"

    #: Balanced accuracy of a small tree on one column from which it is reported.
    MIN_SCORE = 0.98
    #: Samples and numeric columns that are looked at, those that rank classes best.
    MAX_SAMPLES, MAX_COLUMNS = 5_000, 200

    def find(self, table: Table, folds: int) -> str | None:
        """Columns from which a small tree predicts almost all held-out samples."""
        if table.has_labels:
            raise NotApplicable("the target has several labels")
        if table.class_counts.min() < 5:
            raise NotApplicable("a class has fewer than 5 samples")
        rows = self._subsample(table)
        frame, y = as_frame(table.X).iloc[rows], table.y[rows]
        if frame.shape[1] == 1:
            raise NotApplicable("there is one column only")
        scores = {}
        for name in self._candidates(frame, y):
            score = _score_column(frame[name], y)
            if score >= self.MIN_SCORE:
                scores[name] = score
        if not scores:
            return None
        found = sorted(scores, key=scores.__getitem__, reverse=True)
        one = len(found) == 1
        return (
            f"{quote_some(found)} alone {'predicts' if one else 'predict'} the target "
            f"(balanced accuracy {scores[found[0]]:.3f} from one column): if "
            f"{'it is' if one else 'they are'} known only after the outcome, leave "
            f"{'it' if one else 'them'} out with --drop {as_argument(found)}."
        )

    def _subsample(self, table: Table) -> np.ndarray:
        """All samples, or a random part with the rare classes whole."""
        n = len(table.y)
        if n <= self.MAX_SAMPLES:
            return np.arange(n)
        rng = np.random.default_rng(0)
        most = self.MAX_SAMPLES // table.n_classes
        parts = []
        for code in range(table.n_classes):
            own = np.flatnonzero(table.y == code)
            parts.append(rng.permutation(own)[:most])
        return np.sort(np.concatenate(parts))

    def _candidates(self, frame: pd.DataFrame, y: np.ndarray) -> list[str]:
        """All columns, or of many numeric ones those that separate classes best."""
        numeric = list(frame.select_dtypes("number").columns)
        if len(numeric) <= self.MAX_COLUMNS:
            return list(frame.columns)
        values = frame[numeric].to_numpy(float, na_value=np.nan)
        ranks = rankdata(np.nan_to_num(values, nan=-np.inf), axis=0)
        means = np.stack([ranks[y == code].mean(axis=0) for code in np.unique(y)])
        spread = np.ptp(means, axis=0)
        kept = {numeric[i] for i in np.argsort(-spread)[: self.MAX_COLUMNS]}
        return [name for name in frame.columns if name in kept or name not in numeric]


def _score_column(column: pd.Series, y: np.ndarray) -> float:
    """Balanced accuracy of a column alone on held-out samples."""
    is_numeric = pd.api.types.is_numeric_dtype(column)
    if is_numeric:
        values = column.to_numpy(float, na_value=np.nan).reshape(-1, 1)
    else:
        codes, levels = pd.factorize(column.astype(str))
        if len(levels) > len(y) / 2:  # Text; a level tells nothing of other samples.
            return 0.0
    predicted = np.empty_like(y)
    # Every class has 5 samples or more.
    for train, test in StratifiedKFold(3, shuffle=True, random_state=0).split(y, y):
        if is_numeric:
            tree = DecisionTreeClassifier(
                max_depth=4, class_weight="balanced", random_state=0
            )
            predicted[test] = tree.fit(values[train], y[train]).predict(values[test])
        else:
            predicted[test] = _predict_levels(codes, len(levels), y, train, test)
    return float(balanced_accuracy_score(y, predicted))


def _predict_levels(
    codes: np.ndarray,
    n_levels: int,
    y: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
) -> np.ndarray:
    """The class that is most over-represented in the level of each test sample."""
    M = np.zeros((n_levels, int(y.max()) + 1))
    np.add.at(M, (codes[train], y[train]), 1)
    shares = M / np.maximum(M.sum(axis=0), 1)
    return np.asarray(shares[codes[test]].argmax(axis=1))


class IdColumns(TableCheck):
    """Nothing that a model learns from an ID generalises to new samples."""

    code, title, severity = "T2", "columns that look like IDs", "medium"

    def find(self, table: Table, folds: int) -> str | None:
        """Columns that were left out, or that were kept and hold distinct values."""
        if table.left_out:
            return describe_ids(table.left_out)
        frame = as_frame(table.X)
        ids = [name for name in frame.columns if looks_distinct(frame[name])]
        if not ids:
            return None
        one = len(ids) == 1
        return (
            f"{quote_some(ids)} {'has' if one else 'have'} a distinct value in almost "
            f"every sample; if {'it is an ID' if one else 'they are IDs'}, leave "
            f"{'it' if one else 'them'} out with --drop {as_argument(ids)}."
        )


class GroupColumns(TableCheck):
    """Samples of one patient in training and test set test the memory of patients."""

    code, title, severity = "T10", "columns that may name groups", "medium"

    #: Fraction of distinct values: from, and below. A name such as "patient_id" is a
    #: reason to ask for fewer.
    MIN_DISTINCT, MIN_DISTINCT_IN_NAMED, MAX_DISTINCT = 0.5, 0.1, MIN_DISTINCT_IN_ID
    #: Standard deviations by which samples of equal whole numbers agree in their label
    #: more often than samples of the next number, if the column is not named an ID.
    MIN_DEVIATIONS = 4

    def find(self, table: Table, folds: int) -> str | None:
        """Columns of almost distinct values, some of which are repeated."""
        if table.groups is not None or table.time is not None:
            raise NotApplicable("the folds respect groups or time")
        frame = as_frame(table.X)
        found = [n for n in frame.columns if self._names_groups(frame[n], table.y)]
        if not found:
            return None
        n_distinct, n = frame[found[0]].nunique(), int(frame[found[0]].count())
        return (
            f"{quote_some(found)} {'has' if len(found) == 1 else 'have'} almost "
            f"distinct values with repeats ({n_distinct:,} values in {n:,} samples): "
            "an ID or a group, such as a patient with several visits? Then samples of "
            "one of them are in training and test folds, and scores are too good; try "
            f"--groups {as_argument(found[:1])}, which keeps them together."
        )

    def _names_groups(self, column: pd.Series, y: np.ndarray) -> bool:
        is_present = column.notna().to_numpy()
        values = column[is_present]
        share = values.nunique() / max(len(values), 1)
        is_named = bool(ID_NAME.search(str(column.name)))
        least = self.MIN_DISTINCT_IN_NAMED if is_named else self.MIN_DISTINCT
        if not least <= share < self.MAX_DISTINCT or not holds_tokens(values):
            return False
        if is_named or not pd.api.types.is_numeric_dtype(values):
            return True
        # Amounts are repeated by chance, so that labels tell them from numbers of IDs.
        order = np.argsort(values.to_numpy(), kind="stable")
        same = np.diff(values.to_numpy()[order]) == 0
        labels = y[is_present][order]
        agree = labels[1:] == labels[:-1]
        agree = agree if agree.ndim == 1 else agree.all(axis=1)
        p, n = agree.mean(), np.array([same.sum(), (~same).sum()])
        error = np.sqrt(p * (1 - p) * (1 / n).sum())
        difference = agree[same].mean() - agree[~same].mean()
        return bool(difference > self.MIN_DEVIATIONS * error)


class DateColumns(TableCheck):
    """Shuffled folds train on later samples than they test on."""

    code, title, severity = "T3", "dates among the columns", "low"

    def find(self, table: Table, folds: int) -> str | None:
        """Columns of dates, where the folds are shuffled."""
        if table.time is not None:
            raise NotApplicable("the folds are forward in time")
        frame = as_frame(table.X)
        dates = [
            name
            for name in frame.columns
            if pd.api.types.is_datetime64_any_dtype(frame[name])
            or looks_like_dates(frame[name].dropna())
        ]
        if not dates:
            return None
        return (
            f"{quote_some(dates)} {'holds' if len(dates) == 1 else 'hold'} dates, and "
            "the folds are shuffled; if the model will predict later samples than it "
            f"was fitted on, compare with --time {as_argument(dates[:1])}."
        )


class AlmostEmptyColumns(TableCheck):
    """A column that is almost always missing adds noise and little else."""

    code, title, severity = "T4", "columns that are almost empty", "low"

    #: Fraction of missing cells from which a column is reported.
    MIN_MISSING = 0.95

    def find(self, table: Table, folds: int) -> str | None:
        """Columns with a value in few samples."""
        missing = as_frame(table.X).isna().mean()
        found = [str(name) for name in missing.index[missing >= self.MIN_MISSING]]
        if not found:
            return None
        one = len(found) == 1
        return (
            f"{quote_some(found)} {'is' if one else 'are'} missing in "
            f"{100 * float(missing[found].min()):.0f} % of the samples or more; leave "
            f"{'it' if one else 'them'} out with --drop {as_argument(found)} unless a "
            "missing value means something."
        )
