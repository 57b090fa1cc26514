"""The base class of losses for C classes."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from sk_anyloss.losses.base.inputs import as_weight
from sk_anyloss.losses.base.loss import Arranged, Loss
from sk_anyloss.losses.base.statistics import Cache, Gradient, Statistics
from sk_anyloss.losses.precision import at_least_single
from sk_anyloss.metrics.class_weights import ClassWeights

__all__ = ["ClassesLoss"]


class ClassesLoss(Loss[Statistics, Cache, Gradient]):
    """Base class of losses for C classes, whose logits have the shape (K, C, n)."""

    def for_classes(self, classes: Sequence[object] | None = None) -> Loss:
        return self

    def arrange(
        self, logits: Tensor, y: Tensor, sample_weight: Tensor | None = None
    ) -> Arranged:
        logits = at_least_single(logits)
        if logits.dim() != 2 or logits.shape[1] < 2 or y.shape != logits.shape[:1]:
            raise ValueError(
                "A loss of several classes takes logits of shape (n, C) with y of "
                f"shape (n,); got {tuple(logits.shape)} and {tuple(y.shape)}."
            )
        weight = as_weight(sample_weight, len(y), logits)
        samples = ClassWeights.of_classes(y, logits.shape[1], logits, weight)
        return self, logits.T[None], samples

    def of_batch(self, logits: Tensor, samples: ClassWeights) -> Tensor:
        """Loss of a batch whose labels and weights have been validated.

        Parameters
        ----------
        logits : tensor of shape (C, n)
            Logits.
        samples : ClassWeights
            Classes and weights.

        Returns
        -------
        loss : tensor of shape ()
            Differentiable, if the logits require a gradient.
        """
        return self.apply_steps(logits[None], samples).squeeze(0)
