"""Gradients of the MLP by hand: a few matrix products instead of autograd.

Equal to autograd to rounding, and several times as fast on small networks, where
autograd's bookkeeping takes longer than the arithmetic. The networks come as a stack:
K of them, of one shape, go through every operation together, and K = 1 is the ordinary
case. Activations have the shape (K, width, n), the rows last, so that the first layers
of all networks that look at the same rows are one product of matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from sk_anyloss.losses.base import Loss
from sk_anyloss.losses.stacked import stack_losses
from sk_anyloss.metrics.class_weights import ClassWeights
from sk_anyloss.training.batches import Chunk
from sk_anyloss.training.mlp import ACTIVATIONS, MLP
from sk_anyloss.training.parameters import FlatModules

__all__ = ["ClosedForm", "supports"]


def supports(module: Any, criterion: Any) -> bool:
    """Whether the gradient of this pair can be had in closed form.

    Examples
    --------
    >>> from sk_anyloss.training.closed_form import supports
    >>> from sk_anyloss.losses import AnyLoss
    >>> from sk_anyloss.training.mlp import MLP
    >>> supports(MLP(3), AnyLoss("f1"))
    True
    >>> supports(MLP(3, activation=lambda x: x), AnyLoss("f1"))
    False
    """
    # The exact type: a subclass may compute something else.
    return (
        type(module) is MLP
        and module.layers[0].weight.dtype in (torch.float32, torch.float64)
        and module.activation in ACTIVATIONS
        and isinstance(criterion, Loss)
    )


class _Norm:
    """Batch norm of one layer: parameters, running figures, and those of the batch."""

    def __init__(self, flat: FlatModules, i: int, groups: int, like: Any) -> None:
        name = f"norms.{i}."
        column = (groups, -1, 1)
        self.gamma = flat.parameters[name + "weight"].view(column)
        self.beta = flat.parameters[name + "bias"].view(column)
        self.gamma_grad = flat.gradients[name + "weight"].view(column)
        self.beta_grad = flat.gradients[name + "bias"].view(column)
        self.running_mean = flat.buffers[name + "running_mean"].view(column)
        self.running_var = flat.buffers[name + "running_var"].view(column)
        self.momentum, self.eps = like.momentum, like.eps
        self.mean: Any = None
        self.var: Any = None
        self.spread: Any = None

    def follow(self) -> None:
        """Let the running figures follow those of the batch."""
        self.running_mean.lerp_(self.mean, self.momentum)
        self.running_var.lerp_(self.var, self.momentum)


class _Layer:
    """One linear layer of all networks, with its norm."""

    def __init__(self, flat: FlatModules, i: int, groups: int, norm: Any) -> None:
        weight = flat.parameters[f"layers.{i}.weight"]
        self.models, self.width, _ = weight.shape
        self.groups = groups
        # Networks that look at the same rows are one matrix in the first layer, and
        # one matrix is quicker multiplied as such than as a batch of one.
        lead = self.models if i else groups
        self.lead = (lead,) if lead > 1 else ()
        self.add_product: Callable[..., Tensor] = torch.addmm
        self.product: Callable[..., Tensor] = torch.mm
        if lead > 1:
            self.add_product, self.product = torch.baddbmm, torch.bmm
        # For gradients much wider than long, the transposed product is faster.
        width = self.models * self.width // lead
        self.is_wide = width >= max(64, 2 * weight.shape[-1])
        shape = (*self.lead, -1, weight.shape[-1])
        column = (*self.lead, -1, 1)
        self.weight = weight.view(shape)
        self.weight_by_unit = weight.view(self.models, -1, 1)  # If the width is 1.
        self.bias = flat.parameters[f"layers.{i}.bias"].view(column)
        self.weight_grad = flat.gradients[f"layers.{i}.weight"].view(shape)
        self.bias_grad = flat.gradients[f"layers.{i}.bias"].view(column)
        self.norm: Any = None if norm is None else _Norm(flat, i, groups, norm)


class _Room:
    """Where the results of a layer go, for batches of n rows.

    ``z`` is what comes before the activation, ``out`` what comes after it, ``g`` the
    gradient by ``z``, and ``normal`` the normalised input. Views are made once, since
    making one takes as long as a small product of matrices.
    """

    def __init__(self, layer: _Layer, memory: Tensor, n: int) -> None:
        self.layer = layer
        self.norm = layer.norm
        shape = (layer.models, layer.width, n)
        size = layer.models * layer.width * n
        z, g, *others = (part[:size].view(shape) for part in memory)
        by_product = (*layer.lead, -1, n)
        self.z, self.z_product = z, z.view(by_product)
        self.g, self.g_product = g, g.view(by_product)
        by_group = (layer.groups, -1, n)
        self.z_group, self.g_group = z.view(by_group), g.view(by_group)
        if others:
            self.out, self.scratch, *normal = others
            # As they enter the next layer.
            self.entering = self.out if layer.models > 1 else self.out[0]
            self.entering_transposed = self.entering.mT
            self.scratch_product = self.scratch if layer.models > 1 else self.scratch[0]
            self.scratch_group = self.scratch.view(by_group)
            if normal:
                self.normal = normal[0].view(by_group)
        else:
            self.logits, self.slope = z.squeeze(1), g.squeeze(1)


class ClosedForm:
    """Forward and backward passes of MLPs in training mode, without autograd.

    Parameters
    ----------
    modules : MLP or sequence of MLP
        The networks, of one shape. While they are in here, their parameters and
        gradients are views of ``flat``; :meth:`release` gives them their own again.
    criteria : Loss or sequence of Loss
        The loss of each, such that :func:`supports` says yes.
    groups : int, default=1
        Number of groups of rows: K / groups networks in a row share theirs.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.training.batches import Chunk
    >>> from sk_anyloss.training.closed_form import ClosedForm
    >>> from sk_anyloss.losses import BCE
    >>> from sk_anyloss.training.mlp import MLP
    >>> module = MLP(2, hidden=(), dtype=torch.float64)
    >>> X = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
    >>> y = torch.tensor([0.0, 1.0], dtype=torch.float64)
    >>> with torch.no_grad():
    ...     loss, logits, sums = ClosedForm(module, BCE())([Chunk.of(X, y)])
    >>> module.layers[0].weight.grad
    tensor([[-0.5000, -0.5000]], dtype=torch.float64)
    """

    def __init__(
        self,
        modules: MLP | Sequence[MLP],
        criteria: Loss | Sequence[Loss],
        groups: int = 1,
    ) -> None:
        modules = [modules] if isinstance(modules, MLP) else modules
        criteria = [criteria] if isinstance(criteria, Loss) else criteria
        first = modules[0]
        self.flat = FlatModules(modules)
        self.flat.adopt()
        self.release = self.flat.release
        self.activation = ACTIVATIONS[str(first.activation)]
        self.criterion: Any = stack_losses(criteria, groups, self.flat.values)
        norms: list[Any] = [*first.norms] + [None] * len(first.layers)
        self.layers = [
            _Layer(self.flat, i, groups, norms[i]) for i in range(len(first.layers))
        ]
        self._memory: list[Tensor] = []
        self._rooms: dict[int, list[_Room]] = {}

    def _make_rooms(self, n: int) -> list[_Room]:
        """Memory for the results of all layers, for batches of n rows."""
        if n > max(self._rooms, default=0):
            # Fewer rows then find their place within the same memory.
            self._rooms.clear()
            self._memory = [
                self.flat.values.new_empty((parts, layer.models * layer.width * n))
                for layer in self.layers
                for parts in [2 if layer is self.layers[-1] else 4 + bool(layer.norm)]
            ]
        rooms = zip(self.layers, self._memory, strict=True)
        self._rooms[n] = [_Room(layer, memory, n) for layer, memory in rooms]
        return self._rooms[n]

    def __call__(self, batch: Sequence[Chunk]) -> tuple[Any, Tensor, Tensor]:
        """Loss, logits and sums of a batch; the gradient goes into ``.grad``.

        To be called where autograd is off, under :class:`torch.no_grad`.

        Parameters
        ----------
        batch : sequence of Chunk
            The rows of the batch, in as many pieces as it takes to stay within the
            memory. Pieces are gone through several times: first for what has to be
            known of the whole batch, then for the gradient. One piece is gone
            through once.

        Returns
        -------
        loss : float or ndarray of shape (K,)
            The loss of each network; a float for one.
        logits : tensor of shape (K, n)
            The logits before the step, of the last piece.
        S : Statistics
            What the loss adds up over samples.
        """
        if len(batch) > 1:
            return self._in_pieces(batch)
        rows = batch[0]
        rooms = self._forward(rows, self._normalize)
        logits = rooms[-1].logits
        S, cache = self.criterion.statistics(logits, rows.classes)
        loss, grad = self._value_and_grad(S)
        self.criterion.backward(cache, grad, rows.classes, rooms[-1].slope)
        self._backward(rows, rooms, self._norm_gradient)
        return loss, logits, S

    def _value_and_grad(self, S: Any) -> tuple[Any, Any]:
        """Loss and derivative of the statistics, at their average over batches."""
        criterion = self.criterion
        return criterion.value_and_grad(criterion.average(criterion.reduce(S)))

    def _forward(self, rows: Chunk, normalize: Callable[..., Any]) -> list[_Room]:
        """From rows to logits, unless ``normalize`` says that it has seen enough."""
        rooms = self._rooms.get(rows.n) or self._make_rooms(rows.n)
        x = rows.XT
        for room in rooms:
            layer = room.layer
            if rows.sparse is not None and room is rooms[0]:
                rows.sparse.product(layer.bias, layer.weight, room.z_product)
            else:
                layer.add_product(layer.bias, layer.weight, x, out=room.z_product)
            if room is rooms[-1] or (room.norm is not None and normalize(room, rows)):
                break
            self.activation.write(room.z, room.out)
            x = room.entering
        return rooms

    def _normalize(self, room: _Room, rows: Chunk) -> None:
        """Give a layer mean 0 and deviation 1 in the batch, then what it learned."""
        norm, share = room.norm, rows.classes.share()
        norm.mean = torch.bmm(room.z_group, share)
        torch.sub(room.z_group, norm.mean, out=room.normal)
        torch.mul(room.normal, room.normal, out=room.scratch_group)
        norm.var = torch.bmm(room.scratch_group, share)
        if rows.n > 1:  # One row has no variance to tell of.
            norm.follow()
        self._scale(room)

    def _scale(self, room: _Room) -> None:
        norm = room.norm
        norm.spread = (norm.var + norm.eps).sqrt_()
        room.normal.div_(norm.spread)
        torch.addcmul(norm.beta, room.normal, norm.gamma, out=room.z_group)

    def _backward(
        self,
        rows: Chunk,
        rooms: list[_Room],
        norm_gradient: Callable[..., Any],
        keep: bool = False,
    ) -> None:
        """Gradients from those by the logits; ``keep`` adds to what is there."""
        for i in range(len(rooms) - 1, -1, -1):
            room, layer = rooms[i], rooms[i].layer
            if room.norm is not None and norm_gradient(room, rows):
                return
            g, x, transposed = room.g_product, rows.X, rows.XT
            if i:
                x, transposed = rooms[i - 1].entering_transposed, rooms[i - 1].entering
            into = layer.weight_grad
            if rows.sparse is not None and i == 0:
                product = rows.sparse.gradient(g).view(into.shape)
                into.add_(product) if keep else into.copy_(product)
            elif layer.is_wide:
                product = layer.product(transposed, g.mT).mT
                into.add_(product) if keep else into.copy_(product)
            elif keep:
                layer.add_product(into, g, x, out=into)
            else:
                layer.product(g, x, out=into)
            # What is added before a normalisation is taken off by it again.
            if room.norm is None and keep:
                layer.bias_grad.add_(g.sum(-1, keepdim=True))
            elif room.norm is None:
                torch.sum(g, -1, keepdim=True, out=layer.bias_grad)
            if i:
                below = rooms[i - 1]
                self.activation.write_derivative(below.z, below.out, below.g)
                if layer.width == 1:
                    below.g.mul_(layer.weight_by_unit).mul_(room.g)
                else:
                    layer.product(layer.weight.mT, g, out=below.scratch_product)
                    below.g.mul_(below.scratch)

    def _norm_gradient(self, room: _Room, rows: Chunk) -> None:
        self._sum_norm(room, keep=False)
        self._through_norm(room, rows.classes.share())

    def _sum_norm(self, room: _Room, keep: bool) -> None:
        """Gradients of what the norm has learned: sums over the rows."""
        norm, g, scratch = room.norm, room.g_group, room.scratch_group
        torch.mul(g, room.normal, out=scratch)
        if keep:
            norm.gamma_grad.add_(scratch.sum(-1, keepdim=True))
            norm.beta_grad.add_(g.sum(-1, keepdim=True))
        else:
            torch.sum(scratch, -1, keepdim=True, out=norm.gamma_grad)
            torch.sum(g, -1, keepdim=True, out=norm.beta_grad)

    def _through_norm(self, room: _Room, share: Tensor) -> None:
        """From the gradient behind the normalisation to the one in front of it."""
        norm, g, scratch = room.norm, room.g_group, room.scratch_group
        torch.addcmul(norm.beta_grad, room.normal, norm.gamma_grad, out=scratch)
        g.sub_(scratch.mul_(share.mT)).mul_(norm.gamma / norm.spread)

    def _in_pieces(self, batch: Sequence[Chunk]) -> tuple[Any, Tensor, Tensor]:
        """What ``__call__`` does, never holding more than one piece of the batch.

        Exact: everything that the gradient has to know of the whole batch is a sum
        over rows, or else a function of the logits. The figures of the norms come
        first, from the lowest layer up, a pass each; then the sums of the loss; then
        the norms' own gradients, from the top layer down; and in a last pass the rest.
        """
        norms = [layer.norm for layer in self.layers if layer.norm is not None]
        whole = sum(_weight(rows) for rows in batch)
        for norm in norms:
            self._figures_in_pieces(batch, norm)

        def forward(rows: Chunk) -> list[_Room]:
            return self._forward(rows, self._normalize_as_known)

        loss, sums, write_slope = self._loss_in_pieces(
            batch, (forward(rows)[-1].logits for rows in batch)
        )
        for norm in norms:
            norm.follow()

        def backward(down_to: _Norm | None) -> None:
            def norm_gradient(room: _Room, rows: Chunk) -> bool:
                if room.norm is down_to:
                    self._sum_norm(room, keep=True)
                    return True
                share = rows.classes.share() * (_weight(rows) / whole)
                self._through_norm(room, share)
                return False

            for layer in self.layers:
                layer.weight_grad.zero_()
                layer.bias_grad.zero_()
            for i, rows in enumerate(batch):
                rooms = forward(rows)
                write_slope(i, rooms[-1])
                self._backward(rows, rooms, norm_gradient, keep=True)

        for norm in reversed(norms):
            norm.gamma_grad.zero_()
            norm.beta_grad.zero_()
            backward(norm)
        backward(None)
        return loss, self._rooms[batch[-1].n][-1].logits, sums

    def _loss_in_pieces(
        self, batch: Sequence[Chunk], logits: Iterable[Tensor]
    ) -> tuple[Any, Tensor, Callable[[int, _Room], None]]:
        """Loss and sums of all pieces, and what writes the slopes of the i-th."""
        loss = self.criterion
        if loss.is_additive:
            parts = zip(logits, batch, strict=True)
            S: Any = sum(loss.statistics(z, rows.classes)[0] for z, rows in parts)
            value, grad = self._value_and_grad(S)

            def write_again(i: int, room: _Room) -> None:
                classes = batch[i].classes
                cache = loss.statistics(room.logits, classes)[1]
                loss.backward(cache, grad, classes, room.slope)

            return value, S, write_again
        # The logits are a small part of what the samples take.
        together = torch.cat([z.clone() for z in logits], dim=-1)
        classes = ClassWeights.join(rows.classes for rows in batch)
        S, cache = loss.statistics(together, classes)
        value, grad = self._value_and_grad(S)
        loss.backward(cache, grad, classes, out=together)
        slopes = together.split([rows.n for rows in batch], dim=-1)
        return value, S, lambda i, room: room.slope.copy_(slopes[i])

    def _normalize_as_known(self, room: _Room, rows: Chunk) -> None:
        torch.sub(room.z_group, room.norm.mean, out=room.normal)
        self._scale(room)

    def _figures_in_pieces(self, batch: Sequence[Chunk], norm: _Norm) -> None:
        """Mean and variance of a layer, those of the layers below being known."""
        seen: Any = 0
        mean: Any = 0
        squares: Any = 0

        def normalize(room: _Room, rows: Chunk) -> bool:
            nonlocal seen, mean, squares
            if room.norm is not norm:
                self._normalize_as_known(room, rows)
                return False
            share, weight = rows.classes.share(), _weight(rows)
            its_mean = torch.bmm(room.z_group, share)
            centred = torch.sub(room.z_group, its_mean, out=room.scratch_group)
            its_var = torch.bmm(centred.mul_(centred), share)
            # Two means and variances become those of the rows together.
            step = its_mean - mean
            squares = squares + its_var * weight
            squares = squares + step * step * (seen * weight / (seen + weight))
            mean = mean + step * (weight / (seen + weight))
            seen = seen + weight
            return True

        for rows in batch:
            self._forward(rows, normalize)
        norm.mean, norm.var = mean, squares / seen


def _weight(rows: Chunk) -> Tensor:
    """Weight of the rows of each group, of shape (G, 1, 1)."""
    return rows.classes.totals().sum(-1).view(-1, 1, 1)
