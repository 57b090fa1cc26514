"""The weights of a batch by class, as tensors, for sums over its samples."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Self, TypeAlias

import numpy as np
import torch
from torch import Tensor

from sk_anyloss._compat import in_transform
from sk_anyloss.metrics.arithmetic import FloatOrArray
from sk_anyloss.metrics.confusion import class_parts

__all__ = [
    "AnyWeights",
    "ClassWeights",
    "LabelWeights",
    "largest_factor",
    "without_traces",
]

#: Derivatives by smaller counts may overflow.
LEAST_COUNT = 1e-290


def largest_factor(dtype: torch.dtype, heaviest: float = 1.0) -> float:
    """The largest factor of a class whose products with the weights stay finite.

    Larger factors belong to sums next to 0, and to derivatives that have rounded to 0.
    Where all weights are tiny, so are the sums, and their factors are no less exact.

    Parameters
    ----------
    dtype : torch.dtype
        What the weights are computed in.
    heaviest : float, default=1
        The largest of the weights.

    Returns
    -------
    factor : float
        To clip factors to.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.metrics.class_weights import largest_factor
    >>> [f"{largest_factor(torch.float32, weight):.0e}" for weight in (1.0, 1e-6, 0.0)]
    ['3e+26', '3e+32', '3e+32']
    """
    # Never so large that a further factor, such as the steepness, overflows.
    return torch.finfo(dtype).max * 1e-12 / min(max(heaviest, 1e-6), 1.0)


def without_traces(counts: np.ndarray) -> np.ndarray:
    """Counts of which those next to 0 are 0, since derivatives by them overflow.

    Parameters
    ----------
    counts : ndarray
        Sums of soft decisions.

    Returns
    -------
    counts : ndarray
        Smaller ones than 1e-290 are 0, unless all are.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.class_weights import without_traces
    >>> without_traces(np.array([2.0, 1e-300])), without_traces(np.array([1e-300]))
    (array([2., 0.]), array([1.e-300]))
    """
    return counts * (counts > min(LEAST_COUNT, 1e-100 * counts.max(initial=0)))


class _BatchWeights:
    """Base class of both kinds: joins batches, and gives the share of each sample."""

    table: Tensor
    target: Tensor
    groups: int
    n: int
    uniform_share: float | None

    def __init__(
        self, table: Tensor, target: Tensor, uniform: bool = False, fixed: bool = False
    ) -> None:
        raise NotImplementedError

    @classmethod
    def join(cls, parts: Iterable[Self]) -> Self:
        """Concatenate several batches into one.

        Parameters
        ----------
        parts : iterable of ClassWeights or LabelWeights
            The batches. They may share one buffer, each valid until the next one is
            drawn.

        Returns
        -------
        samples : ClassWeights or LabelWeights
            All samples, in order.
        """
        copies = [
            (part.table.clone(), part.target.clone(), part.uniform_share is not None)
            for part in parts
        ]
        tables, targets, uniform = zip(*copies, strict=True)
        return cls(torch.cat(tables, dim=-1), torch.cat(targets, dim=-1), all(uniform))

    def _set_share(self, fixed: bool) -> None:
        self._fixed = fixed
        self._share: Tensor | None = None
        if self.uniform_share is not None:
            self._share = self.table.new_full(
                (self.groups, self.n, 1), self.uniform_share
            )

    @property
    def weight(self) -> Tensor:
        """Weight of each sample, of shape (G, n)."""
        return self.table.sum(1)

    def share(self) -> Tensor:
        """Fraction of each sample in the weight of its group, of shape (G, n, 1)."""
        if self._share is not None:
            return self._share
        weight = self.weight
        whole = weight.sum(-1, keepdim=True).clamp(min=torch.finfo(weight.dtype).tiny)
        share = (weight / whole).unsqueeze(-1)
        self._share = share if self._fixed else None
        return share


class ClassWeights(_BatchWeights):
    """Weight of each sample of a batch as a negative and as a positive.

    A stack of models trains on G groups of samples, with M models per group; an
    ordinary fit is G = M = 1, and K = G M is the number of models. A sum over the
    samples is one matrix product per group.

    Parameters
    ----------
    table : tensor of shape (G, 2, n)
        Weights of the samples of each group as negatives and as positives, one of the
        two being 0 (both, for a sample that only pads the group).
    target : tensor of shape (G, n)
        Labels, 0 or 1.
    uniform : bool, default=False
        Whether all samples are known to have the same weight.
    fixed : bool, default=False
        Whether the weights stay the same while labels change, so that ``share`` is
        computed once.

    Attributes
    ----------
    columns : tensor of shape (G, n, 2)
        The table with the classes on the last axis.
    groups, n : int
        Number of groups, and of samples in each.
    uniform_share : float or None
        Fraction of each sample in the weight of its group, if it is the same for all.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.metrics.class_weights import ClassWeights
    >>> y, sample_weight = torch.tensor([0.0, 1.0, 1.0]), torch.tensor([1.0, 2.0, 3.0])
    >>> samples = ClassWeights.of(y, sample_weight)
    >>> samples.sums(torch.tensor([[0.5, 0.5, 1.0]]))  # Over negatives, positives.
    tensor([[0.5000, 4.0000]])
    """

    def __init__(
        self, table: Tensor, target: Tensor, uniform: bool = False, fixed: bool = False
    ) -> None:
        self.table = table
        self.columns = table.mT
        self.target = target
        self.groups, _, self.n = table.shape
        self._max_factor = largest_factor(table.dtype)
        self.uniform_share = 1 / max(self.n, 1) if uniform else None
        self._set_share(fixed)
        # For a small batch, making these views at each use would take as long as the
        # arithmetic.
        self._columns = self.columns[0]
        self._negatives, self._positives = table[0, :1], table[0, 1:]

    @classmethod
    def of(cls, y: Tensor, sample_weight: Tensor | None = None) -> ClassWeights:
        """Make it from labels and weights.

        Parameters
        ----------
        y : tensor of shape (n,) or (..., n)
            Labels, 0 or 1; leading axes are groups.
        sample_weight : tensor of the shape of y, default=None
            Weights.

        Returns
        -------
        samples : ClassWeights
            The weights by class.
        """
        y = y.reshape(math.prod(y.shape[:-1]), y.shape[-1])
        if sample_weight is not None:
            sample_weight = sample_weight.reshape(y.shape)
        table = torch.stack(class_parts(y, sample_weight), dim=1)
        return cls(table, y, uniform=sample_weight is None)

    @classmethod
    def of_classes(
        cls, y: Tensor, n_classes: int, like: Tensor, weight: Tensor | None = None
    ) -> ClassWeights:
        """Make it from the classes of the samples of one group.

        Parameters
        ----------
        y : tensor of shape (n,)
            Classes, 0 to C - 1.
        n_classes : int
            C. The table then has a row for each of them.
        like : tensor
            A tensor with the dtype and device of the table.
        weight : tensor of shape (n,), default=None
            Weights.

        Returns
        -------
        samples : ClassWeights
            The weights by class.

        Examples
        --------
        >>> import torch
        >>> from sk_anyloss.metrics.class_weights import ClassWeights
        >>> y, weight = torch.tensor([2, 0]), torch.tensor([1.0, 3.0])
        >>> ClassWeights.of_classes(y, 3, torch.zeros(1), weight).table
        tensor([[[0., 3.],
                 [0., 0.],
                 [1., 0.]]])
        """
        if y.dim() != 1:
            raise ValueError(
                f"Classes must have the shape (n,), got {tuple(y.shape)}; a matrix is "
                "one of several labels, target_type='multilabel-indicator'."
            )
        index = y.to(device=like.device, dtype=torch.int64)
        is_class = (index == y.to(like.device)) & (index >= 0) & (index < n_classes)
        if not in_transform() and not is_class.all():
            raise ValueError(
                f"Classes must be whole numbers from 0 to {n_classes - 1}, got "
                f"{y.unique()[:5].tolist()} among them; there are {n_classes} outputs."
            )
        ones = like.new_ones(1, len(y)) if weight is None else weight.to(like)[None]
        table = like.new_zeros((n_classes, len(y))).scatter(0, index[None], ones)
        return cls(table[None], index[None], uniform=weight is None)

    def sums(self, values: Tensor) -> Tensor:
        """Weighted sums over the samples of each class.

        Parameters
        ----------
        values : tensor of shape (K, n) or (S, K, n)
            One value, or S values, of each sample for each of K models.

        Returns
        -------
        sums : tensor of shape (K, 2) or (S, K, 2)
            Over negatives and over positives.
        """
        if self.groups == 1:
            return values @ self._columns
        # Not -1, which is ambiguous for an empty batch.
        models, before = values.shape[-2] // self.groups, math.prod(values.shape[:-2])
        grouped = values.view(before, self.groups, models, self.n)
        sums = torch.stack([value @ self.columns for value in grouped])
        return sums.view(*values.shape[:-1], 2)

    def confusion(self, decisions: Tensor) -> Tensor:
        """Confusion tensor of soft decisions.

        Parameters
        ----------
        decisions : tensor of shape (T D, K, n)
            Decisions of K models for each of D = 2 classes, at each of T thresholds.

        Returns
        -------
        M : tensor of shape (T, K, 2, D)
            ``M[t, k, c, d]`` is the weight of the samples of class c decided as d.

        Examples
        --------
        >>> import torch
        >>> from sk_anyloss.metrics.class_weights import ClassWeights
        >>> samples = ClassWeights.of(torch.tensor([0.0, 1.0, 1.0]))
        >>> h = torch.tensor([[0.25, 0.5, 1.0]])
        >>> samples.confusion(torch.stack((1 - h, h)))
        tensor([[[[0.7500, 0.2500],
                  [0.5000, 1.5000]]]])
        """
        if decisions.size(1) == self.groups and decisions.size(0) == 2:
            # The ordinary case is one product, without a copy.
            return torch.bmm(self.table, decisions.permute(1, 2, 0)).unsqueeze(0)
        sums = self.sums(decisions).unflatten(0, (-1, 2))
        return sums.permute(0, 2, 3, 1)

    def table_of(self, models: int) -> Tensor:
        """The table for each of K models.

        Parameters
        ----------
        models : int
            K, the number of models in all groups together.

        Returns
        -------
        table : tensor of shape (K, C, n)
            Models of one group have the same rows.
        """
        if self.groups == models:
            return self.table
        if self.groups == 1:
            return self.table.expand(models, -1, -1)
        return self.table.repeat_interleave(models // self.groups, dim=0)

    def totals(self) -> Tensor:
        """Total weight of the classes in each group, of shape (G, C)."""
        return self.table.sum(-1)

    def scale(self, negatives: FloatOrArray, positives: FloatOrArray) -> Tensor:
        """Sample weights times a factor for each class.

        Parameters
        ----------
        negatives, positives : float or ndarray of shape (K,)
            The factors. They are clipped to :func:`largest_factor`.

        Returns
        -------
        weights : tensor of shape (1, n) or (K, n)
            The scaled weights.
        """
        most = self._max_factor
        if isinstance(negatives, np.ndarray) or isinstance(positives, np.ndarray):
            factors = np.stack((negatives, positives), axis=-1)
            if np.abs(factors).max() > most:
                most = self._largest_factor()
                factors = factors.clip(-most, most)
            grouped = self.table.new_tensor(factors).view(self.groups, -1, 2)
            return torch.bmm(grouped, self.table).flatten(0, 1)
        if not (-most <= negatives <= most and -most <= positives <= most):
            most = self._largest_factor()
            negatives = min(max(negatives, -most), most)
            positives = min(max(positives, -most), most)
        if self.uniform_share is not None:
            return torch.rsub(self.target, negatives, alpha=negatives - positives)
        weights = self._negatives * negatives
        return weights.add_(self._positives, alpha=positives)

    def _largest_factor(self) -> float:
        heaviest = self.table.max().item() if self.table.numel() else 1.0
        return largest_factor(self.table.dtype, heaviest)

    def targets(self, models: int) -> Tensor:
        """Labels for each of K models.

        Parameters
        ----------
        models : int
            K, the number of models in all groups together.

        Returns
        -------
        y : tensor of shape (K, n) or (1, n)
            The labels, in one row if all models have the same samples.
        """
        if self.groups in (1, models):
            return self.target
        return self.target.repeat_interleave(models // self.groups, dim=0)


class LabelWeights(_BatchWeights):
    """Weight of each sample of a batch without and with each of several labels.

    Parameters
    ----------
    table : tensor of shape (G, Q, 2, n)
        Weights of the samples of each group without and with each of Q labels, one of
        the two being 0.
    target : tensor of shape (G, Q, n)
        Labels, 0 or 1.
    uniform : bool, default=False
        Whether all samples are known to have the same weight.
    fixed : bool, default=False
        Whether the weights stay the same while labels change, so that ``share`` is
        computed once.

    Attributes
    ----------
    by_label : ClassWeights
        The same with G Q groups, a label of a group each: group g Q + q.
    groups, n_labels, n : int
        Number of groups, of labels, and of samples in each group.
    uniform_share : float or None
        Fraction of each sample in the weight of its group, if it is the same for all.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.metrics.class_weights import LabelWeights
    >>> samples = LabelWeights.of(torch.tensor([[0.0, 1.0], [1.0, 1.0]]))
    >>> samples.by_label.totals()  # Without and with each label.
    tensor([[1., 1.],
            [0., 2.]])
    """

    def __init__(
        self, table: Tensor, target: Tensor, uniform: bool = False, fixed: bool = False
    ) -> None:
        self.table, self.target = table, target
        self.groups, self.n_labels, _, self.n = table.shape
        self.by_label = ClassWeights(table.flatten(0, 1), target.flatten(0, 1), uniform)
        self.uniform_share = self.by_label.uniform_share
        self._set_share(fixed)

    @classmethod
    def of(cls, y: Tensor, sample_weight: Tensor | None = None) -> LabelWeights:
        """Make it from the labels and weights of one group.

        Parameters
        ----------
        y : tensor of shape (n, Q)
            Labels, 0 or 1, in the dtype to compute in.
        sample_weight : tensor of shape (n,), default=None
            Weights.

        Returns
        -------
        samples : LabelWeights
            The weights by label.
        """
        if not in_transform() and ((y != 0) & (y != 1)).any():
            raise ValueError(
                f"Labels must be 0 or 1, got {y.unique()[:5].tolist()} among them."
            )
        target = y.mT.contiguous()
        weight = None if sample_weight is None else sample_weight.expand_as(target)
        table = torch.stack(class_parts(target, weight), dim=1)
        return cls(table[None], target[None], uniform=sample_weight is None)

    @property
    def weight(self) -> Tensor:
        """Weight of each sample, of shape (G, n)."""
        return self.table[:, 0].sum(1)

    def totals(self) -> Tensor:
        """Weight without and with the first label in each group, of shape (G, 2)."""
        return self.table[:, 0].sum(-1)


#: Weights of a batch by class or by label.
AnyWeights: TypeAlias = ClassWeights | LabelWeights
