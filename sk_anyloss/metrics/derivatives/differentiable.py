"""Metrics to train on: check that a function is differentiable, differentiate it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from sk_anyloss._cache import cached
from sk_anyloss.metrics.arithmetic import Metric
from sk_anyloss.metrics.curves import Curve
from sk_anyloss.metrics.derivatives.dual import value_and_derivatives
from sk_anyloss.metrics.registry import get_metric, metric_name

__all__ = [
    "NotFiniteError",
    "StackedMetrics",
    "ValueAndDerivatives",
    "check_metric",
    "derivatives_of_each",
    "differentiate",
    "has_closed_form",
    "not_finite",
]

#: ``g(tn, fp, fn, tp) -> value, positives, negatives``: a metric and its derivatives by
#: the decisions on positives and on negatives. All are floats, or all are arrays.
ValueAndDerivatives: TypeAlias = Callable[..., "tuple[Any, Any, Any]"]


class NotFiniteError(ValueError):
    """Training has diverged; ``what`` says which quantity is not finite.

    Parameters
    ----------
    what : str
        The quantity, as the subject of a sentence.
    why : str, default=''
        A likely cause, or what to do.

    Examples
    --------
    >>> from sk_anyloss.metrics.derivatives.differentiable import NotFiniteError
    >>> print(NotFiniteError("The loss is not finite", "lower the learning rate."))
    The loss is not finite: lower the learning rate.
    """

    def __init__(self, what: str, why: str = "") -> None:
        super().__init__(f"{what}: {why}" if why else what)
        self.what = what


def not_finite(name: str, counts: Iterable[ArrayLike]) -> ValueError:
    """The error to raise for a metric that is not finite at some counts.

    Parameters
    ----------
    name : str
        Name of the metric.
    counts : iterable of four floats or arrays
        ``tn, fp, fn, tp``.

    Returns
    -------
    error : ValueError
        A :class:`NotFiniteError` if the counts themselves are not finite.

    Examples
    --------
    >>> from sk_anyloss.metrics.derivatives.differentiable import not_finite
    >>> print(not_finite("own", (9.0, 0.0, 0.0, 0.0)))
    The metric 'own' is not finite at (tn, fp, fn, tp) = (9.0, 0.0, 0.0, 0.0). If ...
    """
    numbers = tuple(np.asarray(count).tolist() for count in counts)
    if not np.isfinite(numbers).all():
        return NotFiniteError(
            "The outputs of the network are not finite",
            "lower the learning rate, and look for huge or missing values in X or in "
            "the weights.",
        )
    return ValueError(
        f"The metric {name!r} is not finite at (tn, fp, fn, tp) = {numbers}. If it "
        "divides by a sum of counts that can be 0, or takes a root of one, use ratio "
        "and root of sk_anyloss.metrics."
    )


def check_metric(metric: str | Metric) -> Metric:
    """Look up a metric and check that it is differentiable on tensors.

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
    >>> from sk_anyloss.metrics.derivatives.differentiable import check_metric
    >>> check_metric(lambda tn, fp, fn, tp: float(tp))
    Traceback (most recent call last):
    ...
    ValueError: The metric '<lambda>' must be differentiable: ...
    """
    function, name = get_metric(metric), metric_name(metric)
    if isinstance(metric, str):
        _check_function_once(function, name)
    else:
        _check_function(function, name)
    return function


#: A confusion matrix at which metrics are tested.
_COUNTS = (50.0, 4.0, 3.0, 6.0)


@contextmanager
def _counts_with_gradient(metric: Metric) -> Iterator[Tensor]:
    """Yield the test counts as a tensor, with autograd enabled in any context."""
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
            # torch warns of float(tensor); the errors below say more.
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


_check_function_once = cached(_check_function)


def _has_closed_form(metric: Metric) -> bool:
    """Whether dual numbers work, and give the same derivatives as autograd."""
    with _counts_with_gradient(metric) as counts:
        at = counts.detach().numpy()
    try:
        if isinstance(metric, Curve):
            _, *derivatives = metric.value_and_derivatives(*at)
        else:
            _, *derivatives = value_and_derivatives(metric, *at.tolist())
    except Exception:
        return False
    with _counts_with_gradient(metric) as counts:
        (partials,) = torch.autograd.grad(metric(*counts), counts)
    tn, fp, fn, tp = partials.numpy()
    return bool(np.allclose(derivatives, (tp - fn, fp - tn), rtol=1e-9, atol=1e-12))


_has_closed_form_once = cached(_has_closed_form)


def has_closed_form(metric: str | Metric) -> bool:
    """Whether the derivatives of a metric can be computed without autograd.

    Parameters
    ----------
    metric : str or callable
        As :func:`sk_anyloss.metrics.get_metric` takes it.

    Returns
    -------
    has_closed_form : bool
        Whether they can, and agree with those of autograd.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.metrics.derivatives.differentiable import has_closed_form
    >>> has_closed_form("f1"), has_closed_form(lambda tn, fp, fn, tp: torch.sqrt(tp))
    (True, False)
    """
    test = _has_closed_form_once if isinstance(metric, str) else _has_closed_form
    return test(get_metric(metric))


def differentiate(metric: str | Metric) -> ValueAndDerivatives:
    """The function that gives the value of a metric and its derivatives.

    Parameters
    ----------
    metric : str or callable
        As :func:`sk_anyloss.metrics.get_metric` takes it. Whether its derivatives have
        a closed form is tested once for a name, and each time for a callable, which
        may change.

    Returns
    -------
    value_and_derivatives : callable
        ``g(tn, fp, fn, tp) -> value, positives, negatives``, the last two being the
        derivatives with respect to the decisions on positives and on negatives: in
        closed form, or by autograd for functions that take tensors only.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.metrics.derivatives.differentiable import differentiate
    >>> differentiate(lambda tn, fp, fn, tp: torch.sqrt(tp))(1.0, 2.0, 3.0, 4.0)
    (2.0, 0.25, 0.0)
    """
    function = get_metric(metric)
    if not has_closed_form(metric):
        return partial(_value_and_derivatives_by_autograd, function)
    if isinstance(function, Curve):
        return function.value_and_derivatives
    return partial(value_and_derivatives, function)


def _value_and_derivatives_by_autograd(
    metric: Metric, *counts: float | np.ndarray
) -> tuple[Any, Any, Any]:
    with torch.inference_mode(False), torch.enable_grad():
        table = torch.tensor(np.array(counts, dtype=float), requires_grad=True)
        value = metric(*table)
        if not isinstance(value, Tensor) or value.grad_fn is None:
            # A branch of the metric may be constant.
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


class StackedMetrics:
    """The metrics of a stack of models, each distinct one evaluated once.

    Parameters
    ----------
    metrics : sequence of K callables
        The metric of each model.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics import precision, recall
    >>> from sk_anyloss.metrics.derivatives.differentiable import StackedMetrics
    >>> metrics = StackedMetrics([precision, recall])
    >>> tn, fp, fn, tp = np.array([[9.0, 9.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]])
    >>> values, positives, negatives = metrics(tn, fp, fn, tp)
    >>> values
    array([0.75, 0.6 ])
    """

    def __init__(self, metrics: Sequence[Metric]) -> None:
        distinct: list[Metric] = []
        for metric in metrics:
            if metric not in distinct:
                distinct.append(metric)
        self.functions = [differentiate(metric) for metric in distinct]
        self.indices = [
            np.array([i for i, other in enumerate(metrics) if other == metric])
            for metric in distinct
        ]

    def __call__(self, *counts: np.ndarray) -> np.ndarray:
        """Values and derivatives, of shape (3, K), for four counts of shape (K,)."""
        if len(self.functions) == 1:
            return derivatives_of_each(self.functions[0], counts)
        table = np.stack(counts)
        result = np.empty((3, table.shape[1]))
        for function, index in zip(self.functions, self.indices, strict=True):
            result[:, index] = derivatives_of_each(function, table[:, index])
        return result

    def of_matrices(self, *counts: np.ndarray) -> np.ndarray:
        """Values and derivatives for several matrices of each model.

        Parameters
        ----------
        *counts : ndarray of shape (K, n)
            ``tn, fp, fn, tp``.

        Returns
        -------
        found : ndarray of shape (3, K, n)
            Values, and derivatives with respect to the decisions on positives and on
            negatives.
        """
        table = np.stack(counts)
        if len(self.functions) == 1:
            found = derivatives_of_each(self.functions[0], table.reshape(4, -1))
            return found.reshape(3, *table.shape[1:])
        result = np.empty((3, *table.shape[1:]))
        for function, index in zip(self.functions, self.indices, strict=True):
            own = table[:, index]
            found = derivatives_of_each(function, own.reshape(4, -1))
            result[:, index] = found.reshape(3, *own.shape[1:])
        return result


def derivatives_of_each(
    function: ValueAndDerivatives, counts: Iterable[np.ndarray]
) -> np.ndarray:
    """Values and derivatives of a metric at n matrices, of shape (3, n).

    Parameters
    ----------
    function : callable
        As :func:`differentiate` returns it. It may take single numbers only.
    counts : iterable of four ndarrays of shape (n,)
        ``tn, fp, fn, tp``.

    Returns
    -------
    found : ndarray of shape (3, n)
        Values, and derivatives with respect to the decisions on positives and on
        negatives.
    """
    tn, fp, fn, tp = counts
    result = np.empty((3, len(tn)))
    try:
        with np.errstate(all="ignore"):
            result[0], result[1], result[2] = function(tn, fp, fn, tp)
    except (ValueError, RuntimeError):  # Its branches need single numbers.
        for i, matrix in enumerate(np.stack((tn, fp, fn, tp), axis=1).tolist()):
            result[:, i] = function(*matrix)
    return result
