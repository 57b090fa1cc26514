"""Forward-mode derivatives of a metric, by dual numbers.

A metric sees four numbers, so torch's autograd would spend its time on bookkeeping.
A :class:`Dual` carries a value and its partial derivatives through plain arithmetic,
exactly, and follows the same branches at zero as the value itself does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sk_anyloss.metrics import Metric

__all__ = ["Dual", "value_and_partials"]


class Dual:
    """A number with its derivatives by TN, FP, FN and TP.

    The four are spelt out rather than kept in an array: numpy would take several
    times as long over four numbers.

    Examples
    --------
    >>> from sk_anyloss.duals import Dual
    >>> x = Dual(3.0, 1.0, 0.0, 0.0, 0.0)
    >>> y = x * x + 2 / x
    >>> round(y.value, 4), round(y.tn, 4)
    (9.6667, 5.7778)
    """

    __slots__ = ("fn", "fp", "tn", "tp", "value")

    def __init__(
        self, value: float, tn: float, fp: float, fn: float, tp: float
    ) -> None:
        self.value = value
        self.tn = tn
        self.fp = fp
        self.fn = fn
        self.tp = tp

    def _times(self, value: float, slope: float) -> Dual:
        """The number ``value``, whose derivative by this one is ``slope``."""
        return Dual(
            value,
            slope * self.tn,
            slope * self.fp,
            slope * self.fn,
            slope * self.tp,
        )

    def _with(self, other: Dual, value: float, a: float, b: float) -> Dual:
        """The number ``value``, with derivatives ``a`` by this one, ``b`` by other."""
        return Dual(
            value,
            a * self.tn + b * other.tn,
            a * self.fp + b * other.fp,
            a * self.fn + b * other.fn,
            a * self.tp + b * other.tp,
        )

    def __add__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return self._with(other, self.value + other.value, 1.0, 1.0)
        return Dual(self.value + other, self.tn, self.fp, self.fn, self.tp)

    __radd__ = __add__

    def __neg__(self) -> Dual:
        return self._times(-self.value, -1.0)

    def __sub__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            return self._with(other, self.value - other.value, 1.0, -1.0)
        return Dual(self.value - other, self.tn, self.fp, self.fn, self.tp)

    def __rsub__(self, other: Any) -> Dual:
        return self._times(other - self.value, -1.0)

    def __mul__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            value = self.value * other.value
            return self._with(other, value, other.value, self.value)
        return self._times(self.value * other, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            value = self.value / other.value
            return self._with(other, value, 1 / other.value, -value / other.value)
        return self._times(self.value / other, 1 / other)

    def __rtruediv__(self, other: Any) -> Dual:
        value = other / self.value
        return self._times(value, -value / self.value)

    def __pow__(self, power: float) -> Dual:
        return self._times(self.value**power, power * self.value ** (power - 1))

    def __eq__(self, other: object) -> bool:
        return self.value == (other.value if isinstance(other, Dual) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return self.value < (other.value if isinstance(other, Dual) else other)

    def __le__(self, other: Any) -> bool:
        return self.value <= (other.value if isinstance(other, Dual) else other)

    def __gt__(self, other: Any) -> bool:
        return self.value > (other.value if isinstance(other, Dual) else other)

    def __ge__(self, other: Any) -> bool:
        return self.value >= (other.value if isinstance(other, Dual) else other)

    __hash__ = None  # type: ignore[assignment]


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
    tn, fp, fn, tp = counts
    result = metric(
        Dual(tn, 1.0, 0.0, 0.0, 0.0),
        Dual(fp, 0.0, 1.0, 0.0, 0.0),
        Dual(fn, 0.0, 0.0, 1.0, 0.0),
        Dual(tp, 0.0, 0.0, 0.0, 1.0),
    )
    if not isinstance(result, Dual):  # A metric may have a constant branch.
        return float(result), [0.0, 0.0, 0.0, 0.0]
    return result.value, [result.tn, result.fp, result.fn, result.tp]
