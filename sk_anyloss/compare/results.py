"""Scores, ranking and verdicts of a comparison."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sk_anyloss.compare.checks import (
    TABLE_CHECKS,
    Finding,
    check_results,
    check_table,
)
from sk_anyloss.compare.dummies import dummy_ranking
from sk_anyloss.compare.methods.registry import get_method
from sk_anyloss.compare.metrics import score_counts
from sk_anyloss.compare.recommendation import Recommendation, recommend
from sk_anyloss.compare.report.text import format_results, metric_title
from sk_anyloss.compare.run.store import Fold, Settings
from sk_anyloss.compare.tables.table import Table
from sk_anyloss.compare.verdict import Verdict, judge, judge_many
from sk_anyloss.metrics import Metric, get_metric, metric_name
from sk_anyloss.metrics.curves import Curve
from sk_anyloss.metrics.evaluation import evaluate_logits
from sk_anyloss.metrics.multiclass.averages import one_against_rest
from sk_anyloss.metrics.multiclass.lookup import is_for_matrix

if TYPE_CHECKING:
    from sk_anyloss.compare.explanation import Explanation

__all__ = ["ALSO", "ALSO_MULTICLASS", "CURVES", "Results"]

#: Metrics that are reported besides the one that methods are compared by.
ALSO = ("f1", "gmean", "balanced_accuracy", "mcc", "precision", "recall")
#: Metrics over all thresholds that are reported for two classes.
CURVES = ("roc_auc", "average_precision")
#: With more than two classes, where the balanced accuracy is the macro recall.
ALSO_MULTICLASS = ("f1", "balanced_accuracy", "gmean", "mcc", "accuracy", "precision")
#: Names of the cells of the confusion matrix of two classes, row by row.
CELLS = ("tn", "fp", "fn", "tp")


class Results:
    """Results of :func:`sk_anyloss.compare.compare`.

    Parameters
    ----------
    tables : sequence of Table
        The data sets.
    folds : sequence of Fold
        Predictions of every method on every fold.
    methods : sequence of str
        Names of the methods.
    metric : str or callable
        The metric that they are compared by.
    also : sequence of str or callable
        Other metrics to report.
    settings : dict
        Settings of the comparison.
    rope : float
        Half-width of the region of practical equivalence.

    Attributes
    ----------
    results : DataFrame
        One row per data set, method, fold and metric.
    table : DataFrame
        One row per method, the best one first: mean and standard deviation (with
        ``n - 1``) of the metric, mean rank over the folds, means of the other metrics,
        median time of a fit, the confusion matrix of two classes summed over the folds,
        and the number of failed folds.
    winner : str
        The method with the best mean.
    """

    def __init__(
        self,
        tables: Sequence[Table],
        folds: Sequence[Fold],
        methods: Sequence[str],
        metric: str | Metric,
        also: Sequence[str | Metric] = ALSO,
        settings: Settings | None = None,
        rope: float = 0.01,
    ) -> None:
        self.tables, self.methods, self.metric = list(tables), list(methods), metric
        order = {name: i for i, name in enumerate(methods)}
        self.folds = sorted(folds, key=lambda f: (f.data, f.fold, order[f.method]))
        self.metrics = {metric_name(other): other for other in (metric, *also)}
        self.settings, self.rope = settings or {}, rope
        self._findings: dict[str, list[Finding]] = {}
        #: What :meth:`Comparison.explain` has found, by the name of the data set.
        self.explanations: dict[str, Explanation] = {}

    @property
    def metric_title(self) -> str:
        """The metric that methods are compared by, as it is printed."""
        return metric_title(self.metric)

    @property
    def other_metrics(self) -> list[str]:
        """Names of the metrics that are reported besides that one."""
        return [name for name in self.metrics if name != metric_name(self.metric)]

    @cached_property
    def results(self) -> pd.DataFrame:
        """One row per data set, method, fold and metric."""
        rows = []
        for fold in self.folds:
            counts: dict[str, float] = {}
            if self._cells:
                # A failed fold has no counts, but the same columns; more than two
                # classes have other counts.
                has_cells = len(fold.counts) == len(CELLS)
                numbers = fold.counts if has_cells else [np.nan] * len(CELLS)
                counts = dict(zip(CELLS, numbers, strict=True))
            key = {"data": fold.data, "method": fold.method, "fold": fold.fold}
            for name, metric in self.metrics.items():
                score = np.nan if fold.failed else self._score(fold, metric)
                rest = {"seconds": fold.seconds, **counts, "failed": fold.failed}
                rows.append({**key, "metric": name, "score": score, **rest})
        return pd.DataFrame(rows)

    @property
    def _cells(self) -> tuple[str, ...]:
        """Columns for the confusion matrix, if any table has two classes."""
        return CELLS if any(table.n_classes == 2 for table in self.tables) else ()

    def _score(self, fold: Fold, metric: str | Metric) -> float:
        """From the counts of a fold or, for a metric over thresholds, its scores."""
        table = self.table_of(fold.data)
        if (
            table.n_classes > 2
            or is_for_matrix(metric)
            or not isinstance(get_metric(metric), Curve)
        ):
            return score_counts(metric, fold.counts, table.classes)
        return evaluate_logits(metric, fold.scores, table.y[fold.rows])

    def table_of(self, data: str | None) -> Table:
        """The data set of a name.

        Parameters
        ----------
        data : str or None
            Its name; None for the only one.

        Returns
        -------
        table : Table
            The data set.
        """
        (table,) = (t for t in self.tables if data is None or t.name == data)
        return table

    def confusion_matrix(self, method: str, data: str | None = None) -> pd.DataFrame:
        """The confusion matrix of a method, summed over the folds.

        Parameters
        ----------
        method : str
            Name of the method.
        data : str, default=None
            Name of a data set; may be omitted if there is only one.

        Returns
        -------
        matrix : DataFrame of shape (C, C)
            True classes in rows, predicted classes in columns.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from sk_anyloss.compare import compare
        >>> X, y = load_wine(return_X_y=True)
        >>> found = compare(X, y, methods=["logistic"], folds=2)
        >>> found.confusion_matrix("logistic").shape
        (3, 3)
        """
        table = self.table_of(data)
        M = np.zeros((table.n_classes, table.n_classes), dtype=int)
        for fold in self.folds:
            if (fold.data, fold.method) == (table.name, method) and not fold.failed:
                M += np.array(fold.counts, dtype=int).reshape(M.shape)
        labels = pd.Index(list(table.classes), dtype=object)
        matrix = pd.DataFrame(M, labels.rename("true"), labels.rename("predicted"))
        return matrix

    def class_report(self, method: str, data: str | None = None) -> pd.DataFrame:
        """Precision, recall and F1 of each class, from the summed confusion matrix.

        Parameters
        ----------
        method : str
            Name of the method.
        data : str, default=None
            Name of a data set; may be omitted if there is only one.

        Returns
        -------
        report : DataFrame
            One row per class, with ``precision``, ``recall``, ``f1`` and ``support``,
            the number of predictions for samples of the class over all folds.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from sk_anyloss.compare import compare
        >>> X, y = load_wine(return_X_y=True)
        >>> found = compare(X, y, methods=["logistic"], folds=2)
        >>> found.class_report("logistic")["support"].tolist()
        [59, 71, 48]
        """
        matrix = self.confusion_matrix(method, data)
        M = matrix.to_numpy(float)
        counts = one_against_rest(M)
        report = {
            name: np.asarray(get_metric(name)(*counts), dtype=float)
            for name in ("precision", "recall", "f1")
        }
        support = M.sum(axis=1).astype(int)
        return pd.DataFrame({**report, "support": support}, matrix.index)

    def best_method(self, data: str | None = None) -> str | None:
        """The method with the best mean on a data set.

        Parameters
        ----------
        data : str, default=None
            Name of a data set; all by default.

        Returns
        -------
        method : str or None
            Its name; None if every method failed.
        """
        means = self.ranking(data)["mean"].dropna()
        return None if means.empty else str(means.index[0])

    def chosen_method(self, method: str | None = None, data: str | None = None) -> str:
        """A method by its name, or the recommended one.

        Parameters
        ----------
        method : str, default=None
            Name of a compared method; by default the recommended one.
        data : str, default=None
            Name of a data set; all by default.

        Returns
        -------
        method : str
            Its name.
        """
        if method is None:
            found = self.recommendation(data)
            method = None if found is None else found.method
        return self.check_compared(method)

    def check_compared(self, method: str | None) -> str:
        """The name of a method, if it was compared.

        Parameters
        ----------
        method : str or None
            Its name; None if every method failed.

        Returns
        -------
        method : str
            The same name.
        """
        if method is None:
            raise ValueError(f"Every method failed: {self.reasons()}.")
        if method not in self.methods:
            raise ValueError(
                f"method={method!r} was not compared; use one of "
                f"{', '.join(self.methods)}."
            )
        return method

    def scores(self, data: str | None = None) -> pd.DataFrame:
        """Scores of the metric: one row per fold, one column per method.

        Parameters
        ----------
        data : str, default=None
            Name of a data set; all by default.

        Returns
        -------
        scores : DataFrame
            NaN where a method failed or was not run.
        """
        rows = self.results[self.results["metric"] == metric_name(self.metric)]
        if data is not None:
            rows = rows[rows["data"] == data]
        table = rows.pivot(index=["data", "fold"], columns="method", values="score")
        return table.reindex(columns=self.methods)

    def ranking(self, data: str | None = None) -> pd.DataFrame:
        """As ``table``, for one data set.

        Parameters
        ----------
        data : str, default=None
            Name of a data set; all by default.

        Returns
        -------
        ranking : DataFrame
            One row per method, the best one first.
        """
        scores = self.scores(data)
        rows = self.results if data is None else self.results.query("data == @data")
        # Every method, also if none of its folds on a data set is finished.
        means = rows.pivot_table(
            index="method", columns="metric", values="score", dropna=False
        ).reindex(index=self.methods, columns=list(self.metrics))
        own = rows[rows["metric"] == metric_name(self.metric)]
        by_method = own.assign(failed=own["failed"] != "").groupby("method")
        counts = by_method[[*self._cells, "failed"]].sum()
        ranking = pd.DataFrame(
            {
                "title": [get_method(name).title for name in self.methods],
                "mean": scores.mean(),
                "std": scores.std(ddof=1),
                "rank": scores.rank(axis=1, ascending=False).mean(),
                **{name: means[name] for name in self.other_metrics},
                "seconds": by_method["seconds"].median(),
                **counts.reindex(self.methods, fill_value=0).astype(int),
            },
            index=self.methods,
        )
        ranking.index.name = "method"
        return ranking.sort_values(["mean", "rank"], ascending=[False, True])

    def dummies(self, data: str | None = None) -> pd.DataFrame:
        """Scores of predictions that need no model, to compare the ranking with.

        Parameters
        ----------
        data : str, default=None
            Name of a data set; all by default.

        Returns
        -------
        ranking : DataFrame
            One row for each: one class for all samples, and classes at random.
        """
        return dummy_ranking(self, data)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per method over all data sets, the best one first."""
        return self.ranking()

    @property
    def winner(self) -> str:
        """The method with the best mean."""
        return self.check_compared(self.best_method())

    def failures(self) -> list[str]:
        """Which methods failed, how often and why.

        Returns
        -------
        sentences : list of str
            One per data set, method and reason.
        """
        failed = (fold for fold in self.folds if fold.failed)
        found = Counter((fold.data, fold.method, fold.failed) for fold in failed)
        return [
            f"{get_method(method).title} failed on {n} folds of {data}: {why}"
            for (data, method, why), n in found.items()
        ]

    def reasons(self) -> str:
        """Why methods failed, each reason once, with the methods in brackets.

        Returns
        -------
        text : str
            The reasons, with semicolons between them.
        """
        found: dict[str, dict[str, None]] = {}
        for fold in self.folds:
            if fold.failed:
                why = fold.failed.rstrip(". ")
                found.setdefault(why, {})[get_method(fold.method).title] = None
        return "; ".join(f"{why} ({', '.join(who)})" for why, who in found.items())

    def verdicts(self, data: str | None = None) -> dict[str, Verdict]:
        """One method against every other one, the strongest other one first.

        That method is ``'anyloss_cv'`` if it was compared, else the best one that
        optimises the metric, else the best one.

        Parameters
        ----------
        data : str, default=None
            Name of a data set; all by default.

        Returns
        -------
        verdicts : dict of str to Verdict
            By the name of the other method; from the Bayesian correlated t-test on one
            data set, from the Bayesian sign test on several.
        """
        if data is None and len(self.tables) == 1:
            data = self.tables[0].name
        scores, order = self.scores(data), list(self.ranking(data).index)
        order = [name for name in order if scores[name].notna().any()]
        if not order:
            return {}
        candidates = [name for name in order if get_method(name).optimizes_metric]
        if "anyloss_cv" in candidates:
            candidates = ["anyloss_cv"]
        one = (candidates or order)[0]
        found = {}
        for other in (name for name in order if name != one):
            verdict = self.verdict_of(one, other, data)
            if verdict is not None:
                found[other] = verdict
        return found

    def verdict_of(
        self, one: str, other: str, data: str | None = None
    ) -> Verdict | None:
        """One method against another.

        Parameters
        ----------
        one, other : str
            Names of the methods.
        data : str, default=None
            Name of a data set; all by default.

        Returns
        -------
        verdict : Verdict or None
            None if they have not finished two folds in common.
        """
        if data is None and len(self.tables) == 1:
            data = self.tables[0].name
        scores = self.scores(data)
        both = scores[[one, other]].dropna()
        if data is None:
            both = both.groupby(level="data").mean()
        if len(both) < 2:
            return None
        pair = both[one].to_numpy(), both[other].to_numpy()
        if data is None:
            probabilities = judge_many(*pair, self.rope)
        else:
            is_complete = len(both) == len(scores)
            repeats = int(self.settings.get("repeats", 1)) if is_complete else 1
            forward = self.table_of(data).time is not None
            probabilities = judge(*pair, self.rope, repeats, forward)
        mean = float((pair[0] - pair[1]).mean())
        titles = get_method(one).title, get_method(other).title
        return Verdict(*titles, self.metric_title, *probabilities, mean, self.rope)

    def recommendation(self, data: str | None = None) -> Recommendation | None:
        """Which method to use, and what it does in numbers of samples.

        Parameters
        ----------
        data : str, default=None
            Name of a data set; all by default.

        Returns
        -------
        recommendation : Recommendation or None
            Printed as a sentence or two; None if every method failed.
        """
        return recommend(self, data)

    def advice(self, data: str | None = None) -> str:
        """The recommendation in words, or why there is none.

        Parameters
        ----------
        data : str, default=None
            Name of a data set; all by default.

        Returns
        -------
        sentence : str
            The same in the terminal, on the page and in a notebook.
        """
        found = self.recommendation(data)
        if found is not None:
            return str(found)
        own = [fold for fold in self.folds if data in (None, fold.data)]
        return "Every method failed." if own else "No fit is finished."

    def checks(self, data: str | None = None) -> list[Finding]:
        """Results of all checks of a data set and of the scores on it.

        Parameters
        ----------
        data : str, default=None
            Name of a data set; may be omitted if there is only one.

        Returns
        -------
        findings : list of Finding
            One for each check, with its code, title, severity, status and sentence.

        Examples
        --------
        >>> from sk_anyloss.compare import built_in, compare_tables
        >>> found = compare_tables([built_in()], methods=["logistic"], folds=2)
        >>> sorted({finding.status for finding in found.checks()})
        ['not applicable', 'passed']
        """
        table = self.table_of(data)
        if table.name not in self._findings:
            folds = int(self.settings.get("folds", 10))
            of_table = check_table(table, folds)
            self._findings[table.name] = [*of_table, *check_results(self, table)]
        return self._findings[table.name]

    def warnings(self, data: str | None = None, table_checks: bool = True) -> list[str]:
        """What the checks have found, the most severe first.

        Parameters
        ----------
        data : str, default=None
            Name of a data set; may be omitted if there is only one.
        table_checks : bool, default=True
            Whether those on the data set itself are included, beside those on the
            scores.

        Returns
        -------
        sentences : list of str
            Each begins with the code of the check.
        """
        codes = {check.code for check in TABLE_CHECKS}
        found = [
            one
            for one in self.checks(data)
            if one.status == "found" and (table_checks or one.code not in codes)
        ]
        order = ("high", "medium", "low")
        return [
            str(one) for one in sorted(found, key=lambda f: order.index(f.severity))
        ]

    def unfinished(self, data: str | None = None) -> tuple[int, int]:
        """Fits that a stopped run has not made.

        Parameters
        ----------
        data : str, default=None
            Name of a data set; all by default.

        Returns
        -------
        missing, expected : int
            Number of missing fits and of all fits; failed ones are not missing.
        """
        tables = self.tables if data is None else [self.table_of(data)]
        names = {table.name for table in tables}
        done = sum(fold.data in names for fold in self.folds)
        n_folds = self.settings.get("folds", 0) * self.settings.get("repeats", 1)
        expected = n_folds * len(self.methods) * len(tables) or done
        return expected - done, expected

    def partial(self, data: str | None = None) -> str:
        """Which fits a stopped run has not made.

        Parameters
        ----------
        data : str, default=None
            Name of a data set; all by default.

        Returns
        -------
        sentence : str
            Empty for a run that is complete.
        """
        missing, expected = self.unfinished(data)
        if not missing:
            return ""
        tables = self.tables if data is None else [self.table_of(data)]
        n_folds = self.settings.get("folds", 0) * self.settings.get("repeats", 1)
        done = Counter(
            fold.method
            for fold in self.folds
            if fold.data in {table.name for table in tables}
        )
        lacking = {name: n_folds * len(tables) - done[name] for name in self.methods}
        parts = [f"{get_method(k).title} {n:,}" for k, n in lacking.items() if n]
        return (
            f"Partial run: {expected - missing:,} of {expected:,} fits are finished. "
            f"Missing: {', '.join(parts)}. The same command resumes."
        )

    def verdict(self, data: str | None = None) -> str:
        """The verdict against the strongest method that does not optimise the metric.

        Parameters
        ----------
        data : str, default=None
            Name of a data set; all by default.

        Returns
        -------
        sentence : str
            Which of the two methods is better, with what probability and by how much.
        """
        found = self.verdicts(data)
        if not found and len(self.methods) == 1:
            title = get_method(self.methods[0]).title
            return (
                f"{title} is the only method, so there is nothing to compare it with."
            )
        if not found:
            return "There are too few finished folds for a verdict."
        others = [name for name in found if not get_method(name).optimizes_metric]
        return str(found[(others or list(found))[0]])

    def text(self) -> str:
        """Recommendation, ranking and verdict of every data set, for a terminal.

        Returns
        -------
        text : str
            Several lines: the recommendation first.
        """
        return format_results(self)

    def __repr__(self) -> str:
        return self.text()
