"""The base class of all steps."""

from __future__ import annotations

from typing import TypeAlias

import torch
from torch import Tensor

from sk_anyloss._cache import cached

__all__ = ["Step", "Threshold"]

#: A threshold in (0, 1), or, in a stack of K models that differ in it, a tensor of
#: shape (K, 1).
Threshold: TypeAlias = float | Tensor


class Step:
    """Base class of all steps: a subclass defines ``__call__`` and ``derivative``.

    A subclass must have the symmetry ``1 - H(p; t) = H(1 - p; 1 - t)``.
    """

    @property
    def gain(self) -> float:
        """Constant by which :meth:`decide` divides its derivatives.

        The loss multiplies by it. It is 1 unless a step factors one out.
        """
        return 1.0

    def __call__(self, p: Tensor, threshold: Threshold = 0.5) -> Tensor:
        """Soft decision H(p; t).

        Parameters
        ----------
        p : tensor
            Probabilities.
        threshold : float, default=0.5
            The threshold t, in (0, 1).

        Returns
        -------
        h : tensor of the shape of p
            The decisions, in [0, 1].
        """
        raise NotImplementedError

    def derivative(self, p: Tensor, threshold: Threshold = 0.5) -> Tensor:
        """Derivative of H by p.

        Parameters
        ----------
        p : tensor
            Probabilities.
        threshold : float, default=0.5
            The threshold t, in (0, 1).

        Returns
        -------
        derivative : tensor of the shape of p
            ``H'(p; t)``.
        """
        raise NotImplementedError

    def decide(
        self, logit: Tensor, threshold: Threshold = 0.5
    ) -> tuple[Tensor, Tensor]:
        """Decisions on logits, and their derivatives with respect to the logits.

        No difference of nearly equal numbers is formed, so that nothing is lost to
        rounding: with p = sigmoid(z), ``dh/dz = H'(p) p (1 - p)`` and
        ``1 - p = sigmoid(-z)``.

        Parameters
        ----------
        logit : tensor of shape (...)
            Logits.
        threshold : float, default=0.5
            The threshold on the probability, in (0, 1).

        Returns
        -------
        decisions : tensor of shape (2, ...)
            ``1 - h`` and ``h``, the decisions for the negative and the positive class.
        derivative : tensor of shape (...)
            ``dh/dlogit / gain``.

        Examples
        --------
        >>> import torch
        >>> from sk_anyloss.losses.steps import Sigmoid
        >>> (h_not, h), derivative = Sigmoid(L=73).decide(torch.tensor(6.9))
        >>> h.item(), h_not.item() > 0, derivative.item() > 0
        (1.0, True, True)
        """
        p, p_not = torch.sigmoid(logit), torch.sigmoid(-logit)
        decisions = torch.stack((self(p_not, 1 - threshold), self(p, threshold)))
        return decisions, self.derivative(p, threshold) * p * p_not

    def open_range(self, threshold: float = 0.5) -> tuple[float, float]:
        """Range of probabilities in which the decision is open: 0.05 <= h <= 0.95.

        Samples outside have almost no gradient, so training should start inside.

        Parameters
        ----------
        threshold : float, default=0.5
            The threshold t, in (0, 1).

        Returns
        -------
        low, high : float
            The ends of the range.

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
    for _ in range(5):  # h is nondecreasing in p, so the bracket can be refined.
        grid = low + (high - low) * torch.linspace(0, 1, 1025)[:, None].double()
        last = (step(grid, threshold) < goal).sum(0).clamp(1, 1024)
        low, high = grid.gather(0, torch.stack((last - 1, last)))
    start, end = high.tolist()
    return start, end
