"""Some of the samples of a source: to learn from, and as a skorch dataset."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy.sparse import csr_array, csr_matrix
from sklearn.utils import gen_batches
from skorch.dataset import Dataset

from sk_anyloss.training.data.source import Matrix, Source, as_source
from sk_anyloss.training.data.sparse import chunk_samples

__all__ = ["SizedDataset", "Subset", "SubsetDataset"]

#: Samples as they are stored.
Block: TypeAlias = "np.ndarray | csr_array | csr_matrix"


class SizedDataset(Protocol):
    """A torch dataset of known length."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: int) -> Any: ...


@dataclass
class Subset:
    """Samples of a source to learn from, without a copy of them.

    Parameters
    ----------
    index : ndarray of int or None
        Their positions in the source; None for all samples.
    target : ndarray
        Their labels, 0 or 1.
    weight : ndarray or None
        Their weights to learn from; None if all are 1.
    own : ndarray or None, default=None
        Their weights without those of their classes, to score by.
    """

    index: np.ndarray | None
    target: np.ndarray
    weight: np.ndarray | None
    own: np.ndarray | None = None

    def take(self, places: np.ndarray) -> Subset:
        """Some of these samples."""
        return Subset(
            places if self.index is None else self.index[places],
            self.target[places],
            None if self.weight is None else self.weight[places],
            None if self.own is None else self.own[places],
        )

    def within(self, index: np.ndarray) -> Subset:
        """These samples by their positions in a larger set, given those of all."""
        chosen = index if self.index is None else index[self.index]
        return Subset(chosen, self.target, self.weight, self.own)

    def chunks(self, source: Source) -> Iterator[tuple[Block, np.ndarray | None]]:
        """These samples and their weights, some at a time."""
        for part in gen_batches(len(self.target), chunk_samples(source.width)):
            block = source.block(part if self.index is None else self.index[part])
            yield block, None if self.weight is None else self.weight[part]

    def dataset(self, source: Source) -> SubsetDataset:
        """These samples as a net takes them, without a copy."""
        weight = self.weight
        if weight is not None:
            weight = weight.astype(self.target.dtype, copy=False)
        return SubsetDataset(source, self.target, weight, self.index)

    def key(self) -> tuple[Hashable, ...]:
        """The same for subsets of the same samples, labels and weights."""
        parts = (self.index, self.target, self.weight)
        return tuple(None if part is None else hash(part.tobytes()) for part in parts)


class SubsetDataset(Dataset):
    """Some of the samples of a source as a skorch dataset, without a copy of them.

    Parameters
    ----------
    source : Source, array, tensor or sparse matrix of shape (n, d)
        All samples.
    y : array of shape (m,)
        Labels of those that are chosen, 0 or 1.
    weight : array of shape (m,) or None, default=None
        Their weights.
    index : array of int of shape (m,) or None, default=None
        Which samples; None for all of them.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.training.data.dataset import SubsetDataset
    >>> from sk_anyloss.training.iterator import Batches
    >>> data = SubsetDataset(np.eye(4), np.array([0, 1]), index=np.array([3, 1]))
    >>> [batch["X"].argmax(1).tolist() for batch, y in Batches(data, batch_size=2)]
    [[3, 1]]
    """

    X_is_ndframe = False

    def __init__(
        self,
        source: Source | Matrix,
        y: np.ndarray,
        weight: np.ndarray | None = None,
        index: np.ndarray | None = None,
    ) -> None:
        self.source, self.y = as_source(source), y
        self.weight, self.index = weight, index

    def __len__(self) -> int:
        return len(self.y)

    @property
    def X(self) -> dict[str, Block]:
        """What skorch's callbacks ask for; a copy, if not all samples are chosen."""
        X = self.source.block(slice(None) if self.index is None else self.index)
        return (
            {"X": X} if self.weight is None else {"X": X, "sample_weight": self.weight}
        )

    def __getitem__(self, i: int) -> tuple[dict[str, Block], np.ndarray]:
        at = i if self.index is None else int(self.index[i])
        sample = {"X": self.source.block(slice(at, at + 1))[0]}
        if self.weight is not None:
            sample["sample_weight"] = self.weight[i]
        return sample, self.y[i]
