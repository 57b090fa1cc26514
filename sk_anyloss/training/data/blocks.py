"""What is gathered at once: whole batches, or a chunk of one."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from sk_anyloss.training.data.batches import batch_bounds
from sk_anyloss.training.data.source import Index, short

__all__ = ["Block", "plan_blocks"]


@dataclass(eq=False)
class Block:
    """Whole batches, or a chunk of one, that are gathered together.

    Parameters
    ----------
    places : slice or ndarray of int
        Where the samples come from in the order of the epoch, group by group.
    padding : tuple of two tensors or None
        Groups and samples where groups with fewer samples than others are padded.
    batches : list of tuples
        Start and stop of each batch, and whether no group is padded there.

    Examples
    --------
    >>> from sk_anyloss.training.data.blocks import Block
    >>> Block(slice(0, 5), None, [(0, 2, True), (2, 5, True)]).stop
    5
    """

    places: Index
    padding: tuple[Tensor, ...] | None
    batches: list[tuple[int, int, bool]]

    @property
    def stop(self) -> int:
        """Number of samples of a group."""
        return self.batches[-1][1]


def plan_blocks(
    bounds: np.ndarray, starts: np.ndarray, in_block: int, in_chunk: int
) -> list[list[Block]]:
    """Blocks of whole batches by themselves, and lists of the chunks of larger ones.

    Parameters
    ----------
    bounds : ndarray of int of shape (G, n_batches + 1)
        Where the batches begin and end in each group.
    starts : ndarray of int of shape (G,)
        Where the groups begin.
    in_block : int
        Samples of a group that are gathered at once, unless a batch has more.
    in_chunk : int
        The most samples of a batch that are gathered at once.

    Returns
    -------
    plan : list of lists of Block
        A list of one block holds whole batches; one of several is a single batch.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.training.data.blocks import plan_blocks
    >>> bounds, starts = np.array([[0, 2, 4, 9]]), np.array([0])
    >>> plan = plan_blocks(bounds, starts, in_block=4, in_chunk=3)
    >>> [[block.places for block in blocks] for blocks in plan]
    [[slice(0, 4, None)], [slice(4, 6, None), slice(6, 9, None)]]
    """
    firsts, sizes = (bounds[:, :-1] + starts[:, None]).T, np.diff(bounds).T
    plan: list[list[Block]] = []
    waiting: list[tuple[np.ndarray, np.ndarray]] = []
    n_waiting = 0
    for first, size in zip(firsts, sizes, strict=True):
        length = size.max()
        if waiting and n_waiting + length > in_block:
            plan.append([_block(waiting)])
            waiting, n_waiting = [], 0
        if length <= in_chunk:
            waiting.append((first, size))
            n_waiting += length
        else:
            n_chunks = math.ceil(length / in_chunk)
            bounds_of = np.array([batch_bounds(n, n_chunks) for n in size]).T
            plan.append([_block([(first + a, b - a)]) for a, b in pairwise(bounds_of)])
    if waiting:
        plan.append([_block(waiting)])
    return plan


def _block(batches: list[tuple[np.ndarray, np.ndarray]]) -> Block:
    """From the start and size of consecutive batches in each group."""
    lengths = [int(size.max()) for _, size in batches]
    ends = np.cumsum(lengths).tolist()
    ranges = []
    padding: list[list[int]] = []
    for end, length, (_, size) in zip(ends, lengths, batches, strict=True):
        ranges.append((end - length, end, bool((size == length).all())))
        for g in np.flatnonzero(size < length).tolist():
            padding += [[g, i] for i in range(end - length + size[g], end)]
    firsts = batches[0][0]
    if len(firsts) == 1:
        places: Index = slice(int(firsts[0]), int(firsts[0]) + ends[-1])
    else:
        places = np.concatenate(
            [
                short(start[g] + np.minimum(np.arange(length), size[g] - 1))
                for g in range(len(firsts))
                for length, (start, size) in zip(lengths, batches, strict=True)
            ]
        )
    filled = torch.tensor(padding).unbind(1) if padding else None
    return Block(places, filled, ranges)
