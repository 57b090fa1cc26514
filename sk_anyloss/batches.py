"""Batches by slicing: what feeds the net, instead of collating row after row."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from skorch.dataset import Dataset
from skorch.utils import multi_indexing
from torch import Tensor
from torch.utils.data import DataLoader

from sk_anyloss.counts import ClassWeights

__all__ = ["Batches", "Feed", "Group", "Rows", "batch_rows", "stratified_order"]

#: Up to this many rows, ``batch_size='auto'`` trains on all of them at once.
FULL_BATCH_ROWS = 64
#: The most rows that ``batch_size='auto'`` puts into one batch.
MAX_AUTO_ROWS = 5000
#: Numbers of X that a :class:`Feed` holds at once, unless a batch needs more.
BLOCK_SIZE = 2**20
#: The most numbers that a batch may take at once; larger ones come in pieces.
PIECE_SIZE = 2**21


def batch_rows(batch_size: int | float | str, n: int) -> int:
    """Number of rows in a batch of a data set of n rows.

    Parameters
    ----------
    batch_size : int, float or 'auto'
        A number of rows; a share of the rows in (0, 1], 1.0 being all of them; or
        ``'auto'``, a twentieth of the rows, but no fewer than 64 and no more than
        5,000 of them.
    n : int
        Number of rows.

    Returns
    -------
    rows : int
        Between 1 and n.

    Examples
    --------
    >>> from sk_anyloss.batches import batch_rows
    >>> [batch_rows("auto", n) for n in (150, 1_000, 20_000, 1_000_000)]
    [64, 64, 1000, 5000]
    >>> batch_rows(0.25, 1_000), batch_rows(1.0, 1_000), batch_rows(32, 1_000)
    (250, 1000, 32)
    """
    if isinstance(batch_size, str):
        if batch_size == "auto":
            rows = math.ceil(n / 20)
            return min(n, max(FULL_BATCH_ROWS, min(rows, MAX_AUTO_ROWS)))
    elif isinstance(batch_size, bool):
        pass
    elif isinstance(batch_size, numbers.Integral):
        if batch_size >= 1:
            return min(n, int(batch_size))
    elif isinstance(batch_size, numbers.Real) and 0 < batch_size <= 1:
        return min(n, math.ceil(float(batch_size) * n))
    raise ValueError(
        "batch_size must be 'auto', a whole number of rows of at least 1, or a share "
        f"of the rows in (0, 1] such as 0.05; got {batch_size!r}."
    )


def stratified_order(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Random order of the rows in which each class is spread out evenly.

    Any run of consecutive rows then holds its share of the positives, to within
    one, so that batches cut from it can each compute a metric of both classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.batches import stratified_order
    >>> y = np.array([1, 1, 0, 0, 0, 0, 0, 0])
    >>> order = stratified_order(y, np.random.default_rng(0))
    >>> y[order][:4].sum(), y[order][4:].sum()
    (np.int64(1), np.int64(1))
    """
    order = rng.permutation(len(y))
    positive = y[order] > 0
    n_positive = np.count_nonzero(positive)
    n_negative = len(y) - n_positive
    if not n_positive or not n_negative:
        return order
    # Both classes at even distances from a random start, merged: positive i has place
    # (i + a) / n_positive, so it comes after all negatives j with (j + b) / n_negative
    # below that.
    a, b = rng.random(2)
    i = np.arange(n_positive)
    before = np.ceil((i + a) * (n_negative / n_positive) - b).clip(0, n_negative)
    is_positive = np.zeros(len(y), dtype=bool)
    is_positive[i + before.astype(np.intp)] = True
    merged = np.empty_like(order)
    merged[is_positive] = order[positive]
    merged[~is_positive] = order[~positive]
    return merged


def as_tensor(array: np.ndarray) -> Tensor:
    """An array as a tensor on the same memory, or on a copy if torch cannot share it.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.batches import as_tensor
    >>> as_tensor(np.ones(2))
    tensor([1., 1.], dtype=torch.float64)
    """
    shared = array.flags.writeable and all(stride >= 0 for stride in array.strides)
    return torch.from_numpy(array if shared else array.copy())


def _take(data: Any, rows: Any) -> Any:
    if isinstance(data, dict):
        return {key: _take(value, rows) for key, value in data.items()}
    if isinstance(data, Tensor):
        return data[rows if isinstance(rows, slice) else torch.from_numpy(rows)]
    if isinstance(data, np.ndarray):
        return as_tensor(data[rows])
    if issparse(data):
        return torch.from_numpy(data[rows].toarray())
    taken = multi_indexing(data, rows)
    return as_tensor(taken.to_numpy()) if hasattr(taken, "to_numpy") else taken


def _bounds(n: int, n_batches: int) -> list[int]:
    """Where the batches begin and end: their sizes differ by one at most."""
    return np.linspace(0, n, n_batches + 1).astype(int).tolist()


class Batches:
    """Iterate over a skorch dataset in batches of nearly equal size.

    Rows are sliced out of whole tensors, arrays or sparse matrices (a sparse batch
    is made dense, never the matrix). A dataset that can only be asked for one row
    at a time goes through torch's ``DataLoader``.

    Parameters
    ----------
    dataset : torch dataset
        A :class:`skorch.dataset.Dataset`, or any other with a length.
    batch_size : int, float or 'auto', default='auto'
        As :func:`batch_rows` takes it: the most rows in a batch.
    rng : numpy.random.Generator, default=None
        If given, every pass goes over the rows in a new random order, stratified
        by the labels. If None, the rows come in their own order.

    Examples
    --------
    >>> import numpy as np
    >>> from skorch.dataset import Dataset
    >>> from sk_anyloss.batches import Batches
    >>> data = Dataset(np.zeros((10, 3)), np.zeros(10))
    >>> [len(y) for X, y in Batches(data, batch_size=4)]
    [3, 3, 4]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | float | str = "auto",
        rng: np.random.Generator | None = None,
    ) -> None:
        self.dataset = dataset
        self.rows = batch_rows(batch_size, len(dataset))
        self.rng = rng
        self._feed: Feed | None = None

    def __len__(self) -> int:
        return math.ceil(len(self.dataset) / self.rows)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        if not isinstance(self.dataset, Dataset):
            yield from self._row_by_row()
            return
        X, y = self.dataset.X, self.dataset.y
        if self.dataset.X_is_ndframe:
            X = X.to_numpy()
        n, n_batches = len(self.dataset), len(self)
        order = None if n_batches == 1 else self._order(y, n)
        for start, stop in pairwise(_bounds(n, n_batches)):
            rows = slice(start, stop) if order is None else order[start:stop]
            yield _take(X, rows), torch.zeros(1) if y is None else _take(y, rows)

    def _order(self, y: Any, n: int) -> np.ndarray | None:
        if self.rng is None:
            return None
        if y is None:
            return self.rng.permutation(n)
        return stratified_order(np.asarray(y), self.rng)

    def _row_by_row(self) -> Iterator[tuple[Any, Any]]:
        # A generator is given even where nothing is shuffled: a DataLoader without
        # one moves torch's global generator each time it is iterated over.
        generator = torch.Generator()
        if self.rng is not None:
            generator.manual_seed(int(self.rng.integers(2**63)))
        yield from DataLoader(
            self.dataset,
            batch_size=self.rows,
            shuffle=self.rng is not None,
            generator=generator,
        )

    def feed(self, module: Any, device: Any) -> Feed | None:
        """The same batches for training by hand, or None if rows have no columns.

        Parameters
        ----------
        module : MLP
            What they are for; its figures standardise the rows.
        device : torch.device
            Where it is.

        Returns
        -------
        feed : Feed or None
            The same one in every epoch.
        """
        if self._feed is None and isinstance(self.dataset, Dataset):
            X, y, weight = self.dataset.X, self.dataset.y, None
            if isinstance(X, dict):
                weight, X = X.get("sample_weight"), X["X"]
            if hasattr(X, "iloc"):
                X = X.to_numpy()
            if isinstance(X, np.ndarray):
                X = as_tensor(X)
            if y is None or not (isinstance(X, Tensor) or issparse(X)) or X.ndim != 2:
                return None
            dtype = module.layers[0].weight.dtype
            if weight is not None:
                weight = as_tensor(np.asarray(weight)).to(dtype)
            figures = module.mean, module.scale
            group = Group(np.asarray(y), self.rng, None, weight, *figures)
            widths = [layer.out_features for layer in module.layers]
            self._feed = Feed(X, [group], len(self), max(widths), dtype, device)
        return self._feed


@dataclass(slots=True)
class Rows:
    """Rows of a batch, as they enter the first layer.

    Parameters
    ----------
    X : tensor of shape (G, n, d), or (n, d) if there is one group
        The rows of each group of models.
    XT : tensor of shape (G, d, n) or (d, n)
        The same, transposed.
    classes : ClassWeights
        Their labels and weights.
    n : int
        Their number.
    """

    X: Tensor
    XT: Tensor
    classes: ClassWeights
    n: int

    @classmethod
    def of(cls, X: Tensor, y: Tensor, sample_weight: Tensor | None = None) -> Rows:
        """From rows (n, d), labels (n,) and weights (n,) of one group, of one dtype."""
        return cls(X, X.mT, ClassWeights.of(y, sample_weight), len(y))


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
    """

    target: np.ndarray
    rng: np.random.Generator | None = None
    rows: np.ndarray | None = None
    weight: Tensor | None = None
    mean: Tensor | None = None
    scale: Tensor | None = None


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
    >>> from sk_anyloss.batches import Feed, Group
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
        self.shape = len(groups), X.shape[1]
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
        self.plan = _plan(
            np.array([_bounds(size, n_batches) for size in sizes]),
            self.starts,
            in_block=max(1, BLOCK_SIZE // (G * d)),
            in_piece=max(1, PIECE_SIZE // max(G * d, width)),
        )
        # Rows that stay are better kept column by column: products are faster so.
        self.static = n_batches == len(self.plan[0]) == 1
        room = G * max(block.stop for blocks in self.plan for block in blocks)
        self.memory = [
            torch.empty(room * columns, dtype=dtype, device=device)
            for columns in (d, 2, 1)
        ]
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
        if self.static:
            X.copy_(_take(self.X, rows).view(X.shape))
        else:
            self._gather(rows, X.flatten(0, 1))
        if self.mean is not None:
            X.sub_(self.mean)
        if self.scale is not None:
            X.div_(self.scale)
        labels.copy_(_take(self.target, places).view(labels.shape))
        negatives, positives = table.unbind(1)
        if self.weight is None:
            positives.copy_(labels)
            torch.sub(1, labels, out=negatives)
        else:
            weight = _take(self.weight, places).view(labels.shape).to(labels.device)
            torch.mul(weight, labels, out=positives)
            torch.sub(weight, positives, out=negatives)
        for g, row in block.padding:
            table[g, :, row] = 0

    def _gather(self, rows: Any, into: Tensor) -> None:
        X = self.X
        plain = isinstance(X, Tensor) and X.dtype == into.dtype
        if plain and X.device == into.device and isinstance(rows, np.ndarray):
            torch.index_select(X, 0, torch.from_numpy(rows).to(X.device), out=into)
        else:
            into.copy_(_take(X, rows))

    def view(self, block: _Block, cut: tuple[int, int, bool]) -> Rows:
        """The rows of a batch, or of a piece of one, within a block."""
        if (block.stop, cut) not in self.views:
            start, stop, even = cut
            X, table, labels = self._within(block.stop)
            X = X[:, start:stop] if len(self.groups) > 1 else X[0, start:stop]
            even = even and self.weight is None
            classes = ClassWeights(table[..., start:stop], labels[:, start:stop], even)
            self.views[block.stop, cut] = Rows(X, X.mT, classes, stop - start)
        return self.views[block.stop, cut]


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
    #: Group and row where one that has a row less than others is filled up.
    padding: list[tuple[int, int]]
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
            cuts = np.array([_bounds(n, n_pieces) for n in size]).T
            plan.append([_block([(start + a, b - a)]) for a, b in pairwise(cuts)])
    if waiting:
        plan.append([_block(waiting)])
    return plan


def _block(batches: list[tuple[np.ndarray, np.ndarray]]) -> _Block:
    """From the start and size of consecutive batches in each group."""
    lengths = [int(size.max()) for _, size in batches]
    ends = np.cumsum(lengths).tolist()
    cuts = []
    padding: list[tuple[int, int]] = []
    for end, length, (_, size) in zip(ends, lengths, batches, strict=True):
        cuts.append((end - length, end, bool((size == length).all())))
        for g in np.flatnonzero(size < length).tolist():
            padding += [(g, row) for row in range(end - length + size[g], end)]
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
    return _Block(places, padding, cuts)
