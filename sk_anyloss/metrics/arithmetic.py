"""Arithmetic on counts that stays defined, and differentiable, where a count is 0.

A metric is written with ordinary operators and with these two functions, so that the
same code takes Python numbers, numpy arrays, torch tensors and dual numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor  # Stored models are applied without torch.

__all__ = [
    "Array",
    "Count",
    "FloatOrArray",
    "Metric",
    "ratio",
    "root",
    "value_of",
    "values_of",
]

#: An entry of a confusion matrix, or an array or tensor of such entries.
Count = TypeVar("Count", float, np.ndarray, "Tensor")

#: Values along an axis of samples or of thresholds.
Array = TypeVar("Array", np.ndarray, "Tensor")

#: One number for one model, or an array with one for each of several models.
FloatOrArray: TypeAlias = float | np.ndarray

#: ``f(tn, fp, fn, tp)``, larger is better. The parameters are ``Any`` because a user's
#: metric may be written for only some of the types in :data:`Count`.
Metric: TypeAlias = Callable[[Any, Any, Any, Any], Any]


def ratio(numerator: Count | float, denominator: Count) -> Count:
    """Divide; where the denominator is 0, the value and the gradient are 0.

    Use it in a metric of your own wherever a sum of counts may be 0.

    Parameters
    ----------
    numerator, denominator : float, ndarray or tensor
        The operands.

    Returns
    -------
    quotient : float, ndarray or tensor
        ``numerator / denominator``, or 0.

    Examples
    --------
    >>> from sk_anyloss.metrics import ratio
    >>> ratio(3.0, 4.0), ratio(0.0, 0.0)
    (0.75, 0.0)
    """
    defined = denominator != 0
    return numerator / (denominator + (denominator == 0)) * defined


def root(x: Count) -> Count:
    """Square root whose derivative at exactly 0 is 0 instead of infinity.

    Parameters
    ----------
    x : float, ndarray or tensor
        Not negative.

    Returns
    -------
    root : float, ndarray or tensor
        The square root.

    Examples
    --------
    >>> from sk_anyloss.metrics import root
    >>> root(9.0), root(0.0)
    (3.0, 0.0)
    """
    return (x + (x == 0)) ** 0.5 * (x != 0)


def value_of(metric: Metric, counts: Sequence[float]) -> float:
    """A metric of one confusion matrix, also if it is written with torch functions.

    Parameters
    ----------
    metric : callable
        ``f(tn, fp, fn, tp)``.
    counts : sequence of four floats
        ``tn, fp, fn, tp``.

    Returns
    -------
    value : float
        The metric.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.metrics.arithmetic import value_of
    >>> value_of(lambda tn, fp, fn, tp: torch.sqrt(tp), (1.0, 2.0, 3.0, 4.0))
    2.0
    """
    try:
        return float(metric(*counts))
    except (AttributeError, TypeError):
        import torch  # Stored models are applied without it.

        return float(metric(*torch.tensor(counts, dtype=torch.float64)))


def values_of(metric: Metric, tn: Array, fp: Array, fn: Array, tp: Array) -> Array:
    """A metric of many confusion matrices, whether or not it takes arrays.

    Parameters
    ----------
    metric : callable
        ``f(tn, fp, fn, tp)``.
    tn, fp, fn, tp : array or tensor of one shape
        The counts.

    Returns
    -------
    values : array or tensor of that shape
        The metric of each matrix.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from sk_anyloss.metrics.arithmetic import values_of
    >>> counts = np.array([[1.0, 4.0]] * 4)
    >>> values_of(lambda tn, fp, fn, tp: torch.sqrt(tp), *counts)
    array([1., 2.])
    >>> values_of(lambda tn, fp, fn, tp: tp if tp > 2 else 0.0, *counts)
    array([0., 4.])
    """
    counts = (tn, fp, fn, tp)
    if isinstance(tp, (np.ndarray, np.number)):
        try:
            values = metric(*counts)
        except (AttributeError, TypeError, ValueError):
            # It takes tensors only, or its branches need single numbers.
            matrices = np.stack(counts).reshape(4, -1).T.tolist()
            values = np.reshape([value_of(metric, one) for one in matrices], tp.shape)
        return np.broadcast_to(np.asarray(values, dtype=float), tp.shape)[()]
    import torch  # Stored models are applied without it.

    try:
        values = metric(*counts)
    except RuntimeError:  # Its branches need single numbers.
        matrices = zip(*(count.reshape(-1) for count in counts), strict=True)
        found = [torch.as_tensor(metric(*one)).to(tp) for one in matrices]
        values = torch.stack(found).reshape(tp.shape)
    return torch.as_tensor(values).to(tp).expand_as(tp)
