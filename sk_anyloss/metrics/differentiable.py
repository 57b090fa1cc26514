"""Metrics that can be trained on: is a function one, and what are its slopes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from sk_anyloss.metrics._cache import cached
from sk_anyloss.metrics.binary import Metric, get_metric, metric_name
from sk_anyloss.metrics.curves import Curve
from sk_anyloss.metrics.derivatives import value_and_slopes

__all__ = [
    "ManyMetrics",
    "NotFiniteError",
    "check_metric",
    "has_slopes",
    "not_finite",
    "slopes_of",
]

#: ``slopes(tn, fp, fn, tp) -> value, positives, negatives``.
Slopes: TypeAlias = Callable[..., "tuple[Any, Any, Any]"]


class NotFiniteError(ValueError):
    """A training that did not stay finite; ``what`` says what was not."""

    def __init__(self, what: str, why: str = "") -> None:
        super().__init__(f"{what}: {why}" if why else what)
        self.what = what


def not_finite(name: str, counts: Iterable[Any]) -> ValueError:
    """The error for a metric that is not finite at some counts."""
    numbers = tuple(np.asarray(count).tolist() for count in counts)
    if not np.isfinite(numbers).all():
        return NotFiniteError(
            "The outputs of the network are not finite",
            "lower the learning rate, and look for huge values in X or in the weights.",
        )
    return ValueError(
        f"The metric {name!r} is not finite at (tn, fp, fn, tp) = {numbers}. If it "
        "divides by a sum of counts that can be 0, or takes a root of one, use ratio "
        "and root of sk_anyloss.metrics."
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
    >>> from sk_anyloss.metrics.differentiable import check_metric
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
def _counts_with_gradient(metric: Metric) -> Iterator[Tensor]:
    """The same as a tensor, where autograd is on, whatever it was before."""
    with torch.inference_mode(False), torch.enable_grad():
        counts = torch.tensor(_COUNTS, dtype=torch.float64)
        if isinstance(metric, Curve):
            counts = counts.unsqueeze(1) + torch.tensor([1.0, 0, -1]).double()
        yield counts.requires_grad_()


def _check_function(function: Metric, name: str) -> None:
    advice = (
        "compute it from its four arguments with plain arithmetic or torch functions "
        "(no float(), no numpy, no math), one value for one confusion matrix."
    )
    try:
        with warnings.catch_warnings(), _counts_with_gradient(function) as counts:
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


_check_once = cached(_check_function)


def _has_slopes(metric: Metric) -> bool:
    """Whether a metric takes dual numbers, and finds the same slopes as autograd."""
    with _counts_with_gradient(metric) as counts:
        at: Any = counts.detach().numpy()
    try:
        if isinstance(metric, Curve):
            _, *slopes = metric.slopes(*at)
        else:
            _, *slopes = value_and_slopes(metric, *at.tolist())
    except Exception:
        return False
    with _counts_with_gradient(metric) as counts:
        (partials,) = torch.autograd.grad(metric(*counts), counts)
    tn, fp, fn, tp = partials.numpy()
    return bool(np.allclose(slopes, (tp - fn, fp - tn), rtol=1e-9, atol=1e-12))


_has_slopes_once = cached(_has_slopes)


def has_slopes(metric: str | Metric) -> bool:
    """Whether the slopes of a metric can be had without autograd, and are right.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.metrics.differentiable import has_slopes
    >>> has_slopes("f1"), has_slopes(lambda tn, fp, fn, tp: torch.sqrt(tp))
    (True, False)
    """
    look = _has_slopes_once if isinstance(metric, str) else _has_slopes
    return look(get_metric(metric))


def slopes_of(metric: Metric) -> Slopes:
    """What finds the value of a metric and its derivatives by the decisions.

    Parameters
    ----------
    metric : callable
        ``f(tn, fp, fn, tp)``, or a :class:`sk_anyloss.metrics.curves.Curve`.

    Returns
    -------
    slopes : callable
        ``slopes(tn, fp, fn, tp) -> value, positives, negatives``, in closed form, or by
        autograd for functions that only tensors go through.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.metrics.differentiable import slopes_of
    >>> slopes_of(lambda tn, fp, fn, tp: torch.sqrt(tp))(1.0, 2.0, 3.0, 4.0)
    (2.0, 0.25, 0.0)
    """
    if not has_slopes(metric):
        return partial(_slopes_by_autograd, metric)
    if isinstance(metric, Curve):
        return metric.slopes
    return partial(value_and_slopes, metric)


def _slopes_by_autograd(metric: Metric, *counts: Any) -> tuple[Any, Any, Any]:
    with torch.inference_mode(False), torch.enable_grad():
        table = torch.tensor(np.array(counts, dtype=float), requires_grad=True)
        value = metric(*table)
        if not isinstance(value, Tensor) or value.grad_fn is None:
            # A metric may have a constant branch.
            shape = table[0].shape[:-1] if isinstance(metric, Curve) else table[0].shape
            value = torch.zeros(shape, dtype=table.dtype) + value + 0 * table.sum()
        (grads,) = torch.autograd.grad(value.sum(), table)
    tn, fp, fn, tp = grads
    results = value.detach(), tp - fn, fp - tn
    if value.dim() == 0:
        a, b, c = (result.item() for result in results)
        return a, b, c
    a, b, c = (result.numpy() for result in results)
    return a, b, c


class ManyMetrics:
    """The metrics of a stack of models, each of them asked once for all its models."""

    def __init__(self, metrics: Sequence[Metric]) -> None:
        self.metrics: list[Metric] = []
        for metric in metrics:
            if metric not in self.metrics:
                self.metrics.append(metric)
        self.slopes = [slopes_of(metric) for metric in self.metrics]
        self.indices = [
            np.array([i for i, other in enumerate(metrics) if other == metric])
            for metric in self.metrics
        ]

    def __call__(self, *counts: np.ndarray) -> np.ndarray:
        """Values and slopes, of shape (3, K), for four counts of shape (K,)."""
        table = np.stack(counts)
        result = np.empty((3, table.shape[1]))
        for slopes, index in zip(self.slopes, self.indices, strict=True):
            result[:, index] = _of_many(slopes, table[:, index])
        return result


def _of_many(slopes: Slopes, counts: np.ndarray) -> np.ndarray:
    result = np.empty((3, counts.shape[1]))
    try:
        with np.errstate(all="ignore"):
            result[:] = np.broadcast_arrays(*slopes(*counts))
    except (ValueError, RuntimeError):  # It has a branch, which an array cannot take.
        for i, column in enumerate(counts.T):
            result[:, i] = slopes(*column.tolist())
    return result
