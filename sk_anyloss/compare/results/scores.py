"""Scores of methods on folds, and tables that are made of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import pandas as pd

from sk_anyloss.compare.methods.registry import get_method
from sk_anyloss.compare.metrics import score_counts
from sk_anyloss.compare.report.text import has_constraint, metric_title
from sk_anyloss.compare.results.fits import Fits
from sk_anyloss.compare.run.store import Fold, Settings
from sk_anyloss.compare.tables.table import Table
from sk_anyloss.metrics import Metric, get_metric, metric_name
from sk_anyloss.metrics.curves import Curve
from sk_anyloss.metrics.evaluation import evaluate_logits
from sk_anyloss.metrics.multiclass.averages import one_against_rest
from sk_anyloss.metrics.multiclass.lookup import is_for_matrix

__all__ = ["ALSO", "ALSO_LABELS", "ALSO_MULTICLASS", "CURVES", "Scores"]

#: Metrics that are reported besides the one that methods are compared by.
ALSO = ("f1", "gmean", "balanced_accuracy", "mcc", "precision", "recall")
#: Metrics over all thresholds that are reported for two classes.
CURVES = ("roc_auc", "average_precision")
#: With more than two classes, where the balanced accuracy is the macro recall.
ALSO_MULTICLASS = ("f1", "balanced_accuracy", "gmean", "mcc", "accuracy", "precision")
#: With several labels.
ALSO_LABELS = ("f1", "f1_micro", "f1_weighted", "gmean", "mcc", "precision", "recall")
#: Names of the cells of the confusion matrix of two classes, row by row.
CELLS = ("tn", "fp", "fn", "tp")


class Scores(Fits):
    """Scores of methods on the folds of data sets.

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
    """

    def __init__(
        self,
        tables: Sequence[Table],
        folds: Sequence[Fold],
        methods: Sequence[str],
        metric: str | Metric,
        also: Sequence[str | Metric] = ALSO,
        settings: Settings | None = None,
    ) -> None:
        super().__init__(tables, folds, methods, settings)
        self.metric = metric
        self.metrics = {metric_name(other): other for other in (metric, *also)}

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
        return CELLS if any(table.is_binary for table in self.tables) else ()

    def _score(self, fold: Fold, metric: str | Metric) -> float:
        """From the counts of a fold or, for a metric over thresholds, its scores."""
        table = self.table_of(fold.data)
        if (
            not table.is_binary
            or is_for_matrix(metric)
            or not isinstance(get_metric(metric), Curve)
        ):
            return score_counts(metric, fold.scored_counts, table.classes)
        weight = None if table.weight is None else table.weight[fold.rows]
        return evaluate_logits(metric, fold.scores, table.y[fold.rows], weight)

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
        if table.has_labels:
            raise ValueError(
                f"{table.name} has several labels, and no confusion matrix of all of "
                "them; class_report has the scores of each."
            )
        M = np.zeros((table.n_classes, table.n_classes), dtype=int)
        for fold in self.folds:
            if (fold.data, fold.method) == (table.name, method) and not fold.failed:
                M += np.array(fold.counts, dtype=int).reshape(M.shape)
        labels = pd.Index(list(table.classes), dtype=object)
        matrix = pd.DataFrame(M, labels.rename("true"), labels.rename("predicted"))
        return matrix

    def label_counts(self, method: str, data: str | None = None) -> pd.DataFrame:
        """Decisions of a method on each of several labels, summed over the folds.

        Parameters
        ----------
        method : str
            Name of the method.
        data : str, default=None
            Name of a data set of several labels; may be omitted if there is only one.

        Returns
        -------
        counts : DataFrame of shape (Q, 4)
            ``tn``, ``fp``, ``fn`` and ``tp`` of each label.

        Examples
        --------
        >>> from sk_anyloss.compare import compare
        >>> X = [[0.0], [1.0], [2.0], [3.0]] * 10
        >>> y = [[0, 1], [0, 1], [1, 1], [1, 0]] * 10
        >>> found = compare(X, y, methods=["logistic"], folds=2)
        >>> found.label_counts("logistic").sum(axis=1).tolist()
        [40, 40]
        """
        table = self.table_of(data)
        counts = np.zeros((table.n_classes, len(CELLS)), dtype=int)
        for fold in self.folds:
            if (fold.data, fold.method) == (table.name, method) and not fold.failed:
                counts += np.array(fold.counts, dtype=int).reshape(counts.shape)
        index = pd.Index(list(table.classes), dtype=object, name="label")
        return pd.DataFrame(counts, index, list(CELLS))

    def class_report(self, method: str, data: str | None = None) -> pd.DataFrame:
        """Precision, recall and F1 of each class or label, from counts of all folds.

        Parameters
        ----------
        method : str
            Name of the method.
        data : str, default=None
            Name of a data set; may be omitted if there is only one.

        Returns
        -------
        report : DataFrame
            One row per class or label, with ``precision``, ``recall``, ``f1`` and
            ``support``, the number of predictions for its samples over all folds.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from sk_anyloss.compare import compare
        >>> X, y = load_wine(return_X_y=True)
        >>> found = compare(X, y, methods=["logistic"], folds=2)
        >>> found.class_report("logistic")["support"].tolist()
        [59, 71, 48]
        """
        if self.table_of(data).has_labels:
            found = self.label_counts(method, data)
            index, counts = found.index, tuple(found.to_numpy(float).T)
        else:
            matrix = self.confusion_matrix(method, data)
            index, counts = matrix.index, one_against_rest(matrix.to_numpy(float))
        report = {
            name: np.asarray(get_metric(name)(*counts), dtype=float)
            for name in ("precision", "recall", "f1")
        }
        _, _, fn, tp = counts
        support = np.asarray(fn + tp).astype(int)
        return pd.DataFrame({**report, "support": support}, index)

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
        if has_constraint(self.metric):
            ranking["met"] = (scores >= 0).sum()
            ranking["scored"] = scores.notna().sum()
        ranking.index.name = "method"
        return ranking.sort_values(["mean", "rank"], ascending=[False, True])

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per method over all data sets, the best one first."""
        return self.ranking()

    @property
    def winner(self) -> str:
        """The method with the best mean."""
        return self.check_compared(self.best_method())
