"""Forward-mode derivatives of a metric, by dual numbers.

A metric sees four numbers, so torch's autograd would spend its time on bookkeeping.
A :class:`Dual` carries a value and its partial derivatives through plain arithmetic,
exactly, and follows the same branches at zero as the value itself does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sk_anyloss.metrics import Metric

__all__ = ["Dual", "value_and_partials"]


class Dual:
    """A value with its partial derivatives.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.duals import Dual
    >>> x = Dual(3.0, np.array([1.0, 0, 0, 0]))
    >>> y = x * x + 2 / x
    >>> round(y.value, 4), round(float(y.partials[0]), 4)
    (9.6667, 5.7778)
    """

    __array_ufunc__ = None  # numpy must leave arithmetic with a Dual to the Dual.
    __slots__ = ("partials", "value")

    def __init__(self, value: Any, partials: Any) -> None:
        self.value = value
        self.partials = partials

    def __add__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return Dual(self.value + other.value, self.partials + other.partials)
        return Dual(self.value + other, self.partials)

    __radd__ = __add__

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.partials)

    def __sub__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return Dual(self.value - other.value, self.partials - other.partials)
        return Dual(self.value - other, self.partials)

    def __rsub__(self, other: Any) -> Dual:
        return Dual(other - self.value, -self.partials)

    def __mul__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            partials = self.partials * other.value + other.partials * self.value
            return Dual(self.value * other.value, partials)
        return Dual(self.value * other, self.partials * other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            value = self.value / other.value
            partials = (self.partials - value * other.partials) / other.value
            return Dual(value, partials)
        return Dual(self.value / other, self.partials / other)

    def __rtruediv__(self, other: Any) -> Dual:
        value = other / self.value
        return Dual(value, -value / self.value * self.partials)

    def __pow__(self, power: float) -> Dual:
        slope = power * self.value ** (power - 1)
        return Dual(self.value**power, slope * self.partials)

    def __eq__(self, other: object) -> Any:
        return self.value == (other.value if isinstance(other, Dual) else other)

    def __ne__(self, other: object) -> Any:
        return self.value != (other.value if isinstance(other, Dual) else other)

    __hash__ = None  # type: ignore[assignment]


_UNITS = np.eye(4)


def value_and_partials(
    metric: Metric, counts: Sequence[float]
) -> tuple[float, list[float]]:
    """A metric and its derivatives with respect to TN, FP, FN and TP.

    Parameters
    ----------
    metric : callable
        ``f(tn, fp, fn, tp)``, made of plain arithmetic.
    counts : sequence of four floats
        TN, FP, FN and TP.

    Returns
    -------
    value : float
        The metric.
    partials : list of four floats
        Its derivatives.

    Examples
    --------
    >>> from sk_anyloss.duals import value_and_partials
    >>> from sk_anyloss.metrics import precision
    >>> value_and_partials(precision, [9.0, 1.0, 2.0, 3.0])
    (0.75, [0.0, -0.1875, 0.0, 0.0625])
    """
    result = metric(*map(Dual, counts, _UNITS))
    if not isinstance(result, Dual):
        raise TypeError("the metric is not made of plain arithmetic on its arguments")
    return result.value, result.partials.tolist()
