"""The losses of a stack of models, combined into one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sk_anyloss.losses.base import Loss, Parts
from sk_anyloss.metrics.class_weights import ClassWeights

__all__ = ["MixedLosses", "stack_losses"]


def stack_losses(
    criteria: Sequence[Loss], groups: int, like: Tensor
) -> Loss | MixedLosses:
    """Combine the losses of several models into one, for all of their logits.

    Parameters
    ----------
    criteria : sequence of Loss
        The loss of each model, group by group; every group has the same kinds in the
        same order.
    groups : int
        Number of groups of models; those of a group have the same samples.
    like : tensor
        A tensor with the dtype and device of the logits.

    Returns
    -------
    loss : Loss or MixedLosses
        With the three steps for logits (K, n).

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import BCE, AnyLoss
    >>> from sk_anyloss.losses.stacked import stack_losses
    >>> type(stack_losses([BCE(), BCE()], 1, torch.zeros(1))).__name__
    'BCE'
    >>> type(stack_losses([BCE(), AnyLoss()], 1, torch.zeros(1))).__name__
    'MixedLosses'
    """
    if len(criteria) == 1:
        return criteria[0]
    if len({loss.kind for loss in criteria}) == 1:
        return criteria[0].stack(criteria, like)
    return MixedLosses(criteria, groups, like)


class MixedLosses:
    """Losses of several kinds, each for its own models in every group.

    It has the three steps of :class:`sk_anyloss.losses.base.Loss`, whose statistics,
    caches and gradients are here sequences with one entry per kind.

    Parameters
    ----------
    criteria, groups, like
        As for :func:`stack_losses`.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import BCE, MSE
    >>> from sk_anyloss.losses.stacked import MixedLosses
    >>> from sk_anyloss.metrics.class_weights import ClassWeights
    >>> mixture = MixedLosses([BCE(), MSE()], 1, torch.zeros(1))
    >>> samples = ClassWeights.of(torch.tensor([0.0, 1.0]))
    >>> S, _ = mixture.statistics(torch.zeros(2, 2), samples)
    >>> mixture.value_and_grad(S)[0].round(4)
    array([0.6931, 0.25  ])
    """

    def __init__(self, criteria: Sequence[Loss], groups: int, like: Tensor) -> None:
        self.groups, self.models = groups, len(criteria) // groups
        self.parts: list[tuple[slice, Loss | MixedLosses]] = []
        stop = 0
        by_kind = groupby(criteria[: self.models], key=lambda loss: loss.kind)
        for _, same_kind in by_kind:
            start, stop = stop, stop + len(list(same_kind))
            own = [
                criteria[first + i]
                for first in range(0, len(criteria), self.models)
                for i in range(start, stop)
            ]
            self.parts.append((slice(start, stop), stack_losses(own, groups, like)))
        self.processes = criteria[0].processes
        self.is_additive: bool = all(loss.is_additive for _, loss in self.parts)

    def _by_group(self, values: Tensor) -> Tensor:
        return values.view(self.groups, self.models, *values.shape[1:])

    def statistics(
        self, logits: Tensor, samples: ClassWeights
    ) -> tuple[Parts[Any], list[Any]]:
        """Statistics and caches of a batch, for each kind."""
        grouped, shape = self._by_group(logits), logits.shape[1:]
        found = [
            loss.statistics(grouped[:, models].reshape(-1, *shape), samples)
            for models, loss in self.parts
        ]
        return Parts(S for S, _ in found), [cache for _, cache in found]

    def reduce(self, S: Parts[Any]) -> Parts[Any]:
        """Add the statistics of other processes, all kinds in one message."""
        return self.processes.sum(S, self)

    def average(self, S: Parts[Any]) -> Parts[Any]:
        """The statistics at which the gradient is taken, for each kind."""
        pairs = zip(self.parts, S, strict=True)
        return Parts(loss.average(part) for (_, loss), part in pairs)

    def value_and_grad(self, S: Parts[Any]) -> tuple[np.ndarray, list[Any]]:
        """Losses of shape (K,), and the gradients of each kind."""
        losses = np.empty((self.groups, self.models))
        grads = []
        for (models, loss), part in zip(self.parts, S, strict=True):
            value, grad = loss.value_and_grad(part)
            losses[:, models] = np.reshape(value, (self.groups, -1))
            grads.append(grad)
        return losses.ravel(), grads

    def __repr__(self) -> str:
        return f"MixedLosses({[loss for _, loss in self.parts]})"

    def backward(
        self, caches: list[Any], grads: list[Any], samples: ClassWeights, out: Tensor
    ) -> None:
        """Write the gradients with respect to the logits, (K, n), into a tensor."""
        grouped, shape = self._by_group(out), out.shape[1:]
        found = zip(self.parts, caches, grads, strict=True)
        for (models, loss), cache, grad in found:
            into = grouped[:, models]
            own = torch.empty_like(into, memory_format=torch.contiguous_format)
            loss.backward(cache, grad, samples, own.view(-1, *shape))
            into.copy_(own)
