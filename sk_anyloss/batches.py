"""Batches of a skorch dataset by slicing, instead of collating row after row."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from skorch.dataset import Dataset
from skorch.utils import multi_indexing
from torch import Tensor
from torch.utils.data import DataLoader

from sk_anyloss.feed import Feed, Group
from sk_anyloss.rows import as_tensor, batch_bounds, batch_rows, stratified_order, take

__all__ = ["Batches"]


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
        As :func:`sk_anyloss.rows.batch_rows` takes it: the most rows in a batch.
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
        for start, stop in pairwise(batch_bounds(n, n_batches)):
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
            figures = module.mean, module.scale, module.pieces
            group = Group(np.asarray(y), self.rng, None, weight, *figures)
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
