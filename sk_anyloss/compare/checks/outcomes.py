"""Checks of results: whether the leader beats no model, and how far to trust it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sk_anyloss.compare.checks.base import NotApplicable, ResultCheck
from sk_anyloss.compare.methods.registry import get_method
from sk_anyloss.compare.metrics import score_counts
from sk_anyloss.compare.recommendation import choose
from sk_anyloss.compare.report.text import (
    constraint_text,
    has_constraint,
    metric_title,
)

if TYPE_CHECKING:
    from sk_anyloss.compare.results.results import Results
    from sk_anyloss.compare.run.store import Fold
    from sk_anyloss.compare.tables.table import Table

__all__ = [
    "OneClassOnly",
    "OneMetricOnly",
    "PerfectScore",
    "TrainingGap",
    "UnstableFolds",
    "WorseThanDummy",
]


def _leader(results: Results, table: Table) -> str:
    best = results.best_method(table.name)
    if best is None:
        raise NotApplicable("no fit is finished without a failure")
    return best


def _recommended(results: Results, table: Table) -> str:
    found = choose(results, table.name)
    if found is None:
        raise NotApplicable("no fit is finished without a failure")
    return found.method


def _folds(results: Results, table: Table, method: str) -> list[Fold]:
    return [
        fold
        for fold in results.folds
        if (fold.data, fold.method) == (table.name, method) and not fold.failed
    ]


class WorseThanDummy(ResultCheck):
    """A model that a constant beats is of no use for this metric."""

    code, title, severity = "R1", "better than no model", "high"

    def find(self, results: Results, table: Table) -> str | None:
        """Whether the best prediction without a model is as good as the leader."""
        leader, dummies = _leader(results, table), results.dummies(table.name)
        own, best = results.ranking(table.name).loc[leader], dummies.iloc[0]
        if own["mean"] > best["mean"] + results.rope:
            return None
        one, other = (constraint_text(r) or f"{r['mean']:.3f}" for r in (own, best))
        return (
            f"No method is better than no model: {get_method(leader).title} has "
            f"{results.metric_title} {one}, and predicting {best['title']} has "
            f"{other}; the columns do not predict the target, or this "
            "metric does not measure what you want."
        )


class OneMetricOnly(ResultCheck):
    """A method can win on the metric and lose on all others."""

    code, title, severity = "R2", "agreement of the metrics", "medium"

    #: Each of these looks at one kind of error, and is easily traded for another.
    ONE_SIDED = ("precision", "recall", "specificity")

    def find(self, results: Results, table: Table) -> str | None:
        """A method that is better than the leader on all balanced metrics but one."""
        others = [
            name
            for name in results.other_metrics
            if not name.startswith(self.ONE_SIDED) and not has_constraint(name)
        ]
        ranking = results.ranking(table.name).dropna(subset=["mean"])
        if len(others) < 2 or len(ranking) < 2:
            raise NotApplicable("it needs two methods and two other metrics")
        leader = str(ranking.index[0])
        behind = ranking[others].sub(ranking.loc[leader, others]).min(axis=1)
        better = behind[behind > results.rope].sort_values(ascending=False)
        if better.empty:
            return None
        method = str(better.index[0])
        values = ", ".join(
            f"{metric_title(name)} {ranking.loc[method, name]:.3f} against "
            f"{ranking.loc[leader, name]:.3f}"
            for name in others
        )
        return (
            f"{get_method(leader).title} leads on {results.metric_title} only: "
            f"{get_method(method).title} is better on every other balanced metric "
            f"({values}); check that {results.metric_title} is the metric that you "
            "mean."
        )


class PerfectScore(ResultCheck):
    """Real problems are rarely solved without an error."""

    code, title, severity = "R3", "scores that are too good", "high"

    def find(self, results: Results, table: Table) -> str | None:
        """Whether the leader makes no error at all."""
        leader = _leader(results, table)
        if table.has_labels:
            counts = results.label_counts(leader, table.name)
            n, errors = len(table.y), int(counts[["fp", "fn"]].to_numpy().sum())
        else:
            M = results.confusion_matrix(leader, table.name).to_numpy()
            n, errors = int(M.sum()), int(M.sum() - M.trace())
        if errors:
            return None
        return (
            f"{get_method(leader).title} makes no error on {n:,} held-out "
            "samples, which is rare; look for a column that is known only after the "
            "outcome, and for duplicates."
        )


class OneClassOnly(ResultCheck):
    """A threshold at the edge of the scores gives all samples the same label."""

    code, title, severity = "R4", "thresholds at the edge", "medium"

    def find(self, results: Results, table: Table) -> str | None:
        """Folds in which the recommended method predicts a single class."""
        method = _recommended(results, table)
        folds = _folds(results, table, method)
        if table.has_labels:
            raise NotApplicable("the target has several labels")
        shape = table.n_classes, table.n_classes
        predicted = [np.reshape(fold.counts, shape).sum(axis=0) for fold in folds]
        single = [counts for counts in predicted if np.count_nonzero(counts) == 1]
        if not single:
            return None
        label = table.classes[int(np.sum(single, axis=0).argmax())]
        return (
            f"In {len(single)} of {len(folds)} folds {get_method(method).title} labels "
            f"every sample {label}: its threshold is at the edge of its scores there."
        )


class UnstableFolds(ResultCheck):
    """A mean over very different scores says little about the next data."""

    code, title, severity = "R5", "agreement of the folds", "medium"

    #: Standard deviation of its scores from which it is reported.
    MAX_STD = 0.15

    def find(self, results: Results, table: Table) -> str | None:
        """Whether the scores of the recommended method vary much between folds."""
        method = _recommended(results, table)
        scores = results.scores(table.name)[method].dropna()
        if has_constraint(results.metric) and scores.min() < 0:
            raise NotApplicable("the constraint is not met in every fold")
        if len(scores) < 3:
            raise NotApplicable("there are fewer than three finished folds")
        if scores.std(ddof=1) <= self.MAX_STD:
            return None
        advice = (
            "--repeats 5 gives a mean that depends less on the split"
            if table.time is None
            else "the last folds, with the longest past, are the nearest to the future"
        )
        return (
            f"The scores of {get_method(method).title} range from {scores.min():.3f} "
            f"to {scores.max():.3f} over {len(scores)} folds; {advice}."
        )


class TrainingGap(ResultCheck):
    """A model that is much better on its training samples has learnt them by heart."""

    code, title, severity = "R6", "training against test samples", "low"

    #: Difference of the means from which it is reported.
    MAX_GAP = 0.2

    def find(self, results: Results, table: Table) -> str | None:
        """Whether the recommended method is much better on its training samples."""
        method = _recommended(results, table)
        folds = _folds(results, table, method)
        counts = [fold.train_counts for fold in folds if fold.train_counts]
        if not counts:
            raise NotApplicable("the folds have no predictions of training samples")
        metric = results.metric
        train = np.mean([score_counts(metric, own, table.classes) for own in counts])
        scores = results.scores(table.name)[method]
        if has_constraint(metric) and scores.min() < 0:
            raise NotApplicable("the constraint is not met in every fold")
        test = scores.mean()
        if train - test <= self.MAX_GAP:
            return None
        return (
            f"{get_method(method).title} has {results.metric_title} {train:.3f} on its "
            f"training samples and {test:.3f} on held-out ones: it overfits, so more "
            "samples or a simpler method may help."
        )
