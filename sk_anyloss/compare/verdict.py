"""Bayesian comparison of two methods, and its result in a sentence.

Benavoli, Corani, Demsar and Zaffalon (2017), "Time for a change: a tutorial for
comparing multiple classifiers through Bayesian analysis", JMLR 18(77), describe both
tests; differences within the region of practical equivalence (ROPE) count as none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import t

__all__ = ["SURE", "Verdict", "judge", "judge_many"]

#: Probability from which one outcome of a comparison counts as shown.
SURE = 0.8


@dataclass(frozen=True)
class Verdict:
    """Result of a Bayesian comparison of two methods.

    Parameters
    ----------
    method, other : str
        Titles of the two methods.
    metric : str
        Title of the metric that they are compared by.
    better, equivalent, worse : float
        Probabilities that the first method is better by more than the region of
        practical equivalence, that the two are practically equivalent, and that the
        first is worse by more.
    difference : float
        Mean of the first method minus mean of the other.
    rope : float
        Half-width of the region of practical equivalence.

    Examples
    --------
    >>> from sk_anyloss.compare.verdict import Verdict
    >>> print(Verdict("A", "B", "F1", 0.93, 0.05, 0.02, 0.041, 0.01))
    A beats B on F1 with probability 0.93 (mean difference +0.041).
    >>> print(Verdict("A", "B", "F1", 0.1, 0.05, 0.85, -0.02, 0.01))
    A loses to B on F1 with probability 0.85 (mean difference -0.020).
    """

    method: str
    other: str
    metric: str
    better: float
    equivalent: float
    worse: float
    difference: float
    rope: float

    def __str__(self) -> str:
        difference = f"mean difference {self.difference:+.3f}"
        most_likely = max(self.better, self.equivalent, self.worse)
        if most_likely < SURE:
            return (
                f"{self.method} against {self.other}, on {self.metric}: inconclusive "
                f"(better {self.better:.2f}, practically equivalent "
                f"{self.equivalent:.2f}, worse {self.worse:.2f}; {difference})."
            )
        if most_likely == self.equivalent:
            return (
                f"{self.method} and {self.other} are practically equivalent on "
                f"{self.metric}, within {self.rope:g}, with probability "
                f"{self.equivalent:.2f} ({difference})."
            )
        verb, probability = "beats", self.better
        if most_likely == self.worse:
            verb, probability = "loses to", self.worse
        return (
            f"{self.method} {verb} {self.other} on {self.metric} with probability "
            f"{probability:.2f} ({difference})."
        )


def judge(
    one: ArrayLike,
    other: ArrayLike,
    rope: float = 0.01,
    *,
    folds: int | None = None,
    forward: bool = False,
) -> tuple[float, float, float]:
    """Bayesian correlated t-test on the scores of the same folds of one data set.

    Scores of folds are correlated, since their training samples overlap. Of n
    differences with mean m and variance s^2, the posterior of the true one is Student's
    t with n - 1 degrees of freedom, location m and squared scale
    ``s^2 (1 / n + rho / (1 - rho))``, where rho is the share of test samples (Corani
    and Benavoli, 2015): the ratio of test to training samples is ``1 / (k - 1)`` for k
    folds, however many of them have finished. The i-th of k folds forward in time
    trains on i blocks and tests on one: the mean ratio is
    ``(1 + 1/2 + ... + 1/k) / k``, which makes the test more conservative.

    Parameters
    ----------
    one, other : array-like of shape (n_folds,)
        Scores of the two methods on the same folds.
    rope : float, default=0.01
        Half-width of the region of practical equivalence.
    folds : int, default=None
        Number of folds that each repetition of the cross-validation splits the samples
        into; by default the number of scores.
    forward : bool, default=False
        Whether the folds are forward in time.

    Returns
    -------
    better, equivalent, worse : float
        Probabilities that the first method is better, practically equivalent and
        worse.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.compare.verdict import judge
    >>> scores = np.array([0.5, 0.6, 0.55, 0.62])
    >>> judge(scores, scores)
    (0.0, 1.0, 0.0)
    """
    difference = np.asarray(one, dtype=float) - np.asarray(other, dtype=float)
    n = len(difference)
    if n < 2:
        raise ValueError("A verdict needs at least two folds that both have finished.")
    if np.ptp(difference) == 0:  # The t-test needs a positive variance.
        sign = int(difference[0] > rope) - int(difference[0] < -rope)
        return float(sign == 1), float(sign == 0), float(sign == -1)
    k = n if folds is None else folds
    ratio = np.mean(1 / np.arange(1, k + 1)) if forward else 1 / (k - 1)
    scale = np.sqrt(difference.var(ddof=1) * (1 / n + ratio))
    posterior = t(n - 1, difference.mean(), scale)
    worse, not_better = posterior.cdf([-rope, rope])
    return float(posterior.sf(rope)), float(not_better - worse), float(worse)


def judge_many(
    one: ArrayLike, other: ArrayLike, rope: float = 0.01
) -> tuple[float, float, float]:
    """Bayesian sign test on the mean scores of several data sets.

    Parameters
    ----------
    one, other : array-like of shape (n_data_sets,)
        Mean scores of the two methods on the same data sets.
    rope : float, default=0.01
        Half-width of the region of practical equivalence.

    Returns
    -------
    better, equivalent, worse : float
        Probabilities that the first method is better, practically equivalent and
        worse.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.compare.verdict import judge_many
    >>> better, equivalent, worse = judge_many(np.full(9, 0.7), np.full(9, 0.6))
    >>> better > 0.95
    True
    """
    import baycomp

    probabilities = baycomp.SignTest.probs(
        np.asarray(one, float), np.asarray(other, float), rope=rope, random_state=0
    )
    return _three(probabilities)


def _three(probabilities: Sequence[float]) -> tuple[float, float, float]:
    """With a ROPE of width 0, baycomp returns two: nothing is equivalent."""
    better, *equivalent, worse = map(float, probabilities)
    return better, sum(equivalent), worse
