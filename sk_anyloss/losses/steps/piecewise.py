"""Piecewise steps: the identity, three linear segments, and bands about the threshold.

SOL is the score-oriented loss of Marchetti, Guastavino, Piana and Campi
("Score-Oriented Loss (SOL) functions", Pattern Recognition 2022), which takes the
threshold as a random variable: the step is the distribution function of its prior.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from sk_anyloss.losses.steps.base import Step, Threshold

__all__ = ["Cosine", "Identity", "Linear", "Uniform"]


@dataclass(frozen=True)
class Identity(Step):
    """``h = p``: "soft F1", and SOL with the uniform prior. Ignores the threshold.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses.steps import Identity
    >>> Identity()(torch.tensor([0.25, 0.75]))
    tensor([0.2500, 0.7500])
    """

    def __call__(self, p: Tensor, threshold: Threshold = 0.5) -> Tensor:
        return p

    def derivative(self, p: Tensor, threshold: Threshold = 0.5) -> Tensor:
        return torch.ones_like(p)


@dataclass(frozen=True)
class Linear(Step):
    """Three segments, steep about the threshold: the linear Heaviside of soft sets.

    Through (0, 0), (t - m/2, d), (t, 1/2), (t + m/2, 1 - d) and (1, 1), where
    ``m = min(t, 1 - t)`` and ``d = delta``.

    Parameters
    ----------
    delta : float, default=0.1
        Height at which the steep segment begins, in (0, 0.5).

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses.steps import Linear
    >>> Linear(delta=0.1)(torch.tensor([0.25, 0.5, 0.75, 1.0]))
    tensor([0.1000, 0.5000, 0.9000, 1.0000])
    """

    delta: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.delta < 0.5:
            raise ValueError(
                f"delta must lie in (0, 0.5), got {self.delta!r}: at 0.5 the middle "
                "segment is flat, at 0 the outer ones are; 0.1 is usual."
            )

    def _segments(
        self, threshold: Threshold
    ) -> tuple[Threshold, Threshold, Threshold, Threshold]:
        """The width m, and the derivatives in the three segments."""
        above = threshold - 0.5
        distance = above.abs() if isinstance(above, Tensor) else abs(above)
        m = 0.5 - distance  # min(t, 1 - t)
        low = self.delta / (threshold - m / 2)
        middle = (1 - 2 * self.delta) / m
        high = self.delta / (1 - threshold - m / 2)
        return m, low, middle, high

    def __call__(self, p: Tensor, threshold: Threshold = 0.5) -> Tensor:
        m, low, middle, high = self._segments(threshold)
        inner = 0.5 + middle * (p - threshold)
        outer = torch.where(p < threshold, low * p, 1 - high * (1 - p))
        return torch.where((p - threshold).abs() < m / 2, inner, outer)

    def derivative(self, p: Tensor, threshold: Threshold = 0.5) -> Tensor:
        m, low, middle, high = self._segments(threshold)
        outer = torch.where(p < threshold, torch.ones_like(p) * low, high)
        return torch.where((p - threshold).abs() < m / 2, middle, outer)


@dataclass(frozen=True)
class Cosine(Step):
    """0 below t - d, 1 above t + d, smooth between: SOL's raised-cosine prior.

    ``(1 + v + sin(pi v) / pi) / 2`` with ``v = (p - t) / d`` and ``d = delta``.
    Samples outside the band have no gradient, by definition, not by rounding.

    Parameters
    ----------
    delta : float, default=0.1
        Half the width of the band, positive.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses.steps import Cosine
    >>> Cosine(delta=0.25)(torch.tensor([0.25, 0.5, 0.75]))
    tensor([0.0000, 0.5000, 1.0000])
    """

    delta: float = 0.1

    def __post_init__(self) -> None:
        if not 0 < self.delta < math.inf:
            raise ValueError(
                f"delta must be positive and finite, got {self.delta!r}: a band of "
                "width 0 has no derivative; 0.1 is usual."
            )

    def __call__(self, p: Tensor, threshold: Threshold = 0.5) -> Tensor:
        # With s = 1 + v, so that the ends of the band are exactly 0 and 1.
        s = (1 + (p - threshold) / self.delta).clamp(0, 2)
        return ((s - torch.sin(torch.pi * s) / torch.pi) / 2).clamp(0, 1)

    def derivative(self, p: Tensor, threshold: Threshold = 0.5) -> Tensor:
        v = ((p - threshold) / self.delta).clamp(-1, 1)
        return (1 + torch.cos(torch.pi * v)) / (2 * self.delta)


@dataclass(frozen=True)
class Uniform(Step):
    """0 below t - d, 1 above t + d, linear between: SOL's uniform prior.

    ``(p - t + d) / (2 d)`` with ``d = delta``; at t = 0.5, ``delta=0.5`` is
    :class:`Identity`. Samples outside the band have no gradient.

    Parameters
    ----------
    delta : float, default=0.25
        Half the width of the band, positive.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses.steps import Uniform
    >>> Uniform(delta=0.25)(torch.tensor([0.25, 0.5, 0.625, 0.75]))
    tensor([0.0000, 0.5000, 0.7500, 1.0000])
    """

    delta: float = 0.25

    def __post_init__(self) -> None:
        if not 0 < self.delta < math.inf:
            raise ValueError(
                f"delta must be positive and finite, got {self.delta!r}: a band of "
                "width 0 has no derivative; 0.25 is usual."
            )

    def __call__(self, p: Tensor, threshold: Threshold = 0.5) -> Tensor:
        return ((p - threshold) / (2 * self.delta) + 0.5).clamp(0, 1)

    def derivative(self, p: Tensor, threshold: Threshold = 0.5) -> Tensor:
        within = (p - threshold).abs() < self.delta
        return within.to(p.dtype) / (2 * self.delta)
