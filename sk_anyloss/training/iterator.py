"""Batches of a skorch dataset by slicing, instead of collating sample after sample."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from scipy.sparse import issparse
from skorch.dataset import Dataset
from skorch.utils import multi_indexing
from torch import Tensor
from torch.utils.data import DataLoader, RandomSampler, Sampler, SequentialSampler

from sk_anyloss.training.data.batches import (
    Part,
    batch_bounds,
    own_bounds,
    resolve_batch_size,
    stratified_order,
)
from sk_anyloss.training.data.dataset import SizedDataset, SubsetDataset
from sk_anyloss.training.data.source import Index, Source, as_source, as_tensor
from sk_anyloss.training.data.sparse import can_fold, is_very_sparse
from sk_anyloss.training.data.stacked_batches import Group, StackedBatches
from sk_anyloss.training.network.mlp import MLP

if TYPE_CHECKING:
    from sk_anyloss.training.net import AnyLossNet, Data

__all__ = ["Batches", "sample_width", "takes_sparse"]


class Batches:
    """Iterate over a skorch dataset in batches of nearly equal size.

    Samples are sliced out of whole tensors, arrays or sparse matrices (a batch of these
    is made dense, never the matrix, and not even the batch if the network takes it).
    A dataset that can only be asked for one sample at a time goes through torch's
    ``DataLoader``.

    Parameters
    ----------
    dataset : torch dataset
        A :class:`skorch.dataset.Dataset`, or any other with a length.
    batch_size : int, float or 'auto', default='auto'
        The most samples in a batch, as
        :func:`sk_anyloss.training.data.batches.resolve_batch_size` takes it.
    rng : numpy.random.Generator, default=None
        If given, every pass goes over the samples in a new random order, stratified
        by the labels. If None, the samples come in their own order.
    keep_sparse : bool, default=False
        Whether batches of a wide matrix with few entries stay sparse.
    num_workers : int, default=0
        Processes that load the samples of a dataset that can only be asked for one at
        a time; set by ``iterator_train__num_workers`` and ``iterator_valid__...``.

    Examples
    --------
    >>> import numpy as np
    >>> from skorch.dataset import Dataset
    >>> from sk_anyloss.training.iterator import Batches
    >>> data = Dataset(np.zeros((10, 3)), np.zeros(10))
    >>> [len(y) for X, y in Batches(data, batch_size=4)]
    [3, 3, 4]
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int | float | str = "auto",
        rng: np.random.Generator | None = None,
        keep_sparse: bool = False,
        num_workers: int = 0,
    ) -> None:
        self.dataset = dataset
        self._given_size = batch_size
        self.set_total(len(dataset))
        self.rng = rng
        self.keep_sparse = keep_sparse
        self.num_workers = num_workers
        #: Number of this process, and of all: it has its part of every batch.
        self.part: Part = (0, 1)
        self._stacked: StackedBatches | None = None

    def set_total(self, n: int) -> None:
        """Make as many batches as n samples have, in all processes together."""
        self.batch_size = resolve_batch_size(self._given_size, max(n, 1))
        self._n_batches = math.ceil(n / self.batch_size)

    def spread(self, rank: int, size: int) -> None:
        """Give a part of every batch only: that of one process among several."""
        self.part, self._stacked = (rank, size), None

    def __len__(self) -> int:
        return self._n_batches

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        if not isinstance(self.dataset, Dataset):
            yield from self._one_by_one()
            return
        data, n, n_batches = self.dataset, len(self.dataset), len(self)
        order = None if n_batches == 1 else self._order(data.y, n)
        if n_batches == 1 and self.part[1] > 1 and data.y is not None:
            order = stratified_order(np.asarray(data.y), np.random.default_rng(0))
        for start, stop in own_bounds(batch_bounds(n, n_batches), self.part):
            index = slice(start, stop) if order is None else order[start:stop]
            labels = torch.zeros(1) if data.y is None else self._take(data.y, index)
            yield self._samples(data, index), labels

    def _samples(self, data: Dataset, index: Index) -> Any:
        if not isinstance(data, SubsetDataset):
            X = data.X.to_numpy() if data.X_is_ndframe else data.X
            return self._take(X, index)
        chosen = index if data.index is None else data.index[index]
        batch = {"X": self._take(data.source, chosen)}
        if data.weight is not None:
            batch["sample_weight"] = self._take(data.weight, index)
        return batch

    def _take(self, data: Any, index: Index) -> Any:
        if isinstance(data, dict):
            return {key: self._take(value, index) for key, value in data.items()}
        if isinstance(data, Source):
            keep = self.keep_sparse and data.is_very_sparse
            return data.block(index) if keep else data.dense(index)
        if isinstance(data, Tensor):
            return data[index if isinstance(index, slice) else torch.from_numpy(index)]
        if isinstance(data, np.ndarray):
            return as_tensor(data[index])
        if issparse(data):
            return self._take(as_source(data), index)
        taken = multi_indexing(data, index)
        return as_tensor(taken.to_numpy()) if hasattr(taken, "to_numpy") else taken

    def _order(self, y: Any, n: int) -> np.ndarray | None:
        if self.rng is None:
            return None
        if y is None:
            return self.rng.permutation(n)
        if isinstance(self.dataset, SubsetDataset):
            return self.dataset.source.order(y, self.dataset.index, self.rng)
        return stratified_order(np.asarray(y), self.rng)

    def _one_by_one(self) -> Iterator[tuple[Any, Any]]:
        # A generator is given even where nothing is shuffled: a DataLoader without
        # one moves torch's global generator each time it is iterated over.
        generator = torch.Generator()
        if self.rng is not None:
            generator.manual_seed(int(self.rng.integers(2**63)))
        n, size = len(self.dataset), self.batch_size
        bounds = [*range(0, n, size), n]
        if len(bounds) != len(self) + 1:  # Other processes have other samples.
            bounds = batch_bounds(n, len(self))
        own = own_bounds(bounds, self.part)
        shuffled = RandomSampler(self.dataset, generator=generator)
        sampler = SequentialSampler(self.dataset) if self.rng is None else shuffled
        batches: Any = _InBounds(sampler, own)
        loader = DataLoader(
            self.dataset,
            batch_sampler=batches,
            generator=generator,
            num_workers=self.num_workers,
        )
        for (start, stop), batch in zip(own, loader, strict=True):
            yield batch if start < stop else _emptied(batch)

    def stacked(
        self, module: MLP, device: torch.device | None
    ) -> StackedBatches | None:
        """The same batches for the closed form, or None if samples are not vectors.

        Parameters
        ----------
        module : MLP
            The network; its means and scales standardise the samples.
        device : torch.device or None
            Where it is.

        Returns
        -------
        batches : StackedBatches or None
            The same object in every epoch.
        """
        if self._stacked is None and isinstance(self.dataset, Dataset):
            data, y = self.dataset, self.dataset.y
            found = _source_of(data)
            if y is None or found is None:
                return None
            source, given, index = found
            dtype, weight = module.layers[0].get_parameter("weight").dtype, None
            if given is not None:
                weight = as_tensor(np.asarray(given)).to(dtype)
            inputs = module.mean, module.scale, module.bin_features
            group = Group(np.asarray(y), self.rng, index, weight, *inputs)
            width = max(module.widths[1:])
            self._stacked = StackedBatches(
                source,
                [group],
                len(self),
                width,
                dtype,
                device,
                max(module.widths[-1], 2),
                self.part,
            )
        return self._stacked


class _InBounds:
    """Positions of the samples of each batch; for an empty one, those of one sample."""

    def __init__(
        self, sampler: Sampler[int], bounds: Sequence[tuple[int, int]]
    ) -> None:
        self.sampler, self.bounds = sampler, bounds

    def __iter__(self) -> Iterator[list[int]]:
        order = list(self.sampler)
        return (order[start:stop] or order[:1] for start, stop in self.bounds)

    def __len__(self) -> int:
        return len(self.bounds)


def _emptied(batch: Any) -> Any:
    """The form of a batch without its samples."""
    if isinstance(batch, dict):
        return {key: _emptied(value) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return type(batch)(_emptied(value) for value in batch)
    return batch[:0]


def _source_of(
    data: Dataset,
) -> tuple[Source, np.ndarray | Tensor | None, np.ndarray | None] | None:
    """Source, weights and positions of a dataset; None if samples are not vectors."""
    if isinstance(data, SubsetDataset):
        return data.source, data.weight, data.index
    X, weight = data.X, None
    if isinstance(X, dict):
        weight, X = X.get("sample_weight"), X["X"]
    if hasattr(X, "iloc"):
        X = X.to_numpy()
    is_matrix = isinstance(X, (Tensor, np.ndarray)) or issparse(X)
    return (as_source(X), weight, None) if is_matrix and len(X.shape) == 2 else None


def takes_sparse(net: AnyLossNet) -> bool:
    """Whether sparse samples can enter the module as they are."""
    module, on_cpu = net.module_, torch.device(net.device or "cpu").type == "cpu"
    if type(module) is not MLP or module.bin_features is not None or not on_cpu:
        return False
    return can_fold(module.mean, module.scale)


def sample_width(net: AnyLossNet, dataset: SizedDataset) -> int:
    """The most numbers that a sample takes on its way through the network."""
    if isinstance(dataset, SubsetDataset):
        X: Data = dataset.source
    else:
        X = getattr(dataset, "X", 0)
        X = X.get("X", 0) if isinstance(X, dict) else X
    width = math.prod(getattr(X, "shape", ())[1:])
    if type(net.module_) is not MLP:
        return width
    thin = X.is_very_sparse if isinstance(X, Source) else is_very_sparse(X)
    if thin and takes_sparse(net):
        width = 1
    start = 1 if net.module_.bin_features is None else 0
    return max(width, *net.module_.widths[start:])
