"""Losses of single samples for C classes: a batch has their weighted mean."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from sk_anyloss.losses.base import ClassesLoss
from sk_anyloss.losses.distributed.processes import ProcessGroup
from sk_anyloss.metrics.arithmetic import FloatOrArray
from sk_anyloss.metrics.class_weights import ClassWeights

__all__ = [
    "CrossEntropy",
    "MulticlassFocal",
    "MulticlassMSE",
    "WeightedCrossEntropy",
]

#: Log-probabilities of shape (K, C, n), and the table of weights for each model.
Cache: TypeAlias = tuple[Tensor, Tensor]


class CrossEntropy(ClassesLoss[Tensor, Cache, Tensor]):
    """Cross-entropy of C classes, ``-log p_y``, weighted mean.

    The statistics, of shape (2, K, C), are summed loss and weight of each class.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import CrossEntropy
    >>> CrossEntropy()(torch.zeros(2, 4), torch.tensor([0, 3]))
    tensor(1.3863)
    """

    def statistics(self, logits: Tensor, samples: ClassWeights) -> tuple[Tensor, Cache]:
        table = samples.table_of(logits.size(0))
        # Finite where a class is impossible, so that its weight of 0 makes it 0.
        least = torch.finfo(logits.dtype).min
        log_p = torch.log_softmax(logits, dim=1).clamp_(min=least)
        loss = self.summed_loss(log_p, table)
        return torch.stack((loss, table.sum(-1))), (log_p, table)

    def summed_loss(self, log_p: Tensor, table: Tensor) -> Tensor:
        """Loss summed over the samples of each class, of shape (K, C)."""
        return -(table * log_p).sum(-1)

    def factors(self, weights: np.ndarray) -> np.ndarray:
        """Factor of the summed loss of each class in the mean.

        Parameters
        ----------
        weights : ndarray of shape (K, C)
            Total weight of each class.

        Returns
        -------
        factors : ndarray of shape (K, C) or (K, 1)
            By default the reciprocal of the total weight.
        """
        total = weights.sum(-1, keepdims=True)
        return np.divide(1.0, total, out=np.zeros_like(total), where=total != 0)

    def value_and_grad(self, S: Tensor) -> tuple[FloatOrArray, Tensor]:
        loss, weights = S.to("cpu", torch.float64).numpy()
        factors = self.factors(weights)
        return (loss * factors).sum(-1), S.new_tensor(factors).unsqueeze(-1)

    def backward(
        self, cache: Cache, grad: Tensor, samples: ClassWeights, out: Tensor
    ) -> None:
        log_p, table = cache
        # p - 1 of the true class is lost where p rounds to 1; what is lost is tiny.
        weighted = table * grad
        torch.exp(log_p, out=out)
        out.mul_(weighted.sum(1, keepdim=True)).sub_(weighted)


class WeightedCrossEntropy(CrossEntropy):
    """Class-weighted cross-entropy of C classes.

    Parameters
    ----------
    class_weight : 'balanced' or sequence of C floats, default='balanced'
        ``'balanced'`` gives all classes of a batch the same total weight.
    process_group : 'world', torch.distributed.ProcessGroup or None, default='world'
        As for :class:`sk_anyloss.losses.base.Loss`.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import WeightedCrossEntropy
    >>> logits = torch.tensor([[0.0, 0, 0], [0, 0, 0], [0, 0, 2]])
    >>> WeightedCrossEntropy()(logits, torch.tensor([0, 0, 2]))
    tensor(0.6691)
    """

    def __init__(
        self,
        class_weight: str | Sequence[float] = "balanced",
        process_group: ProcessGroup = "world",
    ) -> None:
        super().__init__(process_group=process_group)
        self.class_weight = class_weight
        if isinstance(class_weight, str) and class_weight == "balanced":
            return
        weights = None if isinstance(class_weight, str) else np.asarray(class_weight)
        if weights is None or not (
            weights.ndim == 1
            and np.isfinite(weights).all()
            and (weights >= 0).all()
            and weights.any()
        ):
            raise ValueError(
                "class_weight must be 'balanced' or a finite weight for each class, "
                f"not negative and not all 0; got {class_weight!r}."
            )
        self.class_weight = tuple(weights.tolist())

    def factors(self, weights: np.ndarray) -> np.ndarray:
        if isinstance(self.class_weight, str):
            # An absent class has no mean; the loss is that of the other ones.
            present = weights != 0
            n_present = present.sum(-1, keepdims=True)
            return np.divide(
                1.0, weights * n_present, out=np.zeros_like(weights), where=present
            )
        if len(self.class_weight) != weights.shape[-1]:
            raise ValueError(
                f"class_weight has {len(self.class_weight)} entries for "
                f"{weights.shape[-1]} classes."
            )
        own = np.asarray(self.class_weight)
        return own * super().factors(weights * own)


class MulticlassFocal(CrossEntropy):
    """Focal loss of C classes, ``-(1 - q)^gamma log q``, q being ``p_y``.

    Parameters
    ----------
    gamma : float, default=2
        Focusing parameter, at least 0; 0 is cross-entropy.
    process_group : 'world', torch.distributed.ProcessGroup or None, default='world'
        As for :class:`sk_anyloss.losses.base.Loss`.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import MulticlassFocal
    >>> MulticlassFocal()(torch.zeros(2, 4), torch.tensor([0, 3]))
    tensor(0.7798)
    """

    def __init__(
        self, gamma: float = 2.0, process_group: ProcessGroup = "world"
    ) -> None:
        super().__init__(process_group=process_group)
        if not 0 <= gamma < math.inf:
            raise ValueError(f"gamma must be at least 0 and finite, got {gamma!r}.")
        self.gamma = float(gamma)

    def _not_p(self, log_p: Tensor) -> Tensor:
        """``1 - p`` of each class without cancellation, above 0."""
        return -torch.expm1(log_p.clamp(max=-torch.finfo(log_p.dtype).tiny))

    def summed_loss(self, log_p: Tensor, table: Tensor) -> Tensor:
        return -(table * self._not_p(log_p) ** self.gamma * log_p).sum(-1)

    def backward(
        self, cache: Cache, grad: Tensor, samples: ClassWeights, out: Tensor
    ) -> None:
        log_p, table = cache
        p, p_not = log_p.exp(), self._not_p(log_p)
        # Minus the derivative with respect to log q; 0 for all but the true class.
        by_log_q = p_not**self.gamma
        if self.gamma:
            by_log_q = by_log_q - self.gamma * p_not ** (self.gamma - 1) * p * log_p
        weighted = table * grad * by_log_q
        torch.mul(p, weighted.sum(1, keepdim=True), out=out)
        out.sub_(weighted)


class MulticlassMSE(CrossEntropy):
    """Half the squared distance of the probabilities to the true class, weighted mean.

    ``1/2 sum_c (p_c - [y = c])^2``; for two classes that is ``(p - y)^2``.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import MulticlassMSE
    >>> MulticlassMSE()(torch.zeros(2, 2), torch.tensor([0, 1]))
    tensor(0.2500)
    """

    def summed_loss(self, log_p: Tensor, table: Tensor) -> Tensor:
        p = log_p.exp()
        # sum_c p_c^2 - 2 p_y + 1, without the difference of nearly equal numbers.
        others = (p * p).sum(1, keepdim=True) - p * p + torch.expm1(log_p) ** 2
        return 0.5 * (table * others).sum(-1)

    def backward(
        self, cache: Cache, grad: Tensor, samples: ClassWeights, out: Tensor
    ) -> None:
        log_p, table = cache
        p, weighted = log_p.exp(), table * grad
        by_p = p * weighted.sum(1, keepdim=True) - weighted
        torch.mul(p, by_p - (p * by_p).sum(1, keepdim=True), out=out)
