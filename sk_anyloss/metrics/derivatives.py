"""Forward-mode derivatives of a metric, by dual numbers.

A loss on a metric needs two numbers of it: what a little more decision for the
positive class changes among the positives (FN becomes TP) and among the negatives (TN
becomes FP). A :class:`Dual` carries a value and these two derivatives through plain
arithmetic, exactly, and follows the same branches at zero as the value itself does.
For four counts, autograd would spend its time on bookkeeping.
"""

from __future__ import annotations

from typing import Any

from sk_anyloss.metrics.binary import FBeta, Metric

__all__ = ["Dual", "value_and_slopes"]


class Dual:
    """A number, or an array of them, with two derivatives.

    Parameters
    ----------
    value : float or ndarray
        The number.
    positives, negatives : float or ndarray
        Its derivatives by the decisions on the positives and on the negatives.

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

    def __init__(self, value: Any, positives: Any, negatives: Any) -> None:
        self.value = value
        self.positives = positives
        self.negatives = negatives

    def _times(self, value: Any, slope: Any) -> Dual:
        """The number ``value``, whose derivative by this one is ``slope``."""
        return Dual(value, slope * self.positives, slope * self.negatives)

    def __add__(self, other: Any) -> Dual:
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

    def __sub__(self, other: Any) -> Dual:
        return self + (-other)

    def __rsub__(self, other: Any) -> Dual:
        return -self + other

    def __mul__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            a, b = self.value, other.value
            return Dual(
                a * b,
                b * self.positives + a * other.positives,
                b * self.negatives + a * other.negatives,
            )
        return self._times(self.value * other, other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Dual:
        if isinstance(other, Dual):
            value = self.value / other.value
            return Dual(
                value,
                (self.positives - value * other.positives) / other.value,
                (self.negatives - value * other.negatives) / other.value,
            )
        return self._times(self.value / other, 1 / other)

    def __rtruediv__(self, other: Any) -> Dual:
        value = other / self.value
        return self._times(value, -value / self.value)

    def __pow__(self, power: float) -> Dual:
        return self._times(self.value**power, power * self.value ** (power - 1))

    def __eq__(self, other: object) -> Any:
        return self.value == (other.value if isinstance(other, Dual) else other)

    def __ne__(self, other: object) -> Any:
        return self.value != (other.value if isinstance(other, Dual) else other)

    def __lt__(self, other: Any) -> Any:
        return self.value < (other.value if isinstance(other, Dual) else other)

    def __le__(self, other: Any) -> Any:
        return self.value <= (other.value if isinstance(other, Dual) else other)

    def __gt__(self, other: Any) -> Any:
        return self.value > (other.value if isinstance(other, Dual) else other)

    def __ge__(self, other: Any) -> Any:
        return self.value >= (other.value if isinstance(other, Dual) else other)

    __hash__ = None  # type: ignore[assignment]


def value_and_slopes(
    metric: Metric, tn: Any, fp: Any, fn: Any, tp: Any
) -> tuple[Any, Any, Any]:
    """A metric, and its derivatives by the decisions on positives and on negatives.

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
        ``f_TP - f_FN`` and ``f_FP - f_TN``, with ``f_X`` the derivative by a count.

    Examples
    --------
    >>> from sk_anyloss.metrics.derivatives import value_and_slopes
    >>> from sk_anyloss.metrics import precision
    >>> value_and_slopes(precision, 9.0, 1.0, 2.0, 3.0)
    (0.75, 0.0625, -0.1875)
    """
    if isinstance(metric, FBeta) and isinstance(tp, float):
        return metric.slopes(tn, fp, fn, tp)
    result = metric(
        Dual(tn, 0.0, -1.0), Dual(fp, 0.0, 1.0), Dual(fn, -1.0, 0.0), Dual(tp, 1.0, 0.0)
    )
    if isinstance(result, Dual):
        return result.value, result.positives, result.negatives
    return result, 0.0, 0.0  # A metric may have a constant branch.
