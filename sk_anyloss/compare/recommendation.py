"""What to use: the recommendation that terminal, page, notebook and JSON share."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sk_anyloss.compare.methods.registry import get_method
from sk_anyloss.compare.methods.simplicity import simplicity
from sk_anyloss.compare.report.text import constraint_text
from sk_anyloss.compare.report.thresholds import total_cost

if TYPE_CHECKING:
    from sk_anyloss.compare.results.results import Results
    from sk_anyloss.compare.tables.table import Table

__all__ = ["SURE", "Recommendation", "choose", "recommend"]

#: Probability of being better from which a method is recommended over another.
SURE = 0.8


@dataclass(frozen=True)
class Recommendation:
    """Which method to use, and what it will do.

    Parameters
    ----------
    method : str
        Name of the method: the leader if it is better than every other one with a
        probability of at least 0.8, else the simplest of the equals.
    leader : str
        Name of the method with the best mean.
    is_clear : bool
        Whether the leader is better than every other one with that probability.
    score : float
        Mean score of ``method``.
    next : str or None
        Name of the method with the next best mean; None if there is no other.
    next_score : float or None
        Its mean score.
    probability : float or None
        Probability that the leader is better than the next; None if it is not known.
    equals : list of str
        Methods, the leader first, of which none is known to be worse than the leader.
    sentence : str
        All of this in words, with the confusion matrix in numbers of samples.

    Examples
    --------
    >>> from sk_anyloss.compare import built_in, compare_tables
    >>> found = compare_tables([built_in()], methods=["logistic"], folds=2)
    >>> found.recommendation().method
    'logistic'
    >>> print(found.recommendation())
    Use logistic, the only method that was compared. Of 36 held-out samples labelled
    malignant it finds 29, with 2 false alarms (F1 0.865).
    """

    method: str
    leader: str
    is_clear: bool
    score: float
    next: str | None
    next_score: float | None
    probability: float | None
    equals: list[str]
    sentence: str

    def __str__(self) -> str:
        return self.sentence

    def to_dict(self) -> dict[str, object]:
        """The recommendation as JSON can hold it."""
        return asdict(self)


def recommend(results: Results, data: str | None = None) -> Recommendation | None:
    """The method to use on a data set, or on all of them.

    Parameters
    ----------
    results : Results
        The results.
    data : str, default=None
        Name of a data set; all by default.

    Returns
    -------
    recommendation : Recommendation or None
        None if every method failed.
    """
    found = choose(results, data)
    if found is None:
        return None
    if data is None and len(results.tables) == 1:
        data = results.tables[0].name
    return replace(found, sentence=_sentence(results, data, found))


def choose(results: Results, data: str | None = None) -> Recommendation | None:
    """As :func:`recommend`, without the sentence, which names checks.

    Parameters
    ----------
    results : Results
        The results.
    data : str, default=None
        Name of a data set; all by default.

    Returns
    -------
    recommendation : Recommendation or None
        None if every method failed.
    """
    if data is None and len(results.tables) == 1:
        data = results.tables[0].name
    means = results.ranking(data)["mean"].dropna()
    if means.empty:
        return None
    leader, *others = map(str, means.index)
    probabilities = {}
    for other in others:
        verdict = results.verdict_of(leader, other, data)
        probabilities[other] = None if verdict is None else verdict.better
    equals = [leader]
    equals += [other for other, p in probabilities.items() if p is None or p < SURE]
    is_clear = len(equals) == 1
    method = min(equals, key=lambda name: (*simplicity(name), equals.index(name)))
    second = others[0] if others else None
    if second is not None and probabilities[second] is None:
        method = leader  # Nothing is known of their difference.
    return Recommendation(
        method=method,
        leader=leader,
        is_clear=is_clear,
        score=float(means[method]),
        next=second,
        next_score=None if second is None else float(means[second]),
        probability=None if second is None else probabilities[second],
        equals=equals,
        sentence="",
    )


def _sentence(results: Results, data: str | None, found: Recommendation) -> str:
    metric, title = results.metric_title, get_method(found.method).title
    ranking = results.ranking(data)

    def score_of(name: str) -> str:
        row = ranking.loc[name]
        return constraint_text(row) or f"{row['mean']:.3f}"

    score = f"{metric} {score_of(found.method)}"
    effect = describe_effect(results, found.method, data)
    partial = _partial(results, data)
    last = _caution(results, data) + partial
    if found.next is None or found.next_score is None:
        only = f"Use {title}, the only method that was compared."
        return f"{only} {effect} ({score}).{last}"
    following = f"next: {get_method(found.next).title} {score_of(found.next)}"
    if found.probability is None:
        best_title = get_method(found.leader).title
        return (
            f"Too few finished folds to choose by: {best_title} has the "
            f"best mean so far ({metric} {score_of(found.leader)}; {following})."
            f"{partial}"
        )
    really = "probability that it is really better"
    p = f"{really} {found.probability:.2f}"
    if found.is_clear:
        return f"Use {title}. {effect} ({score}; {following}, {p}).{last}"
    if found.method == found.leader:
        why = f"{score}, the best mean; {following}, {p}"
    else:
        best = f"{get_method(found.leader).title} {score_of(found.leader)}"
        verdict = results.verdict_of(found.leader, found.method, data)
        p = "" if verdict is None else f", {really} {verdict.better:.2f}"
        why = f"{score}; best mean: {best}{p}"
    return (
        f"Too close to call; the simplest of the {len(found.equals)} equals is "
        f"{title}. {effect} ({why}).{last}"
    )


def describe_effect(results: Results, method: str, data: str | None) -> str:
    """What a method does, in numbers of held-out samples, without a full stop.

    Parameters
    ----------
    results : Results
        The results.
    method : str
        Name of the method.
    data : str or None
        Name of a data set; None for all.

    Returns
    -------
    text : str
        The positives that it finds and its false alarms; with more than two classes
        the samples that it labels right, and the class that it finds least of; with
        several labels those that it finds, its false alarms, and its worst label.

    Examples
    --------
    >>> from sk_anyloss.compare import built_in, compare_tables
    >>> from sk_anyloss.compare.recommendation import describe_effect
    >>> found = compare_tables([built_in()], methods=["logistic"], folds=2)
    >>> describe_effect(found, "logistic", None)
    'Of 36 held-out samples labelled malignant it finds 29, with 2 false alarms'
    """
    if data is None and len(results.tables) > 1:
        return f"These are means over {len(results.tables)} data sets"
    table = results.table_of(data)
    repeats = max(int(results.settings.get("repeats", 1)), 1)
    if table.has_labels:
        return _effect_on_labels(results, method, table, repeats)
    M = results.confusion_matrix(method, table.name).to_numpy() / repeats
    mean = " on average" if repeats > 1 else ""
    if table.n_classes == 2:
        (_, fp), (fn, tp) = M
        alarms = "1 false alarm" if round(fp) == 1 else f"{fp:,.0f} false alarms"
        text = (
            f"Of {fn + tp:,.0f} held-out samples labelled {table.positive} it finds "
            f"{tp:,.0f}{mean}, with {alarms}"
        )
        cost = total_cost(results.metric, M.ravel())
        text += "" if cost is None else f", at a cost of {float(cost):,.6g}"
    else:
        right, totals = M.diagonal(), M.sum(axis=1)
        text = (
            f"Of {M.sum():,.0f} held-out samples it labels {right.sum():,.0f} "
            f"correctly{mean}"
        )
        recalls = right / np.maximum(totals, 1)
        weakest = int(np.argmin(np.where(totals > 0, recalls, np.inf)))
        if recalls[weakest] < 1:
            text += (
                f"; it is weakest on {table.classes[weakest]}, of which it finds "
                f"{right[weakest]:,.0f} of {totals[weakest]:,.0f}"
            )
    return text


def _effect_on_labels(results: Results, method: str, table: Table, repeats: int) -> str:
    counts = results.label_counts(method, table.name) / repeats
    tp, fp, fn = (float(counts[name].sum()) for name in ("tp", "fp", "fn"))
    mean = " on average" if repeats > 1 else ""
    alarms = "1 false alarm" if round(fp) == 1 else f"{fp:,.0f} false alarms"
    text = (
        f"Of {fn + tp:,.0f} labels on {len(table.y):,} held-out samples it finds "
        f"{tp:,.0f}{mean}, with {alarms}"
    )
    report = results.class_report(method, table.name)
    worst = report["f1"].idxmin()
    own = counts.loc[worst]
    return (
        f"{text}; it is weakest on {worst}, of which it finds {own['tp']:,.0f} of "
        f"{own['tp'] + own['fn']:,.0f}, with {own['fp']:,.0f} false alarms"
    )


def _caution(results: Results, data: str | None) -> str:
    """Which checks may turn the recommendation over."""
    if data is None and len(results.tables) > 1:
        return ""
    severe = [
        one.code
        for one in results.checks(data)
        if one.status == "found" and one.severity == "high"
    ]
    if not severe:
        return ""
    checks = "check" if len(severe) == 1 else "checks"
    return f" Before you rely on it, see {checks} {' and '.join(severe)}."


def _partial(results: Results, data: str | None) -> str:
    """How many fits are missing, of a run that was stopped."""
    missing, expected = results.unfinished(data)
    if not missing:
        return ""
    done = expected - missing
    return f" The run is partial: {done:,} of {expected:,} fits are finished."
