"""Losses on logits, all with one signature: ``loss(logits, y, sample_weight=None)``.

Each loss is a function of sums over the rows: :meth:`SummedLoss.sums` adds up, and
:meth:`SummedLoss.value` turns the sums into the loss. Sums can be added over
batches, so a figure for a whole epoch or data set is exact, which a mean of batch
losses is not as soon as the loss is one minus a ratio of counts.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import binary_cross_entropy_with_logits

from sk_anyloss._names import unknown
from sk_anyloss.counts import confusion, weighted_sum
from sk_anyloss.duals import value_and_partials
from sk_anyloss.metrics import Metric, get_metric, metric_name, ratio
from sk_anyloss.steps import Step, check_threshold, get_step

__all__ = [
    "BCE",
    "MSE",
    "AnyLoss",
    "SummedLoss",
    "WeightedBCE",
    "check_metric",
    "get_loss",
    "loss_names",
]


class SummedLoss(nn.Module):
    """Base of the losses: a function, ``value``, of additive statistics, ``sums``."""

    #: Whether :meth:`gradient` can be asked; autograd works in any case.
    has_gradient = False

    def sums(self, logits: Tensor, y: Tensor, sample_weight: Tensor | None) -> Tensor:
        """Statistics of shape (..., k), additive over rows."""
        raise NotImplementedError

    def value(self, sums: Tensor) -> Tensor:
        """Loss of shape (...) that belongs to the statistics."""
        raise NotImplementedError

    def gradient(
        self, logits: Tensor, y: Tensor, sample_weight: Tensor | None
    ) -> tuple[float, Tensor, Tensor]:
        """Loss, sums and derivative by the logits, in closed form."""
        raise NotImplementedError

    def forward(
        self, logits: Tensor, y: Tensor, sample_weight: Tensor | None = None
    ) -> Tensor:
        """Loss of a batch.

        Parameters
        ----------
        logits : tensor of shape (n,), (n, 1) or (..., n)
            What the network says of each row, before any sigmoid.
        y : tensor of shape (n,) or (n, 1)
            Labels, 0 or 1, of any dtype.
        sample_weight : tensor of shape (n,), default=None
            Weights; a row of weight 2 counts as two rows.

        Returns
        -------
        loss : tensor of shape (...)
            The loss; a scalar unless the logits have leading axes.
        """
        logits, y, sample_weight = align(logits, y, sample_weight)
        if ((y != 0) & (y != 1)).any():
            raise ValueError(
                f"Labels must be 0 or 1, got {y.unique()[:5].tolist()} among them."
            )
        return self.value(self.sums(logits, y, sample_weight))


def align(
    logits: Tensor, y: Tensor, sample_weight: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Bring logits, labels and weights to one dtype and to shapes that belong together.

    Logits of shape (n, 1) beside labels of shape (n,) would broadcast to (n, n)
    without a word.
    """
    if y.dim() == 2 and y.shape[1] == 1:
        y = y.squeeze(1)
    if logits.dim() == y.dim() + 1 and logits.shape == (*y.shape, 1):
        logits = logits.squeeze(-1)
    if y.shape[-1:] != logits.shape[-1:] or y.dim() > logits.dim():
        raise ValueError(
            "A loss takes one logit a row: logits of shape (n,), (n, 1) or (..., n) "
            f"with y of shape (n,); got {tuple(logits.shape)} and {tuple(y.shape)}."
        )
    if sample_weight is not None:
        if sample_weight.shape == (*y.shape, 1):
            sample_weight = sample_weight.squeeze(-1)
        if sample_weight.shape[-1:] != y.shape[-1:]:
            raise ValueError(
                "sample_weight must have one entry a row; got shape "
                f"{tuple(sample_weight.shape)} with y of shape {tuple(y.shape)}."
            )
        sample_weight = sample_weight.to(logits.dtype)
    return logits, y.to(logits.dtype), sample_weight


class _SoftDecision(torch.autograd.Function):
    """h and 1 - h with the closed-form slope, which autograd would round to 0."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, step: Step, threshold: float) -> Any:
        h, h_not, slope = step.decide(logits, threshold)
        ctx.save_for_backward(slope)
        return h, h_not

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_h: Tensor, grad_h_not: Tensor) -> Any:
        (slope,) = ctx.saved_tensors
        return (grad_h - grad_h_not) * slope, None, None


class AnyLoss(SummedLoss):
    """One minus a metric of the soft confusion matrix.

    ``loss = 1 - f(TN, FP, FN, TP)``, the counts being sums of soft decisions
    ``h = H(sigmoid(logit); t)`` (eqs. 1, 5 and 6 of Han, Moniz and Chawla,
    "AnyLoss: Transforming Classification Metrics into Loss Functions", KDD 2024).

    Parameters
    ----------
    metric : str or callable, default='f1'
        What to maximise: a name from :func:`sk_anyloss.metrics.metric_names`,
        ``'f<beta>'``, or a differentiable callable ``f(tn, fp, fn, tp)``.
    step : str or Step, default='sigmoid'
        How a probability becomes a soft decision: a name from
        :func:`sk_anyloss.steps.step_names` or an instance, ``Sigmoid(L=10)`` say.
    threshold : float, default=0.5
        Probability above which the model will decide for the positive class.

    Notes
    -----
    The loss sees the rows through four sums only, so its gradient has two numbers,
    one for the positives and one for the negatives:
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
        threshold: float = 0.5,
    ) -> None:
        super().__init__()
        self.metric = check_metric(metric)
        self.name = metric_name(metric)
        self.step = get_step(step)
        self.threshold = check_threshold(threshold)
        self.has_gradient = _is_plain(self.metric)

    def sums(self, logits: Tensor, y: Tensor, sample_weight: Tensor | None) -> Tensor:
        h, h_not = _SoftDecision.apply(logits, self.step, self.threshold)
        return torch.stack(confusion(h, h_not, y, sample_weight), dim=-1)

    def value(self, sums: Tensor) -> Tensor:
        loss = 1 - self.metric(*sums.unbind(-1))
        if not isinstance(loss, Tensor):  # A metric may have a constant branch.
            loss = loss + 0 * sums.sum(-1)
        if not torch.isfinite(loss).all():
            raise not_finite(self.name, sums)
        return loss

    def gradient(
        self, logits: Tensor, y: Tensor, sample_weight: Tensor | None
    ) -> tuple[float, Tensor, Tensor]:
        h, h_not, slope = self.step.decide(logits, self.threshold)
        sums = torch.stack(confusion(h, h_not, y, sample_weight), dim=-1)
        try:
            score, (tn, fp, fn, tp) = value_and_partials(self.metric, sums.tolist())
        except ArithmeticError as error:
            raise not_finite(self.name, sums) from error
        if not math.isfinite(score):
            raise not_finite(self.name, sums)
        # Two numbers: the derivative by h_i of the positives and of the negatives.
        of_positives, of_negatives = fn - tp, tn - fp
        slope = slope.mul_(y * (of_positives - of_negatives) + of_negatives)
        if sample_weight is not None:
            slope = slope.mul_(sample_weight)
        return 1 - score, sums, slope

    def extra_repr(self) -> str:
        return f"metric={self.name!r}, step={self.step!r}, threshold={self.threshold}"


def not_finite(name: str, sums: Tensor) -> ValueError:
    """The error for a metric that is not finite at some counts."""
    return ValueError(
        f"The metric {name!r} is not finite at (tn, fp, fn, tp) = "
        f"{tuple(sums.detach().moveaxis(-1, 0).tolist())}. If it divides by a sum of "
        "counts that can be 0, or takes a root of one, use ratio and root of "
        "sk_anyloss.metrics; if the counts are not finite themselves, lower the "
        "learning rate and look for huge values in X."
    )


def check_metric(metric: str | Metric) -> Metric:
    """Return the metric as a function, once it is seen to work on tensors.

    Parameters
    ----------
    metric : str or callable
        As :func:`sk_anyloss.metrics.get_metric` takes it.

    Returns
    -------
    metric : callable
        The function ``f(tn, fp, fn, tp)``.

    Examples
    --------
    >>> from sk_anyloss.losses import check_metric
    >>> check_metric(lambda tn, fp, fn, tp: float(tp))
    Traceback (most recent call last):
    ...
    ValueError: The metric '<lambda>' must be differentiable: ...
    """
    function, name = get_metric(metric), metric_name(metric)
    counts = torch.tensor([50.0, 4.0, 3.0, 6.0], dtype=torch.float64)
    counts.requires_grad_()
    advice = (
        "compute it from its four arguments with plain arithmetic or torch functions "
        "(no float(), no numpy, no math), one value for one confusion matrix."
    )
    try:
        with warnings.catch_warnings(), torch.enable_grad():
            # torch warns of float(tensor); what follows says it better.
            warnings.simplefilter("ignore")
            value = function(*counts)
    except Exception as error:
        raise ValueError(
            f"The metric {name!r} failed on tensors with {type(error).__name__}: "
            f"{error}. Please {advice}"
        ) from error
    if not isinstance(value, Tensor) or value.grad_fn is None:
        got = "a tensor cut off from its arguments"
        if not isinstance(value, Tensor):
            got = f"{value!r} of type {type(value).__name__}"
        raise ValueError(
            f"The metric {name!r} must be differentiable: given tensors it returned "
            f"{got}. Please {advice}"
        )
    if value.shape != ():
        raise ValueError(
            f"The metric {name!r} must return one number for one confusion matrix, "
            f"but returned the shape {tuple(value.shape)}. Please {advice}"
        )
    if not torch.isfinite(value):
        raise ValueError(
            f"The metric {name!r} returned {value.item()} for (tn, fp, fn, tp) = "
            f"{tuple(counts.tolist())}; it must be finite."
        )
    return function


def _is_plain(metric: Metric) -> bool:
    """Whether a metric takes dual numbers, and finds the same slopes as autograd."""
    counts = torch.tensor([50.0, 4.0, 3.0, 6.0], dtype=torch.float64)
    try:
        _, partials = value_and_partials(metric, counts.tolist())
    except Exception:
        return False
    counts.requires_grad_()
    with torch.enable_grad():
        (expected,) = torch.autograd.grad(metric(*counts), counts)
    return bool(np.allclose(partials, expected.numpy(), rtol=1e-9, atol=1e-12))


class _MeanLoss(SummedLoss):
    """Weighted mean over the rows of a loss that each row has by itself."""

    has_gradient = True

    def per_row(self, logits: Tensor, y: Tensor) -> Tensor:
        raise NotImplementedError

    def slope_per_row(self, logits: Tensor, y: Tensor) -> Tensor:
        raise NotImplementedError

    def gradient(
        self, logits: Tensor, y: Tensor, sample_weight: Tensor | None
    ) -> tuple[float, Tensor, Tensor]:
        sums = self.sums(logits, y, sample_weight)
        numbers = sums.tolist()
        slope = self.slope_per_row(logits, y) * self.share_of_row(numbers, y)
        if sample_weight is not None:
            slope = slope * sample_weight
        return float(self.of_sums(*numbers)), sums, slope

    def of_sums(self, total: Any, weight: Any) -> Any:
        return ratio(total, weight)

    def share_of_row(self, sums: list[float], y: Tensor) -> Any:
        """Derivative of the loss by the loss of a row of weight 1."""
        return ratio(1.0, sums[1])

    def sums(self, logits: Tensor, y: Tensor, sample_weight: Tensor | None) -> Tensor:
        total = weighted_sum(self.per_row(logits, y), sample_weight)
        weight = weighted_sum(torch.ones_like(y), sample_weight)
        return torch.stack((total, weight.expand_as(total)), dim=-1)

    def value(self, sums: Tensor) -> Tensor:
        return self.of_sums(*sums.unbind(-1))


class BCE(_MeanLoss):
    """Binary cross-entropy, ``-y log p - (1 - y) log(1 - p)``, weighted mean.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import BCE
    >>> BCE()(torch.tensor([0.0, 0.0]), torch.tensor([0, 1]))
    tensor(0.6931)
    """

    def per_row(self, logits: Tensor, y: Tensor) -> Tensor:
        y = y.expand_as(logits)
        return binary_cross_entropy_with_logits(logits, y, reduction="none")

    def slope_per_row(self, logits: Tensor, y: Tensor) -> Tensor:
        return torch.sigmoid(logits) - y


class MSE(_MeanLoss):
    """Squared difference between probability and label, ``(p - y)^2``, weighted mean.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import MSE
    >>> MSE()(torch.tensor([0.0, 0.0]), torch.tensor([0, 1]))
    tensor(0.2500)
    """

    def per_row(self, logits: Tensor, y: Tensor) -> Tensor:
        return (torch.sigmoid(logits) - y) ** 2

    def slope_per_row(self, logits: Tensor, y: Tensor) -> Tensor:
        p = torch.sigmoid(logits)
        return 2 * (p - y) * p * torch.sigmoid(-logits)


class WeightedBCE(BCE):
    """Class-weighted cross-entropy.

    Parameters
    ----------
    class_weight : 'balanced' or tuple of two floats, default='balanced'
        Weight of the negative and of the positive rows. ``'balanced'`` gives both
        classes of a batch the same total weight, so that the loss is the mean of
        the two classes' means.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import WeightedBCE
    >>> WeightedBCE()(torch.tensor([0.0, 0.0, 1.0]), torch.tensor([0, 0, 1]))
    tensor(0.5032)
    """

    def __init__(self, class_weight: str | tuple[float, float] = "balanced") -> None:
        super().__init__()
        self.pair: tuple[float, float] | None = None
        if not isinstance(class_weight, str) and len(class_weight) == 2:
            negative, positive = class_weight
            if min(negative, positive) >= 0 and 0 < max(negative, positive) < math.inf:
                self.pair = (float(negative), float(positive))
        if self.pair is None and class_weight != "balanced":
            raise ValueError(
                "class_weight must be 'balanced' or two finite weights, not negative "
                f"and not both 0, for negatives and positives; got {class_weight!r}."
            )

    def sums(self, logits: Tensor, y: Tensor, sample_weight: Tensor | None) -> Tensor:
        negatives, positives = 1 - y, y
        if sample_weight is not None:
            negatives, positives = negatives * sample_weight, positives * sample_weight
        parts = (super().sums(logits, y, negatives), super().sums(logits, y, positives))
        return torch.cat(parts, dim=-1)

    def factors(self, weight0: Any, weight1: Any) -> tuple[Any, Any]:
        """What the loss of a row of weight 1 counts for, in either class."""
        if self.pair is None:
            # A class that is absent has no mean; the other one then counts alone.
            classes = (weight0 != 0) * 1.0 + (weight1 != 0) * 1.0
            return ratio(1.0, weight0 * classes), ratio(1.0, weight1 * classes)
        a, b = self.pair
        whole = a * weight0 + b * weight1
        return ratio(a, whole), ratio(b, whole)

    def of_sums(self, total0: Any, weight0: Any, total1: Any, weight1: Any) -> Any:  # type: ignore[override]
        factor0, factor1 = self.factors(weight0, weight1)
        return total0 * factor0 + total1 * factor1

    def share_of_row(self, sums: list[float], y: Tensor) -> Tensor:
        factor0, factor1 = self.factors(sums[1], sums[3])
        return factor0 + (factor1 - factor0) * y


_REGISTRY: dict[str, type[nn.Module]] = {
    "bce": BCE,
    "mse": MSE,
    "weighted_bce": WeightedBCE,
}


def loss_names() -> list[str]:
    """Names of the losses that do not aim at a metric.

    Examples
    --------
    >>> from sk_anyloss.losses import loss_names
    >>> loss_names()
    ['bce', 'mse', 'weighted_bce']
    """
    return sorted(_REGISTRY)


def get_loss(loss: str | nn.Module | type[nn.Module]) -> nn.Module:
    """Make a criterion from a name or a class; an instance is handed back.

    Examples
    --------
    >>> from sk_anyloss.losses import get_loss
    >>> get_loss("bce")
    BCE()
    """
    if isinstance(loss, nn.Module):
        return loss
    if isinstance(loss, type) and issubclass(loss, nn.Module):
        return loss()
    if isinstance(loss, str) and loss in _REGISTRY:
        return _REGISTRY[loss]()
    otherwise = "or pass a torch criterion on logits; None trains on the metric."
    raise ValueError(unknown("loss", loss, _REGISTRY, otherwise))
