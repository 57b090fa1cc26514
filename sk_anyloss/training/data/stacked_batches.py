"""Batches of standardised samples for a stack of models, in buffers that are reused."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sk_anyloss.metrics.class_weights import AnyWeights, ClassWeights, LabelWeights
from sk_anyloss.training.data.batches import (
    Chunk,
    Part,
    batch_bounds,
    own_bounds,
    stratified_order,
)
from sk_anyloss.training.data.blocks import Block, plan_blocks
from sk_anyloss.training.data.source import (
    Index,
    Matrix,
    Source,
    as_source,
    as_tensor,
    short,
)
from sk_anyloss.training.data.sparse import SparseStack, can_fold

__all__ = ["CHUNK_SIZE", "Group", "StackedBatches"]

#: Numbers of X that are held at once, unless a batch needs more.
BLOCK_SIZE = 2**20
#: The most numbers that a batch may take at once; larger ones come in chunks.
CHUNK_SIZE = 2**21


@dataclass
class Group:
    """What a group of models, which see the same batches, trains on.

    Parameters
    ----------
    target : ndarray of shape (n,) or (n, Q)
        Classes of its samples, or labels, 0 or 1.
    rng : numpy.random.Generator or None
        Where the order of the samples comes from; None leaves them in theirs.
    index : ndarray of int or None
        Which samples of the source; None for all of them.
    weight : tensor or None
        Weights of these samples.
    mean, scale : tensor or None
        How to standardise them.
    bin_features : tensor of int or None
        Features of the bins of a piecewise-linear encoding, as in
        :class:`sk_anyloss.training.network.mlp.MLP`; the same for all groups.
    """

    target: np.ndarray
    rng: np.random.Generator | None = None
    index: np.ndarray | None = None
    weight: Tensor | None = None
    mean: Tensor | None = None
    scale: Tensor | None = None
    bin_features: Tensor | None = None


class StackedBatches:
    """Batches of standardised samples for a stack of models, in reused buffers.

    Several batches are gathered at once, and standardised there. A batch too large for
    the memory comes in chunks, which are gathered anew whenever they are gone through.

    Parameters
    ----------
    X : Source, tensor or sparse matrix of shape (n, d)
        All samples.
    groups : sequence of Group
        Which of them each group of models trains on.
    n_batches : int
        Number of batches in an epoch.
    width : int
        The most numbers that all models together need for a sample within the network.
    dtype : torch.dtype
        What to compute in.
    device : torch.device, default=None
        Where to compute.
    n_classes : int, default=2
        Number of classes; not used if samples have several labels.
    part : tuple of two ints, default=(0, 1)
        Number of this process, and of all processes that share one group of samples:
        it has its part of every batch.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from sk_anyloss.training.data.stacked_batches import Group, StackedBatches
    >>> X, y = torch.arange(10.0).reshape(5, 2), np.array([0, 1, 0, 1, 0])
    >>> batches = StackedBatches(X, [Group(y)], 2, width=2, dtype=torch.float32)
    >>> [batch[0].X.shape for batch in batches]
    [torch.Size([2, 2]), torch.Size([3, 2])]
    """

    def __init__(
        self,
        X: Source | Matrix,
        groups: Sequence[Group],
        n_batches: int,
        width: int,
        dtype: torch.dtype,
        device: torch.device | None = None,
        n_classes: int = 2,
        part: Part = (0, 1),
    ) -> None:
        self.source, self.groups, self.n_batches = as_source(X), list(groups), n_batches
        self.bin_features = groups[0].bin_features
        d = self.source.shape[1]
        if self.bin_features is not None:
            d = len(self.bin_features)
        G = len(groups)
        self.shape = G, d
        sizes = [len(group.target) for group in groups]
        # The samples of the groups follow each other.
        self.starts = np.cumsum([0, *sizes[:-1]])
        self.target = as_tensor(_join([group.target for group in groups])).to(dtype)
        self.weight: Tensor | None = None
        if any(group.weight is not None for group in groups):
            weights = [
                torch.ones(size, dtype=dtype) if group.weight is None else group.weight
                for group, size in zip(groups, sizes, strict=True)
            ]
            self.weight = torch.cat(weights)
        self.index: np.ndarray | None = None
        if len(groups) > 1 or groups[0].index is not None:
            self.index = _join(
                [
                    short(np.arange(size) if group.index is None else group.index)
                    for group, size in zip(groups, sizes, strict=True)
                ]
            )
        self.mean = _stack_known([group.mean for group in groups])
        self.scale = _stack_known([group.scale for group in groups])
        self.order: np.ndarray | None = None
        bounds = np.array([batch_bounds(size, n_batches) for size in sizes])
        #: Where the samples of this process lie in the order of all samples.
        self.own: np.ndarray | None = None
        if part[1] > 1:
            ranges = own_bounds(bounds[0].tolist(), part)
            self.own = np.concatenate([np.arange(a, b) for a, b in ranges])
            bounds = np.cumsum([[0, *(b - a for a, b in ranges)]], axis=1)
            first = np.arange(sizes[0])
            if n_batches == 1:
                first = stratified_order(groups[0].target, np.random.default_rng(0))
            self.order = first[self.own]
        on_cpu = torch.device(device or "cpu").type == "cpu"
        folded = self.bin_features is None and can_fold(self.mean, self.scale)
        self.stays_sparse = folded and on_cpu and self.source.is_very_sparse
        held = 0 if self.stays_sparse else d  # Numbers of a sample that are held.
        self.plan = plan_blocks(
            bounds,
            self.starts,
            # A batch that stays sparse is gathered by itself.
            in_block=1 if self.stays_sparse else max(1, BLOCK_SIZE // (G * d)),
            in_chunk=max(1, CHUNK_SIZE // max(G * held, width)),
        )
        # Samples that stay are stored feature by feature: products are faster so.
        self.is_static = n_batches == len(self.plan[0]) == 1
        size = G * max(block.stop for blocks in self.plan for block in blocks)
        self.n_classes = n_classes
        #: Number of labels; None for samples of one class each.
        self.n_labels = None if self.target.dim() == 1 else self.target.shape[1]
        in_table, in_target = n_classes, 1
        if self.n_labels is not None:
            in_table, in_target = 2 * self.n_labels, self.n_labels
        self.buffers = [
            torch.empty(size * numbers, dtype=dtype, device=device)
            for numbers in (held, in_table, in_target)
        ]
        self.sparse: SparseStack | None = None
        self.filled: Block | None = None
        self.views: dict[tuple[object, tuple[int, int, bool]], Chunk] = {}

    def __len__(self) -> int:
        return self.n_batches

    def __iter__(self) -> Iterator[Sequence[Chunk]]:
        if self.n_batches > 1:
            self._shuffle()
        for blocks in self.plan:
            if len(blocks) > 1:
                yield _Chunks(self, blocks)
            else:
                (block,) = blocks
                self.fill(block)
                yield from ([self.view(block, batch)] for batch in block.batches)

    def _shuffle(self) -> None:
        """Draw a new order for each group, if it has a generator."""
        if all(group.rng is None for group in self.groups):
            return
        self.filled = None
        if self.own is not None:
            (group,) = self.groups
            self.order = self._draw(group)[self.own]
        else:
            if self.order is None:
                n = len(self.target)
                self.order = short(np.arange(n))
            # Group by group, since orders of all samples weigh as much as features.
            for start, group in zip(self.starts, self.groups, strict=True):
                if group.rng is not None:
                    own = self.order[start : start + len(group.target)]
                    np.add(self._draw(group), start, out=own, casting="same_kind")

    def _draw(self, group: Group) -> np.ndarray:
        """A new order of the samples of a group."""
        assert group.rng is not None
        return self.source.order(group.target, group.index, group.rng)

    def _within(self, stop: int) -> tuple[Tensor, Tensor, Tensor]:
        """Buffers for the samples, the weights and the labels of a block."""
        G, d = self.shape
        d = 0 if self.stays_sparse else d
        Q = self.n_labels
        shapes = (
            (G, d, stop) if self.is_static else (G, stop, d),
            (G, self.n_classes, stop) if Q is None else (G, Q, 2, stop),
            (G, stop) if Q is None else (G, Q, stop),
        )
        X, table, labels = (
            buffer[: math.prod(shape)].view(shape)
            for buffer, shape in zip(self.buffers, shapes, strict=True)
        )
        return X.mT if self.is_static else X, table, labels

    def fill(self, block: Block) -> None:
        """Gather the samples of a block, standardise them, and set their weights."""
        if self.filled is block:
            return
        self.filled = block
        places = block.places
        if self.order is not None:
            places = _long(self.order[places])
        elif not isinstance(places, slice):
            places = _long(places)
        X, table, labels = self._within(block.stop)
        index = places if self.index is None else _long(self.index[places])
        self._fill_samples(index, X)
        weight: Tensor | float = 1.0
        if self.weight is not None:
            shape = len(labels), labels.shape[-1]
            weight = _take(self.weight, places).view(shape).to(labels.device)
        target = _take(self.target, places)
        if self.n_labels is None:
            labels.copy_(target.view(labels.shape))
            _fill_table(table, labels, weight)
        else:
            shape = len(labels), labels.shape[-1]
            labels.copy_(target.view(*shape, self.n_labels).mT)
            by_label = weight[:, None] if isinstance(weight, Tensor) else weight
            _fill_table(table.transpose(1, 2), labels, by_label)
        if block.padding is not None:
            group, sample = block.padding
            table[group, ..., sample] = 0

    def _fill_samples(self, index: Index, X: Tensor) -> None:
        """Gather samples and standardise or encode them."""
        if self.stays_sparse:
            parts = [index] if len(X) == 1 else index.reshape(len(X), -1)  # type: ignore[union-attr]
            dtype = torch.empty(0, dtype=X.dtype).numpy().dtype
            blocks = [self.source.block(p).astype(dtype, copy=False) for p in parts]
            self.sparse = SparseStack(blocks, self.mean, self.scale)
            return
        if self.bin_features is not None:
            encoded = self.source.dense(index).to(X.device)[:, self.bin_features]
            X.copy_(encoded.view(X.shape))
        elif self.is_static:
            X.copy_(self.source.dense(index).view(X.shape))
        else:
            self.source.gather(index, X.flatten(0, 1))
        if self.mean is not None:
            X.sub_(self.mean)
        if self.scale is not None:
            X.div_(self.scale)
        if self.bin_features is not None:
            X.clamp_(-1, 1)

    def _classes(self, table: Tensor, labels: Tensor, uniform: bool) -> AnyWeights:
        kind = ClassWeights if self.n_labels is None else LabelWeights
        return kind(table, labels, uniform, fixed=self.weight is None)

    def view(self, block: Block, batch: tuple[int, int, bool]) -> Chunk:
        """The samples of a batch, or of a chunk of one, within a block."""
        if self.sparse is not None:  # Of this block: each has one batch.
            _, table, labels = self._within(block.stop)
            uniform = batch[2] and self.weight is None
            return Chunk.of_sparse(self.sparse, self._classes(table, labels, uniform))
        start, stop, uniform = batch
        # Blocks without padding share their views; others have shares of their own.
        key = block if block.padding is not None else block.stop, batch
        if key not in self.views:
            X, table, labels = self._within(block.stop)
            X = X[:, start:stop] if len(self.groups) > 1 else X[0, start:stop]
            uniform = uniform and self.weight is None
            part = slice(start, stop)
            classes = self._classes(table[..., part], labels[..., part], uniform)
            self.views[key] = Chunk(X, X.mT, classes, stop - start)
        return self.views[key]


class _Chunks(Sequence[Chunk]):
    """A batch in chunks, each gathered when it is asked for."""

    def __init__(self, batches: StackedBatches, blocks: list[Block]) -> None:
        self.batches, self.blocks = batches, blocks

    def __len__(self) -> int:
        return len(self.blocks)

    def __getitem__(self, i):  # type: ignore[no-untyped-def]
        block = self.blocks[i]
        self.batches.fill(block)
        return self.batches.view(block, block.batches[0])


def _take(values: Tensor, places: Index) -> Tensor:
    return values[places if isinstance(places, slice) else torch.from_numpy(places)]


def _fill_table(table: Tensor, labels: Tensor, weight: Tensor | float) -> None:
    """Write the weight of each sample into the row of its class, on axis 1."""
    if table.shape[1] > 2:
        table.zero_()
        index = labels.to(torch.int64).unsqueeze(1)
        if isinstance(weight, Tensor):
            table.scatter_(1, index, weight.unsqueeze(1))
        else:
            table.scatter_(1, index, weight)
        return
    negatives, positives = table.unbind(1)
    if isinstance(weight, Tensor):
        torch.mul(weight, labels, out=positives)
        torch.sub(weight, positives, out=negatives)
    else:
        positives.copy_(labels)
        torch.sub(weight, labels, out=negatives)


def _long(index: np.ndarray) -> np.ndarray:
    """Positions as torch takes them."""
    return index.astype(np.intp, copy=False)


def _join(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(arrays) if len(arrays) > 1 else arrays[0]


def _stack_known(values: list[Tensor | None]) -> Tensor | None:
    known = [value for value in values if value is not None]
    return torch.stack(known).unsqueeze(1) if known else None
