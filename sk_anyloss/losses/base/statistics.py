"""Types of what the three steps of a loss hand to each other."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

from torch import Tensor

from sk_anyloss.metrics.arithmetic import FloatOrArray

__all__ = ["AnyStatistics", "Cache", "Factors", "Gradient", "Parts", "Statistics"]


#: The statistics of one of several losses: a tensor, or Parts again.
Part = TypeVar("Part", bound=Any)


class Parts(tuple[Part, ...]):
    """Statistics of several losses side by side, added elementwise.

    Examples
    --------
    >>> from sk_anyloss.losses.base import Parts
    >>> Parts((1, 2)) + Parts((10, 20))
    (11, 22)
    """

    def __add__(self, other: tuple[Any, ...]) -> Parts[Part]:
        return Parts(a + b for a, b in zip(self, other, strict=True))

    def __radd__(self, zero: int) -> Parts[Part]:
        return self


#: Statistics of a batch, additive over samples: a tensor, or Parts for a loss that is
#: made of others. The axis of the K models comes before those of the classes:
#: (..., K, classes) or (..., K, true class, decided class).
Statistics = TypeVar("Statistics", bound=Tensor | Parts)

#: Statistics of whatever loss it is.
AnyStatistics: TypeAlias = Tensor | Parts[Any]

#: What ``backward`` needs of each sample of a batch: for most losses a tensor of shape
#: (K, n), the derivative with respect to the logit. The bound lets the default
#: ``backward`` use it.
Cache = TypeVar("Cache", bound=Any)

#: Gradient of the loss with respect to the statistics, in the form that ``backward``
#: takes: for most losses the two :data:`Factors`. The bound lets the default
#: ``backward`` use it.
Gradient = TypeVar("Gradient", bound=Any)

#: Factors of the negatives and of the positives in the gradient of a loss: floats for
#: one model, arrays of shape (K,) for K models.
Factors: TypeAlias = tuple[FloatOrArray, FloatOrArray]
