"""Batches by slicing: what feeds the net, instead of collating row after row."""

from __future__ import annotations

import math
import numbers
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

__all__ = ["Batches", "batch_rows", "stratified_order"]

#: Up to this many rows, ``batch_size='auto'`` trains on all of them at once.
FULL_BATCH_ROWS = 64
#: The most rows that ``batch_size='auto'`` puts into one batch.
MAX_AUTO_ROWS = 5000


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
    place = np.empty(len(y))
    for members in (positive, ~positive):
        count = np.count_nonzero(members)
        if count:
            place[members] = (np.arange(count) + rng.random()) / count
    return order[np.argsort(place, kind="stable")]


def as_tensor(array: np.ndarray) -> Tensor:
    """An array as a tensor on the same memory, or on a copy if it is read-only.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.batches import as_tensor
    >>> as_tensor(np.ones(2))
    tensor([1., 1.], dtype=torch.float64)
    """
    return torch.from_numpy(array if array.flags.writeable else array.copy())


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


def _is_tensors(data: Any) -> bool:
    if isinstance(data, dict):
        return all(isinstance(value, Tensor) for value in data.values())
    return isinstance(data, Tensor)


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
        if order is not None and _is_tensors(X) and _is_tensors(y):
            # One large gather is cheaper than many small ones, and slices are views.
            X, y, order = _take(X, order), _take(y, order), None
        bounds = np.linspace(0, n, n_batches + 1).astype(int).tolist()
        for start, stop in pairwise(bounds):
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
