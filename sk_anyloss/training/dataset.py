"""Batches of a skorch dataset by slicing, instead of collating row after row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from sklearn.utils import gen_batches
from skorch.dataset import Dataset
from skorch.utils import multi_indexing
from torch import Tensor
from torch.utils.data import DataLoader

from sk_anyloss.training.batches import (
    as_tensor,
    batch_bounds,
    batch_rows,
    stratified_order,
    take,
)
from sk_anyloss.training.feed import Feed, Group
from sk_anyloss.training.sparse import chunk_samples, is_thin

__all__ = ["Batches", "Sample", "Samples", "as_rows"]


class Samples(Dataset):
    """Some of the samples of a matrix as a skorch dataset, without a copy of them.

    Parameters
    ----------
    matrix : array, tensor or sparse matrix of shape (n, d)
        All samples.
    y : array of shape (m,)
        Labels of those that are chosen, 0 or 1.
    weight : array of shape (m,) or None, default=None
        Their weights.
    chosen : array of int of shape (m,) or None, default=None
        Which samples; None for all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.training.dataset import Batches, Samples
    >>> data = Samples(np.eye(4), np.array([0, 1]), chosen=np.array([3, 1]))
    >>> [batch["X"].argmax(1).tolist() for batch, y in Batches(data, batch_size=2)]
    [[3, 1]]
    """

    X_is_ndframe = False

    def __init__(
        self,
        matrix: Any,
        y: np.ndarray,
        weight: np.ndarray | None = None,
        chosen: np.ndarray | None = None,
    ) -> None:
        self.matrix, self.y = matrix, y
        self.weight, self.chosen = weight, chosen

    def __len__(self) -> int:
        return len(self.y)

    @property
    def X(self) -> dict[str, Any]:
        """What skorch's callbacks ask for; a copy, if not all samples are chosen."""
        every = self.matrix if self.chosen is None else self.matrix[self.chosen]
        rows = {"X": every}
        return rows if self.weight is None else {**rows, "sample_weight": self.weight}

    def __getitem__(self, i: int) -> tuple[dict[str, Any], Any]:
        at = i if self.chosen is None else self.chosen[i]
        row = {"X": self.matrix[at]}
        if self.weight is not None:
            row["sample_weight"] = self.weight[i]
        return row, self.y[i]


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
        As :func:`sk_anyloss.training.batches.batch_rows` takes it: the most samples in
        a batch.
    rng : numpy.random.Generator, default=None
        If given, every pass goes over the rows in a new random order, stratified
        by the labels. If None, the rows come in their own order.
    keep_sparse : bool, default=False
        Whether batches of a wide matrix with few entries stay sparse.

    Examples
    --------
    >>> import numpy as np
    >>> from skorch.dataset import Dataset
    >>> from sk_anyloss.training.dataset import Batches
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
    ) -> None:
        self.dataset = dataset
        self.rows = batch_rows(batch_size, len(dataset))
        self.rng = rng
        self.keep_sparse = keep_sparse
        self._feed: Feed | None = None

    def __len__(self) -> int:
        return math.ceil(len(self.dataset) / self.rows)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        if not isinstance(self.dataset, Dataset):
            yield from self._row_by_row()
            return
        data, n, n_batches = self.dataset, len(self.dataset), len(self)
        take_X = partial(self._take, data)
        if not isinstance(data, Samples):
            take_X = partial(
                self._take, data.X.to_numpy() if data.X_is_ndframe else data.X
            )
        order = None if n_batches == 1 else self._order(data.y, n)
        for start, stop in pairwise(batch_bounds(n, n_batches)):
            rows = slice(start, stop) if order is None else order[start:stop]
            yield (
                take_X(rows),
                torch.zeros(1) if data.y is None else _take(data.y, rows),
            )

    def _take(self, data: Any, rows: Any) -> Any:
        if isinstance(data, Samples):
            index = rows if data.chosen is None else data.chosen[rows]
            batch = {"X": self._take(data.matrix, index)}
            if data.weight is not None:
                batch["sample_weight"] = _take(data.weight, rows)
            return batch
        if isinstance(data, dict):
            return {key: self._take(value, rows) for key, value in data.items()}
        if self.keep_sparse and is_thin(data):
            return data[rows]
        return _take(data, rows)

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
            data, y = self.dataset, self.dataset.y
            weight: Any = None
            chosen = None
            if isinstance(data, Samples):
                X, weight, chosen = data.matrix, data.weight, data.chosen
            else:
                X = data.X
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
            figures = module.mean, module.scale, module.pieces
            group = Group(np.asarray(y), self.rng, chosen, weight, *figures)
            widths = [layer.out_features for layer in module.layers]
            self._feed = Feed(X, [group], len(self), max(widths), dtype, device)
        return self._feed


def _take(data: Any, rows: Any) -> Any:
    if isinstance(data, dict):
        return {key: _take(value, rows) for key, value in data.items()}
    if isinstance(data, (Tensor, np.ndarray)) or issparse(data):
        return take(data, rows)
    taken = multi_indexing(data, rows)
    return as_tensor(taken.to_numpy()) if hasattr(taken, "to_numpy") else taken


@dataclass
class Sample:
    """Rows of a data set to learn from, without a copy of them.

    Parameters
    ----------
    rows : ndarray of int or None
        Which rows; None for all of them.
    target : ndarray
        Their labels, 0 or 1.
    weight : ndarray or None
        Their weights to learn from; None if all are 1.
    own : ndarray or None, default=None
        Their weights without those of their classes, to score by.
    """

    rows: np.ndarray | None
    target: np.ndarray
    weight: np.ndarray | None
    own: np.ndarray | None = None

    def take(self, index: np.ndarray) -> Sample:
        """Some of these rows."""
        return Sample(
            index if self.rows is None else self.rows[index],
            self.target[index],
            None if self.weight is None else self.weight[index],
            None if self.own is None else self.own[index],
        )

    def within(self, index: np.ndarray) -> Sample:
        """These samples by their places in a larger set, of which index is a part."""
        chosen = index if self.rows is None else index[self.rows]
        return Sample(chosen, self.target, self.weight, self.own)

    def chunks(self, X: Any) -> Iterator[tuple[Any, np.ndarray | None]]:
        """These rows of X and their weights, some at a time."""
        for part in gen_batches(len(self.target), chunk_samples(_width(X))):
            rows = X[part if self.rows is None else self.rows[part]]
            yield rows, None if self.weight is None else self.weight[part]

    def dataset(self, X: Any) -> Samples:
        """These samples as the net takes them, without a copy."""
        weight = None if self.weight is None else self.weight.astype(X.dtype)
        return Samples(X, self.target, weight, self.rows)


def _width(X: Any) -> int:
    """Numbers that a sample takes in memory, of dense and of sparse samples."""
    return math.ceil(X.nnz / X.shape[0]) if issparse(X) else X.shape[1]


def as_rows(X: Any) -> Any:
    """Dense rows as a tensor, sparse ones as they are."""
    return X if issparse(X) else as_tensor(X)
