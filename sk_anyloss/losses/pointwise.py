"""Losses of single samples: the loss of a batch is their weighted mean."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import (
    binary_cross_entropy_with_logits,
    logsigmoid,
    softplus,
)

from sk_anyloss.losses.base import Factors, Loss
from sk_anyloss.losses.cross_entropy import (
    CrossEntropy,
    MulticlassFocal,
    MulticlassMSE,
    WeightedCrossEntropy,
)
from sk_anyloss.losses.distributed.processes import ProcessGroup
from sk_anyloss.losses.multilabel import OverLabels
from sk_anyloss.losses.steps import Threshold, stack_values
from sk_anyloss.metrics import ratio
from sk_anyloss.metrics.arithmetic import Count, FloatOrArray
from sk_anyloss.metrics.class_weights import ClassWeights

__all__ = ["BCE", "MSE", "Focal", "MeanLoss", "SurrogateFBeta", "WeightedBCE"]


class MeanLoss(Loss[Tensor, Tensor, Factors]):
    """Base class of the losses that are a weighted mean over the samples.

    A subclass defines ``loss_per_sample`` and ``derivative_per_sample``. The
    statistics, of shape (2, K, 2), are the summed loss and the weight of either class.
    """

    def loss_per_sample(self, logits: Tensor, y: Tensor) -> Tensor:
        """Loss of each sample.

        Parameters
        ----------
        logits : tensor of shape (K, n)
            Logits of K models.
        y : tensor of shape (K, n) or (1, n)
            Labels, 0 or 1.

        Returns
        -------
        loss : tensor of shape (K, n)
            Without the sample weights.
        """
        raise NotImplementedError

    def derivative_per_sample(self, logits: Tensor, y: Tensor) -> Tensor:
        """Derivative of :meth:`loss_per_sample` with respect to the logits."""
        raise NotImplementedError

    def factors(self, weight0: Count, weight1: Count) -> tuple[Count, Count]:
        """Factor of the summed loss of either class in the mean.

        Parameters
        ----------
        weight0, weight1 : float or ndarray of shape (K,)
            Total weight of negatives and of positives.

        Returns
        -------
        factor0, factor1 : float or ndarray of shape (K,)
            The factors; by default the reciprocal of the total weight.
        """
        factor = ratio(1.0, weight0 + weight1)
        return factor, factor

    def for_labels(self) -> Loss:
        return OverLabels(self)

    def statistics(
        self, logits: Tensor, samples: ClassWeights
    ) -> tuple[Tensor, Tensor]:
        y = samples.targets(len(logits))
        loss = samples.sums(self.loss_per_sample(logits, y))
        weight = samples.totals()
        if len(weight) != len(loss):
            weight = weight.repeat_interleave(len(loss) // len(weight), dim=0)
        return torch.stack((loss, weight)), self.derivative_per_sample(logits, y)

    def value_and_grad(self, S: Tensor) -> tuple[FloatOrArray, Factors]:
        if S.shape[1] == 1:
            (((loss0, loss1),), ((weight0, weight1),)) = S.tolist()
        else:
            table = S.to("cpu", torch.float64).numpy()
            (loss0, loss1), (weight0, weight1) = table.transpose(0, 2, 1)
        factor0, factor1 = self.factors(weight0, weight1)
        return loss0 * factor0 + loss1 * factor1, (factor0, factor1)


class BCE(MeanLoss):
    """Binary cross-entropy, ``-y log p - (1 - y) log(1 - p)``, weighted mean.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import BCE
    >>> BCE()(torch.tensor([0.0, 0.0]), torch.tensor([0, 1]))
    tensor(0.6931)
    """

    def for_classes(self, classes: Sequence[object] | None = None) -> Loss:
        return CrossEntropy()

    def loss_per_sample(self, logits: Tensor, y: Tensor) -> Tensor:
        y = y.expand_as(logits)
        return binary_cross_entropy_with_logits(logits, y, reduction="none")

    def derivative_per_sample(self, logits: Tensor, y: Tensor) -> Tensor:
        # p - y without a difference of nearly equal numbers.
        sign = 1 - 2 * y
        return sign * torch.sigmoid(sign * logits)


class MSE(MeanLoss):
    """Squared difference between probability and label, ``(p - y)^2``, weighted mean.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import MSE
    >>> MSE()(torch.tensor([0.0, 0.0]), torch.tensor([0, 1]))
    tensor(0.2500)
    """

    def for_classes(self, classes: Sequence[object] | None = None) -> Loss:
        return MulticlassMSE()

    def loss_per_sample(self, logits: Tensor, y: Tensor) -> Tensor:
        return torch.sigmoid((1 - 2 * y) * logits) ** 2

    def derivative_per_sample(self, logits: Tensor, y: Tensor) -> Tensor:
        wrong = (1 - 2 * y) * logits
        return 2 * (1 - 2 * y) * torch.sigmoid(wrong) ** 2 * torch.sigmoid(-wrong)


class WeightedBCE(BCE):
    """Class-weighted cross-entropy.

    Parameters
    ----------
    class_weight : 'balanced' or tuple of two floats, default='balanced'
        Weight of the negative and of the positive samples. ``'balanced'`` gives both
        classes of a batch the same total weight, so that the loss is the mean of
        the two classes' means.
    process_group : 'world', torch.distributed.ProcessGroup or None, default='world'
        As for :class:`sk_anyloss.losses.base.Loss`.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import WeightedBCE
    >>> WeightedBCE()(torch.tensor([0.0, 0.0, 1.0]), torch.tensor([0, 0, 1]))
    tensor(0.5032)
    """

    def __init__(
        self,
        class_weight: str | tuple[float, float] = "balanced",
        process_group: ProcessGroup = "world",
    ) -> None:
        super().__init__(process_group=process_group)
        self.pair: tuple[float, float] | None = None
        if not isinstance(class_weight, (str, bytes)) and len(class_weight) == 2:
            negative, positive = class_weight
            if min(negative, positive) >= 0 and 0 < max(negative, positive) < math.inf:
                self.pair = (float(negative), float(positive))
        if self.pair is None and class_weight != "balanced":
            raise ValueError(
                "class_weight must be 'balanced' or two finite weights, not negative "
                f"and not both 0, for negatives and positives; got {class_weight!r}."
            )

    @property
    def kind(self) -> tuple[object, ...]:
        return type(self), self.pair

    def for_classes(self, classes: Sequence[object] | None = None) -> Loss:
        if self.pair is not None:
            raise ValueError(
                f"class_weight={self.pair} is for two classes; use "
                "WeightedCrossEntropy with a weight for each class, or the "
                "estimator's class_weight with loss='cross_entropy'."
            )
        return WeightedCrossEntropy()

    def factors(self, weight0: Count, weight1: Count) -> tuple[Count, Count]:
        if self.pair is None:
            # An absent class has no mean; the loss is then that of the other one.
            classes = (weight0 != 0) * 1.0 + (weight1 != 0) * 1.0
            return ratio(1.0, weight0 * classes), ratio(1.0, weight1 * classes)
        a, b = self.pair
        whole = a * weight0 + b * weight1
        return ratio(a, whole), ratio(b, whole)


class Focal(MeanLoss):
    """Focal loss, ``-(1 - q)^gamma log q``, with the probability q of the true class.

    Samples with a confident correct prediction have little weight, so that training
    concentrates on hard ones. ``gamma=0`` is cross-entropy. (Lin, Goyal, Girshick, He
    and Dollar, "Focal Loss for Dense Object Detection", ICCV 2017.)

    Parameters
    ----------
    gamma : float, default=2
        Focusing parameter, at least 0: how strongly easy samples are down-weighted.
    alpha : float, default=None
        Weight of the positives in (0, 1), the negatives having ``1 - alpha``; None
        gives both classes the same weight.
    process_group : 'world', torch.distributed.ProcessGroup or None, default='world'
        As for :class:`sk_anyloss.losses.base.Loss`.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import Focal
    >>> Focal(gamma=2)(torch.tensor([0.0, 3.0]), torch.tensor([0, 1]))
    tensor(0.0867)
    """

    def __init__(
        self,
        gamma: float = 2.0,
        alpha: float | None = None,
        process_group: ProcessGroup = "world",
    ) -> None:
        super().__init__(process_group=process_group)
        if not 0 <= gamma < math.inf:
            raise ValueError(f"gamma must be at least 0 and finite, got {gamma!r}.")
        if alpha is not None and not 0 < alpha < 1:
            raise ValueError(f"alpha must lie in (0, 1) or be None, got {alpha!r}.")
        self.gamma = float(gamma)
        self.alpha = alpha

    @property
    def kind(self) -> tuple[object, ...]:
        return type(self), self.gamma, self.alpha

    def for_classes(self, classes: Sequence[object] | None = None) -> Loss:
        if self.alpha is not None:
            raise ValueError(
                f"alpha={self.alpha} weights the positives of two classes; leave it "
                "out for several classes, and use class_weight."
            )
        return MulticlassFocal(self.gamma)

    def factors(self, weight0: Count, weight1: Count) -> tuple[Count, Count]:
        factor = ratio(1.0, weight0 + weight1)
        if self.alpha is None:
            return factor, factor
        return (1 - self.alpha) * factor, self.alpha * factor

    def loss_per_sample(self, logits: Tensor, y: Tensor) -> Tensor:
        wrong = logits * (1 - 2 * y)  # Logit of the wrong class.
        # Not sigmoid(wrong) ** gamma, whose derivative is infinite at 0.
        return torch.exp(self.gamma * logsigmoid(wrong)) * softplus(wrong)

    def derivative_per_sample(self, logits: Tensor, y: Tensor) -> Tensor:
        sign = 1 - 2 * y
        wrong = logits * sign
        q_not, q = torch.sigmoid(wrong), torch.sigmoid(-wrong)
        inner = self.gamma * q * softplus(wrong) + q_not
        return sign * torch.exp(self.gamma * logsigmoid(wrong)) * inner

    def extra_repr(self) -> str:
        return f"gamma={self.gamma:g}, alpha={self.alpha}"


class SurrogateFBeta(MeanLoss):
    """Surrogate of the F-beta score: ``-y log p + (1 - y) log(beta^2 r + p)``.

    A sum over samples whose gradient follows that of the F-beta score in large samples
    (Lee, Yang and Yoo); r is the ratio of positives to negatives in the training set.

    Parameters
    ----------
    beta : float, default=1
        Of the F-beta score.
    rate : float, default=None
        The ratio r. The estimator computes it from the training labels and their
        weights; elsewhere it must be given.
    process_group : 'world', torch.distributed.ProcessGroup or None, default='world'
        As for :class:`sk_anyloss.losses.base.Loss`.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import SurrogateFBeta
    >>> SurrogateFBeta(rate=0.5)(torch.tensor([0.0, 0.0]), torch.tensor([0, 1]))
    tensor(0.3466)
    """

    def __init__(
        self,
        beta: float = 1.0,
        rate: float | None = None,
        process_group: ProcessGroup = "world",
    ) -> None:
        super().__init__(process_group=process_group)
        if not 0 < beta < math.inf:
            raise ValueError(f"beta must be positive and finite, got {beta!r}.")
        if rate is not None and not 0 < rate < math.inf:
            raise ValueError(
                f"rate must be positive and finite, got {rate!r}; it is the number of "
                "positives divided by the number of negatives."
            )
        self.beta, self.rate = float(beta), rate
        #: ``beta^2 r`` of each model in a stack, of shape (K, 1).
        self._offsets: Threshold | None = None

    @property
    def kind(self) -> tuple[object, ...]:
        if type(self) is not SurrogateFBeta:
            return super().kind
        return (type(self),)

    @classmethod
    def stack(cls, losses: Sequence[SurrogateFBeta], like: Tensor) -> SurrogateFBeta:
        # They may differ in beta and in the rate.
        stacked = copy.copy(losses[0])
        stacked._offsets = stack_values([float(x._offset) for x in losses], like)
        return stacked

    def prepare(self, negatives: float, positives: float) -> None:
        if self.rate is None and positives > 0 and negatives > 0:
            self.rate = positives / negatives

    @property
    def _offset(self) -> Threshold:
        if self._offsets is not None:
            return self._offsets
        if self.rate is None:
            raise ValueError(
                "SurrogateFBeta needs rate=, the number of positives divided by the "
                "number of negatives in the training set; AnyLossClassifier("
                "loss='surrogate_fbeta') computes it among samples of both classes."
            )
        return self.beta**2 * self.rate

    def loss_per_sample(self, logits: Tensor, y: Tensor) -> Tensor:
        negative = torch.log(self._offset + torch.sigmoid(logits))
        return y * softplus(-logits) + (1 - y) * negative

    def derivative_per_sample(self, logits: Tensor, y: Tensor) -> Tensor:
        p, p_not = torch.sigmoid(logits), torch.sigmoid(-logits)
        return p_not * ((1 - y) * p / (self._offset + p) - y)

    def extra_repr(self) -> str:
        return f"beta={self.beta:g}, rate={self.rate}"
