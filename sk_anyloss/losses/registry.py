"""Losses by name."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TypeAlias

from torch import nn

from sk_anyloss._names import spelled, unknown
from sk_anyloss.losses.anyloss import AnyLoss
from sk_anyloss.losses.base import Loss
from sk_anyloss.losses.hybrid import Hybrid
from sk_anyloss.losses.multiclass import MulticlassAnyLoss
from sk_anyloss.losses.multilabel import OverLabels
from sk_anyloss.losses.pairwise import Pairs
from sk_anyloss.losses.pointwise import BCE, MSE, Focal, SurrogateFBeta, WeightedBCE
from sk_anyloss.losses.steps import Step
from sk_anyloss.metrics import FBeta, Metric, get_metric, metric_name

__all__ = ["LossLike", "get_loss", "loss_names", "trains_on_metric"]

#: A name, a class, a class with some of its options set, or a criterion itself.
LossLike: TypeAlias = "str | nn.Module | type[nn.Module] | partial[nn.Module]"

_LOSSES: dict[str, type[Loss]] = {
    "bce": BCE,
    "cross_entropy": BCE,
    "focal": Focal,
    "hybrid": Hybrid,
    "mse": MSE,
    "pairs": Pairs,
    "surrogate_fbeta": SurrogateFBeta,
    "weighted_bce": WeightedBCE,
    "weighted_cross_entropy": WeightedBCE,
}


def loss_names() -> list[str]:
    """Names that ``loss=`` takes; ``loss=None`` is one minus the metric.

    Returns
    -------
    names : list of str
        In alphabetical order.

    Examples
    --------
    >>> from sk_anyloss.losses import loss_names
    >>> loss_names()
    ['bce', 'cross_entropy', 'focal', 'hybrid', 'mse', 'pairs', 'surrogate_fbeta',
     'weighted_bce', 'weighted_cross_entropy']
    """
    return sorted(_LOSSES)


def get_loss(
    loss: LossLike,
    metric: str | Metric = "f1",
    step: str | Step = "sigmoid",
    threshold: float | Sequence[float] = 0.5,
    target_type: str = "binary",
    classes: Sequence[object] | None = None,
) -> nn.Module:
    """Make a criterion from a name or a class; an instance is returned unchanged.

    Parameters
    ----------
    loss : str, torch criterion, class of one, or functools.partial
        A name of :func:`loss_names`, a class or an instance of this package, or any
        other torch criterion on logits. A partial of a class sets some of its options,
        as in ``partial(AnyLoss, decay=0.9)``.
    metric, step, threshold
        As for :class:`sk_anyloss.losses.AnyLoss`; the losses that do not need them
        ignore them.
    target_type : {'binary', 'multiclass', 'multilabel-indicator'}, default='binary'
        What the logits stand for. ``'bce'`` and ``'cross_entropy'`` are the same loss,
        for two classes, several classes or several labels.
    classes : sequence, default=None
        The labels, for a metric that names one.

    Returns
    -------
    criterion : torch.nn.Module
        The loss on logits.

    Examples
    --------
    >>> from sk_anyloss.losses import AnyLoss, get_loss
    >>> get_loss("bce")
    BCE()
    >>> get_loss("surrogate_fbeta", metric="f2")
    SurrogateFBeta(beta=2, rate=None)
    >>> from functools import partial
    >>> get_loss(partial(AnyLoss, decay=0.9), "f2", "linear")
    AnyLoss(metric='f2', step=Linear(delta=0.1), threshold=0.5, decay=0.9)
    """
    criterion = _binary_loss(loss, metric, step, threshold)
    if isinstance(criterion, Loss):
        return criterion.for_target(target_type, classes)
    return criterion


def _binary_loss(
    loss: LossLike,
    metric: str | Metric,
    step: str | Step,
    threshold: float | Sequence[float],
) -> nn.Module:
    """The criterion as it is for two classes."""
    if isinstance(loss, nn.Module):
        return loss
    if isinstance(loss, partial):
        goal = {"metric": metric, "step": step, "threshold": threshold}
        if loss.func not in (AnyLoss, Hybrid):
            goal = {}
        return loss(**{k: v for k, v in goal.items() if k not in loss.keywords})
    loss = spelled(loss, _LOSSES)
    if loss is AnyLoss:
        return AnyLoss(metric, step, threshold)
    if loss in _LOSSES.values():
        loss = next(name for name, own in _LOSSES.items() if own is loss)
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
    if isinstance(loss, str) and loss in _LOSSES:
        return _LOSSES[loss]()
    otherwise = "or pass a torch criterion on logits; None trains on the metric."
    raise ValueError(unknown("loss", loss, _LOSSES, otherwise))


def trains_on_metric(loss: LossLike | None) -> bool:
    """Whether a loss optimises the metric at a decision threshold.

    Parameters
    ----------
    loss : str, torch criterion, class of one, functools.partial or None
        As :func:`get_loss` takes it; None is one minus the metric.

    Examples
    --------
    >>> from sk_anyloss.losses import AnyLoss
    >>> from sk_anyloss.losses.registry import trains_on_metric
    >>> [trains_on_metric(loss) for loss in (None, AnyLoss("f1"), "Hybrid", "bce")]
    [True, True, True, False]
    """
    loss = spelled(loss, _LOSSES)
    if isinstance(loss, nn.Module):
        own = getattr(loss, "loss", loss)  # Of each label.
        return isinstance(own, (AnyLoss, Hybrid, MulticlassAnyLoss, OverLabels))
    kind: object = _LOSSES.get(loss) if isinstance(loss, str) else loss
    if isinstance(kind, partial):
        kind = kind.func
    on_metric = isinstance(kind, type) and issubclass(
        kind, (AnyLoss, Hybrid, MulticlassAnyLoss)
    )
    return loss is None or on_metric
