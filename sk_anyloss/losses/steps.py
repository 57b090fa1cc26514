"""Steps: from a probability p to a soft decision h = H(p; t) in [0, 1].

A step is a differentiable stand-in for "p > t". Each knows its value and its slope
in closed form, and all of them have the symmetry ``1 - H(p; t) = H(1 - p; 1 - t)``,
through which ``1 - h`` keeps its digits where ``h`` rounds to 1.
"""

from __future__ import annotations

import copy
import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor

from sk_anyloss._names import unknown
from sk_anyloss.metrics._cache import cached

__all__ = [
    "Cosine",
    "Identity",
    "Linear",
    "LogitSigmoid",
    "Sigmoid",
    "Step",
    "Uniform",
    "check_threshold",
    "check_thresholds",
    "get_step",
    "stack_numbers",
    "stack_steps",
    "step_names",
]


#: Up to this many numbers, numpy is quicker than torch.
FEW = 512


class Step:
    """Base of all steps: give ``__call__`` and ``slope``, and the rest follows.

    A subclass must keep the symmetry ``1 - H(p; t) = H(1 - p; 1 - t)``.
    """

    #: A number that all slopes of :meth:`decide` are still to be multiplied with.
    gain: float = 1.0

    def __call__(self, p: Tensor, threshold: float = 0.5) -> Tensor:
        """Soft decision H(p; t)."""
        raise NotImplementedError

    def slope(self, p: Tensor, threshold: float = 0.5) -> Tensor:
        """Derivative of H with respect to p."""
        raise NotImplementedError

    def decide(self, logit: Tensor, threshold: float = 0.5) -> tuple[Tensor, Tensor]:
        """From logits: the decisions 1 - h and h, and the slope dh/dlogit / gain.

        The first has the shape (2, ...), an entry for each class that can be decided
        for. No difference of nearly equal numbers is taken on the way, so neither of
        them nor the slope is lost to rounding: with p = sigmoid(z),
        ``dh/dz = H'(p) p (1 - p)`` and ``1 - p = sigmoid(-z)``.

        Examples
        --------
        >>> import torch
        >>> from sk_anyloss.losses.steps import Sigmoid
        >>> (h_not, h), slope = Sigmoid(L=73).decide(torch.tensor(6.9))
        >>> h.item(), h_not.item() > 0, slope.item() > 0
        (1.0, True, True)
        """
        p, p_not = torch.sigmoid(logit), torch.sigmoid(-logit)
        decisions = torch.stack((self(p_not, 1 - threshold), self(p, threshold)))
        return decisions, self.slope(p, threshold) * p * p_not

    def open_range(self, threshold: float = 0.5) -> tuple[float, float]:
        """Probabilities between which the decision is open: 0.05 <= h <= 0.95.

        Rows outside have next to no gradient, so this is where to start training.

        Examples
        --------
        >>> from sk_anyloss.losses.steps import Identity, Sigmoid
        >>> [round(p, 3) for p in Sigmoid(L=73).open_range()]
        [0.46, 0.54]
        >>> [round(p, 3) for p in Identity().open_range()]
        [0.05, 0.95]
        """
        return _open_range(self, threshold)


@cached
def _open_range(step: Step, threshold: float) -> tuple[float, float]:
    goal = torch.tensor([0.05, 0.95], dtype=torch.float64)
    low, high = torch.zeros_like(goal), torch.ones_like(goal)
    for _ in range(5):  # h never falls as p rises: look closer and closer.
        grid = low + (high - low) * torch.linspace(0, 1, 1025)[:, None].double()
        last = (step(grid, threshold) < goal).sum(0).clamp(1, 1024)
        low, high = grid.gather(0, torch.stack((last - 1, last)))
    start, end = high.tolist()
    return start, end


@dataclass(frozen=True)
class Sigmoid(Step):
    """The AnyLoss amplifier, ``1 / (1 + exp(-L (p - t)))`` (eq. 1).

    Parameters
    ----------
    L : float, default=73
        Steepness. :func:`sk_anyloss.losses.steepness.valid_L_range` is what the paper
        calls valid.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses.steps import Sigmoid
    >>> Sigmoid(L=73)(torch.tensor([0.4, 0.5, 0.6]))
    tensor([6.7...e-04, 5.0000e-01, 9.9...e-01])
    """

    L: float = 73.0

    def __post_init__(self) -> None:
        if not isinstance(self.L, numbers.Real) or not 0 < float(self.L) < math.inf:
            raise ValueError(
                f"L must be positive and finite, got {self.L!r}; the paper uses 73, 5 "
                "to 20 suits wider networks, and AnyLossClassifier takes L='auto'."
            )

    @property
    def gain(self) -> float:  # type: ignore[override]
        return self.L

    def __call__(self, p: Tensor, threshold: float = 0.5) -> Tensor:
        return torch.sigmoid(self.L * (p - threshold))

    def slope(self, p: Tensor, threshold: float = 0.5) -> Tensor:
        # sigmoid(u) sigmoid(-u), not h (1 - h): the latter is 0 once h rounds to 1.
        u = self.L * (p - threshold)
        return self.L * torch.sigmoid(u) * torch.sigmoid(-u)

    def decide(self, logit: Tensor, threshold: float = 0.5) -> tuple[Tensor, Tensor]:
        # h = 1 / (1 + e) and 1 - h = e h with e = exp(-u): one exponential for both.
        L, several = self.L, isinstance(self.L, Tensor) or isinstance(threshold, Tensor)
        few = logit.dim() > 0 and logit.numel() <= FEW and logit.is_cpu
        few = few and logit.dtype != torch.bfloat16  # Which numpy does not have.
        if few and not several and L <= 85:
            return self._decide_few(logit.detach().numpy(), threshold)
        p = torch.sigmoid(logit)
        if several or L > 85:
            # exp(85) is finite in every dtype.
            e = (threshold - p).mul_(L).clamp_(max=85).exp_()
        else:
            e = torch.rsub(p, L * threshold, alpha=L).exp_()
        decisions = logit.new_empty((2, *logit.shape))
        h_not, h = decisions.unbind()
        torch.add(e, 1, out=h).reciprocal_()
        torch.mul(e, h, out=h_not)
        slope = p.addcmul_(p, p, value=-1)  # p (1 - p)
        return decisions, slope.mul_(h).mul_(h_not)

    def _decide_few(self, logit: np.ndarray, threshold: float) -> tuple[Tensor, Tensor]:
        """The same in numpy, which takes half the time over few numbers."""
        p = expit(logit)
        e = p * -self.L
        e += self.L * threshold
        np.exp(e, out=e)
        decisions = np.empty((2, *logit.shape), logit.dtype)
        h_not, h = decisions
        np.add(e, 1, out=h)
        np.reciprocal(h, out=h)
        np.multiply(e, h, out=h_not)
        np.subtract(1, p, out=e)
        p *= e
        p *= h
        p *= h_not
        return torch.from_numpy(decisions), torch.from_numpy(p)


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

    def __call__(self, p: Tensor, threshold: float = 0.5) -> Tensor:
        return p

    def slope(self, p: Tensor, threshold: float = 0.5) -> Tensor:
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
                "segment has no slope, at 0 the outer ones have none; 0.1 is usual."
            )

    def _segments(self, threshold: float) -> tuple[float, float, float, float]:
        m = 0.5 - abs(threshold - 0.5)  # The lesser of t and 1 - t.
        low = self.delta / (threshold - m / 2)
        middle = (1 - 2 * self.delta) / m
        high = self.delta / (1 - threshold - m / 2)
        return m, low, middle, high

    def __call__(self, p: Tensor, threshold: float = 0.5) -> Tensor:
        m, low, middle, high = self._segments(threshold)
        inner = 0.5 + middle * (p - threshold)
        outer = torch.where(p < threshold, low * p, 1 - high * (1 - p))
        return torch.where((p - threshold).abs() < m / 2, inner, outer)

    def slope(self, p: Tensor, threshold: float = 0.5) -> Tensor:
        m, low, middle, high = self._segments(threshold)
        outer = torch.where(p < threshold, torch.ones_like(p) * low, high)
        return torch.where((p - threshold).abs() < m / 2, middle, outer)


@dataclass(frozen=True)
class Cosine(Step):
    """0 below t - d, 1 above t + d, smooth between: SOL's raised-cosine prior.

    ``(1 + v + sin(pi v) / pi) / 2`` with ``v = (p - t) / d`` and ``d = delta``.
    Rows outside the band have no gradient: that is the method, not rounding.

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
                f"delta must be positive and finite, got {self.delta!r}: a band of no "
                "width has no slope; 0.1 is usual."
            )

    def __call__(self, p: Tensor, threshold: float = 0.5) -> Tensor:
        # With s = 1 + v, so that the ends of the band are exactly 0 and 1.
        s = (1 + (p - threshold) / self.delta).clamp(0, 2)
        return ((s - torch.sin(torch.pi * s) / torch.pi) / 2).clamp(0, 1)

    def slope(self, p: Tensor, threshold: float = 0.5) -> Tensor:
        v = ((p - threshold) / self.delta).clamp(-1, 1)
        return (1 + torch.cos(torch.pi * v)) / (2 * self.delta)


@dataclass(frozen=True)
class Uniform(Step):
    """0 below t - d, 1 above t + d, straight between: SOL's uniform prior.

    ``(p - t + d) / (2 d)`` with ``d = delta``; at t = 0.5, ``delta=0.5`` is
    :class:`Identity`. Rows outside the band have no gradient.

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
                f"delta must be positive and finite, got {self.delta!r}: a band of no "
                "width has no slope; 0.25 is usual."
            )

    def __call__(self, p: Tensor, threshold: float = 0.5) -> Tensor:
        return ((p - threshold) / (2 * self.delta) + 0.5).clamp(0, 1)

    def slope(self, p: Tensor, threshold: float = 0.5) -> Tensor:
        within = (p - threshold).abs() < self.delta
        return within.to(p.dtype) / (2 * self.delta)


@dataclass(frozen=True)
class LogitSigmoid(Step):
    """A sigmoid of the logit instead of the probability, as in sigmoidF1.

    ``1 / (1 + exp(-beta (z - z_t + eta)))`` with the logits z of p and z_t of the
    threshold. It never saturates faster than the logit grows. ``beta=1`` and
    ``eta=0`` at t = 0.5 is :class:`Identity`. (Benedict, Koops, Odijk and de Rijke,
    "sigmoidF1: A Smooth F1 Score Surrogate Loss for Multilabel Classification".)

    Parameters
    ----------
    beta : float, default=2
        Steepness, positive.
    eta : float, default=0
        Offset of the logit; other than 0, it moves the decision away from t.

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
    def gain(self) -> float:  # type: ignore[override]
        return self.beta

    def _u(self, logit: Tensor, threshold: Any) -> Tensor:
        if isinstance(threshold, Tensor):
            cut: Any = torch.logit(threshold)
        else:
            cut = math.log(threshold) - math.log1p(-threshold)
        return (logit - (cut - self.eta)) * self.beta

    def __call__(self, p: Tensor, threshold: float = 0.5) -> Tensor:
        return torch.sigmoid(self._u(torch.logit(p), threshold))

    def slope(self, p: Tensor, threshold: float = 0.5) -> Tensor:
        u = self._u(torch.logit(p), threshold)
        return self.beta * torch.sigmoid(u) * torch.sigmoid(-u) / (p * (1 - p))

    def decide(self, logit: Tensor, threshold: float = 0.5) -> tuple[Tensor, Tensor]:
        u = self._u(logit, threshold)
        h, h_not = torch.sigmoid(u), torch.sigmoid(-u)
        return torch.stack((h_not, h)), h * h_not


_REGISTRY: dict[str, type[Step]] = {
    "sigmoid": Sigmoid,
    "identity": Identity,
    "linear": Linear,
    "cosine": Cosine,
    "uniform": Uniform,
    "logit": LogitSigmoid,
}


def step_names() -> list[str]:
    """Names that :func:`get_step` knows.

    Examples
    --------
    >>> from sk_anyloss.losses.steps import step_names
    >>> step_names()
    ['cosine', 'identity', 'linear', 'logit', 'sigmoid', 'uniform']
    """
    return sorted(_REGISTRY)


def get_step(step: str | Step, **params: Any) -> Step:
    """Look a step up by name; a :class:`Step` is handed back as it is.

    Parameters
    ----------
    step : str or Step
        A name, or an instance such as ``Linear(delta=0.2)``.
    **params
        Parameters for a step given by name, such as ``L=10``.

    Returns
    -------
    step : Step
        The step.

    Examples
    --------
    >>> from sk_anyloss.losses.steps import get_step
    >>> get_step("sigmoid", L=10)
    Sigmoid(L=10)
    """
    if isinstance(step, Step):
        return step
    if isinstance(step, str) and step in _REGISTRY:
        return _REGISTRY[step](**params)
    otherwise = "or pass an instance of sk_anyloss.losses.steps.Step."
    raise ValueError(unknown("step", step, _REGISTRY, otherwise))


def is_ours(step: Step) -> bool:
    """Whether a step is one of this package, and takes columns of numbers.

    Examples
    --------
    >>> from sk_anyloss.losses.steps import Sigmoid, is_ours
    >>> is_ours(Sigmoid(5))
    True
    """
    return type(step) in _REGISTRY.values()


def stack_numbers(numbers: Sequence[float], like: Tensor) -> Any:
    """One number if all are equal, else a column of them, a row a model.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses.steps import stack_numbers
    >>> stack_numbers([0.5, 0.5], torch.zeros(1))
    0.5
    >>> stack_numbers([5, 73], torch.zeros(1))
    tensor([[ 5.],
            [73.]])
    """
    if all(number == numbers[0] for number in numbers):
        return numbers[0]
    return like.new_tensor(numbers).unsqueeze(-1)


def stack_steps(steps: Sequence[Step], like: Tensor) -> Step:
    """Steps of one type as one step, for logits of shape (K, n).

    Parameters
    ----------
    steps : sequence of K steps
        They may differ in the numbers that they were made with.
    like : tensor
        Of the dtype and on the device of the logits.

    Returns
    -------
    step : Step
        The step that does to row k what ``steps[k]`` does.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses.steps import Sigmoid, stack_steps
    >>> step = stack_steps([Sigmoid(5), Sigmoid(73)], torch.zeros(1))
    >>> step(torch.full((2, 1), 0.6))
    tensor([[0.6225],
            [0.9993]])
    """
    stacked = copy.copy(steps[0])
    for name in vars(stacked):
        numbers = [getattr(step, name) for step in steps]
        object.__setattr__(stacked, name, stack_numbers(numbers, like))
    return stacked


def check_threshold(threshold: float, name: str = "threshold") -> float:
    """Return the threshold if it lies in (0, 1), else raise a ValueError.

    Examples
    --------
    >>> from sk_anyloss.losses.steps import check_threshold
    >>> check_threshold(0.3)
    0.3
    """
    if isinstance(threshold, (int, float, np.number)) and 0 < threshold < 1:
        return float(threshold)
    raise ValueError(
        f"{name} must be a number strictly between 0 and 1, got {threshold!r}."
    )


def check_thresholds(threshold: float | Sequence[float]) -> tuple[float, ...]:
    """Return one threshold or several as a tuple, each in (0, 1), or raise an error.

    Examples
    --------
    >>> from sk_anyloss.losses.steps import check_thresholds
    >>> check_thresholds(0.3), check_thresholds([0.25, 0.75])
    ((0.3,), (0.25, 0.75))
    """
    if isinstance(threshold, (Sequence, np.ndarray)) and not isinstance(threshold, str):
        if len(threshold) == 0:
            raise ValueError(
                "threshold is an empty list; give at least one number between 0 and 1."
            )
        return tuple(check_threshold(t) for t in threshold)
    return (check_threshold(threshold),)
