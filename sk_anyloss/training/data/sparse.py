"""Sparse samples that enter the first layer without being made dense."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard

import numpy as np
import torch
from scipy.sparse import csr_array, csr_matrix, issparse
from torch import Tensor

__all__ = [
    "CHUNK_NUMBERS",
    "SparseStack",
    "can_fold",
    "chunk_samples",
    "is_very_sparse",
    "sparse_tensor",
]

#: Numbers that go through a computation at once: 16 MB in float64. A computation
#: holds a few arrays of that size.
CHUNK_NUMBERS = 2**21
#: The most samples that go through a computation at once, however few their features.
CHUNK_SAMPLES = 16_384


def chunk_samples(numbers: int) -> int:
    """How many samples go through a computation that holds so many numbers for each.

    Examples
    --------
    >>> from sk_anyloss.training.data.sparse import chunk_samples
    >>> chunk_samples(30), chunk_samples(50_000)
    (16384, 41)
    """
    return max(1, min(CHUNK_SAMPLES, CHUNK_NUMBERS // max(1, numbers)))


def is_very_sparse(X: Any) -> TypeGuard[csr_array | csr_matrix]:
    """Whether X is so wide and sparse that it should not be made dense.

    Below 256 features, or with more than a twentieth of the entries, a product of dense
    matrices is faster.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from sk_anyloss.training.data.sparse import is_very_sparse
    >>> [is_very_sparse(csr_array(X)) for X in (np.eye(500), np.ones((5, 500)))]
    [True, False]
    """
    if not issparse(X):
        return False
    n, d = X.shape
    return d >= 256 and X.nnz <= 0.05 * n * d


def can_fold(mean: Tensor | None, scale: Tensor | None) -> bool:
    """Whether standardising can be folded into the weights without losing digits.

    Folded in, the product with the mean is subtracted from the product with the
    samples. For a feature whose mean is many scales away from 0, the two are nearly
    equal, and their difference has few digits.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.training.data.sparse import can_fold
    >>> one = torch.ones(1)
    >>> can_fold(one, one), can_fold(1e6 * one, one), can_fold(None, None)
    (True, False, True)
    """
    if mean is None or scale is None:
        return True
    return bool((mean.abs() <= 1000 * scale).all())


def sparse_tensor(X: csr_array, device: torch.device | None = None) -> Tensor:
    """A sparse matrix as a sparse tensor; zeros that are stored stay.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from sk_anyloss.training.data.sparse import sparse_tensor
    >>> sparse_tensor(csr_array([[0.0, 2.0], [1.0, 0.0]])).to_dense()
    tensor([[0., 2.],
            [1., 0.]], dtype=torch.float64)
    """
    entries = X.tocoo()
    return torch.sparse_coo_tensor(
        torch.from_numpy(np.stack((entries.row, entries.col))),
        torch.from_numpy(entries.data),
        entries.shape,
        device=device,
        check_invariants=False,
    )


class SparseStack:
    """Standardised sparse samples, one matrix for each group of networks.

    ``((X - mean) / scale) W' = X (W / scale)' - mean (W / scale)'``, so only the
    entries that are stored are gone through.

    Parameters
    ----------
    matrices : sequence of sparse matrices of shape (n, d)
        The samples of each group, in CSR format.
    mean, scale : tensor of shape (G, 1, d) or None
        How they are standardised.

    Examples
    --------
    >>> import torch
    >>> from scipy.sparse import csr_array
    >>> from sk_anyloss.training.data.sparse import SparseStack
    >>> X = SparseStack([csr_array([[0.0, 2.0], [1.0, 0.0]])], torch.ones(1, 1, 2))
    >>> X.product(torch.zeros(1, 1), torch.tensor([[1.0, 10.0]]), torch.empty(1, 2))
    tensor([[ 9., -10.]])
    """

    def __init__(
        self,
        matrices: Sequence[csr_array],
        mean: Tensor | None = None,
        scale: Tensor | None = None,
    ) -> None:
        self.matrices, self.mean, self.scale = list(matrices), mean, scale

    def product(self, bias: Tensor, weight: Tensor, out: Tensor) -> Tensor:
        """Write ``weight X' + bias``, of shape (G, m, n), or (m, n) for one group."""
        weights = weight.view(len(self.matrices), -1, weight.shape[-1])
        if self.scale is not None:
            weights = weights / self.scale
        outs = out.view(len(self.matrices), -1, out.shape[-1])
        for matrix, part, into in zip(self.matrices, weights, outs, strict=True):
            into.copy_(torch.from_numpy(_times(matrix, part.numpy())))
        if self.mean is not None:
            outs.sub_((weights * self.mean).sum(-1, keepdim=True))
        return out.add_(bias)

    def gradient(self, g: Tensor) -> Tensor:
        """Gradient of the weights, of shape (G, m, d), from that of the products."""
        gs = g.view(len(self.matrices), -1, g.shape[-1])
        parts = [
            torch.from_numpy(_times(matrix.T, part.numpy()))
            for matrix, part in zip(self.matrices, gs, strict=True)
        ]
        found = torch.stack(parts)
        if self.mean is not None:
            found.sub_(gs.sum(-1, keepdim=True) * self.mean)
        return found if self.scale is None else found.div_(self.scale)


def _times(matrix: csr_array, vectors: np.ndarray) -> np.ndarray:
    """``vectors @ matrix.T``, of shape (m, n)."""
    return (matrix @ vectors.T).T
