"""AnyLoss of two classes in few operations, for the most common kind of training.

The three steps of :mod:`sk_anyloss.losses.base` serve every loss, weight, threshold and
number of models; for a few thousand logits most of their time goes into calls, not into
arithmetic. Here are the same formulas for one model, the amplifier and samples without
weights on the CPU: with p = sigmoid(z) and h = sigmoid(L (p - t)),

    TP = sum y h,    FP = sum h - TP,    FN = P - TP,    TN = N - FP,
    dloss/dz = w h (1 - h) p (1 - p),
    w = -L (y (f_TP - f_FN) + (1 - y) (f_FP - f_TN))

Differences of nearly equal numbers are formed in them, so they are used only where L
is so small that 1 - h keeps its digits (:func:`keeps_precision`).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import torch
from torch import Tensor

from sk_anyloss._compat import in_transform
from sk_anyloss.losses.base import check_binary
from sk_anyloss.losses.steps import Sigmoid, Threshold
from sk_anyloss.metrics.arithmetic import Metric
from sk_anyloss.metrics.class_weights import largest_factor
from sk_anyloss.metrics.derivatives.differentiable import (
    ValueAndDerivatives,
    not_finite,
)

__all__ = ["AmplifiedMetric", "FusedAnyLoss", "keeps_precision"]

#: Up to this many samples, sums of labels are exact in float32.
MAX_SAMPLES = 2**22

#: With fewer negatives than this fraction, their decisions are summed by themselves:
#: as a difference of two sums they would lose digits.
FEW_NEGATIVES = 1 / 8

#: The largest factors of a class, in double and in single precision.
LARGEST_FACTORS = largest_factor(torch.float64), largest_factor(torch.float32)

_sigmoid_backward = torch.ops.aten.sigmoid_backward.default


class AmplifiedMetric(NamedTuple):
    """A metric of soft decisions by the amplifier.

    Parameters
    ----------
    metric : callable
        ``f(tn, fp, fn, tp)``.
    value_and_derivatives : callable
        The metric with its derivatives, from
        :func:`sk_anyloss.metrics.derivatives.differentiable.differentiate`.
    name : str
        Name of the metric.
    L, threshold : float
        Steepness and threshold of the amplifier.
    offsets : tuple of two tensors of shape ()
        ``-L t`` in double and in single precision.
    """

    metric: Metric
    value_and_derivatives: ValueAndDerivatives
    name: str
    L: float
    threshold: float
    offsets: tuple[Tensor, Tensor]

    @classmethod
    def of(
        cls,
        metric: Metric,
        value_and_derivatives: ValueAndDerivatives,
        name: str,
        L: float,
        threshold: float,
    ) -> AmplifiedMetric:
        """Make it, with the offsets computed."""
        offset = torch.tensor(-L * threshold, dtype=torch.float64)
        offsets = offset, offset.float()
        return cls(metric, value_and_derivatives, name, L, threshold, offsets)

    def accepts(self, logits: Tensor, y: Tensor, sample_weight: Tensor | None) -> bool:
        """Whether a batch is one of those that :class:`FusedAnyLoss` is for."""
        shape, of_labels = logits.shape, y.shape
        return (
            sample_weight is None
            and (len(shape) == 1 or (len(shape) == 2 and shape[1] == 1))
            and (of_labels == shape or of_labels == shape[:1])
            and (logits.dtype is torch.float32 or logits.dtype is torch.float64)
            and logits.is_cpu
            and y.is_cpu
            and shape[0] <= MAX_SAMPLES
            and type(logits) in _PLAIN
            and not torch.is_autocast_enabled("cpu")
            and not torch.compiler.is_compiling()
            and not in_transform()
        )


_PLAIN = (Tensor, torch.nn.Parameter)


def keeps_precision(step: object, threshold: Threshold) -> bool:
    """Whether ``1 - h`` is at least ``exp(-6)`` for all probabilities.

    Parameters
    ----------
    step : Step
        The step.
    threshold : float
        The threshold t.

    Returns
    -------
    keeps_precision : bool
        False for any step but :class:`sk_anyloss.losses.steps.Sigmoid`.

    Examples
    --------
    >>> from sk_anyloss.losses.fused import keeps_precision
    >>> from sk_anyloss.losses.steps import Sigmoid
    >>> keeps_precision(Sigmoid(L=10), 0.5), keeps_precision(Sigmoid(L=73), 0.5)
    (True, False)
    """
    if type(step) is not Sigmoid or not isinstance(threshold, float):
        return False
    return float(step.L) * max(threshold, 1 - threshold) <= 6


class FusedAnyLoss(torch.autograd.Function):
    """One minus the metric, as a function of logits of shape (n,) or (n, 1)."""

    @staticmethod
    def forward(
        ctx: Any,
        logits: Tensor,
        y: Tensor,
        loss: AmplifiedMetric,
        collected: list[Any] | None,
    ) -> Tensor:
        is_single = logits.dtype is torch.float32
        z, target = logits, y.float() if is_single else y.double()
        if z.dim() == 2:
            z = z.view(-1)
        if target.dim() == 2:
            target = target.view(-1)
        # The tensors of these two sums are used again, which saves making others.
        first, second = target.sum(), torch.dot(target, target)
        n, total = z.shape[0], first.item()
        # Whole numbers are at most their squares, and equal to them if 0 or 1.
        if y.is_floating_point() or second.item() != total:
            check_binary(target)
        p = torch.sigmoid(z)
        # A tensor of no dimensions is added in half the time of a number.
        h = torch.add(loss.offsets[is_single], p, alpha=loss.L).sigmoid_()
        tp = torch.dot(target, h).item()
        if total < n * (1 - FEW_NEGATIVES):
            fp = h.sum().item() - tp
        else:
            fp = torch.dot(1 - target, h).item()
        counts = n - total - fp, fp, total - tp, tp
        try:
            value, positives, negatives = loss.value_and_derivatives(*counts)
            finite = math.isfinite(value)
        except ArithmeticError as error:
            raise not_finite(loss.name, counts) from error
        if not finite:
            raise not_finite(loss.name, counts)
        if collected is not None:
            tn, fp, fn, tp = counts
            collected.append(
                torch.tensor([[[[tn, fp], [fn, tp]]]], dtype=torch.float64)
            )
        if ctx.needs_input_grad[0]:
            most = LARGEST_FACTORS[is_single]
            negative, positive = -loss.L * negatives, -loss.L * positives
            if not (-most < negative < most and -most < positive < most):
                negative = min(max(negative, -most), most)
                positive = min(max(positive, -most), most)
            difference = positive - negative
            weights = torch.add(first.fill_(negative), target, alpha=difference)
            # Not p (1 - p), which is 0 from a logit of 17 on in single precision.
            by_logits = _sigmoid_backward(weights, h).mul_(p).mul_(torch.sigmoid(-z))
            if logits.dim() == 2:
                by_logits = by_logits.view(-1, 1)
            ctx.save_for_backward(logits, by_logits)
            ctx.rest = target, loss
        return second.fill_(1 - value)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None]:
        logits, by_logits = ctx.saved_tensors
        if torch.is_grad_enabled():  # Second derivatives are asked for.
            value = differentiable_value(logits, *ctx.rest)
            (found,) = torch.autograd.grad(value, logits, grad, create_graph=True)
        else:
            found = grad * by_logits
        return found, None, None, None


def differentiable_value(
    logits: Tensor, target: Tensor, loss: AmplifiedMetric
) -> Tensor:
    """The loss in operations of torch, to be differentiated as often as one likes."""
    h = torch.sigmoid(loss.L * (logits.reshape(-1).sigmoid() - loss.threshold))
    negatives = 1 - target
    counts = negatives @ (1 - h), negatives @ h, target @ (1 - h), target @ h
    return 1 - torch.as_tensor(loss.metric(*counts))
