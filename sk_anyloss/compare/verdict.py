"""Who wins, how surely, and by how much, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["Verdict", "judge", "judge_many"]


@dataclass(frozen=True)
class Verdict:
    """What a Bayesian test says of two methods.

    Parameters
    ----------
    one, other : str
        What the methods are called.
    metric : str
        What they are compared by.
    better, alike, worse : float
        Probabilities that the first is better than the other by more than the region
        of practical equivalence, within it, or worse by more.
    difference : float
        Mean of the first less mean of the other.
    rope : float
        The region of practical equivalence.

    Examples
    --------
    >>> from sk_anyloss.compare.verdict import Verdict
    >>> print(Verdict("A", "B", "F1", 0.93, 0.05, 0.02, 0.041, 0.01))
    A beats B on F1 with probability 0.93 (mean +0.041).
    >>> print(Verdict("A", "B", "F1", 0.1, 0.2, 0.7, -0.02, 0.01))
    A loses to B on F1 with probability 0.70 (mean -0.020).
    """

    one: str
    other: str
    metric: str
    better: float
    alike: float
    worse: float
    difference: float
    rope: float

    def __str__(self) -> str:
        mean = f"(mean {self.difference:+.3f})"
        most = max(self.better, self.alike, self.worse)
        if most < 0.5:
            return (
                f"{self.one} or {self.other}, on {self.metric}: too few folds to say "
                f"(better {self.better:.2f}, alike {self.alike:.2f}, worse "
                f"{self.worse:.2f}) {mean}."
            )
        if most == self.alike:
            return (
                f"{self.one} and {self.other} are alike on {self.metric}, within "
                f"{self.rope:g}, with probability {self.alike:.2f} {mean}."
            )
        word, chance = "beats", self.better
        if most == self.worse:
            word, chance = "loses to", self.worse
        return (
            f"{self.one} {word} {self.other} on {self.metric} with probability "
            f"{chance:.2f} {mean}."
        )


def judge(
    one: np.ndarray,
    other: np.ndarray,
    rope: float = 0.01,
    repeats: int = 1,
    forward: bool = False,
) -> tuple[float, float, float]:
    """Bayesian correlated t-test on the scores of the same folds of one data set.

    Scores of folds are correlated, since they are of models trained on common samples.
    Nadeau and Bengio (2003) widen the variance of their mean by the ratio of the
    samples left out to those trained on, ``1 / (k - 1)`` for k folds. Of k folds that
    look forward in time the i-th trains on i blocks and leaves one out: the mean ratio
    is ``(1 + 1/2 + ... + 1/k) / k``, and the test is the more careful for it.

    Returns the probabilities that the first is better, alike and worse.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.compare.verdict import judge
    >>> scores = np.array([0.5, 0.6, 0.55, 0.62])
    >>> judge(scores, scores)
    (0.0, 1.0, 0.0)
    """
    import baycomp

    difference = np.asarray(one, dtype=float) - np.asarray(other, dtype=float)
    if len(difference) < 2:
        raise ValueError("A verdict needs at least two folds that both have finished.")
    if np.ptp(difference) == 0:  # No spread to draw conclusions from.
        sign = int(difference[0] > rope) - int(difference[0] < -rope)
        return float(sign == 1), float(sign == 0), float(sign == -1)
    posterior = baycomp.CorrelatedTTest(
        np.asarray(one, float), np.asarray(other, float), rope=rope, runs=repeats
    )
    if forward:
        n = len(difference)
        ratio = np.mean(1 / np.arange(1, n + 1))
        posterior.var *= (1 / n + ratio) / (1 / n + 1 / (n - 1))
    return _three(posterior.probs())


def judge_many(
    one: np.ndarray, other: np.ndarray, rope: float = 0.01
) -> tuple[float, float, float]:
    """Bayesian sign test on the mean scores of several data sets.

    Returns the probabilities that the first is better, alike and worse.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.compare.verdict import judge_many
    >>> better, alike, worse = judge_many(np.full(9, 0.7), np.full(9, 0.6))
    >>> better > 0.95
    True
    """
    import baycomp

    found = baycomp.SignTest.probs(
        np.asarray(one, float), np.asarray(other, float), rope=rope, random_state=0
    )
    return _three(found)


def _three(found: Sequence[float]) -> tuple[float, float, float]:
    """With a rope of 0 there are two: nothing is alike."""
    better, *alike, worse = map(float, found)
    return better, sum(alike), worse
