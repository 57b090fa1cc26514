"""Where a classifier decides: one value, for prediction, scores, export and plots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

from sk_anyloss.metrics.arithmetic import Array

__all__ = ["Decision", "log_odds", "log_probabilities"]


@dataclass(frozen=True)
class Decision:
    """The positive class is predicted where its log-odds exceed an offset.

    Of several labels, each has an offset of its own. Of several classes, the one is
    predicted whose log-probability exceeds its offset the most.

    Parameters
    ----------
    offset : float or ndarray of shape (C,) or (Q,), default=0
        Log-odds of the decision threshold; 0 is the probability 0.5. An array has one
        entry for each class or label.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.decision import Decision
    >>> decision = Decision.at(0.2)
    >>> decision.is_positive(np.array([-2.0, -1.0, 0.0]))
    array([False,  True,  True])
    >>> round(decision.threshold, 6)
    0.2
    >>> log_proba = np.log([[0.6, 0.3, 0.1], [0.9, 0.05, 0.05]])
    >>> Decision(np.array([1.0, 0.0, -1.0])).margin(log_proba).argmax(axis=1)
    array([1, 0])
    """

    offset: float | np.ndarray = 0.0

    @classmethod
    def at(cls, threshold: float) -> Decision:
        """The decision at a probability."""
        return cls(float(logit(threshold)))

    @property
    def threshold(self) -> Any:
        """The probability above which the positive class, or a label, is predicted."""
        threshold = expit(self.offset)
        return threshold if np.ndim(threshold) else float(threshold)

    def margin(self, log_odds: Array) -> Array:
        """Distance to the decision threshold in log-odds, above 0 for positives."""
        return log_odds - self.offset  # type: ignore[return-value]

    def is_positive(self, log_odds: Array) -> Array:
        """Whether the positive class is predicted, for an array or a tensor."""
        return log_odds > self.offset  # type: ignore[return-value]


def log_probabilities(probability: np.ndarray) -> np.ndarray:
    """Logarithms of probabilities, finite for those that are 0.

    The differences of the two columns of two classes are :func:`log_odds`.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.decision import log_probabilities
    >>> log_probabilities(np.array([1.0, 0.0])).round(2)
    array([  0.  , -36.04])
    """
    return np.log(np.maximum(probability, np.finfo(float).eps))


def log_odds(probability: np.ndarray) -> np.ndarray:
    """Log-odds of probabilities, finite for those that round to 0 or 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.decision import log_odds
    >>> log_odds(np.array([0.5, 1.0])).round(2)
    array([ 0.  , 36.04])
    """
    tiny = np.finfo(float).eps
    return logit(np.clip(probability, tiny, 1 - tiny))
