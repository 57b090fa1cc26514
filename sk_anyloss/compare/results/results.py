"""Scores, recommendation, checks and verdicts of a comparison."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sk_anyloss.compare.checks import (
    TABLE_CHECKS,
    Finding,
    check_results,
    check_table,
)
from sk_anyloss.compare.dummies import dummy_ranking
from sk_anyloss.compare.methods.registry import get_method
from sk_anyloss.compare.recommendation import Recommendation, recommend
from sk_anyloss.compare.report.text import format_results, missed_text
from sk_anyloss.compare.results.scores import ALSO, Scores
from sk_anyloss.compare.run.store import Fold, Settings
from sk_anyloss.compare.tables.table import Table
from sk_anyloss.compare.verdict import Verdict, judge, judge_many
from sk_anyloss.metrics import Metric

if TYPE_CHECKING:
    import pandas as pd

    from sk_anyloss.compare.explanation import Explanation

__all__ = ["Results"]


class Results(Scores):
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
        super().__init__(tables, folds, methods, metric, also, settings)
        self.rope = rope
        self._findings: dict[str, list[Finding]] = {}
        #: What :meth:`Comparison.explain` has found, by the name of the data set.
        self.explanations: dict[str, Explanation] = {}
        #: Why there is none, by the name of the data set.
        self.unexplained: dict[str, str] = {}

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
        self,
        one: str,
        other: str,
        data: str | None = None,
        rope: float | None = None,
    ) -> Verdict | None:
        """One method against another.

        Parameters
        ----------
        one, other : str
            Names of the methods.
        data : str, default=None
            Name of a data set; all by default.
        rope : float, default=None
            Half-width of the region of practical equivalence; by default that of the
            comparison.

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
        rope = self.rope if rope is None else rope
        pair = both[one].to_numpy(), both[other].to_numpy()
        if data is None:
            probabilities = judge_many(*pair, rope)
        else:
            forward = self.table_of(data).time is not None
            folds = self.settings.get("folds")
            probabilities = judge(*pair, rope, folds=folds, forward=forward)
        mean = float((pair[0] - pair[1]).mean())
        titles = get_method(one).title, get_method(other).title
        return Verdict(*titles, self.metric_title, *probabilities, mean, rope)

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
            scores = self.scores(data)[found.method].dropna()
            short = scores[scores < 0]
            if not (missed := missed_text(self.metric, short.mean())):
                return str(found)
            return (
                f"{found} In {len(short)} of {len(scores)} folds the constraint is "
                f"missed: there {missed} on average."
            )
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
