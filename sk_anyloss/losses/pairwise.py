"""A loss over pairs of samples: is the positive one scored higher."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from sk_anyloss.losses.base import Factors, Loss
from sk_anyloss.losses.distributed.processes import ProcessGroup
from sk_anyloss.metrics import Metric, get_metric, metric_name, ratio
from sk_anyloss.metrics.arithmetic import FloatOrArray
from sk_anyloss.metrics.class_weights import ClassWeights
from sk_anyloss.metrics.curves import Curve
from sk_anyloss.metrics.derivatives import value_and_derivatives

__all__ = ["Pairs"]

#: Pairs that are evaluated together, which bounds the memory.
PAIRS_AT_ONCE = 2**16


class Pairs(Loss[Tensor, Tensor, Factors]):
    """One minus a metric over thresholds, from all pairs with a positive sample.

    A soft confusion matrix is computed at the logit of every positive sample i, with
    ``sigmoid(steepness (z_j - z_i))`` as the decision on sample j. The loss is one
    minus the mean, over the positives, of the specificity there for ``'roc_auc'``, and
    of the precision for ``'average_precision'``. The first is the Wilcoxon-Mann-Whitney
    statistic with a soft comparison: the fraction of pairs of a positive and a negative
    that are correctly ordered. In the second, a sample counts half in the comparison
    with itself, so that the precision is the one in the middle of each step of the
    curve.

    Parameters
    ----------
    metric : str or Curve, default='roc_auc'
        ``'roc_auc'``, ``'average_precision'`` or a
        :class:`sk_anyloss.metrics.curves.Curve`.
    steepness : float, default=1
        Factor on the differences of logits.
    process_group : 'world', torch.distributed.ProcessGroup or None, default='world'
        As for :class:`sk_anyloss.losses.base.Loss`.

    Notes
    -----
    Time grows with the number of pairs in a batch; memory does not, because they are
    processed in chunks. Pairs of samples in different batches or processes are not
    compared, so the loss of an epoch is the mean over its batches, and that of a batch
    the mean over the processes, weighted by their positives. The loss
    depends on the order of the logits only, not on a decision threshold.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import Pairs
    >>> logits, y = torch.tensor([0.0, 9.0, 0.0]), torch.tensor([0, 1, 1])
    >>> Pairs("roc_auc")(logits, y)  # One pair of two is tied.
    tensor(0.2501)
    """

    is_additive = False

    def __init__(
        self,
        metric: str | Metric = "roc_auc",
        steepness: float = 1.0,
        process_group: ProcessGroup = "world",
    ) -> None:
        super().__init__(process_group=process_group)
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
    def kind(self) -> tuple[object, ...]:
        return type(self), self.metric, self.steepness

    def statistics(
        self, logits: Tensor, samples: ClassWeights
    ) -> tuple[Tensor, Tensor]:
        sums = logits.new_zeros((2, len(logits)))
        derivative = torch.zeros_like(logits)
        models = len(logits) // samples.groups
        for g in range(samples.groups):
            members = slice(g * models, (g + 1) * models)
            z, into = logits[members], derivative[members]
            index = [torch.nonzero(weight)[:, 0] for weight in samples.table[g]]
            weights = [w[i] for w, i in zip(samples.table[g], index, strict=True)]
            classes = [z[:, i] for i in index]
            loss, parts = self._group_statistics(classes, weights)
            sums[0, members], sums[1, members] = loss, weights[1].sum()
            for i, part in zip(index, parts, strict=True):
                into[:, i] = part
        return sums, derivative

    def _group_statistics(
        self, logits: list[Tensor], weights: list[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        """Summed loss of M models, and its derivatives, of negatives and positives."""
        positives, w = logits[1], weights[1]
        loss = positives.new_zeros(len(positives))
        derivatives = [torch.zeros_like(z) for z in logits]
        pairs = max(1, len(positives) * sum(len(weight) for weight in weights))
        for at in torch.arange(len(w)).split(max(1, PAIRS_AT_ONCE // pairs)):
            # Decisions on all samples at the logits of some of the positives.
            h = [self._decide(z, positives[:, at]) for z in logits]
            (fp, tp), (tn, fn) = (
                [_counts_at_thresholds(part[k], weights[i]) for i, part in enumerate(h)]
                for k in (0, 1)
            )
            value, *factors = value_and_derivatives(
                self.at_positives, *(count.numpy() for count in (tn, fp, fn, tp))
            )
            loss += (1 - torch.as_tensor(value, dtype=w.dtype)) @ w[at]
            for i, factor in enumerate(reversed(factors)):
                if not np.any(factor):
                    continue
                scale = torch.as_tensor(factor).to(positives) * self.steepness
                by_u = h[i][0].mul_(h[i][1])
                derivatives[i] -= torch.einsum("mpn,mp->mn", by_u, scale * w[at])
                derivatives[1][:, at] += scale * (by_u @ weights[i])
        return loss, derivatives

    def _decide(self, logits: Tensor, thresholds: Tensor) -> tuple[Tensor, Tensor]:
        """Decisions h and 1 - h of n samples at P thresholds, of shape (M, P, n)."""
        u = (logits.unsqueeze(1) - thresholds.unsqueeze(2)) * self.steepness
        return torch.sigmoid(u), torch.sigmoid(-u)

    def value_and_grad(self, S: Tensor) -> tuple[FloatOrArray, Factors]:
        sums, weight = S.to("cpu", torch.float64).numpy()
        loss, factor = ratio(sums, weight), ratio(1.0, weight)
        if len(loss) == 1:
            return float(loss[0]), (float(factor[0]), float(factor[0]))
        return loss, (factor, factor)

    def extra_repr(self) -> str:
        return f"metric={self.name!r}, steepness={self.steepness:g}"


def _counts_at_thresholds(h: Tensor, weight: Tensor) -> Tensor:
    """Sums over one class, of shape (M, P), in double precision for the ratios."""
    return (h @ weight).to("cpu", torch.float64)
