"""The data source: all samples of a training, in blocks of any order.

Everything above asks a source for blocks, chunks and features, and never what kind of
matrix it has. A new kind of storage is one more subclass of :class:`Source`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TypeAlias

import numpy as np
import torch
from scipy.sparse import csr_array, csr_matrix, issparse
from torch import Tensor

from sk_anyloss.training.data.batches import stratified_order
from sk_anyloss.training.data.sparse import is_very_sparse

__all__ = [
    "Index",
    "Matrix",
    "RoundedSource",
    "Source",
    "as_source",
    "as_tensor",
    "short",
]

#: Samples as an estimator has checked them.
Matrix: TypeAlias = "np.ndarray | Tensor | csr_array | csr_matrix"
#: Positions of samples; a slice takes no memory.
Index: TypeAlias = "slice | np.ndarray"


class Source(ABC):
    """Samples of shape (n, d) that are read in blocks."""

    #: Asked for where this module cannot be imported, since torch is missing.
    is_source = True
    shape: tuple[int, int]
    dtype: np.dtype
    #: Names of the features, where they have some.
    names: list[str] | None = None
    #: Whether a block that is made dense would take far more memory.
    is_very_sparse: bool = False
    #: Whether samples are not in memory, so that single features are slow to read.
    is_streamed: bool = False

    @abstractmethod
    def dense(self, index: Index) -> Tensor:
        """Samples as a dense tensor."""

    def gather(self, index: Index, out: Tensor) -> None:
        """Write samples into a buffer of shape (n, d), of any dtype and device."""
        out.copy_(self.dense(index))

    @abstractmethod
    def block(self, index: Index) -> np.ndarray | csr_array | csr_matrix:
        """Samples as they are stored, for scikit-learn and for sparse products."""

    @abstractmethod
    def feature(self, j: int, index: np.ndarray | None) -> np.ndarray:
        """One feature of some samples, or of all of them."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Numbers that a sample takes in memory."""

    def order(
        self, target: np.ndarray, index: np.ndarray | None, rng: np.random.Generator
    ) -> np.ndarray:
        """Random order for an epoch in which each class is spread out evenly.

        Parameters
        ----------
        target : ndarray of shape (n,) or (n, Q)
            Classes or labels of the samples to order.
        index : ndarray of int of shape (n,) or None
            Their positions in the source; None for all of them.
        rng : numpy.random.Generator
            Where the order comes from.

        Returns
        -------
        order : ndarray of int of shape (n,)
            Positions in the target.
        """
        return stratified_order(target, rng)


class DenseSource(Source):
    """Samples of an array or a tensor, which is not copied."""

    def __init__(self, X: np.ndarray | Tensor) -> None:
        self.X = X if isinstance(X, Tensor) else as_tensor(X)
        self.shape = (self.X.shape[0], self.X.shape[1])
        self.dtype = torch.empty(0, dtype=self.X.dtype).numpy().dtype

    def dense(self, index: Index) -> Tensor:
        return self.X[index if isinstance(index, slice) else torch.from_numpy(index)]

    def gather(self, index: Index, out: Tensor) -> None:
        X = self.X
        is_same = X.dtype == out.dtype and X.device == out.device
        if is_same and isinstance(index, np.ndarray):
            torch.index_select(X, 0, torch.from_numpy(index).to(X.device), out=out)
        else:
            out.copy_(self.dense(index))

    def block(self, index: Index) -> np.ndarray:
        return self.X.numpy()[index]

    def feature(self, j: int, index: np.ndarray | None) -> np.ndarray:
        feature = self.X[:, j].numpy()
        return feature if index is None else feature[index]

    @property
    def width(self) -> int:
        return self.shape[1]


class RoundedSource(DenseSource):
    """Samples of an array in double precision, of which networks see single precision.

    The array itself is neither copied nor rounded: means and scales are found in double
    precision.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.training.data.source import RoundedSource
    >>> source = RoundedSource(np.full((1, 2), 0.1))
    >>> source.dense(slice(None)), source.dtype, source.block(slice(None))
    (tensor([[0.1000, 0.1000]]), dtype('float32'), array([[0.1, 0.1]]))
    """

    def __init__(self, X: np.ndarray) -> None:
        super().__init__(X)
        self.dtype = np.dtype(np.float32)

    def dense(self, index: Index) -> Tensor:
        """Samples in single precision."""
        return super().dense(index).float()

    def gather(self, index: Index, out: Tensor) -> None:
        """Write samples into a buffer, rounded on the way."""
        out.copy_(super().dense(index))


class SparseSource(Source):
    """Samples of a sparse matrix in CSR format."""

    def __init__(self, X: csr_array | csr_matrix) -> None:
        self.X, self.shape, self.is_very_sparse = X, X.shape, is_very_sparse(X)
        self.dtype = X.dtype
        self._by_feature: csr_array | csr_matrix | None = None

    def dense(self, index: Index) -> Tensor:
        return torch.from_numpy(self.X[index].toarray())

    def block(self, index: Index) -> csr_array | csr_matrix:
        return self.X[index]

    def feature(self, j: int, index: np.ndarray | None) -> np.ndarray:
        if self._by_feature is None:
            self._by_feature = self.X.tocsc()
        feature = self._by_feature[:, [j]].toarray().ravel()
        return feature if index is None else feature[index]

    @property
    def width(self) -> int:
        return math.ceil(self.X.nnz / self.shape[0])


def as_source(X: Matrix | Source) -> Source:
    """The source of a matrix; a source is returned unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from sk_anyloss.training.data.source import as_source
    >>> as_source(csr_array(np.eye(3))).dense(slice(1, 2))
    tensor([[0., 1., 0.]], dtype=torch.float64)
    """
    if isinstance(X, Source):
        return X
    return SparseSource(X) if issparse(X) else DenseSource(X)


def as_tensor(array: np.ndarray) -> Tensor:
    """An array as a tensor on the same memory, or on a copy if torch cannot share it.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.training.data.source import as_tensor
    >>> as_tensor(np.ones(2))
    tensor([1., 1.], dtype=torch.float64)
    """
    shared = array.flags.writeable and all(stride >= 0 for stride in array.strides)
    return torch.from_numpy(array if shared else array.copy())


def short(index: np.ndarray) -> np.ndarray:
    """Positions in four bytes each where these suffice.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.training.data.source import short
    >>> short(np.array([2**31 - 1])).dtype, short(np.array([2**31])).dtype
    (dtype('int32'), dtype('int64'))
    """
    fits = len(index) == 0 or index.max() <= np.iinfo(np.int32).max
    return index.astype(np.int32) if fits else index
