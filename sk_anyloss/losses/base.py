"""The base of all losses: functions of sums over the rows.

:meth:`SummedLoss.sums` adds up, and :meth:`SummedLoss.value` turns the sums into the
loss. Sums can be added over batches, so a figure for a whole epoch or data set is
exact, which a mean of batch losses is not as soon as the loss is one minus a ratio of
counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from sk_anyloss.losses.precision import at_least_single, full_precision
from sk_anyloss.metrics.confusion import ClassWeights

__all__ = ["SummedLoss", "align"]


class SummedLoss(nn.Module):
    """Base of the losses: a function, ``value``, of additive statistics, ``sums``."""

    #: Whether :meth:`tally` and :meth:`pull` can be asked; autograd works anyway.
    has_gradient = False

    #: Whether the loss of several batches together follows from the sum of their sums.
    is_additive = True

    def sums(self, logits: Tensor, y: Tensor, sample_weight: Tensor | None) -> Tensor:
        """Statistics of shape (..., k), additive over rows."""
        raise NotImplementedError

    def value(self, sums: Tensor) -> Tensor:
        """Loss of shape (...) that belongs to the statistics."""
        raise NotImplementedError

    def tally(self, logits: Tensor, rows: ClassWeights) -> tuple[Tensor, Tensor]:
        """Sums of a batch, and how the loss of each row changes with its logit.

        Parameters
        ----------
        logits : tensor of shape (K, n)
            Logits of K models.
        rows : ClassWeights
            Labels and weights of the rows.

        Returns
        -------
        sums : tensor
            Statistics, additive over rows, in an order of their own.
        slope : tensor of shape (K, n)
            Derivative by the logit, up to the factors that :meth:`pull` finds.
        """
        raise NotImplementedError

    def pull(self, sums: Tensor) -> tuple[Any, tuple[Any, Any]]:
        """From the sums of :meth:`tally`, the loss and two numbers for its gradient.

        Returns
        -------
        loss : float or ndarray of shape (K,)
            The loss of each model; a float for one.
        factors : pair of floats, or of ndarrays of shape (K,)
            What the slopes of negatives and of positives, times the weights of the
            rows, are to be multiplied with.
        """
        raise NotImplementedError

    #: The metric that the loss aims at, if it does.
    goal: Any = None

    #: Share of earlier batches in what the gradient is taken at.
    memory = 0.0

    def remember(self, sums: Tensor) -> Tensor:
        """What the gradient of a training step is taken at: the sums themselves."""
        return sums

    def forget(self) -> None:
        """Forget earlier batches, at the end of a training."""

    def slope(self, parts: Any, factors: Any, rows: ClassWeights, out: Tensor) -> None:
        """Write the derivative of the loss by the logits, (K, n), into a tensor.

        Parameters
        ----------
        parts : tensor of shape (K, n)
            The slopes that :meth:`tally` found, or what a subclass makes of them.
        factors : pair of floats or of ndarrays
            What :meth:`pull` found.
        rows : ClassWeights
            Labels and weights of the rows.
        out : tensor of shape (K, n)
            Where to write.
        """
        torch.mul(parts, rows.each(*factors), out=out)

    def prepare(self, negatives: float, positives: float) -> None:
        """Take note of the weight of either class in the training set."""

    @property
    def kind(self) -> tuple[Any, ...]:
        """What losses must have in common to be stacked."""
        return (type(self),)

    @classmethod
    def stack(cls, losses: Sequence[Any], like: Tensor) -> SummedLoss:
        """Losses of one kind as one, for the :meth:`tally` of logits of shape (K, n).

        Parameters
        ----------
        losses : sequence of K losses
            The loss of each model.
        like : tensor
            Of the dtype and on the device of the logits.

        Returns
        -------
        loss : SummedLoss
            For :meth:`tally` and :meth:`pull`.
        """
        return losses[0]

    def forward(
        self, logits: Tensor, y: Tensor, sample_weight: Tensor | None = None
    ) -> Tensor:
        """Loss of a batch.

        Parameters
        ----------
        logits : tensor of shape (n,), (n, 1) or (..., n)
            What the network says of each row, before any sigmoid.
        y : tensor of shape (n,) or (n, 1)
            Labels, 0 or 1, of any dtype.
        sample_weight : tensor of shape (n,), default=None
            Weights; a row of weight 2 counts as two rows.

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
        with full_precision(logits.device):
            sums = self.sums(logits, y, sample_weight)
            if self.training and torch.is_grad_enabled():
                sums = self.remember(sums)
            return self.value(sums)


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
