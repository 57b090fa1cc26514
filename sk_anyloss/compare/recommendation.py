"""What to use: the recommendation that terminal, page, notebook and JSON share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from sk_anyloss.compare.methods.registry import get_method
from sk_anyloss.compare.methods.simplicity import complexity
from sk_anyloss.compare.report.text import constraint_text
from sk_anyloss.compare.report.thresholds import total_cost
from sk_anyloss.compare.verdict import SURE

if TYPE_CHECKING:
    from sk_anyloss.compare.results.results import Results
    from sk_anyloss.compare.tables.table import Table

__all__ = ["Recommendation", "choose", "recommend"]

#: Probability that the leader is better at all below which a simpler method takes its
#: place. ``python -m benchmarks.recommendation`` compares it with other rules.
COIN_TOSS = 0.6
#: Methods that a sentence names.
MAX_NAMED = 4


@dataclass(frozen=True)
class Recommendation:
    """Which method to use, and what it will do.

    Parameters
    ----------
    method : str
        Name of the method: the least complex one
        (:func:`~sk_anyloss.compare.methods.simplicity.complexity`) of the leader and of
        those than which it is better, by however little, with a probability below 0.6,
        if they are better than no model.
    leader : str
        Name of the method with the best mean, on the folds in common with each other.
    is_clear : bool
        Whether the leader is better than every other one with a probability of at
        least 0.8.
    beats_dummy : bool
        Whether the leader is better than all predictions without a model.
    score : float
        Mean score of ``method``.
    next : str or None
        Name of the method with the next best mean; None if there is no other.
    next_score : float or None
        Its mean score.
    probability : float or None
        Probability that the leader is better than the next; None if it is not known.
    not_clearly_worse : list of str
        The leader, and the methods than which it is better with a lower probability.
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
    beats_dummy: bool
    score: float
    next: str | None
    next_score: float | None
    probability: float | None
    not_clearly_worse: list[str]
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
    ranking = results.ranking(data).dropna(subset=["mean"])
    if ranking.empty:
        return None
    means, seconds = ranking["mean"], ranking["seconds"]
    leader, *others = map(str, means.index)
    scores = results.scores(data)
    for other in others:  # Means over different folds do not say which is better.
        if (scores[other] - scores[leader]).mean() > 1e-9:
            leader = other
    others = [name for name in map(str, means.index) if name != leader]
    verdicts = {other: results.verdict_of(leader, other, data) for other in others}
    near = [k for k, v in verdicts.items() if v is None or v.better < SURE]
    second = verdicts[others[0]] if others else None
    least = results.dummies(data)["mean"].max() + results.rope
    candidates = [leader]
    for name in near if second is not None else ():
        verdict = results.verdict_of(leader, name, data, rope=0.0)
        if verdict is not None and verdict.better < COIN_TOSS and means[name] > least:
            candidates.append(name)
    method = min(candidates, key=lambda name: complexity(name, seconds[name]))
    return Recommendation(
        method=method,
        leader=leader,
        is_clear=not near,
        beats_dummy=bool(means[leader] > least),
        score=float(means[method]),
        next=others[0] if others else None,
        next_score=float(means[others[0]]) if others else None,
        probability=None if second is None else second.better,
        not_clearly_worse=[leader, *near],
        sentence="",
    )


def _sentence(results: Results, data: str | None, found: Recommendation) -> str:
    metric, title = results.metric_title, get_method(found.method).title
    ranking = results.ranking(data)

    def score_of(row: Mapping[str, float]) -> str:
        return constraint_text(row) or f"{row['mean']:.3f}"

    def with_score(name: str) -> str:
        return f"{get_method(name).title} {score_of(ranking.loc[name])}"

    start = f"Use {title}"
    if not found.beats_dummy:
        dummy = results.dummies(data).iloc[0]
        start = (
            f"No method is better than predicting {dummy['title']} ({metric} "
            f"{score_of(dummy)}). The best one is {title}"
        )
    score = f"{metric} {score_of(ranking.loc[found.method])}"
    effect = describe_effect(results, found.method, data)
    partial = _partial(results, data)
    last = _caution(results, data) + partial
    if found.next is None:
        return f"{start}, the only method that was compared. {effect} ({score}).{last}"
    if found.probability is None:
        return (
            "Too few finished folds to choose by: "
            f"{get_method(found.leader).title} has the best mean so far ({metric} "
            f"{score_of(ranking.loc[found.leader])}; next: {with_score(found.next)})."
            f"{partial}"
        )
    really = "probability that it is really better"
    others = [name for name in found.not_clearly_worse if name != found.method]
    named = [get_method(name).title for name in others if name != found.leader]
    if len(named) > MAX_NAMED:
        named[MAX_NAMED:] = [f"and {len(named) - MAX_NAMED} more"]
    if found.method == found.leader:
        best = "" if found.is_clear else ", the best mean"
        why = (
            f"{best}; next: {with_score(found.next)}, {really} {found.probability:.2f}"
        )
        also = "Not clearly worse"
    else:
        is_simpler = complexity(found.method) < complexity(found.leader)
        start += (
            f", which is {'simpler' if is_simpler else 'faster'} than "
            f"{get_method(found.leader).title} and not clearly worse"
        )
        verdict = results.verdict_of(found.leader, found.method, data)
        p = "" if verdict is None else f", {really} {verdict.better:.2f}"
        why = f"; best mean: {with_score(found.leader)}{p}"
        also = "Not clearly worse either"
    also = f" {also}: {'; '.join(named)}." if named else ""
    return f"{start}. {effect} ({score}{why}).{also}{last}"


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
