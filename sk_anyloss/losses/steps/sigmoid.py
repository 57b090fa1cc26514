"""Sigmoid steps: of the probability, as in AnyLoss, and of the logit."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor

from sk_anyloss.losses.steps.base import Step, Threshold

__all__ = ["LogitSigmoid", "Sigmoid"]

#: Up to this many logits, numpy is faster than torch.
NUMPY_MAX_SIZE = 512


@dataclass(frozen=True)
class Sigmoid(Step):
    """The AnyLoss amplifier, ``1 / (1 + exp(-L (p - t)))``.

    Equation 1 of the paper on AnyLoss.

    Parameters
    ----------
    L : float, default=73
        Steepness. :func:`sk_anyloss.losses.steepness.valid_L_range` gives the range
        that the paper calls valid.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses.steps import Sigmoid
    >>> Sigmoid(L=73)(torch.tensor([0.4, 0.5, 0.6]))
    tensor([6.7...e-04, 5.0000e-01, 9.9...e-01])
    """

    L: float = 73.0

    def __post_init__(self) -> None:
        is_number = isinstance(self.L, numbers.Real) and not isinstance(self.L, bool)
        if not is_number or not 0 < float(self.L) < math.inf:
            raise ValueError(
                f"L must be positive and finite, got {self.L!r}; the paper uses 73, 5 "
                "to 20 suits wider networks, and AnyLossClassifier takes L='auto'."
            )

    @property
    def gain(self) -> float:
        return self.L

    def __call__(self, p: Tensor, threshold: Threshold = 0.5) -> Tensor:
        return torch.sigmoid(self.L * (p - threshold))

    def derivative(self, p: Tensor, threshold: Threshold = 0.5) -> Tensor:
        # sigmoid(u) sigmoid(-u), not h (1 - h): the latter is 0 once h rounds to 1.
        u = self.L * (p - threshold)
        return self.L * torch.sigmoid(u) * torch.sigmoid(-u)

    def decide(
        self, logit: Tensor, threshold: Threshold = 0.5
    ) -> tuple[Tensor, Tensor]:
        # h = 1 / (1 + e) and 1 - h = e h with e = exp(-u): one exponential for both.
        L: Threshold = self.L  # A tensor of shape (K, 1) in a stack.
        small = logit.dim() > 0 and logit.numel() <= NUMPY_MAX_SIZE and logit.is_cpu
        small = small and logit.dtype != torch.bfloat16  # Which numpy does not have.
        if isinstance(L, Tensor) or isinstance(threshold, Tensor) or L > 85:
            p = torch.sigmoid(logit)
            # exp(85) is finite in every dtype.
            e = (threshold - p).mul_(L).clamp_(max=85).exp_()
        elif small:
            return self._decide_small(logit.detach().numpy(), threshold)
        else:
            p = torch.sigmoid(logit)
            e = torch.rsub(p, L * threshold, alpha=L).exp_()
        decisions = logit.new_empty((2, *logit.shape))
        h_not, h = decisions.unbind()
        torch.add(e, 1, out=h).reciprocal_()
        torch.mul(e, h, out=h_not)
        # Not p (1 - p), which is 0 from a logit of 17 on in single precision.
        derivative = p.mul_(torch.sigmoid(-logit))
        return decisions, derivative.mul_(h).mul_(h_not)

    def _decide_small(
        self, logit: np.ndarray, threshold: float
    ) -> tuple[Tensor, Tensor]:
        """The same in numpy, which takes half the time for few logits."""
        p = expit(logit)
        e = p * -self.L
        e += self.L * threshold
        np.exp(e, out=e)
        decisions = np.empty((2, *logit.shape), logit.dtype)
        h_not, h = decisions
        np.add(e, 1, out=h)
        np.reciprocal(h, out=h)
        np.multiply(e, h, out=h_not)
        p *= expit(-logit)
        p *= h
        p *= h_not
        return torch.from_numpy(decisions), torch.from_numpy(p)


@dataclass(frozen=True)
class LogitSigmoid(Step):
    """A sigmoid of the logit instead of the probability, as in sigmoidF1.

    ``1 / (1 + exp(-beta (z - z_t + eta)))`` with the logits z of p and z_t of the
    threshold. It never saturates faster than the logit grows. ``beta=1`` and
    ``eta=0`` at t = 0.5 is :class:`sk_anyloss.losses.steps.Identity`. (Benedict, Koops,
    Odijk and de Rijke, "sigmoidF1: A Smooth F1 Score Surrogate Loss for Multilabel
    Classification".)

    Parameters
    ----------
    beta : float, default=2
        Steepness, positive.
    eta : float, default=0
        Offset of the logit; unless it is 0, the decision changes at a probability
        other than t.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses.steps import LogitSigmoid
    >>> LogitSigmoid(beta=2)(torch.tensor([0.25, 0.5, 0.75]))
    tensor([0.1000, 0.5000, 0.9000])
    """

    beta: float = 2.0
    eta: float = 0.0

    def __post_init__(self) -> None:
        if not 0 < self.beta < math.inf:
            raise ValueError(f"beta must be positive and finite, got {self.beta!r}.")
        if not math.isfinite(self.eta):
            raise ValueError(f"eta must be finite, got {self.eta!r}.")

    @property
    def gain(self) -> float:
        return self.beta

    def _u(self, logit: Tensor, threshold: Threshold) -> Tensor:
        z_t: Threshold
        if isinstance(threshold, Tensor):
            z_t = torch.logit(threshold)
        else:
            z_t = math.log(threshold) - math.log1p(-threshold)
        return (logit - (z_t - self.eta)) * self.beta

    def __call__(self, p: Tensor, threshold: Threshold = 0.5) -> Tensor:
        return torch.sigmoid(self._u(torch.logit(p), threshold))

    def derivative(self, p: Tensor, threshold: Threshold = 0.5) -> Tensor:
        u = self._u(torch.logit(p), threshold)
        return self.beta * torch.sigmoid(u) * torch.sigmoid(-u) / (p * (1 - p))

    def decide(
        self, logit: Tensor, threshold: Threshold = 0.5
    ) -> tuple[Tensor, Tensor]:
        u = self._u(logit, threshold)
        h, h_not = torch.sigmoid(u), torch.sigmoid(-u)
        return torch.stack((h_not, h)), h * h_not
