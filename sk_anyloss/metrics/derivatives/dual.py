"""Forward-mode derivatives of a metric, by dual numbers.

The gradient of a loss on a metric needs two derivatives of the metric: by the
decisions on the positives (FN becomes TP) and by those on the negatives (TN becomes
FP). A :class:`Dual` carries a value and these two derivatives through plain arithmetic,
exactly, and takes the same branches at zero as the value itself does. For four counts,
the overhead of autograd would exceed the arithmetic.
"""

from __future__ import annotations

from typing import Any, overload

import numpy as np

from sk_anyloss.metrics.arithmetic import FloatOrArray, Metric
from sk_anyloss.metrics.binary import FBeta

__all__ = ["Dual", "value_and_derivatives"]


class Dual:
    """A number, or an array of numbers, with two derivatives.

    Parameters
    ----------
    value : float or ndarray
        The number.
    positives, negatives : float or ndarray
        Its derivatives with respect to the decisions on the positives and on the
        negatives.

    Examples
    --------
    >>> from sk_anyloss.metrics.derivatives import Dual
    >>> x = Dual(3.0, 1.0, 0.0)
    >>> y = x * x + 2 / x
    >>> round(y.value, 4), round(y.positives, 4)
    (9.6667, 5.7778)
    """

    __slots__ = ("negatives", "positives", "value")
    __array_ufunc__ = None  # So that numpy leaves ``array * dual`` to this class.

    def __init__(
        self, value: FloatOrArray, positives: FloatOrArray, negatives: FloatOrArray
    ) -> None:
        self.value = value
        self.positives = positives
        self.negatives = negatives

    def _chain(self, value: FloatOrArray, derivative: FloatOrArray) -> Dual:
        """A function of this number, by the chain rule."""
        return Dual(value, derivative * self.positives, derivative * self.negatives)

    def __add__(self, other: Dual | FloatOrArray) -> Dual:
        if isinstance(other, Dual):
            return Dual(
                self.value + other.value,
                self.positives + other.positives,
                self.negatives + other.negatives,
            )
        return Dual(self.value + other, self.positives, self.negatives)

    __radd__ = __add__

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.positives, -self.negatives)

    def __sub__(self, other: Dual | FloatOrArray) -> Dual:
        return self + (-other)

    def __rsub__(self, other: FloatOrArray) -> Dual:
        return -self + other

    def __mul__(self, other: Dual | FloatOrArray) -> Dual:
        if isinstance(other, Dual):
            a, b = self.value, other.value
            return Dual(
                a * b,
                b * self.positives + a * other.positives,
                b * self.negatives + a * other.negatives,
            )
        return self._chain(self.value * other, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Dual | FloatOrArray) -> Dual:
        if isinstance(other, Dual):
            value = self.value / other.value
            return Dual(
                value,
                (self.positives - value * other.positives) / other.value,
                (self.negatives - value * other.negatives) / other.value,
            )
        return self._chain(self.value / other, 1 / other)

    def __rtruediv__(self, other: FloatOrArray) -> Dual:
        value = other / self.value
        return self._chain(value, -value / self.value)

    def __pow__(self, power: float) -> Dual:
        return self._chain(self.value**power, power * self.value ** (power - 1))

    # Comparisons give arrays for arrays, as numpy's do, hence ``Any``.
    def __eq__(self, other: object) -> Any:
        return self.value == (other.value if isinstance(other, Dual) else other)

    def __ne__(self, other: object) -> Any:
        return self.value != (other.value if isinstance(other, Dual) else other)

    def __lt__(self, other: Dual | float) -> bool | np.ndarray:
        return self.value < (other.value if isinstance(other, Dual) else other)

    def __le__(self, other: Dual | float) -> bool | np.ndarray:
        return self.value <= (other.value if isinstance(other, Dual) else other)

    def __gt__(self, other: Dual | float) -> bool | np.ndarray:
        return self.value > (other.value if isinstance(other, Dual) else other)

    def __ge__(self, other: Dual | float) -> bool | np.ndarray:
        return self.value >= (other.value if isinstance(other, Dual) else other)

    __hash__ = None  # type: ignore[assignment]


@overload
def value_and_derivatives(
    metric: Metric, tn: float, fp: float, fn: float, tp: float
) -> tuple[float, float, float]: ...
@overload
def value_and_derivatives(
    metric: Metric, tn: np.ndarray, fp: np.ndarray, fn: np.ndarray, tp: np.ndarray
) -> tuple[FloatOrArray, FloatOrArray, FloatOrArray]: ...
def value_and_derivatives(
    metric: Metric, tn: Any, fp: Any, fn: Any, tp: Any
) -> tuple[Any, Any, Any]:
    """A metric and its derivatives, for decisions on positives and on negatives.

    Parameters
    ----------
    metric : callable
        ``f(tn, fp, fn, tp)``, made of plain arithmetic.
    tn, fp, fn, tp : float or ndarray
        The counts.

    Returns
    -------
    value : float or ndarray
        The metric.
    positives, negatives : float or ndarray
        ``f_TP - f_FN`` and ``f_FP - f_TN``, where ``f_X`` is the derivative with
        respect to the count X.

    Examples
    --------
    >>> from sk_anyloss.metrics.derivatives import value_and_derivatives
    >>> from sk_anyloss.metrics import precision
    >>> value_and_derivatives(precision, 9.0, 1.0, 2.0, 3.0)
    (0.75, 0.0625, -0.1875)
    """
    if isinstance(metric, FBeta):
        return metric.value_and_derivatives(tn, fp, fn, tp)
    result = metric(
        Dual(tn, 0.0, -1.0), Dual(fp, 0.0, 1.0), Dual(fn, -1.0, 0.0), Dual(tp, 1.0, 0.0)
    )
    if isinstance(result, Dual):
        return result.value, result.positives, result.negatives
    return result, 0.0, 0.0  # A branch of the metric may be constant.
