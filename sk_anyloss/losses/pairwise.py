"""A loss over pairs of rows, of which one is positive: are they in the right order."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sk_anyloss.losses.base import Loss
from sk_anyloss.metrics import Metric, get_metric, metric_name, ratio
from sk_anyloss.metrics.class_weights import ClassWeights
from sk_anyloss.metrics.curves import Curve
from sk_anyloss.metrics.derivatives import value_and_derivatives

__all__ = ["Pairs"]

#: Pairs that are looked at together, which bounds the memory.
PAIRS_AT_ONCE = 2**16


class Pairs(Loss):
    """One minus a metric over thresholds, from all pairs with a positive row.

    A soft confusion matrix is taken at the logit of every positive row i, the decision
    on row j being ``sigmoid(steepness (z_j - z_i))``; the loss is one minus the mean,
    over the positives, of the specificity there for ``'roc_auc'``, and of the precision
    for ``'average_precision'``. The first is the Wilcoxon-Mann-Whitney statistic with a
    soft order, the share of pairs of a positive and a negative that are in the right
    order. The second counts a row half where it is compared with itself, so that it is
    the precision in the middle of each step of the curve.

    Parameters
    ----------
    metric : str or Curve, default='roc_auc'
        ``'roc_auc'``, ``'average_precision'`` or a
        :class:`sk_anyloss.metrics.curves.Curve`.
    steepness : float, default=1
        How fast a difference of logits becomes a decision.

    Notes
    -----
    Time grows with the number of pairs in a batch, memory does not: they are gone
    through in chunks. Pairs of rows in different batches are not seen, so the loss of
    an epoch is the mean over its batches, each by the weight of its positives. The
    loss says nothing of where to cut, only of the order.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import Pairs
    >>> logits, y = torch.tensor([0.0, 9.0, 0.0]), torch.tensor([0, 1, 1])
    >>> Pairs("roc_auc")(logits, y)  # Half a pair of two is out of order.
    tensor(0.2501)
    """

    is_additive = False

    def __init__(
        self, metric: str | Metric = "roc_auc", steepness: float = 1.0
    ) -> None:
        super().__init__()
        curve = get_metric(metric)
        if not isinstance(curve, Curve):
            raise ValueError(
                "The loss over pairs is for metrics over thresholds, 'roc_auc' and "
                f"'average_precision', but metric={metric_name(metric)!r}; loss=None "
                "trains on that metric itself."
            )
        if not 0 < steepness < math.inf:
            raise ValueError(
                f"steepness must be positive and finite, got {steepness!r}."
            )
        self.metric, self.name = curve, metric_name(metric)
        self.goal = curve
        self.at_positives: Metric = type(curve).at_positives
        self.steepness = float(steepness)

    @property
    def kind(self) -> tuple[Any, ...]:
        return type(self), self.metric, self.steepness

    def statistics(
        self, logits: Tensor, samples: ClassWeights
    ) -> tuple[Tensor, Tensor]:
        sums = logits.new_zeros((2, len(logits)))
        slope = torch.zeros_like(logits)
        models = len(logits) // samples.groups
        for g in range(samples.groups):
            members = slice(g * models, (g + 1) * models)
            z, into = logits[members], slope[members]
            index = [torch.nonzero(weight)[:, 0] for weight in samples.table[g]]
            weights = [w[i] for w, i in zip(samples.table[g], index, strict=True)]
            sides = [z[:, i] for i in index]
            loss, parts = self._of_group(sides, weights)
            sums[0, members], sums[1, members] = loss, weights[1].sum()
            for i, part in zip(index, parts, strict=True):
                into[:, i] = part
        return sums, slope

    def _of_group(
        self, sides: list[Tensor], weights: list[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        """Weighted loss of the positives of M models, and slopes of either class."""
        positives, w = sides[1], weights[1]
        loss = positives.new_zeros(len(positives))
        slopes = [torch.zeros_like(side) for side in sides]
        pairs = max(1, len(positives) * sum(len(weight) for weight in weights))
        for at in torch.arange(len(w)).split(max(1, PAIRS_AT_ONCE // pairs)):
            # Decisions on all rows at the logits of some of the positives.
            h = [self._decide(side, positives[:, at]) for side in sides]
            (fp, tp), (tn, fn) = (
                [_by_threshold(part[k], weights[i]) for i, part in enumerate(h)]
                for k in (0, 1)
            )
            value, *factors = value_and_derivatives(
                self.at_positives, *(count.numpy() for count in (tn, fp, fn, tp))
            )
            loss += (1 - torch.as_tensor(value, dtype=w.dtype)) @ w[at]
            for i, factor in enumerate(reversed(factors)):
                if not np.any(factor):
                    continue
                pull = torch.as_tensor(factor).to(positives) * self.steepness
                slope = h[i][0].mul_(h[i][1])
                slopes[i] -= torch.einsum("mpn,mp->mn", slope, pull * w[at])
                slopes[1][:, at] += pull * (slope @ weights[i])
        return loss, slopes

    def _decide(self, side: Tensor, at: Tensor) -> tuple[Tensor, Tensor]:
        """Decisions for and against the rows of a side, at some logits: (M, P, n)."""
        u = (side.unsqueeze(1) - at.unsqueeze(2)) * self.steepness
        return torch.sigmoid(u), torch.sigmoid(-u)

    def value_and_grad(self, S: Tensor) -> tuple[Any, tuple[Any, Any]]:
        loss, weight = S.to("cpu", torch.float64).numpy()
        loss, factor = ratio(loss, weight), ratio(1.0, weight)
        if len(loss) == 1:
            loss, factor = float(loss[0]), float(factor[0])
        return loss, (factor, factor)

    def extra_repr(self) -> str:
        return f"metric={self.name!r}, steepness={self.steepness:g}"


def _by_threshold(h: Tensor, weight: Tensor) -> Tensor:
    """Counts of one side, (M, P), in the digits that a ratio of them needs."""
    return (h @ weight).to("cpu", torch.float64)
