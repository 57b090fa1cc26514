"""Learning rates that change in the course of a training."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

__all__ = ["CosineDecay", "LearningRate", "initial_rate"]


@dataclass(frozen=True)
class CosineDecay:
    """A learning rate that falls from its initial value to 0 along half a cosine.

    The rate is constant within an epoch: of E epochs, epoch e (from 0) has
    ``initial * (1 + cos(pi * (e + 1/2) / E)) / 2``.

    Parameters
    ----------
    initial : float
        Learning rate at the start.

    Examples
    --------
    >>> from sk_anyloss import CosineDecay
    >>> decay = CosineDecay(0.03)
    >>> [round(decay.factor((epoch + 0.5) / 4), 3) for epoch in range(4)]
    [0.962, 0.691, 0.309, 0.038]
    """

    initial: float

    def __repr__(self) -> str:
        return f"CosineDecay({self.initial!r})"

    def factor(self, progress: float) -> float:
        """Fraction of the initial rate that is left after a fraction of the epochs."""
        return (1 + math.cos(math.pi * progress)) / 2


#: A constant learning rate, or a schedule.
LearningRate: TypeAlias = "float | CosineDecay"


def initial_rate(lr: LearningRate) -> float:
    """The learning rate of the first steps.

    Examples
    --------
    >>> from sk_anyloss.training.schedules import CosineDecay, initial_rate
    >>> initial_rate(0.01), initial_rate(CosineDecay(0.03))
    (0.01, 0.03)
    """
    return lr.initial if isinstance(lr, CosineDecay) else lr
