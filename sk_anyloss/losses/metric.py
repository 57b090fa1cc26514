"""Losses on logits, all with one signature: ``loss(logits, y, sample_weight=None)``.

Those that aim at a metric are here; those that each row has by itself come from
:mod:`sk_anyloss.losses.pointwise`, and what they have in common is in
:mod:`sk_anyloss.losses.base`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sk_anyloss._names import unknown
from sk_anyloss.losses.base import Loss, Parts
from sk_anyloss.losses.pairwise import Pairs
from sk_anyloss.losses.pointwise import BCE, MSE, Focal, SurrogateFBeta, WeightedBCE
from sk_anyloss.losses.steps import (
    Step,
    check_thresholds,
    get_step,
    is_ours,
    stack_numbers,
    stack_steps,
)
from sk_anyloss.metrics import FBeta, Metric, get_metric, metric_name
from sk_anyloss.metrics.class_weights import ClassWeights
from sk_anyloss.metrics.curves import Curve
from sk_anyloss.metrics.differentiable import (
    StackedMetrics,
    check_metric,
    differentiate,
    not_finite,
)

__all__ = [
    "BCE",
    "MSE",
    "AnyLoss",
    "Focal",
    "Hybrid",
    "Pairs",
    "SurrogateFBeta",
    "WeightedBCE",
    "get_loss",
    "loss_names",
]


#: Where a metric over thresholds is looked at, unless it is told.
CURVE_THRESHOLDS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)


class AnyLoss(Loss):
    """One minus a metric of the soft confusion matrix.

    ``loss = 1 - f(TN, FP, FN, TP)``, the counts being sums of soft decisions
    ``h = H(sigmoid(logit); t)`` (eqs. 1, 5 and 6 of Han, Moniz and Chawla,
    "AnyLoss: Transforming Classification Metrics into Loss Functions", KDD 2024).

    Parameters
    ----------
    metric : str or callable, default='f1'
        What to maximise: a name from :func:`sk_anyloss.metrics.metric_names`,
        ``'f<beta>'``, or a differentiable callable ``f(tn, fp, fn, tp)``. A metric over
        thresholds, ``'roc_auc'`` or ``'average_precision'``, is taken of the soft
        curve: of the soft confusion matrices at all of the thresholds.
    step : str or Step, default='sigmoid'
        How a probability becomes a soft decision: a name from
        :func:`sk_anyloss.losses.steps.step_names` or an instance, such as
        ``Sigmoid(L=10)``.
    threshold : float or sequence of floats, default=0.5
        Probability above which the model will decide for the positive class. With
        several, the loss is the mean of the losses at each. For a metric over
        thresholds, those that the curve has; 0.1, 0.2, ..., 0.9 if it is one number.
    memory : float, default=0
        Share of the past in a moving average of the confusion matrix over the batches
        of a training, in [0, 1). The gradient is then taken at the average, so that
        small batches pull where the whole set would. :meth:`forget` starts anew;
        where autograd is off or after ``.eval()``, nothing is remembered.

    Notes
    -----
    The statistics are the soft confusion tensor M of shape (T, K, 2, 2), for T
    thresholds and K models: ``M[t, k, c, d]`` is the weight of samples of class c that
    are decided as d. The loss sees the samples through these sums only, so its
    gradient has two numbers, one for the positives and one for the negatives:
    ``dloss/dh_i = -w_i (f_TP - f_FN)`` where ``y_i = 1``, and
    ``-w_i (f_FP - f_TN)`` where ``y_i = 0``.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import AnyLoss
    >>> logits = torch.tensor([2.0, -1.0, -3.0, 0.5], requires_grad=True)
    >>> y = torch.tensor([1, 1, 0, 0])
    >>> loss = AnyLoss("f1")(logits, y)
    >>> loss.backward()
    >>> f"{loss.item():.3f}"
    '0.500'
    """

    def __init__(
        self,
        metric: str | Metric = "f1",
        step: str | Step = "sigmoid",
        threshold: float | Sequence[float] = 0.5,
        memory: float = 0.0,
    ) -> None:
        super().__init__()
        if not 0 <= memory < 1:
            raise ValueError(f"memory must lie in [0, 1), got {memory!r}.")
        self.memory = memory
        self.remembered: Tensor | None = None
        self.metric = self.goal = check_metric(metric)
        self.name = metric_name(metric)
        self.step = get_step(step)
        self.gain: Any = self.step.gain
        self.threshold = threshold
        self.thresholds: tuple[Any, ...] = check_thresholds(threshold)
        if isinstance(self.metric, Curve):
            if np.ndim(threshold) == 0:
                self.thresholds = CURVE_THRESHOLDS
            self.thresholds = tuple(sorted(self.thresholds, reverse=True))
        self.members: StackedMetrics | None = None
        self.slopes = differentiate(self.metric)

    def statistics(self, logits: Tensor, samples: ClassWeights) -> tuple[Tensor, Any]:
        found = [self.step.decide(logits, t) for t in self.thresholds]
        if len(found) == 1:
            decisions, slopes = found[0][0], found[0][1]
        else:
            decisions = torch.cat([decisions for decisions, _ in found])
            slopes = torch.stack([slope for _, slope in found])
        # From (thresholds and decisions, models, classes) to the confusion tensor.
        M = samples.sums(decisions).unflatten(0, (-1, 2)).permute(0, 2, 3, 1)
        return M, slopes

    def average(self, S: Tensor) -> Tensor:
        if not self.memory:
            return S
        before = self.remembered
        if before is not None and before.shape == S.shape:
            S = before + (1 - self.memory) * (S - before)
        self.remembered = S.clone()
        return S

    def forget(self) -> None:
        self.remembered = None

    def value_and_grad(self, S: Tensor) -> tuple[Any, Any]:
        if isinstance(self.metric, Curve):
            return self._of_curve(S)
        if len(S) == 1:
            return self._of_matrix(S[0])
        found = [self._of_matrix(M) for M in S]
        share = 1 / len(found)
        grads = [(share * negs, share * poss) for _, (negs, poss) in found]
        return share * sum(loss for loss, _ in found), grads

    def _of_matrix(self, M: Tensor) -> tuple[Any, tuple[Any, Any]]:
        """Loss and factors of one threshold, from a matrix for each model."""
        try:
            if self.members is None and len(M) == 1:
                (((tn, fp), (fn, tp)),) = M.tolist()
                value, positives, negatives = self.slopes(tn, fp, fn, tp)
                finite = math.isfinite(value)
            else:
                counts = M.to("cpu", torch.float64).flatten(1).numpy()
                tn, fp, fn, tp = counts.T
                members = self.members or StackedMetrics([self.metric] * len(M))
                value, positives, negatives = members(tn, fp, fn, tp)
                finite = np.isfinite(value).all()
        except ArithmeticError as error:
            raise not_finite(self.name, (tn, fp, fn, tp)) from error
        if not finite:
            raise not_finite(self.name, (tn, fp, fn, tp))
        return 1 - value, (-self.gain * negatives, -self.gain * positives)

    def _of_curve(self, S: Tensor) -> tuple[Any, Any]:
        """Loss and, for every threshold, factors of a metric over thresholds."""
        counts = S.to("cpu", torch.float64).flatten(2).numpy()
        # From thresholds, models, counts to (K, T) for each count.
        tn, fp, fn, tp = counts.transpose(2, 1, 0)
        value, positives, negatives = self.slopes(tn, fp, fn, tp)
        if len(value) == 1:
            value, positives, negatives = value.item(), positives[0], negatives[0]
        grads = [
            (-self.gain * negative, -self.gain * positive)
            for negative, positive in zip(negatives.T, positives.T, strict=True)
        ]
        return 1 - value, grads

    def backward(
        self, cache: Any, grad: Any, samples: ClassWeights, out: Tensor
    ) -> None:
        if isinstance(grad, tuple):
            super().backward(cache, grad, samples, out)
            return
        out.zero_()
        slopes = cache if cache.dim() == out.dim() + 1 else cache.unsqueeze(0)
        for slope, pair in zip(slopes, grad, strict=True):
            out.addcmul_(slope, samples.scale(*pair))

    @property
    def kind(self) -> tuple[Any, ...]:
        curve = self.metric if isinstance(self.metric, Curve) else None
        kind = type(self), type(self.step), len(self.thresholds), self.memory, curve
        if is_ours(self.step):
            return kind
        # A step that we do not know may not take columns of numbers.
        return (*kind, self.thresholds, repr(sorted(vars(self.step).items())))

    @classmethod
    def stack(cls, losses: Sequence[AnyLoss], like: Tensor) -> AnyLoss:
        # They may differ in metric, thresholds and the numbers of the step.
        stacked = copy.copy(losses[0])
        stacked.members = StackedMetrics([loss.metric for loss in losses])
        stacked.step = stack_steps([loss.step for loss in losses], like)
        stacked.gain = np.array([loss.gain for loss in losses])
        columns = zip(*(loss.thresholds for loss in losses), strict=True)
        stacked.thresholds = tuple(stack_numbers(column, like) for column in columns)
        stacked.name = ", ".join(dict.fromkeys(loss.name for loss in losses))
        return stacked

    def extra_repr(self) -> str:
        text = f"metric={self.name!r}, step={self.step!r}, threshold={self.threshold}"
        return text + (f", memory={self.memory}" if self.memory else "")


class Hybrid(Loss):
    """A share of class-weighted cross-entropy, the rest one minus a metric.

    ``(1 - share) * weighted BCE + share * (1 - f)``, from the AnyLoss authors' later
    work: cross-entropy has a gradient where the metric's has died away.

    Parameters
    ----------
    metric, step, threshold
        As for :class:`AnyLoss`.
    share : float, default=0.5
        Share of the metric, in [0, 1].
    class_weight : 'balanced' or tuple of two floats, default='balanced'
        As for :class:`WeightedBCE`.

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
    ) -> None:
        super().__init__()
        if not 0 <= share <= 1:
            raise ValueError(f"share must lie in [0, 1], got {share!r}.")
        self.share = float(share)
        self.bce: Loss = WeightedBCE(class_weight)
        self.of_metric: Loss = AnyLoss(metric, step, threshold)
        self.goal = self.of_metric.goal

    @property
    def step(self) -> Step:
        """The step of the metric's part."""
        return self.of_metric.step  # type: ignore[return-value]

    @property
    def thresholds(self) -> tuple[Any, ...]:
        """The thresholds of the metric's part."""
        return self.of_metric.thresholds  # type: ignore[return-value]

    def statistics(self, logits: Tensor, samples: ClassWeights) -> tuple[Parts, Any]:
        found = [
            loss.statistics(logits, samples) for loss in (self.bce, self.of_metric)
        ]
        return Parts(S for S, _ in found), [cache for _, cache in found]

    def value_and_grad(self, S: Parts) -> tuple[Any, Any]:
        bce = self.bce.value_and_grad(S[0])
        metric = self.of_metric.value_and_grad(S[1])
        loss = (1 - self.share) * bce[0] + self.share * metric[0]
        return loss, (bce[1], metric[1])

    def backward(
        self, cache: Any, grad: Any, samples: ClassWeights, out: Tensor
    ) -> None:
        self.of_metric.backward(cache[1], grad[1], samples, out)
        other = torch.empty_like(out)
        self.bce.backward(cache[0], grad[0], samples, other)
        out.mul_(self.share).add_(other, alpha=1 - self.share)

    @property
    def kind(self) -> tuple[Any, ...]:
        return type(self), self.share, self.bce.kind, self.of_metric.kind

    @classmethod
    def stack(cls, losses: Sequence[Hybrid], like: Tensor) -> Hybrid:
        stacked = copy.copy(losses[0])
        stacked._modules = dict(stacked._modules)  # Not those of the first one.
        of_metrics = [loss.of_metric for loss in losses]
        stacked.of_metric = of_metrics[0].stack(of_metrics, like)
        return stacked


_REGISTRY: dict[str, type[Loss]] = {
    "bce": BCE,
    "focal": Focal,
    "hybrid": Hybrid,
    "mse": MSE,
    "pairs": Pairs,
    "surrogate_fbeta": SurrogateFBeta,
    "weighted_bce": WeightedBCE,
}


def loss_names() -> list[str]:
    """Names of the losses other than one minus the metric.

    Examples
    --------
    >>> from sk_anyloss.losses import loss_names
    >>> loss_names()
    ['bce', 'focal', 'hybrid', 'mse', 'pairs', 'surrogate_fbeta', 'weighted_bce']
    """
    return sorted(_REGISTRY)


def get_loss(
    loss: str | nn.Module | type[nn.Module],
    metric: str | Metric = "f1",
    step: str | Step = "sigmoid",
    threshold: float | Sequence[float] = 0.5,
) -> nn.Module:
    """Make a criterion from a name or a class; an instance is handed back.

    Parameters
    ----------
    loss : str, torch criterion or class of one
        A name of :func:`loss_names`, or what is not one of ours.
    metric, step, threshold
        As for :class:`AnyLoss`; for the losses that look at a metric, or decide.

    Returns
    -------
    criterion : torch.nn.Module
        The loss on logits.

    Examples
    --------
    >>> from sk_anyloss.losses import get_loss
    >>> get_loss("bce")
    BCE()
    >>> get_loss("surrogate_fbeta", metric="f2")
    SurrogateFBeta(beta=2, rate=None)
    """
    if isinstance(loss, nn.Module):
        return loss
    if loss is AnyLoss:
        return AnyLoss(metric, step, threshold)
    if loss in _REGISTRY.values():
        loss = next(name for name, own in _REGISTRY.items() if own is loss)
    if isinstance(loss, type) and issubclass(loss, nn.Module):
        return loss()
    if loss == "hybrid":
        return Hybrid(metric, step, threshold)
    if loss == "pairs":
        return Pairs(metric)
    if loss == "surrogate_fbeta":
        function = get_metric(metric)
        if not isinstance(function, FBeta) or not function.beta:
            raise ValueError(
                f"loss='surrogate_fbeta' stands in for F-beta scores only, but metric="
                f"{metric_name(metric)!r}; choose metric='f1', 'f2' or another "
                "'f<beta>', or loss=None to train on the metric itself."
            )
        return SurrogateFBeta(function.beta)
    if isinstance(loss, str) and loss in _REGISTRY:
        return _REGISTRY[loss]()
    otherwise = "or pass a torch criterion on logits; None trains on the metric."
    raise ValueError(unknown("loss", loss, _REGISTRY, otherwise))
