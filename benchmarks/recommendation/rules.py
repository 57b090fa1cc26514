"""Rules that recommend a method by its scores on the folds of a comparison."""

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np
import pandas as pd

from sk_anyloss.compare.methods.simplicity import complexity
from sk_anyloss.compare.verdict import judge

#: From scores (a column for each method, the leader first) and seconds to a method.
Rule: TypeAlias = Callable[[pd.DataFrame, pd.Series], str]


def simplest(
    scores: pd.DataFrame,
    seconds: pd.Series,
    sure: float = 0.8,
    rope: float = 0.01,
    most: float = np.inf,
    key: str = "complexity",
) -> str:
    """The simplest method that is not clearly worse than the leader.

    A method is clearly worse if the leader is better with the probability ``sure``; it
    is left out, too, if its mean is more than ``most`` below that of the leader.
    """
    leader, *others = map(str, scores)
    kept = [leader]
    for name in others:
        better, *_ = judge(scores[leader], scores[name], rope)
        if better < sure and (scores[leader] - scores[name]).mean() <= most:
            kept.append(name)
    if key == "seconds":
        return min(kept, key=lambda name: float(seconds[name]))
    times = seconds if key == "complexity" else 0 * seconds
    return min(kept, key=lambda name: complexity(name, float(times[name])))


def within_standard_error(scores: pd.DataFrame, seconds: pd.Series) -> str:
    """The simplest method whose mean is within one standard error of the difference."""
    leader, n = scores.columns[0], len(scores)
    difference = -scores.sub(scores[leader], axis=0)
    error = difference.std() * np.sqrt(1 / n + 1 / (n - 1))
    kept = scores.columns[difference.mean() <= error]
    return min(kept, key=lambda name: complexity(name, float(seconds[name])))


def leader(scores: pd.DataFrame, seconds: pd.Series) -> str:
    """The method with the best mean."""
    return str(scores.columns[0])


RULES: dict[str, Rule] = {"leader": leader, "one standard error": within_standard_error}
for sure in (0.95, 0.9, 0.8, 0.65, 0.6, 0.5):
    for rope in (0.01, 0.005, 0.0):
        RULES[f"P < {sure:g}, ROPE {rope:g}"] = partial(simplest, sure=sure, rope=rope)
for most in (0.005, 0.01, 0.02, 0.03):
    RULES[f"at most {most:g} below"] = partial(simplest, sure=2.0, most=most)
for most in (0.01, 0.02):
    name = f"P < 0.8, ROPE 0.01, at most {most:g} below"
    RULES[name] = partial(simplest, most=most)
for key in ("seconds", "model"):
    name = f"P < 0.6, ROPE 0, by {key} alone"
    RULES[name] = partial(simplest, sure=0.6, rope=0.0, key=key)
