"""Batches of standardised rows for a stack of models, in memory used over again."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sk_anyloss.metrics.class_weights import ClassWeights
from sk_anyloss.training.batches import (
    Rows,
    as_tensor,
    batch_bounds,
    stratified_order,
    take,
)
from sk_anyloss.training.sparse import SparseStack, can_fold, is_thin

__all__ = ["Feed", "Group"]

#: Numbers of X that a :class:`Feed` holds at once, unless a batch needs more.
BLOCK_SIZE = 2**20
#: The most numbers that a batch may take at once; larger ones come in pieces.
PIECE_SIZE = 2**21


@dataclass
class Group:
    """What a group of models, which see the same batches, trains on.

    Parameters
    ----------
    target : ndarray
        Labels of its rows, 0 or 1.
    rng : numpy.random.Generator or None
        Where the order of the rows comes from; None leaves them in theirs.
    rows : ndarray of int or None
        Which rows of the data set; None for all of them.
    weight : tensor or None
        Weights of these rows.
    mean, scale : tensor or None
        How to standardise them.
    pieces : tensor of int or None
        Columns that enter, cut off at -1 and 1, as in
        :class:`sk_anyloss.training.mlp.MLP`; the same for all groups.
    """

    target: np.ndarray
    rng: np.random.Generator | None = None
    rows: np.ndarray | None = None
    weight: Tensor | None = None
    mean: Tensor | None = None
    scale: Tensor | None = None
    pieces: Tensor | None = None


class Feed:
    """Batches of standardised rows for a stack of models, in memory used over again.

    Several batches are gathered at once, and standardised there. A batch too large for
    the memory comes in pieces, which are gathered anew whenever they are gone through.

    Parameters
    ----------
    X : tensor or sparse matrix of shape (n, d)
        All rows.
    groups : sequence of Group
        Who trains on which of them.
    n_batches : int
        Number of batches in an epoch.
    width : int
        The most numbers that all models together need for a row within the network.
    dtype : torch.dtype
        What to compute in.
    device : torch.device, default=None
        Where to compute.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from sk_anyloss.training.feed import Feed, Group
    >>> X, y = torch.arange(10.0).reshape(5, 2), np.array([0, 1, 0, 1, 0])
    >>> feed = Feed(X, [Group(y)], n_batches=2, width=2, dtype=torch.float32)
    >>> [batch[0].X.shape for batch in feed]
    [torch.Size([2, 2]), torch.Size([3, 2])]
    """

    def __init__(
        self,
        X: Any,
        groups: Sequence[Group],
        n_batches: int,
        width: int,
        dtype: torch.dtype,
        device: Any = None,
    ) -> None:
        self.X, self.groups, self.n_batches = X, list(groups), n_batches
        self.pieces = groups[0].pieces
        columns = X.shape[1] if self.pieces is None else len(self.pieces)
        self.shape = len(groups), columns
        sizes = [len(group.target) for group in groups]
        # What the groups have comes behind each other.
        self.starts = np.cumsum([0, *sizes[:-1]])
        self.target = as_tensor(_join([group.target for group in groups])).to(dtype)
        self.weight: Tensor | None = None
        if any(group.weight is not None for group in groups):
            weights = [
                torch.ones(size, dtype=dtype) if group.weight is None else group.weight
                for group, size in zip(groups, sizes, strict=True)
            ]
            self.weight = torch.cat(weights)
        self.rows: np.ndarray | None = None
        if len(groups) > 1 or groups[0].rows is not None:
            self.rows = _join(
                [
                    np.arange(size) if group.rows is None else group.rows
                    for group, size in zip(groups, sizes, strict=True)
                ]
            )
        self.mean = _figures([group.mean for group in groups])
        self.scale = _figures([group.scale for group in groups])
        self.order: np.ndarray | None = None
        G, d = self.shape
        on_cpu = torch.device(device or "cpu").type == "cpu"
        folded = self.pieces is None and can_fold(self.mean, self.scale)
        self.thin = folded and on_cpu and is_thin(X)
        held = 0 if self.thin else d  # Numbers of a sample that are held.
        self.plan = _plan(
            np.array([batch_bounds(size, n_batches) for size in sizes]),
            self.starts,
            # A batch that stays sparse is gathered by itself.
            in_block=1 if self.thin else max(1, BLOCK_SIZE // (G * d)),
            in_piece=max(1, PIECE_SIZE // max(G * held, width)),
        )
        # Rows that stay are better kept column by column: products are faster so.
        self.static = n_batches == len(self.plan[0]) == 1
        room = G * max(block.stop for blocks in self.plan for block in blocks)
        self.memory = [
            torch.empty(room * columns, dtype=dtype, device=device)
            for columns in (held, 2, 1)
        ]
        self.samples: SparseStack | None = None
        self.filled: _Block | None = None
        self.views: dict[Any, Rows] = {}

    def __len__(self) -> int:
        return self.n_batches

    def __iter__(self) -> Iterator[Sequence[Rows]]:
        if self.n_batches > 1 and self.groups[0].rng is not None:
            self.filled = None
            orders = [stratified_order(g.target, g.rng) for g in self.groups]  # type: ignore[arg-type]
            for start, order in zip(self.starts[1:], orders[1:], strict=True):
                order += start
            self.order = _join(orders)
        for blocks in self.plan:
            if len(blocks) > 1:
                yield _Pieces(self, blocks)
            else:
                self.fill(blocks[0])
                yield from ([self.view(blocks[0], cut)] for cut in blocks[0].cuts)

    def _within(self, stop: int) -> tuple[Tensor, Tensor, Tensor]:
        """Memory for the rows, the weights and the labels of a block."""
        G, d = self.shape
        d = 0 if self.thin else d
        shapes = (
            (G, d, stop) if self.static else (G, stop, d),
            (G, 2, stop),
            (G, stop),
        )
        X, table, labels = (
            memory[: math.prod(shape)].view(shape)
            for memory, shape in zip(self.memory, shapes, strict=True)
        )
        return X.mT if self.static else X, table, labels

    def fill(self, block: _Block) -> None:
        """Gather the rows of a block, standardise them, and note their weights."""
        if self.filled is block:
            return
        self.filled = block
        places = block.places if self.order is None else self.order[block.places]
        X, table, labels = self._within(block.stop)
        rows = places if self.rows is None else self.rows[places]
        if self.thin:
            index = [rows] if len(X) == 1 else rows.reshape(len(X), -1)
            matrices = [
                self.X[part].astype(_numpy_dtype(X), copy=False) for part in index
            ]
            self.samples = SparseStack(matrices, self.mean, self.scale)
        elif self.pieces is not None:
            taken = take(self.X, rows).to(X.device)[:, self.pieces]
            X.copy_(taken.view(X.shape))
        elif self.static:
            X.copy_(take(self.X, rows).view(X.shape))
        else:
            self._gather(rows, X.flatten(0, 1))
        if self.mean is not None and not self.thin:
            X.sub_(self.mean)
        if self.scale is not None and not self.thin:
            X.div_(self.scale)
        if self.pieces is not None:
            X.clamp_(-1, 1)
        labels.copy_(take(self.target, places).view(labels.shape))
        negatives, positives = table.unbind(1)
        if self.weight is None:
            positives.copy_(labels)
            torch.sub(1, labels, out=negatives)
        else:
            weight = take(self.weight, places).view(labels.shape).to(labels.device)
            torch.mul(weight, labels, out=positives)
            torch.sub(weight, positives, out=negatives)
        if block.padding is not None:
            group, row = block.padding
            table[group, :, row] = 0

    def _gather(self, rows: Any, into: Tensor) -> None:
        X = self.X
        plain = isinstance(X, Tensor) and X.dtype == into.dtype
        if plain and X.device == into.device and isinstance(rows, np.ndarray):
            torch.index_select(X, 0, torch.from_numpy(rows).to(X.device), out=into)
        else:
            into.copy_(take(X, rows))

    def view(self, block: _Block, cut: tuple[int, int, bool]) -> Rows:
        """The rows of a batch, or of a piece of one, within a block."""
        if self.samples is not None:  # Of this block: each has one batch.
            _, table, labels = self._within(block.stop)
            even = cut[2] and self.weight is None
            return Rows.of_sparse(self.samples, ClassWeights(table, labels, even))
        if (block.stop, cut) not in self.views:
            start, stop, even = cut
            X, table, labels = self._within(block.stop)
            X = X[:, start:stop] if len(self.groups) > 1 else X[0, start:stop]
            even = even and self.weight is None
            classes = ClassWeights(table[..., start:stop], labels[:, start:stop], even)
            self.views[block.stop, cut] = Rows(X, X.mT, classes, stop - start)
        return self.views[block.stop, cut]


def _numpy_dtype(like: Tensor) -> np.dtype:
    return torch.empty(0, dtype=like.dtype).numpy().dtype


def _join(arrays: list[np.ndarray]) -> np.ndarray:
    return np.concatenate(arrays) if len(arrays) > 1 else arrays[0]


def _figures(of_groups: list[Tensor | None]) -> Tensor | None:
    known = [figures for figures in of_groups if figures is not None]
    return torch.stack(known).unsqueeze(1) if known else None


@dataclass(eq=False)
class _Block:
    """Batches, or a piece of one, that are gathered together."""

    #: Where the rows come from in the order of the epoch, group by group.
    places: Any
    #: Groups and rows where those that have a row less than others are filled up.
    padding: tuple[Tensor, ...] | None
    #: Start and stop of each batch, and whether no group is filled up there.
    cuts: list[tuple[int, int, bool]]

    @property
    def stop(self) -> int:
        return self.cuts[-1][1]


class _Pieces(Sequence[Rows]):
    """A batch in pieces, each gathered when it is asked for."""

    def __init__(self, feed: Feed, blocks: list[_Block]) -> None:
        self.feed, self.blocks = feed, blocks

    def __len__(self) -> int:
        return len(self.blocks)

    def __getitem__(self, i: Any) -> Any:
        block = self.blocks[i]
        self.feed.fill(block)
        return self.feed.view(block, block.cuts[0])


def _plan(
    bounds: np.ndarray, offsets: np.ndarray, in_block: int, in_piece: int
) -> list[list[_Block]]:
    """Blocks of whole batches by themselves, and lists of the pieces of larger ones.

    ``bounds`` holds the bounds of the batches in each group, of shape (G, batches + 1),
    and ``offsets`` where the groups start.
    """
    starts, sizes = (bounds[:, :-1] + offsets[:, None]).T, np.diff(bounds).T
    plan: list[list[_Block]] = []
    waiting: list[tuple[np.ndarray, np.ndarray]] = []
    waiting_rows = 0
    for start, size in zip(starts, sizes, strict=True):
        length = size.max()
        if waiting and waiting_rows + length > in_block:
            plan.append([_block(waiting)])
            waiting, waiting_rows = [], 0
        if length <= in_piece:
            waiting.append((start, size))
            waiting_rows += length
        else:
            n_pieces = math.ceil(length / in_piece)
            cuts = np.array([batch_bounds(n, n_pieces) for n in size]).T
            plan.append([_block([(start + a, b - a)]) for a, b in pairwise(cuts)])
    if waiting:
        plan.append([_block(waiting)])
    return plan


def _block(batches: list[tuple[np.ndarray, np.ndarray]]) -> _Block:
    """From the start and size of consecutive batches in each group."""
    lengths = [int(size.max()) for _, size in batches]
    ends = np.cumsum(lengths).tolist()
    cuts = []
    padding: list[list[int]] = []
    for end, length, (_, size) in zip(ends, lengths, batches, strict=True):
        cuts.append((end - length, end, bool((size == length).all())))
        for g in np.flatnonzero(size < length).tolist():
            padding += [[g, row] for row in range(end - length + size[g], end)]
    firsts = batches[0][0]
    if len(firsts) == 1:
        places: Any = slice(int(firsts[0]), int(firsts[0]) + ends[-1])
    else:
        places = np.concatenate(
            [
                start[g] + np.minimum(np.arange(length), size[g] - 1)
                for g in range(len(firsts))
                for length, (start, size) in zip(lengths, batches, strict=True)
            ]
        )
    filled = torch.tensor(padding).unbind(1) if padding else None
    return _Block(places, filled, cuts)
