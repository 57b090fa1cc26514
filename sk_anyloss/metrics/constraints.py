"""Metrics with a constraint: the best of one metric, given a floor under another."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sk_anyloss.metrics.arithmetic import Count, Metric
from sk_anyloss.metrics.registry import (
    get_metric,
    is_registered_curve,
    metric_name,
    register_family,
    registered_spelling,
)

__all__ = ["AtLeast", "ScoreAtLeast"]

#: A floor. One way to match it: with two, a long text takes its length squared.
NUMBER = r"\d+(?:\.\d+)?|\.\d+"

#: Sums of weights are rounded, so a constraint missed by less counts as met.
TOLERANCE = 1e-9


@dataclass(frozen=True)
class AtLeast:
    """The best of one metric subject to a floor under another.

    Where the constraint is met, the value is that of the goal; where it is violated,
    the value is the negative size of the violation:
    ``AtLeast('precision', 'recall', 0.8)`` gives 0.62 for a precision of 0.62 at a
    recall of 0.8 or more, and -0.05 for a recall of 0.75. By name, this metric is
    ``'precision@recall>=0.8'``.

    Parameters
    ----------
    goal : str or callable, default='precision'
        The metric to maximise; it must never be negative.
    constraint : str or callable, default='recall'
        The metric that has to reach the floor.
    floor : float, default=0.8
        The floor, in (0, 1).

    Examples
    --------
    >>> from sk_anyloss.metrics import AtLeast
    >>> metric = AtLeast("precision", "recall", 0.75)
    >>> metric(90, 2, 1, 6), round(metric(90, 2, 3, 5), 3)
    (0.75, -0.125)
    >>> metric.both(90, 2, 1, 6)  # Precision and recall.
    (0.75, 0.857...)
    """

    goal: str | Metric = "precision"
    constraint: str | Metric = "recall"
    floor: float = 0.8

    def __post_init__(self) -> None:
        if not 0 < self.floor < 1:
            raise ValueError(
                f"The floor under {self.constraint!r} must lie in (0, 1), got "
                f"{self.floor!r}."
            )
        for metric in (self.goal, self.constraint):
            if is_registered_curve(get_metric(metric)):
                raise ValueError(
                    f"{metric!r} is a metric over thresholds; a constraint and its "
                    "goal are metrics of one confusion matrix."
                )

    @property
    def __name__(self) -> str:
        goal, constraint = metric_name(self.goal), metric_name(self.constraint)
        return f"{goal}@{constraint}>={self.floor:g}"

    def __call__(self, tn: Count, fp: Count, fn: Count, tp: Count) -> Count:
        return self.combine(*self.both(tn, fp, fn, tp))

    def both(self, tn: Count, fp: Count, fn: Count, tp: Count) -> tuple[Count, Count]:
        """Values of the goal and of the constrained metric.

        Parameters
        ----------
        tn, fp, fn, tp : float, ndarray or tensor
            The counts.

        Returns
        -------
        goal, constraint : float, ndarray or tensor
            The two metrics.
        """
        goal, constraint = get_metric(self.goal), get_metric(self.constraint)
        return goal(tn, fp, fn, tp), constraint(tn, fp, fn, tp)

    def combine(self, goal: Count, constraint: Count) -> Count:
        """Value of this metric, given the two that it is made of.

        Parameters
        ----------
        goal, constraint : float, ndarray or tensor
            Values of the two metrics.

        Returns
        -------
        value : float, ndarray or tensor
            The goal where the constraint is met, else minus the violation.
        """
        margin = constraint - self.floor
        met = margin >= -TOLERANCE
        return goal * met + margin * (margin < -TOLERANCE)


def _build(match: re.Match[str]) -> AtLeast:
    return AtLeast(match[1], match[2], float(match[3]))


def _spelling(match: re.Match[str]) -> str:
    parts = {match[i]: registered_spelling(match[i]) for i in (1, 2)}
    return re.sub(r"[\w.]+", lambda part: parts.get(part[0], part[0]), match[0])


register_family(rf"([\w.]+) *@ *([\w.]+) *>= *({NUMBER})", _build, _spelling)


class ScoreAtLeast(float):
    """The value of a metric with a constraint, whose text shows both metrics.

    Attributes
    ----------
    goal, constraint : float
        The metric to maximise, and the one with a floor.

    Examples
    --------
    >>> from sk_anyloss import metric_score
    >>> y, decisions = [0, 0, 0, 1, 1], [0, 0, 1, 1, 1]
    >>> score = metric_score(y, decisions, metric="precision@recall>=0.8")
    >>> score
    0.667 (precision 0.667 at recall 1.000, which meets 0.8)
    >>> score.constraint, score > 0.5
    (1.0, True)
    """

    goal: float
    constraint: float
    text: str

    @classmethod
    def from_values(
        cls, metric: AtLeast, goal: float, constraint: float
    ) -> ScoreAtLeast:
        """Make the score from the values of the two metrics.

        Parameters
        ----------
        metric : AtLeast
            The metric with a constraint.
        goal, constraint : float
            Values of the metrics that it is made of.

        Returns
        -------
        score : ScoreAtLeast
            The value of ``metric``.
        """
        score = cls(metric.combine(goal, constraint))
        score.goal, score.constraint = float(goal), float(constraint)
        verdict = "misses" if score < 0 else "meets"
        score.text = (
            f"{float(score):.3f} ({metric_name(metric.goal)} {score.goal:.3f} at "
            f"{metric_name(metric.constraint)} {score.constraint:.3f}, which "
            f"{verdict} {metric.floor:g})"
        )
        return score

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__
