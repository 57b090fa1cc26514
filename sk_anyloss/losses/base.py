"""The contract that every loss keeps, in three pure steps.

Samples reach a loss only through statistics that are sums over them, so everything
that depends on the samples is done twice, before and after a handful of numbers:

1. ``statistics(logits, samples) -> S, cache``: the statistics of a batch, additive over
   samples, and what the last step needs of each sample;
2. ``value_and_grad(S) -> loss, grad``: the loss, and its derivative by the statistics;
3. ``backward(cache, grad, samples, out)``: from there to the derivative by the logits.

Between the first two, :meth:`Loss.reduce` brings together what several processes have
summed, and :meth:`Loss.average` what earlier batches have. The torch criterion wraps
these steps in one autograd function; the closed form of the network calls them
directly; batches in pieces and statistics of an epoch are sums of S.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from sk_anyloss.losses.precision import at_least_single, full_precision
from sk_anyloss.metrics.class_weights import ClassWeights

__all__ = ["Loss", "Parts", "Statistics", "align"]


class Parts(tuple):
    """Statistics of several losses beside each other, which add up part by part.

    Examples
    --------
    >>> from sk_anyloss.losses.base import Parts
    >>> Parts((1, 2)) + Parts((10, 20))
    (11, 22)
    """

    def __add__(self, other: Any) -> Parts:
        return Parts(a + b for a, b in zip(self, other, strict=True))

    def __radd__(self, zero: int) -> Parts:
        return self


#: What a loss adds up over samples. The axis of the models comes before those of the
#: classes: (..., K, classes) or (..., K, true class, decided class).
Statistics: TypeAlias = "Tensor | Parts"


class Loss(nn.Module):
    """Base of the losses: three pure steps, and the torch criterion made of them."""

    #: Whether the loss of several batches together follows from the sum of their
    #: statistics.
    is_additive = True

    #: The metric that the loss aims at, if it does.
    goal: Any = None

    def statistics(
        self, logits: Tensor, samples: ClassWeights
    ) -> tuple[Statistics, Any]:
        """Sum up a batch.

        Parameters
        ----------
        logits : tensor of shape (K, n)
            Logits of K models.
        samples : ClassWeights
            Labels and weights of the samples.

        Returns
        -------
        S : Statistics
            Additive over samples.
        cache
            What :meth:`backward` needs of each sample.
        """
        raise NotImplementedError

    def value_and_grad(self, S: Any) -> tuple[Any, Any]:
        """The loss of the statistics, and its derivative by them.

        Parameters
        ----------
        S : Statistics
            Of one batch, or of any number of them together.

        Returns
        -------
        loss : float or ndarray of shape (K,)
            The loss of each model; a float for one.
        grad
            As :meth:`backward` takes it: for losses of one number for each sample,
            the factors of negatives and of positives, floats or of shape (K,).
        """
        raise NotImplementedError

    def backward(
        self, cache: Any, grad: Any, samples: ClassWeights, out: Tensor
    ) -> None:
        """Write the derivative of the loss by the logits, (K, n), into a tensor.

        Parameters
        ----------
        cache
            From :meth:`statistics`; by default, a slope for each sample.
        grad
            From :meth:`value_and_grad`.
        samples : ClassWeights
            Labels and weights of the samples.
        out : tensor of shape (K, n)
            Where to write.
        """
        torch.mul(cache, samples.scale(*grad), out=out)

    def reduce(self, S: Any) -> Any:
        """Bring together what was summed elsewhere: a loss by itself has summed all.

        Parameters
        ----------
        S : Statistics
            Of the samples at hand.

        Returns
        -------
        S : Statistics
            Of all samples of the batch.
        """
        return S

    def average(self, S: Any) -> Any:
        """Where the gradient of a step is taken: at the statistics of the batch."""
        return S

    def forget(self) -> None:
        """Forget earlier batches, before a new training."""

    def prepare(self, negatives: float, positives: float) -> None:
        """Take note of the weight of either class in the training set."""

    @property
    def kind(self) -> tuple[Any, ...]:
        """What losses must have in common to be stacked."""
        return (type(self),)

    @classmethod
    def stack(cls, losses: Sequence[Any], like: Tensor) -> Loss:
        """Losses of one kind as one, for logits of shape (K, n).

        Parameters
        ----------
        losses : sequence of K losses
            The loss of each model.
        like : tensor
            Of the dtype and on the device of the logits.

        Returns
        -------
        loss : Loss
            That does to row k what ``losses[k]`` does.
        """
        return losses[0]

    def forward(
        self, logits: Tensor, y: Tensor, sample_weight: Tensor | None = None
    ) -> Tensor:
        """Loss of a batch.

        Parameters
        ----------
        logits : tensor of shape (n,), (n, 1) or (..., n)
            What the network says of each sample, before any sigmoid.
        y : tensor of shape (n,) or (n, 1)
            Labels, 0 or 1, of any dtype.
        sample_weight : tensor of shape (n,), default=None
            Weights; a sample of weight 2 counts as two.

        Returns
        -------
        loss : tensor of shape (...)
            The loss; a scalar unless the logits have leading axes.
        """
        logits, y, sample_weight = align(logits, y, sample_weight)
        if ((y != 0) & (y != 1)).any():
            raise ValueError(
                f"Labels must be 0 or 1, got {y.unique()[:5].tolist()} among them."
            )
        if y.dim() > 1 or (sample_weight is not None and sample_weight.dim() > 1):
            y = y.expand_as(logits)
            if sample_weight is not None:
                sample_weight = sample_weight.expand_as(logits)
        return self.of_batch(logits, ClassWeights.of(y, sample_weight))

    def of_batch(self, logits: Tensor, samples: ClassWeights) -> Tensor:
        """Loss of a batch whose labels and weights are checked.

        Parameters
        ----------
        logits : tensor of shape (..., n)
            Logits.
        samples : ClassWeights
            Labels and weights.

        Returns
        -------
        loss : tensor of shape (...)
            With a gradient, if the logits have one.
        """
        averaged = self.training and torch.is_grad_enabled()
        with full_precision(logits.device):
            models, n = math.prod(logits.shape[:-1]), logits.shape[-1]
            flat = logits.reshape(models, n)
            return _Value.apply(flat, self, samples, averaged).reshape(
                logits.shape[:-1]
            )


class _Value(torch.autograd.Function):
    """The three steps as one function of the logits, of shape (K, n)."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, loss: Loss, samples: ClassWeights, averaged: bool
    ) -> Tensor:
        S, cache = loss.statistics(logits, samples)
        S = loss.reduce(S)
        value, grad = loss.value_and_grad(loss.average(S) if averaged else S)
        if ctx.needs_input_grad[0]:
            slope = torch.empty_like(logits)
            loss.backward(cache, grad, samples, slope)
            ctx.save_for_backward(slope)
        return logits.new_tensor(np.atleast_1d(value))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Any:
        (slope,) = ctx.saved_tensors
        return grad.unsqueeze(-1) * slope, None, None, None


def align(
    logits: Tensor, y: Tensor, sample_weight: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Bring logits, labels and weights to one dtype and to shapes that belong together.

    The dtype is that of the logits, but float32 at least. Logits of shape (n, 1)
    beside labels of shape (n,) would broadcast to (n, n) without a word.
    """
    if not logits.is_floating_point():
        raise TypeError(f"Logits must be floating-point numbers, got {logits.dtype}.")
    logits = at_least_single(logits)
    if y.dim() == 2 and y.shape[1] == 1:
        y = y.squeeze(1)
    if logits.dim() == y.dim() + 1 and logits.shape == (*y.shape, 1):
        logits = logits.squeeze(-1)
    if y.shape[-1:] != logits.shape[-1:] or y.dim() > logits.dim():
        raise ValueError(
            "A loss takes one logit a row: logits of shape (n,), (n, 1) or (..., n) "
            f"with y of shape (n,); got {tuple(logits.shape)} and {tuple(y.shape)}."
        )
    if sample_weight is not None:
        if sample_weight.shape == (*y.shape, 1):
            sample_weight = sample_weight.squeeze(-1)
        if sample_weight.shape[-1:] != y.shape[-1:]:
            raise ValueError(
                "sample_weight must have one entry a row; got shape "
                f"{tuple(sample_weight.shape)} with y of shape {tuple(y.shape)}."
            )
        sample_weight = sample_weight.to(logits.dtype)
    return logits, y.to(logits.dtype), sample_weight
