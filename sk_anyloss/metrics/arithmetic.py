"""Arithmetic on counts that stays defined, and differentiable, where a count is 0.

A metric is written with ordinary operators and with these two functions, so that the
same code takes Python numbers, numpy arrays, torch tensors and dual numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor  # Stored models are applied without torch.

__all__ = ["Array", "Count", "FloatOrArray", "Metric", "ratio", "root"]

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
