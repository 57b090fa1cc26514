"""Forward and backward passes through the layers of a stack of networks.

Activations have the shape (K, width, n), the samples last, so that the first layers of
all networks that look at the same samples are one product of matrices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from sk_anyloss.losses.distributed.processes import Processes
from sk_anyloss.training.data.batches import Chunk
from sk_anyloss.training.network.mlp import ACTIVATIONS, MLP, WeightedBatchNorm
from sk_anyloss.training.network.stacked_parameters import FlatModules

__all__ = ["Layers", "Norm", "Workspace", "weighted_mean"]

#: Called at a batch norm on the way; True ends the pass there.
AtNorm = Callable[["Workspace", Chunk], "bool | None"]


class Norm:
    """Batch norm of one layer: parameters, and statistics, running and of the batch."""

    def __init__(
        self, flat: FlatModules, i: int, groups: int, like: WeightedBatchNorm
    ) -> None:
        name = f"norms.{i}."
        column = (groups, -1, 1)
        self.gamma = flat.parameters[name + "weight"].view(column)
        self.beta = flat.parameters[name + "bias"].view(column)
        self.gamma_grad = flat.gradients[name + "weight"].view(column)
        self.beta_grad = flat.gradients[name + "bias"].view(column)
        self.running_mean = flat.buffers[name + "running_mean"].view(column)
        self.running_var = flat.buffers[name + "running_var"].view(column)
        self.momentum, self.eps = like.momentum, like.eps
        #: Of the batch, set on the forward pass.
        self.mean = self.var = self.std = torch.empty(0)

    def update_running(self) -> None:
        """Move the running statistics towards those of the batch."""
        self.running_mean.lerp_(self.mean, self.momentum)
        self.running_var.lerp_(self.var, self.momentum)


class Layer:
    """One linear layer of all networks, with its norm."""

    def __init__(
        self,
        flat: FlatModules,
        i: int,
        groups: int,
        norm: WeightedBatchNorm | None,
    ) -> None:
        weight = flat.parameters[f"layers.{i}.weight"]
        self.models, self.width, _ = weight.shape
        self.groups = groups
        # Networks that look at the same samples are one matrix in the first layer, and
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
        self.norm = None if norm is None else Norm(flat, i, groups, norm)


class Workspace:
    """Where the results of a layer go, for n samples.

    ``z`` is the input of the activation, ``out`` its output, ``g`` the gradient by
    ``z``, and ``normal`` the normalised ``z``. Views are made once, since
    making one takes as long as a small product of matrices.
    """

    def __init__(self, layer: Layer, buffers: Tensor, n: int) -> None:
        self.layer = layer
        self.norm = layer.norm
        shape = (layer.models, layer.width, n)
        size = layer.models * layer.width * n
        z, g, *others = (part[:size].view(shape) for part in buffers)
        # Not -1, which is ambiguous for an empty batch.
        rows = layer.models * layer.width
        by_product = (*layer.lead, rows // math.prod(layer.lead), n)
        self.z, self.z_product = z, z.view(by_product)
        self.g, self.g_product = g, g.view(by_product)
        by_group = (layer.groups, rows // layer.groups, n)
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
            # One logit for two classes, or one for each of several classes or labels.
            self.logits, self.logits_grad = z, g
            if layer.width == 1:
                self.logits, self.logits_grad = z.squeeze(1), g.squeeze(1)

    @property
    def known_norm(self) -> Norm:
        """The norm of a layer that has one."""
        assert self.norm is not None
        return self.norm


def weighted_mean(values: Tensor, share: Tensor, scratch: Tensor) -> Tensor:
    """Mean over the samples of each group.

    Parameters
    ----------
    values : tensor of shape (G, rows, n)
        A value of each sample in each row.
    share : tensor of shape (G, n, 1)
        Fraction of each sample in the weight of its group.
    scratch : tensor of shape (G, rows, n)
        Is overwritten; may be the values themselves.

    Returns
    -------
    mean : tensor of shape (G, rows, 1)
        The weighted mean of each row.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.training.network.layers import weighted_mean
    >>> values, share = torch.tensor([[[1.0, 5.0]]]), torch.tensor([[[0.75], [0.25]]])
    >>> weighted_mean(values, share, values)
    tensor([[[2.]]])
    """
    if len(values) == 1:
        return torch.bmm(values, share)
    # A batch of products with one column each takes ten times as long.
    return torch.mul(values, share.mT, out=scratch).sum(-1, keepdim=True)


class Layers:
    """The layers of K networks of one shape, with the workspaces of their passes.

    Parameters
    ----------
    modules : sequence of MLP
        The networks. While they are in here, their parameters and gradients are views
        of ``flat``; :meth:`release` gives them their own again.
    n_groups : int, default=1
        Number of groups of samples: K / n_groups networks in a row share theirs.
    """

    def __init__(self, modules: Sequence[MLP], n_groups: int = 1) -> None:
        first = modules[0]
        self.flat = FlatModules(modules)
        self.flat.adopt()
        self.release = self.flat.release
        self.activation = ACTIVATIONS[str(first.activation)]
        norms: list[WeightedBatchNorm | None] = [
            norm for norm in first.norms if isinstance(norm, WeightedBatchNorm)
        ]
        norms += [None] * len(first.layers)
        self.layers = [
            Layer(self.flat, i, n_groups, norms[i]) for i in range(len(first.layers))
        ]
        #: Those that have the other samples of a batch; None if there are no others.
        self.processes: Processes | None = None
        #: Part of the samples of this process in the weight of the batch, (G, 1, 1).
        self.fraction: Tensor | None = None
        self._buffers: list[Tensor] = []
        self._workspaces: dict[int, list[Workspace]] = {}

    def _make_workspaces(self, n: int) -> list[Workspace]:
        """Workspaces of all layers, for n samples."""
        if n > max(self._workspaces, default=-1):
            # Fewer samples then share the same buffers.
            self._workspaces.clear()
            self._buffers = [
                self.flat.values.new_empty((parts, layer.models * layer.width * n))
                for layer in self.layers
                for parts in [2 if layer is self.layers[-1] else 4 + bool(layer.norm)]
            ]
        pairs = zip(self.layers, self._buffers, strict=True)
        self._workspaces[n] = [Workspace(layer, buffer, n) for layer, buffer in pairs]
        return self._workspaces[n]

    def forward(self, chunk: Chunk, normalize: AtNorm) -> list[Workspace]:
        """From samples to logits, unless ``normalize`` ends the pass."""
        spaces = self._workspaces.get(chunk.n) or self._make_workspaces(chunk.n)
        x = chunk.XT
        for space in spaces:
            layer = space.layer
            if chunk.sparse is not None and space is spaces[0]:
                chunk.sparse.product(layer.bias, layer.weight, space.z_product)
            else:
                layer.add_product(layer.bias, layer.weight, x, out=space.z_product)
            if space is spaces[-1] or (
                space.norm is not None and normalize(space, chunk)
            ):
                break
            self.activation.write(space.z, space.out)
            x = space.entering
        return spaces

    def normalize(self, space: Workspace, chunk: Chunk) -> None:
        """Batch-normalise a layer by mean and variance of the chunk."""
        norm, share = space.known_norm, chunk.classes.share()
        mean = weighted_mean(space.z_group, share, space.scratch_group)
        norm.mean = self.over_processes(mean)
        torch.sub(space.z_group, norm.mean, out=space.normal)
        squares = torch.mul(space.normal, space.normal, out=space.scratch_group)
        norm.var = self.over_processes(weighted_mean(squares, share, squares))
        if chunk.n > 1 or self.processes is not None:  # One sample has no variance.
            norm.update_running()
        self._scale(space)

    def over_processes(self, mean: Tensor) -> Tensor:
        """The mean over the samples of all processes, from that over the own ones."""
        if self.processes is None or self.fraction is None:
            return mean
        mean = mean * self.fraction
        self.processes.sum_(mean)
        return mean

    def weigh(self, own: Tensor) -> Tensor:
        """Total weight of a batch in all processes, given that of the own samples.

        It is for norms: without them, that of the own samples is all there is to know.
        """
        if self.processes is None or not any(layer.norm for layer in self.layers):
            return own
        whole = own.clone()
        self.processes.sum_(whole)
        self.fraction = own / whole.clamp(min=torch.finfo(whole.dtype).tiny)
        return whole

    def _scale(self, space: Workspace) -> None:
        norm = space.known_norm
        norm.std = (norm.var + norm.eps).sqrt_()
        space.normal.div_(norm.std)
        # Two operations are faster than one with two factors to be spread out.
        torch.mul(space.normal, norm.gamma, out=space.z_group).add_(norm.beta)

    def backward(
        self,
        chunk: Chunk,
        spaces: list[Workspace],
        norm_gradient: AtNorm,
        accumulate: bool = False,
    ) -> None:
        """Gradients from those of the logits; ``accumulate`` adds to what is there."""
        for i in range(len(spaces) - 1, -1, -1):
            space, layer = spaces[i], spaces[i].layer
            if space.norm is not None and norm_gradient(space, chunk):
                return
            g, x, transposed = space.g_product, chunk.X, chunk.XT
            if i:
                x, transposed = (
                    spaces[i - 1].entering_transposed,
                    spaces[i - 1].entering,
                )
            into = layer.weight_grad
            if chunk.sparse is not None and i == 0:
                product = chunk.sparse.gradient(g).view(into.shape)
                into.add_(product) if accumulate else into.copy_(product)
            elif layer.is_wide:
                product = layer.product(transposed, g.mT).mT
                into.add_(product) if accumulate else into.copy_(product)
            elif accumulate:
                layer.add_product(into, g, x, out=into)
            else:
                layer.product(g, x, out=into)
            # Batch norm subtracts any bias before it, so that has no gradient.
            if space.norm is None and accumulate:
                layer.bias_grad.add_(g.sum(-1, keepdim=True))
            elif space.norm is None:
                torch.sum(g, -1, keepdim=True, out=layer.bias_grad)
            if i:
                below = spaces[i - 1]
                self.activation.write_derivative(below.z, below.out, below.g)
                if layer.width == 1:
                    below.g.mul_(layer.weight_by_unit).mul_(space.g)
                else:
                    layer.product(layer.weight.mT, g, out=below.scratch_product)
                    below.g.mul_(below.scratch)

    def norm_gradient(self, space: Workspace, chunk: Chunk) -> None:
        """Gradients of the parameters and of the input of a norm."""
        self.sum_norm_gradient(space, accumulate=False)
        if self.processes is not None and self.fraction is not None:
            self.gather_norm_gradient(space.known_norm)
            self.through_norm(space, chunk.classes.share() * self.fraction)
            self.part_norm_gradient(space.known_norm)
            return
        even = chunk.classes.uniform_share
        self.through_norm(space, chunk.classes.share() if even is None else even)

    def gather_norm_gradient(self, norm: Norm) -> None:
        """Sum the gradients of a norm's parameters over the processes, if there are."""
        if self.processes is not None:
            both = torch.cat((norm.gamma_grad, norm.beta_grad))
            self.processes.sum_(both)
            gamma_grad, beta_grad = both.chunk(2)
            norm.gamma_grad.copy_(gamma_grad)
            norm.beta_grad.copy_(beta_grad)

    def part_norm_gradient(self, norm: Norm) -> None:
        """Leave an equal part of them, since all gradients are summed afterwards."""
        if self.processes is not None:
            norm.gamma_grad.div_(self.processes.size)
            norm.beta_grad.div_(self.processes.size)

    def sum_norm_gradient(self, space: Workspace, accumulate: bool) -> None:
        """Gradients of the parameters of a norm: sums over the samples."""
        norm, g, scratch = space.known_norm, space.g_group, space.scratch_group
        torch.mul(g, space.normal, out=scratch)
        if accumulate:
            norm.gamma_grad.add_(scratch.sum(-1, keepdim=True))
            norm.beta_grad.add_(g.sum(-1, keepdim=True))
        else:
            torch.sum(scratch, -1, keepdim=True, out=norm.gamma_grad)
            torch.sum(g, -1, keepdim=True, out=norm.beta_grad)

    def through_norm(self, space: Workspace, share: Tensor | float) -> None:
        """From the gradient of the output of a norm to that of its input.

        ``share`` is the fraction of each sample in the weight of its group.
        """
        norm, g, scratch = space.known_norm, space.g_group, space.scratch_group
        torch.mul(space.normal, norm.gamma_grad, out=scratch).add_(norm.beta_grad)
        if isinstance(share, float):
            g.sub_(scratch, alpha=share)
        else:
            g.sub_(scratch.mul_(share.mT))
        g.mul_(norm.gamma / norm.std)

    def normalize_by(self, space: Workspace, chunk: Chunk) -> None:
        """Batch-normalise a layer by mean and variance that are known."""
        torch.sub(space.z_group, space.known_norm.mean, out=space.normal)
        self._scale(space)
