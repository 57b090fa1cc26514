"""The weights of a batch by class, as tensors, for sums over its samples."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sk_anyloss.metrics.confusion import class_parts

__all__ = ["ClassWeights"]


class ClassWeights:
    """What each row of a batch counts for as a negative and as a positive.

    A stack of models trains on G groups of rows, with M models to a group; an ordinary
    fit is G = M = 1. Sums over the rows are one product of matrices a group.

    Parameters
    ----------
    table : tensor of shape (G, 2, n)
        Weights of the rows of each group as negatives and as positives, one of the two
        being 0 (both, for a row that only fills up the group).
    target : tensor of shape (G, n)
        Labels, 0 or 1.
    even : bool, default=False
        Whether all rows are known to have the same weight.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.metrics.class_weights import ClassWeights
    >>> rows = ClassWeights.of(torch.tensor([0.0, 1.0, 1.0]), torch.tensor([1.0, 2, 3]))
    >>> rows.sums(torch.tensor([[0.5, 0.5, 1.0]]))  # Of negatives, of positives.
    tensor([[0.5000, 4.0000]])
    """

    def __init__(self, table: Tensor, target: Tensor, even: bool = False) -> None:
        self.table = table
        self.columns = table.mT
        self.target = target
        self.groups, _, self.n = table.shape
        self.most_factor = torch.finfo(table.dtype).max * 1e-12
        self._even_share: Tensor | None = None
        if even:
            self._even_share = table.new_full(
                (self.groups, self.n, 1), 1 / max(self.n, 1)
            )
        # Views, made once: a small batch takes no longer.
        self._columns = self.columns[0]
        self._negatives, self._positives = table[0, :1], table[0, 1:]

    @classmethod
    def join(cls, parts: Iterable[ClassWeights]) -> ClassWeights:
        """The rows of several batches as those of one.

        The batches may use the same memory, each until the next one is asked for.
        """
        copies = [
            (part.table.clone(), part.target.clone(), part._even_share is not None)
            for part in parts
        ]
        tables, targets, even = zip(*copies, strict=True)
        return cls(torch.cat(tables, dim=-1), torch.cat(targets, dim=-1), all(even))

    @classmethod
    def of(cls, y: Tensor, sample_weight: Tensor | None = None) -> ClassWeights:
        """From labels and weights of shape (n,), or (..., n) for several groups."""
        y = y.reshape(math.prod(y.shape[:-1]), y.shape[-1])
        if sample_weight is not None:
            sample_weight = sample_weight.reshape(y.shape)
        table = torch.stack(class_parts(y, sample_weight), dim=1)
        return cls(table, y, even=sample_weight is None)

    def sums(self, values: Tensor) -> Tensor:
        """Sums of values (K, n), for K models, over either class: (K, 2).

        With several values for each model, (S, K, n), the sums are (S, K, 2).
        """
        if self.groups == 1:
            return values @ self._columns
        grouped = values.view(-1, self.groups, values.shape[-2] // self.groups, self.n)
        sums = torch.stack([value @ self.columns for value in grouped])
        return sums.view(*values.shape[:-1], 2)

    def totals(self) -> Tensor:
        """Weight of the two classes in each group, of shape (G, 2)."""
        return self.table.sum(-1)

    def each(self, negatives: Any, positives: Any) -> Tensor:
        """Weights times a factor for each class: (1, n), or (K, n) for K of them.

        Factors beyond the dtype are cut off: they belong to sums next to 0, and to
        slopes that have rounded to 0.
        """
        most = self.most_factor
        if isinstance(negatives, np.ndarray):
            negatives, positives = (
                negatives.clip(-most, most),
                positives.clip(-most, most),
            )
        else:
            negatives = min(max(negatives, -most), most)
            positives = min(max(positives, -most), most)
        if self._even_share is not None and not isinstance(negatives, np.ndarray):
            return torch.rsub(self.target, negatives, alpha=negatives - positives)
        if not isinstance(negatives, np.ndarray):
            weights = self._negatives * negatives
            return weights.add_(self._positives, alpha=positives)
        pairs = self.table.new_tensor(np.stack((negatives, positives), axis=-1))
        grouped = pairs.view(self.groups, -1, 2)
        return torch.bmm(grouped, self.table).view(-1, self.n)

    def targets(self, models: int) -> Tensor:
        """Labels for each model, (K, n), or (1, n) if all have the same rows."""
        if self.groups in (1, models):
            return self.target
        return self.target.repeat_interleave(models // self.groups, dim=0)

    def share(self) -> Tensor:
        """Share of each row in its group's weight, of shape (G, n, 1)."""
        if self._even_share is not None:
            return self._even_share
        weight = self.table.sum(1)
        whole = weight.sum(-1, keepdim=True).clamp(min=torch.finfo(weight.dtype).tiny)
        return (weight / whole).unsqueeze(-1)
