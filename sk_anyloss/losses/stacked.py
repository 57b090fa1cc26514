"""Losses of a stack of models as one: of one kind together, kinds beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sk_anyloss.losses.base import SummedLoss
from sk_anyloss.metrics.confusion import ClassWeights

__all__ = ["Mixture", "stack_losses"]


def stack_losses(
    criteria: Sequence[SummedLoss], groups: int, like: Tensor
) -> SummedLoss | Mixture:
    """The losses of models, group by group, as one for all of their logits.

    Parameters
    ----------
    criteria : sequence of SummedLoss
        The loss of each model; every group has the same kinds in the same order.
    groups : int
        Number of groups of models that look at the same rows.
    like : tensor
        Of the dtype and on the device of the logits.

    Returns
    -------
    loss : SummedLoss or Mixture
        What has ``tally``, ``remember``, ``pull`` and ``slope`` for logits (K, n).

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import BCE, AnyLoss
    >>> from sk_anyloss.losses.stacked import stack_losses
    >>> type(stack_losses([BCE(), BCE()], 1, torch.zeros(1))).__name__
    'BCE'
    >>> type(stack_losses([BCE(), AnyLoss()], 1, torch.zeros(1))).__name__
    'Mixture'
    """
    if len(criteria) == 1:
        return criteria[0]
    if len({loss.kind for loss in criteria}) == 1:
        return criteria[0].stack(criteria, like)
    return Mixture(criteria, groups, like)


class _Sums(tuple):
    """The sums of each kind, which add up kind by kind."""

    def __add__(self, other: Any) -> _Sums:
        return _Sums(a + b for a, b in zip(self, other, strict=True))

    def __radd__(self, zero: int) -> _Sums:
        return self


class Mixture:
    """Losses of several kinds, each for its own models in every group.

    Parameters
    ----------
    criteria, groups, like
        As for :func:`stack_losses`.
    """

    def __init__(
        self, criteria: Sequence[SummedLoss], groups: int, like: Tensor
    ) -> None:
        self.groups, self.models = groups, len(criteria) // groups
        self.parts: list[tuple[slice, Any]] = []
        stop = 0
        for _, alike in groupby(criteria[: self.models], key=lambda loss: loss.kind):
            start, stop = stop, stop + len(list(alike))
            own = [
                criteria[first + i]
                for first in range(0, len(criteria), self.models)
                for i in range(start, stop)
            ]
            self.parts.append((slice(start, stop), stack_losses(own, groups, like)))
        self.is_additive = all(loss.is_additive for _, loss in self.parts)

    def _by_group(self, values: Tensor) -> Tensor:
        return values.view(self.groups, self.models, values.shape[-1])

    def tally(self, logits: Tensor, rows: ClassWeights) -> tuple[_Sums, list[Any]]:
        """Sums and slopes of a batch, of each kind."""
        grouped, n = self._by_group(logits), logits.shape[-1]
        found = [
            loss.tally(grouped[:, places].reshape(-1, n), rows)
            for places, loss in self.parts
        ]
        return _Sums(sums for sums, _ in found), [slope for _, slope in found]

    def remember(self, sums: _Sums) -> _Sums:
        """What the gradient of a training step is taken at."""
        pairs = zip(self.parts, sums, strict=True)
        return _Sums(loss.remember(part) for (_, loss), part in pairs)

    def pull(self, sums: _Sums) -> tuple[np.ndarray, list[Any]]:
        """Losses of shape (K,), and the factors of each kind."""
        losses = np.empty((self.groups, self.models))
        factors = []
        for (places, loss), part in zip(self.parts, sums, strict=True):
            value, pair = loss.pull(part)
            losses[:, places] = np.reshape(value, (self.groups, -1))
            factors.append(pair)
        return losses.ravel(), factors

    def slope(
        self, parts: list[Any], factors: list[Any], rows: ClassWeights, out: Tensor
    ) -> None:
        """Write the derivatives by the logits, (K, n), into a tensor."""
        grouped, n = self._by_group(out), out.shape[-1]
        found = zip(self.parts, parts, factors, strict=True)
        for (places, loss), part, factor in found:
            into = grouped[:, places]
            own = torch.empty_like(into, memory_format=torch.contiguous_format)
            loss.slope(part, factor, rows, own.view(-1, n))
            into.copy_(own)
