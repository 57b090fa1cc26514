"""What a comparison found: scores, table, ranks and verdict."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from sk_anyloss.compare.methods import get_method
from sk_anyloss.compare.run.store import Fold
from sk_anyloss.compare.tables.table import Table
from sk_anyloss.compare.verdict import Verdict, judge, judge_many
from sk_anyloss.metrics import Metric, get_metric, metric_name
from sk_anyloss.metrics.confusion import Counts
from sk_anyloss.metrics.curves import Curve
from sk_anyloss.metrics.scoring import evaluate, evaluate_logits

__all__ = ["ALSO", "Results", "shown"]

#: What else is told of every method.
ALSO = ("f1", "gmean", "balanced_accuracy", "mcc", "precision", "recall")
SHOWN = {
    "f1": "F1",
    "gmean": "G-mean",
    "balanced_accuracy": "balanced accuracy",
    "mcc": "MCC",
}


def shown(metric: str | Metric) -> str:
    """What a metric is called in sentences and pictures.

    Examples
    --------
    >>> from sk_anyloss.compare.results import shown
    >>> shown("gmean"), shown("recall")
    ('G-mean', 'recall')
    """
    name = metric_name(metric)
    return SHOWN.get(name, name.replace("_", " "))


def _plus_minus() -> str:
    """The sign, or what stands for it on a terminal that does not have it."""
    try:
        "±".encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeError, LookupError):
        return "+/-"
    return "±"


class Results:
    """What :func:`sk_anyloss.compare.compare` found.

    Parameters
    ----------
    tables : sequence of Table
        The data sets.
    folds : sequence of Fold
        What every method did on every fold.
    methods : sequence of str
        Their names.
    metric : str or callable
        What is compared.
    also : sequence of str or callable
        Other metrics to tell of.
    settings : dict
        What was asked for.
    rope : float
        Differences within it count as none.

    Attributes
    ----------
    results : DataFrame
        A row a data set, method, fold and metric.
    table : DataFrame
        A row a method, the best one first: mean and deviation of the metric, mean rank
        over the folds, means of the other metrics, median time of a fit, the pooled
        confusion matrix, and how many folds failed.
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
        settings: dict[str, Any] | None = None,
        rope: float = 0.01,
    ) -> None:
        self.tables, self.methods, self.metric = list(tables), list(methods), metric
        places = {name: i for i, name in enumerate(methods)}
        self.folds = sorted(folds, key=lambda f: (f.data, f.fold, places[f.method]))
        self.metrics = {metric_name(other): other for other in (metric, *also)}
        self.settings, self.rope = settings or {}, rope

    @property
    def name(self) -> str:
        """The metric, as it is called in sentences."""
        return shown(self.metric)

    @property
    def others(self) -> list[str]:
        """Names of the metrics that are told of beside the one compared by."""
        return [name for name in self.metrics if name != metric_name(self.metric)]

    @cached_property
    def results(self) -> pd.DataFrame:
        """A row a data set, method, fold and metric."""
        rows = []
        for fold in self.folds:
            # Without counts, a fold that failed has the columns all the same.
            numbers: list[float] = [*fold.counts] or [np.nan] * 4
            counts = dict(zip(("tn", "fp", "fn", "tp"), numbers, strict=True))
            facts = {"data": fold.data, "method": fold.method, "fold": fold.fold}
            for name, metric in self.metrics.items():
                score = np.nan if fold.failed else self._score(fold, metric)
                rest = {"seconds": fold.seconds, **counts, "failed": fold.failed}
                rows.append({**facts, "metric": name, "score": score, **rest})
        return pd.DataFrame(rows)

    def _score(self, fold: Fold, metric: str | Metric) -> float:
        """From the decisions on a fold or, over all thresholds, from its scores."""
        if not isinstance(get_metric(metric), Curve):
            return float(evaluate(metric, Counts(*map(float, fold.counts))))
        (table,) = (table for table in self.tables if table.name == fold.data)
        return evaluate_logits(metric, fold.scores, table.y[fold.rows])

    def scores(self, data: str | None = None) -> pd.DataFrame:
        """Scores of the metric: a row a fold, a column a method.

        Parameters
        ----------
        data : str, default=None
            Which data set; all by default.

        Returns
        -------
        scores : DataFrame
            NaN where a method has failed or has not been run.
        """
        rows = self.results[self.results["metric"] == metric_name(self.metric)]
        if data is not None:
            rows = rows[rows["data"] == data]
        table = rows.pivot(index=["data", "fold"], columns="method", values="score")
        return table.reindex(columns=self.methods)

    def table_of(self, data: str | None = None) -> pd.DataFrame:
        """As ``table``, for one data set.

        Parameters
        ----------
        data : str, default=None
            Which one; all by default.

        Returns
        -------
        table : DataFrame
            A row a method, the best one first.
        """
        scores = self.scores(data)
        rows = self.results if data is None else self.results.query("data == @data")
        # All of them, also where no fold of a data set is finished.
        means = rows.pivot_table(
            index="method", columns="metric", values="score", dropna=False
        ).reindex(index=self.methods, columns=list(self.metrics))
        own = rows[rows["metric"] == metric_name(self.metric)]
        by_method = own.assign(failed=own["failed"] != "").groupby("method")
        counts = by_method[["tn", "fp", "fn", "tp", "failed"]].sum()
        table = pd.DataFrame(
            {
                "title": [get_method(name).title for name in self.methods],
                "mean": scores.mean(),
                "std": scores.std(ddof=0),
                "rank": scores.rank(axis=1, ascending=False).mean(),
                **{name: means[name] for name in self.others},
                "seconds": by_method["seconds"].median(),
                **counts.reindex(self.methods, fill_value=0).astype(int),
            },
            index=self.methods,
        )
        table.index.name = "method"
        return table.sort_values(["mean", "rank"], ascending=[False, True])

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row a method, the best one first."""
        return self.table_of()

    @property
    def winner(self) -> str:
        """The method with the best mean."""
        best = self.table["mean"].dropna()
        if best.empty:
            raise ValueError(f"Every method failed: {self.reasons()}.")
        return str(best.index[0])

    def failures(self) -> list[str]:
        """What failed, how often and why.

        Returns
        -------
        sentences : list of str
            One a method and reason.
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
        """The method to judge against every other one, the strongest other one first.

        Parameters
        ----------
        data : str, default=None
            Which data set; all by default.

        Returns
        -------
        verdicts : dict of name to Verdict
            By the other method's name; from the Bayesian correlated t-test on one data
            set, from the Bayesian sign test on several.
        """
        if data is None and len(self.tables) == 1:
            data = self.tables[0].name
        scores, order = self.scores(data), list(self.table_of(data).index)
        order = [name for name in order if scores[name].notna().any()]
        if not order:
            return {}
        ours = [name for name in order if get_method(name).ours]
        if "anyloss_cv" in ours:
            ours = ["anyloss_cv"]
        one = (ours or order)[0]
        others = [name for name in order if name != one]
        repeats = int(self.settings.get("repeats", 1))
        forward = {table.name for table in self.tables if table.time is not None}
        found = {}
        for other in others:
            both = scores[[one, other]].dropna()
            if data is None:
                both = both.groupby(level="data").mean()
            if len(both) < 2:
                continue
            pair = both[one].to_numpy(), both[other].to_numpy()
            if data is None:
                chances = judge_many(*pair, self.rope)
            else:
                whole = len(both) == len(scores)
                runs = repeats if whole else 1
                chances = judge(*pair, self.rope, runs, data in forward)
            mean = float((pair[0] - pair[1]).mean())
            titles = get_method(one).title, get_method(other).title
            found[other] = Verdict(*titles, self.name, *chances, mean, self.rope)
        return found

    def verdict(self, data: str | None = None) -> str:
        """The method to judge against the strongest other one, in a sentence.

        Parameters
        ----------
        data : str, default=None
            Which data set; all by default.

        Returns
        -------
        sentence : str
            Which of the two is better, with what probability and by how much.
        """
        found = self.verdicts(data)
        if not found:
            return "There are too few finished folds for a verdict."
        others = [name for name in found if not get_method(name).ours]
        return str(found[(others or list(found))[0]])

    def text(self) -> str:
        """The table and the verdict for a terminal.

        Returns
        -------
        text : str
            Some lines.
        """
        lines = []
        several = len(self.tables) > 1
        for table in self.tables:
            lines += [table.describe(), "", self._rows(table.name), ""]
            lines += [self.verdict(table.name), ""]
        if several:
            lines += [f"All {len(self.tables)} data sets", "", self._rows(None), ""]
            lines += [self.verdict(), ""]
        return "\n".join(lines + self.failures()).rstrip()

    def _rows(self, data: str | None) -> str:
        found, sign = self.table_of(data), _plus_minus()
        width = max(len(title) for title in found["title"])
        heads = [self.name, "rank", *map(shown, self.others), "s/fit"]
        widths = [15, 6, *(max(len(head), 6) + 2 for head in heads[2:])]
        pairs = list(zip(heads, widths, strict=True))
        lines = ["  " + " " * width + "".join(f"{h:>{w}}" for h, w in pairs)]
        for title, row in zip(found["title"], found.to_dict("records"), strict=True):
            cells = [f"{row['mean']:.3f} {sign} {row['std']:.3f}", f"{row['rank']:.1f}"]
            cells += [f"{row[name]:.3f}" for name in self.others]
            cells.append(f"{row['seconds']:.2f}")
            shares = zip(cells, widths, strict=True)
            failed = f"  {row['failed']} failed" if row["failed"] else ""
            line = f"  {title:<{width}}" + "".join(f"{c:>{w}}" for c, w in shares)
            lines.append(line + failed)
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text()
