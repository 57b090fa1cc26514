"""Where a classifier decides: one value, for prediction, scores, export and plots."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit

from sk_anyloss.metrics.arithmetic import Array

__all__ = ["Decision", "log_odds"]


@dataclass(frozen=True)
class Decision:
    """The positive class is predicted where its log-odds exceed an offset.

    Parameters
    ----------
    offset : float, default=0
        Log-odds of the decision threshold; 0 is the probability 0.5.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.decision import Decision
    >>> decision = Decision.at(0.2)
    >>> decision.is_positive(np.array([-2.0, -1.0, 0.0]))
    array([False,  True,  True])
    >>> round(decision.threshold, 6)
    0.2
    """

    offset: float = 0.0

    @classmethod
    def at(cls, threshold: float) -> Decision:
        """The decision at a probability."""
        return cls(float(logit(threshold)))

    @property
    def threshold(self) -> float:
        """The probability above which the positive class is predicted."""
        return float(expit(self.offset))

    def margin(self, log_odds: Array) -> Array:
        """Distance to the decision threshold in log-odds, above 0 for positives."""
        return log_odds - self.offset

    def is_positive(self, log_odds: Array) -> Array:
        """Whether the positive class is predicted, for an array or a tensor."""
        return log_odds > self.offset


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
