"""A weighted sum of class-weighted cross-entropy and one minus a metric."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from sk_anyloss._compat import shallow_copy
from sk_anyloss.losses.anyloss import AnyLoss, FactorsByThreshold
from sk_anyloss.losses.base import ClassesLoss, Factors, Loss, Parts
from sk_anyloss.losses.distributed.processes import ProcessGroup
from sk_anyloss.losses.multilabel import OverLabels
from sk_anyloss.losses.pointwise import WeightedBCE
from sk_anyloss.losses.steps import Step, Threshold
from sk_anyloss.metrics import Metric
from sk_anyloss.metrics.arithmetic import FloatOrArray
from sk_anyloss.metrics.class_weights import ClassWeights
from sk_anyloss.metrics.multilabel import label_metric

__all__ = ["Hybrid", "MulticlassHybrid"]

#: Derivatives of the samples in the cross-entropy and in the metric's loss.
Caches: TypeAlias = list[Tensor]

#: Gradients of the cross-entropy and of the metric's loss by their statistics.
Gradients: TypeAlias = tuple[Factors, FactorsByThreshold]


class Hybrid(Loss[Parts[Tensor], Caches, Gradients]):
    """Weighted sum of class-weighted cross-entropy and one minus a metric.

    ``(1 - share) * weighted BCE + share * (1 - f)``, from the AnyLoss authors' later
    work: cross-entropy has a gradient where that of the metric has vanished.

    Parameters
    ----------
    metric, step, threshold
        As for :class:`sk_anyloss.losses.AnyLoss`.
    share : float, default=0.5
        Weight of the metric in the sum, in [0, 1].
    class_weight : 'balanced' or tuple of two floats, default='balanced'
        As for :class:`sk_anyloss.losses.WeightedBCE`.
    process_group : 'world', torch.distributed.ProcessGroup or None, default='world'
        As for :class:`sk_anyloss.losses.base.Loss`.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import Hybrid
    >>> Hybrid("f1", share=0.5)(torch.tensor([0.0, 0.0]), torch.tensor([0, 1]))
    tensor(0.5966)
    """

    def __init__(
        self,
        metric: str | Metric = "f1",
        step: str | Step = "sigmoid",
        threshold: float | Sequence[float] = 0.5,
        share: float = 0.5,
        class_weight: str | tuple[float, float] = "balanced",
        process_group: ProcessGroup = "world",
    ) -> None:
        super().__init__(process_group=process_group)
        if not 0 <= share <= 1:
            raise ValueError(f"share must lie in [0, 1], got {share!r}.")
        self.share = float(share)
        self.bce = WeightedBCE(class_weight)
        self.metric_loss = AnyLoss(metric, step, threshold)
        self.goal = self.metric_loss.goal

    def for_classes(self, classes: Sequence[object] | None = None) -> Loss:
        hybrid = MulticlassHybrid(self.metric_loss.given, self.step, self.share)
        hybrid.bce = self.bce.for_classes(classes)  # type: ignore[assignment]
        metric_loss: Any = self.metric_loss.for_classes(classes)
        hybrid.metric_loss = metric_loss
        return hybrid

    def for_labels(self) -> Loss:
        average = label_metric(self.metric_loss.given)
        if average.average != "macro":
            raise ValueError(
                f"loss='hybrid' is averaged over labels by 'macro' only, but metric="
                f"{average.__name__!r}."
            )
        inner = shallow_copy(self)
        loss = self.metric_loss
        inner.metric_loss = AnyLoss(average.metric, loss.step, loss.threshold)
        return OverLabels(inner)

    @property
    def step(self) -> Step:
        """The step of the metric's loss."""
        return self.metric_loss.step

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        """The thresholds of the metric's loss."""
        return self.metric_loss.thresholds

    def statistics(
        self, logits: Tensor, samples: ClassWeights
    ) -> tuple[Parts[Tensor], Caches]:
        found = [
            loss.statistics(logits, samples) for loss in (self.bce, self.metric_loss)
        ]
        return Parts(S for S, _ in found), [cache for _, cache in found]

    def value_and_grad(self, S: Parts[Tensor]) -> tuple[FloatOrArray, Gradients]:
        bce = self.bce.value_and_grad(S[0])
        metric = self.metric_loss.value_and_grad(S[1])
        loss = (1 - self.share) * bce[0] + self.share * metric[0]
        return loss, (bce[1], metric[1])

    def backward(
        self, cache: Caches, grad: Gradients, samples: ClassWeights, out: Tensor
    ) -> None:
        self.metric_loss.backward(cache[1], grad[1], samples, out)
        other = torch.empty_like(out)
        self.bce.backward(cache[0], grad[0], samples, other)
        out.mul_(self.share).add_(other, alpha=1 - self.share)

    @property
    def kind(self) -> tuple[object, ...]:
        return type(self), self.share, self.bce.kind, self.metric_loss.kind

    @classmethod
    def stack(cls, losses: Sequence[Hybrid], like: Tensor) -> Hybrid:
        stacked = shallow_copy(losses[0])
        metric_losses = [loss.metric_loss for loss in losses]
        stacked.metric_loss = metric_losses[0].stack(metric_losses, like)
        return stacked


class MulticlassHybrid(ClassesLoss, Hybrid):
    """The same weighted sum for C classes, of losses of C classes.

    Parameters
    ----------
    metric, step
        As for :class:`sk_anyloss.losses.MulticlassAnyLoss`.
    share : float, default=0.5
        Weight of the metric in the sum, in [0, 1].
    process_group : 'world', torch.distributed.ProcessGroup or None, default='world'
        As for :class:`sk_anyloss.losses.base.Loss`.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import Hybrid
    >>> Hybrid("f1").for_target("multiclass")(torch.zeros(3, 3), torch.arange(3))
    tensor(0.8826)
    """

    def __init__(
        self,
        metric: str | Metric = "f1_macro",
        step: str | Step = "sigmoid",
        share: float = 0.5,
        process_group: ProcessGroup = "world",
    ) -> None:
        Hybrid.__init__(self, metric, step, share=share, process_group=process_group)
        self.bce = self.bce.for_classes()  # type: ignore[assignment]
        self.metric_loss = self.metric_loss.for_classes()  # type: ignore[assignment]
