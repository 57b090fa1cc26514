"""Losses of a stack of models as one: of one kind together, kinds beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sk_anyloss.losses.base import Loss, Parts
from sk_anyloss.metrics.class_weights import ClassWeights

__all__ = ["Mixture", "stack_losses"]


def stack_losses(criteria: Sequence[Loss], groups: int, like: Tensor) -> Loss | Mixture:
    """The losses of models, group by group, as one for all of their logits.

    Parameters
    ----------
    criteria : sequence of Loss
        The loss of each model; every group has the same kinds in the same order.
    groups : int
        Number of groups of models that look at the same rows.
    like : tensor
        Of the dtype and on the device of the logits.

    Returns
    -------
    loss : Loss or Mixture
        With the three steps for logits (K, n).

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


class Mixture:
    """Losses of several kinds, each for its own models in every group.

    Parameters
    ----------
    criteria, groups, like
        As for :func:`stack_losses`.
    """

    def __init__(self, criteria: Sequence[Loss], groups: int, like: Tensor) -> None:
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

    def statistics(
        self, logits: Tensor, samples: ClassWeights
    ) -> tuple[Parts, list[Any]]:
        """Statistics and caches of a batch, of each kind."""
        grouped, n = self._by_group(logits), logits.shape[-1]
        found = [
            loss.statistics(grouped[:, places].reshape(-1, n), samples)
            for places, loss in self.parts
        ]
        return Parts(S for S, _ in found), [cache for _, cache in found]

    def reduce(self, S: Parts) -> Parts:
        """What was summed elsewhere, kind by kind."""
        return self._each("reduce", S)

    def average(self, S: Parts) -> Parts:
        """Where the gradient of a training step is taken, kind by kind."""
        return self._each("average", S)

    def _each(self, method: str, S: Parts) -> Parts:
        pairs = zip(self.parts, S, strict=True)
        return Parts(getattr(loss, method)(part) for (_, loss), part in pairs)

    def value_and_grad(self, S: Parts) -> tuple[np.ndarray, list[Any]]:
        """Losses of shape (K,), and the derivatives of each kind."""
        losses = np.empty((self.groups, self.models))
        grads = []
        for (places, loss), part in zip(self.parts, S, strict=True):
            value, grad = loss.value_and_grad(part)
            losses[:, places] = np.reshape(value, (self.groups, -1))
            grads.append(grad)
        return losses.ravel(), grads

    def backward(
        self, caches: list[Any], grads: list[Any], samples: ClassWeights, out: Tensor
    ) -> None:
        """Write the derivatives by the logits, (K, n), into a tensor."""
        grouped, n = self._by_group(out), out.shape[-1]
        found = zip(self.parts, caches, grads, strict=True)
        for (places, loss), cache, grad in found:
            into = grouped[:, places]
            own = torch.empty_like(into, memory_format=torch.contiguous_format)
            loss.backward(cache, grad, samples, own.view(-1, n))
            into.copy_(own)
