"""Losses on logits, all with one signature: ``loss(logits, y, sample_weight=None)``.

Each loss is a function of sums over the rows: :meth:`SummedLoss.sums` adds up, and
:meth:`SummedLoss.value` turns the sums into the loss. Sums can be added over
batches, so a figure for a whole epoch or data set is exact, which a mean of batch
losses is not as soon as the loss is one minus a ratio of counts.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import binary_cross_entropy_with_logits

from sk_anyloss._names import unknown
from sk_anyloss.counts import ClassWeights, confusion, weighted_sum
from sk_anyloss.duals import value_and_slopes
from sk_anyloss.metrics import Metric, get_metric, metric_name, ratio
from sk_anyloss.steps import (
    Step,
    check_threshold,
    get_step,
    stack_numbers,
    stack_steps,
)

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

    #: Whether :meth:`tally` and :meth:`pull` can be asked; autograd works anyway.
    has_gradient = False

    def sums(self, logits: Tensor, y: Tensor, sample_weight: Tensor | None) -> Tensor:
        """Statistics of shape (..., k), additive over rows."""
        raise NotImplementedError

    def value(self, sums: Tensor) -> Tensor:
        """Loss of shape (...) that belongs to the statistics."""
        raise NotImplementedError

    def tally(self, logits: Tensor, rows: ClassWeights) -> tuple[Tensor, Tensor]:
        """Sums of a batch, and how the loss of each row changes with its logit.

        Parameters
        ----------
        logits : tensor of shape (K, n)
            Logits of K models.
        rows : ClassWeights
            Labels and weights of the rows.

        Returns
        -------
        sums : tensor
            Statistics, additive over rows, in an order of their own.
        slope : tensor of shape (K, n)
            Derivative by the logit, up to the factors that :meth:`pull` finds.
        """
        raise NotImplementedError

    def pull(self, sums: Tensor) -> tuple[Any, tuple[Any, Any]]:
        """From the sums of :meth:`tally`, the loss and two numbers for its gradient.

        Returns
        -------
        loss : float or ndarray of shape (K,)
            The loss of each model; a float for one.
        factors : pair of floats, or of ndarrays of shape (K,)
            What the slopes of negatives and of positives, times the weights of the
            rows, are to be multiplied with.
        """
        raise NotImplementedError

    @property
    def kind(self) -> tuple[Any, ...]:
        """What losses must have in common to be stacked."""
        return (type(self),)

    @classmethod
    def stack(cls, losses: Sequence[Any], like: Tensor) -> SummedLoss:
        """Losses of one kind as one, for the :meth:`tally` of logits of shape (K, n).

        Parameters
        ----------
        losses : sequence of K losses
            The loss of each model.
        like : tensor
            Of the dtype and on the device of the logits.

        Returns
        -------
        loss : SummedLoss
            For :meth:`tally` and :meth:`pull`.
        """
        return losses[0]

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
        decisions, slope = step.decide(logits, threshold)
        ctx.save_for_backward(slope * step.gain)
        return decisions

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> Any:
        (slope,) = ctx.saved_tensors
        by_h, by_h_not = grad
        return (by_h - by_h_not) * slope, None, None


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
        self.gain: Any = self.step.gain
        self.threshold = check_threshold(threshold)
        named = isinstance(metric, str)
        self.has_gradient = (_is_plain_once if named else _is_plain)(self.metric)
        self.members: _Members | None = None

    def sums(self, logits: Tensor, y: Tensor, sample_weight: Tensor | None) -> Tensor:
        h, h_not = _SoftDecision.apply(logits, self.step, self.threshold).unbind()
        return torch.stack(confusion(h, h_not, y, sample_weight), dim=-1)

    def value(self, sums: Tensor) -> Tensor:
        loss = 1 - self.metric(*sums.unbind(-1))
        if not isinstance(loss, Tensor):  # A metric may have a constant branch.
            loss = loss + 0 * sums.sum(-1)
        if not torch.isfinite(loss).all():
            raise not_finite(self.name, sums.detach().unbind(-1))
        return loss

    def tally(self, logits: Tensor, rows: ClassWeights) -> tuple[Tensor, Tensor]:
        decisions, slope = self.step.decide(logits, self.threshold)
        return rows.sums(decisions), slope

    def pull(self, sums: Tensor) -> tuple[Any, tuple[Any, Any]]:
        try:
            if self.members is None:
                (((fp, tp),), ((tn, fn),)) = sums.tolist()
                value, positives, negatives = value_and_slopes(
                    self.metric, tn, fp, fn, tp
                )
                finite = math.isfinite(value)
            else:
                counts = sums.to("cpu", torch.float64).numpy()
                (fp, tp), (tn, fn) = counts.transpose(0, 2, 1)
                value, positives, negatives = self.members(tn, fp, fn, tp)
                finite = np.isfinite(value).all()
        except ArithmeticError as error:
            raise not_finite(self.name, (tn, fp, fn, tp)) from error
        if not finite:
            raise not_finite(self.name, (tn, fp, fn, tp))
        return 1 - value, (-self.gain * negatives, -self.gain * positives)

    @property
    def kind(self) -> tuple[Any, ...]:
        return type(self), type(self.step)

    @classmethod
    def stack(cls, losses: Sequence[AnyLoss], like: Tensor) -> AnyLoss:
        # They may differ in metric, threshold and the numbers of the step.
        stacked = copy.copy(losses[0])
        stacked.members = _Members([loss.metric for loss in losses])
        stacked.step = stack_steps([loss.step for loss in losses], like)
        stacked.gain = np.array([loss.gain for loss in losses])
        stacked.threshold = stack_numbers([loss.threshold for loss in losses], like)
        stacked.name = ", ".join(dict.fromkeys(loss.name for loss in losses))
        return stacked

    def extra_repr(self) -> str:
        return f"metric={self.name!r}, step={self.step!r}, threshold={self.threshold}"


def not_finite(name: str, counts: Iterable[Any]) -> ValueError:
    """The error for a metric that is not finite at some counts."""
    numbers = tuple(np.asarray(count).tolist() for count in counts)
    return ValueError(
        f"The metric {name!r} is not finite at (tn, fp, fn, tp) = {numbers}. If it "
        "divides by a sum of counts that can be 0, or takes a root of one, use ratio "
        "and root of sk_anyloss.metrics; if the counts are not finite themselves, "
        "lower the learning rate and look for huge values in X."
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
    if isinstance(metric, str):
        _check_once(function, name)
    else:
        _check_function(function, name)
    return function


#: A confusion matrix at which metrics are tried.
_COUNTS = (50.0, 4.0, 3.0, 6.0)


@contextmanager
def _counts_with_gradient() -> Iterator[Tensor]:
    """The same as a tensor, where autograd is on, whatever it was before."""
    with torch.inference_mode(False), torch.enable_grad():
        yield torch.tensor(_COUNTS, dtype=torch.float64, requires_grad=True)


def _check_function(function: Metric, name: str) -> None:
    advice = (
        "compute it from its four arguments with plain arithmetic or torch functions "
        "(no float(), no numpy, no math), one value for one confusion matrix."
    )
    try:
        with warnings.catch_warnings(), _counts_with_gradient() as counts:
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
            f"{_COUNTS}; it must be finite."
        )


_check_once = lru_cache(_check_function)


def _is_plain(metric: Metric) -> bool:
    """Whether a metric takes dual numbers, and finds the same slopes as autograd."""
    try:
        _, *slopes = value_and_slopes(metric, *_COUNTS)
    except Exception:
        return False
    with _counts_with_gradient() as counts:
        (partials,) = torch.autograd.grad(metric(*counts), counts)
    tn, fp, fn, tp = partials.tolist()
    return bool(np.allclose(slopes, (tp - fn, fp - tn), rtol=1e-9, atol=1e-12))


_is_plain_once = lru_cache(_is_plain)


class _Members:
    """The metrics of a stack of models, each of them asked once for all its models."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self.metrics: list[Metric] = []
        for metric in metrics:
            if metric not in self.metrics:
                self.metrics.append(metric)
        self.indices = [
            np.array([i for i, other in enumerate(metrics) if other == metric])
            for metric in self.metrics
        ]

    def __call__(self, *counts: np.ndarray) -> np.ndarray:
        """Values and slopes, of shape (3, K), for four counts of shape (K,)."""
        table = np.stack(counts)
        result = np.empty((3, table.shape[1]))
        for metric, index in zip(self.metrics, self.indices, strict=True):
            result[:, index] = _of_many(metric, table[:, index])
        return result


def _of_many(metric: Metric, counts: np.ndarray) -> np.ndarray:
    result = np.empty((3, counts.shape[1]))
    try:
        with np.errstate(all="ignore"):
            result[:] = np.broadcast_arrays(*value_and_slopes(metric, *counts))
    except ValueError:  # It has a branch, which an array cannot take.
        for i, column in enumerate(counts.T):
            result[:, i] = value_and_slopes(metric, *column.tolist())
    return result


class _MeanLoss(SummedLoss):
    """Weighted mean over the rows of a loss that each row has by itself.

    The sums are the loss and the weight of the negatives, then of the positives.
    """

    has_gradient = True

    def per_row(self, logits: Tensor, y: Tensor) -> Tensor:
        raise NotImplementedError

    def slope_per_row(self, logits: Tensor, y: Tensor) -> Tensor:
        raise NotImplementedError

    def factors(self, weight0: Any, weight1: Any) -> tuple[Any, Any]:
        """What the loss of a row of weight 1 counts for, in either class."""
        factor = ratio(1.0, weight0 + weight1)
        return factor, factor

    def of_sums(self, loss0: Any, weight0: Any, loss1: Any, weight1: Any) -> Any:
        factor0, factor1 = self.factors(weight0, weight1)
        return loss0 * factor0 + loss1 * factor1

    def sums(self, logits: Tensor, y: Tensor, sample_weight: Tensor | None) -> Tensor:
        positives = y if sample_weight is None else y * sample_weight
        negatives = 1 - y if sample_weight is None else sample_weight - positives
        loss = self.per_row(logits, y)
        parts = []
        for members in (negatives, positives):
            total = weighted_sum(loss, members)
            parts += [total, weighted_sum(members).expand_as(total)]
        return torch.stack(parts, dim=-1)

    def value(self, sums: Tensor) -> Tensor:
        return self.of_sums(*sums.unbind(-1))

    def tally(self, logits: Tensor, rows: ClassWeights) -> tuple[Tensor, Tensor]:
        y = rows.targets(len(logits))
        loss = rows.sums(self.per_row(logits, y))
        weight = rows.totals()
        if len(weight) != len(loss):
            weight = weight.repeat_interleave(len(loss) // len(weight), dim=0)
        return torch.stack((loss, weight)), self.slope_per_row(logits, y)

    def pull(self, sums: Tensor) -> tuple[Any, tuple[Any, Any]]:
        if sums.shape[1] == 1:
            (((loss0, loss1),), ((weight0, weight1),)) = sums.tolist()
        else:
            numbers = sums.to("cpu", torch.float64).numpy()
            (loss0, loss1), (weight0, weight1) = numbers.transpose(0, 2, 1)
        loss = self.of_sums(loss0, weight0, loss1, weight1)
        return loss, self.factors(weight0, weight1)


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

    @property
    def kind(self) -> tuple[Any, ...]:
        return type(self), self.pair

    def factors(self, weight0: Any, weight1: Any) -> tuple[Any, Any]:
        if self.pair is None:
            # A class that is absent has no mean; the other one then counts alone.
            classes = (weight0 != 0) * 1.0 + (weight1 != 0) * 1.0
            return ratio(1.0, weight0 * classes), ratio(1.0, weight1 * classes)
        a, b = self.pair
        whole = a * weight0 + b * weight1
        return ratio(a, whole), ratio(b, whole)


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
