"""Gradients of MLPs in closed form: a few matrix products instead of autograd.

Equal to autograd to rounding, and several times as fast on small networks, where
autograd's bookkeeping takes longer than the arithmetic. The networks come as a stack:
K of them, of one shape, go through every operation together, and K = 1 is the ordinary
case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from sk_anyloss.losses.base import AnyStatistics, Loss
from sk_anyloss.losses.stacked import stack_losses
from sk_anyloss.metrics.class_weights import ClassWeights
from sk_anyloss.training.data.batches import Chunk
from sk_anyloss.training.network.layers import (
    Layers,
    Norm,
    Workspace,
    weighted_mean,
)
from sk_anyloss.training.network.mlp import ACTIVATIONS, MLP

__all__ = ["ClosedForm", "supports"]

#: The loss of each network; a float for one.
Value: TypeAlias = "float | np.ndarray"


def supports(module: nn.Module, criterion: nn.Module) -> bool:
    """Whether the gradient of this pair is known in closed form.

    Examples
    --------
    >>> from sk_anyloss.training.network.closed_form import supports
    >>> from sk_anyloss.losses import AnyLoss
    >>> from sk_anyloss.training.network.mlp import MLP
    >>> supports(MLP(3), AnyLoss("f1"))
    True
    >>> supports(MLP(3, activation=lambda x: x), AnyLoss("f1"))
    False
    """
    # The exact type: a subclass may compute something else.
    return (
        type(module) is MLP
        and module.layers[0].get_parameter("weight").dtype
        in (torch.float32, torch.float64)
        and module.activation in ACTIVATIONS
        and isinstance(criterion, Loss)
    )


class ClosedForm(Layers):
    """Forward and backward passes of MLPs in training mode, without autograd.

    Parameters
    ----------
    modules : MLP or sequence of MLP
        The networks, of one shape. While they are in here, their parameters and
        gradients are views of ``flat``; :meth:`release` gives them their own again.
    criteria : Loss or sequence of Loss
        The loss of each, such that :func:`supports` says yes.
    n_groups : int, default=1
        Number of groups of samples: K / n_groups networks in a row share theirs.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.training.data.batches import Chunk
    >>> from sk_anyloss.training.network.closed_form import ClosedForm
    >>> from sk_anyloss.losses import BCE
    >>> from sk_anyloss.training.network.mlp import MLP
    >>> module = MLP(2, hidden=(), dtype=torch.float64)
    >>> X = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
    >>> y = torch.tensor([0.0, 1.0], dtype=torch.float64)
    >>> with torch.no_grad():
    ...     loss, logits, S = ClosedForm(module, BCE())([Chunk.of(X, y)])
    >>> module.layers[0].weight.grad
    tensor([[-0.5000, -0.5000]], dtype=torch.float64)
    """

    def __init__(
        self,
        modules: MLP | Sequence[MLP],
        criteria: Loss | Sequence[Loss],
        n_groups: int = 1,
    ) -> None:
        modules = [modules] if isinstance(modules, MLP) else modules
        criteria = [criteria] if isinstance(criteria, Loss) else criteria
        super().__init__(modules, n_groups)
        self.criterion: Any = stack_losses(criteria, n_groups, self.flat.values)

    def __call__(self, batch: Sequence[Chunk]) -> tuple[Value, Tensor, AnyStatistics]:
        """Loss, logits and statistics of a batch; gradients go into ``.grad``.

        To be called where autograd is off, under :class:`torch.no_grad`.

        Parameters
        ----------
        batch : sequence of Chunk
            The samples of the batch, in as many chunks as it takes to stay within the
            memory. Several chunks are gone through several times: first for what has
            to be known of the whole batch, then for the gradient.

        Returns
        -------
        loss : float or ndarray of shape (K,)
            The loss of each network; a float for one.
        logits : tensor of shape (K, n) or (K, C, n)
            The logits before the step, of the last chunk.
        S : Statistics
            What the loss sums over samples.
        """
        if len(batch) > 1:
            return self._in_chunks(batch)
        chunk = batch[0]
        if self.processes is not None:
            self.weigh(_weight(chunk))
        spaces = self.forward(chunk, self.normalize)
        logits = spaces[-1].logits
        S, cache = self.criterion.statistics(logits, chunk.classes)
        loss, grad = self._value_and_grad(S)
        self.criterion.backward(cache, grad, chunk.classes, spaces[-1].logits_grad)
        self.backward(chunk, spaces, self.norm_gradient)
        return loss, logits, S

    def _value_and_grad(self, S: AnyStatistics) -> tuple[Value, Any]:
        """Loss and derivative of the statistics, at their average over batches."""
        criterion = self.criterion
        return criterion.value_and_grad(criterion.average(criterion.reduce(S)))

    def _in_chunks(self, batch: Sequence[Chunk]) -> tuple[Value, Tensor, AnyStatistics]:
        """What ``__call__`` does, never holding more than one chunk of the batch.

        Exact: everything that the gradient has to know of the whole batch is a sum
        over samples, or else a function of the logits. The statistics of the norms come
        first, from the lowest layer up, a pass each; then those of the loss; then
        the norms' own gradients, from the top layer down; and in a last pass the rest.
        """
        norms = [layer.norm for layer in self.layers if layer.norm is not None]
        weights: Any = sum(_weight(chunk) for chunk in batch)
        whole = self.weigh(weights)
        for norm in norms:
            self._norm_statistics(batch, norm)

        def forward(chunk: Chunk) -> list[Workspace]:
            return self.forward(chunk, self.normalize_by)

        loss, S, write_logits_grad = self._loss_in_chunks(
            batch, (forward(chunk)[-1].logits for chunk in batch)
        )
        for norm in norms:
            norm.update_running()

        def backward(down_to: Norm | None) -> None:
            def norm_gradient(space: Workspace, chunk: Chunk) -> bool:
                if space.norm is down_to:
                    self.sum_norm_gradient(space, accumulate=True)
                    return True
                share = chunk.classes.share() * (_weight(chunk) / whole)
                self.through_norm(space, share)
                return False

            for layer in self.layers:
                layer.weight_grad.zero_()
                layer.bias_grad.zero_()
            for i, chunk in enumerate(batch):
                spaces = forward(chunk)
                write_logits_grad(i, spaces[-1])
                self.backward(chunk, spaces, norm_gradient, accumulate=True)

        for norm in reversed(norms):
            norm.gamma_grad.zero_()
            norm.beta_grad.zero_()
            backward(norm)
            self.gather_norm_gradient(norm)
        backward(None)
        for norm in norms:
            self.part_norm_gradient(norm)
        return loss, self._workspaces[batch[-1].n][-1].logits, S

    def _loss_in_chunks(
        self, batch: Sequence[Chunk], logits: Iterable[Tensor]
    ) -> tuple[Value, AnyStatistics, Callable[[int, Workspace], None]]:
        """Loss and statistics of all chunks, and what writes the gradient of one."""
        loss = self.criterion
        if loss.is_additive:
            parts = zip(logits, batch, strict=True)
            S: Any = sum(loss.statistics(z, chunk.classes)[0] for z, chunk in parts)
            value, grad = self._value_and_grad(S)

            def write_again(i: int, space: Workspace) -> None:
                classes = batch[i].classes
                cache = loss.statistics(space.logits, classes)[1]
                loss.backward(cache, grad, classes, space.logits_grad)

            return value, S, write_again
        # The logits are a small part of what the samples take.
        together = torch.cat([z.clone() for z in logits], dim=-1)
        # Losses that are not sums over samples are those of two classes.
        classes = ClassWeights.join(chunk.classes for chunk in batch)  # type: ignore[misc]
        S, cache = loss.statistics(together, classes)
        value, grad = self._value_and_grad(S)
        loss.backward(cache, grad, classes, out=together)
        grads = together.split([chunk.n for chunk in batch], dim=-1)
        return value, S, lambda i, space: space.logits_grad.copy_(grads[i])

    def _norm_statistics(self, batch: Sequence[Chunk], norm: Norm) -> None:
        """Mean and variance of a layer, those of the layers below being known."""
        seen = mean = squares = torch.zeros((), device=self.flat.values.device)

        def normalize(space: Workspace, chunk: Chunk) -> bool:
            nonlocal seen, mean, squares
            if space.norm is not norm:
                self.normalize_by(space, chunk)
                return False
            share, weight = chunk.classes.share(), _weight(chunk)
            scratch = space.scratch_group
            its_mean = weighted_mean(space.z_group, share, scratch)
            centred = torch.sub(space.z_group, its_mean, out=scratch)
            its_var = weighted_mean(centred.mul_(centred), share, scratch)
            # Two means and variances become those of all samples together.
            step = its_mean - mean
            squares = squares + its_var * weight
            squares = squares + step * step * (seen * weight / (seen + weight))
            mean = mean + step * (weight / (seen + weight))
            seen = seen + weight
            return True

        for chunk in batch:
            self.forward(chunk, normalize)
        norm.mean = self.over_processes(mean)
        step = mean - norm.mean
        norm.var = self.over_processes(squares / seen + step * step)


def _weight(chunk: Chunk) -> Tensor:
    """Weight of the samples of each group, of shape (G, 1, 1)."""
    return chunk.classes.totals().sum(-1).view(-1, 1, 1)
