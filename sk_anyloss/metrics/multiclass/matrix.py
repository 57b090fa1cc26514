"""Metrics of a whole confusion matrix, true classes in rows, decided ones in columns.

They take arrays and tensors of shape (..., C, C) and return the shape (...). The counts
may be sums of weights or of soft decisions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from sk_anyloss.metrics.arithmetic import Array, ratio, root

__all__ = [
    "CohenKappa",
    "CostMatrix",
    "MatrixMetric",
    "accuracy",
    "balanced_accuracy",
    "disagreement",
    "gmean",
    "mcc",
    "power_of_two",
    "recalls",
]

#: ``f(M)``, larger is better. ``Any``, since a user's may take arrays or tensors only.
MatrixMetric: TypeAlias = Callable[[Any], Any]


def accuracy(M: Array) -> Array:
    """Fraction of the samples that are decided as what they are.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.multiclass.matrix import accuracy
    >>> M = np.array([[5.0, 1.0, 0.0], [2.0, 3.0, 1.0], [0.0, 0.0, 4.0]])
    >>> float(accuracy(M))
    0.75
    """
    return ratio(M.diagonal(0, -2, -1).sum(-1), M.sum(-1).sum(-1))


def recalls(M: Array) -> Array:
    """Recall of each class, of shape (..., C); 0 for a class without samples.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.multiclass.matrix import recalls
    >>> recalls(np.array([[3.0, 1.0], [0.0, 0.0]]))
    array([0.75, 0.  ])
    """
    return ratio(M.diagonal(0, -2, -1), M.sum(-1))


def balanced_accuracy(M: Array) -> Array:
    """Mean of the recalls of the classes that have samples.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.multiclass.matrix import balanced_accuracy
    >>> float(balanced_accuracy(np.array([[3.0, 1.0], [0.0, 0.0]])))
    0.75
    """
    present = 1.0 * (M.sum(-1) != 0)
    return ratio(recalls(M).sum(-1), present.sum(-1))


def gmean(M: Array) -> Array:
    """Geometric mean of the recalls of the classes that have samples.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.multiclass.matrix import gmean
    >>> float(gmean(np.array([[1.0, 3.0], [0.0, 5.0]])))
    0.5
    """
    totals = M.sum(-1)
    # To the power of 0, a total is 1 in its dtype; a tensor times 1.0 is not.
    count = ((totals != 0) * totals**0).sum(-1)
    product = (recalls(M) + 1.0 * (totals == 0)).prod(-1)
    # The derivative of a root of 0 is infinite; training needs a finite one.
    return (product + (product == 0)) ** ratio(1.0, count) * (product != 0)


def mcc(M: Array) -> Array:
    r"""Matthews' correlation of C classes (Gorodkin's R_K).

    .. math::
        \frac{s \sum_c M_{cc} - \sum_c t_c p_c}
             {\sqrt{(s^2 - \sum_c p_c^2)(s^2 - \sum_c t_c^2)}}

    with the sum s of all entries, of each row t and of each column p (Gorodkin,
    "Comparing two K-category assignments by a K-category correlation coefficient",
    2004).

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.multiclass.matrix import mcc
    >>> float(mcc(np.eye(3))), float(mcc(np.ones((3, 3))))
    (1.0, 0.0)
    """
    M = M * power_of_two(M.sum(-1).sum(-1))[..., None, None]
    s, t, p = M.sum(-1).sum(-1), M.sum(-1), M.sum(-2)
    right = M.diagonal(0, -2, -1).sum(-1)
    spread = (s * s - (p * p).sum(-1)) * (s * s - (t * t).sum(-1))
    # Rounding can leave a little more or less than the 0 of a constant decision.
    spread = spread * (spread > 1e-12 * s**4)
    return ratio(s * right - (t * p).sum(-1), root(spread))


def power_of_two(total: Array) -> Array:
    """About the inverse of a sum of weights, as a power of two.

    Products of large or small weights overflow or underflow. Multiplied by a power of
    two, the weights sum to 1 or a little more, and have the same digits as before.

    Parameters
    ----------
    total : array or tensor
        Sums of weights.

    Returns
    -------
    factor : array or tensor
        Without a gradient; 1 where the sum is 0.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.multiclass.matrix import power_of_two
    >>> power_of_two(np.array([0.0, 1.0, 5.0, 0.1]))
    array([ 1.  ,  1.  ,  0.25, 16.  ])
    """
    if isinstance(total, (np.ndarray, np.number)):
        return np.exp2(-np.floor(np.log2(total + (total == 0))))
    total = total.detach()
    return (total + (total == 0)).log2().floor().neg().exp2()


@dataclass(frozen=True)
class CohenKappa:
    """Cohen's kappa: agreement beyond chance, with weights for the disagreement.

    ``1 - sum(W M) / sum(W E)`` with the matrix E that is expected of independent
    decisions, and the weight ``|c - k| ** power`` of a sample of class c that is
    decided as k, by the order of the classes.

    Parameters
    ----------
    power : int, default=0
        0 counts every error as one; 1 is kappa with linear weights, 2 with quadratic
        ones, for classes that are ordered.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.multiclass.matrix import CohenKappa
    >>> near = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 4.0]])
    >>> [round(float(CohenKappa(power)(near)), 3) for power in (0, 1, 2)]
    [0.6, 0.7, 0.8]
    """

    power: int = 0

    def __call__(self, M: Array) -> Array:
        W = _constant(disagreement(M.shape[-1], self.power), M)
        t, p = M.sum(-1), M.sum(-2)
        observed = (W * M).sum(-1).sum(-1)
        # A fraction, since the products of large or small weights would overflow or
        # underflow.
        share = ratio(t, t.sum(-1)[..., None])
        by_chance = (W * share[..., :, None] * p[..., None, :]).sum(-1).sum(-1)
        return ratio(by_chance - observed, by_chance)


@cache
def disagreement(C: int, power: int) -> np.ndarray:
    """The weights of kappa, ``|c - k| ** power``, of shape (C, C), read-only.

    Examples
    --------
    >>> from sk_anyloss.metrics.multiclass.matrix import disagreement
    >>> disagreement(3, 2)
    array([[0., 1., 4.],
           [1., 0., 1.],
           [4., 1., 0.]])
    """
    place = np.arange(float(C))
    distance = np.abs(place[:, None] - place)
    W: np.ndarray = distance**power * (distance != 0)
    W.flags.writeable = False
    return W


@dataclass(frozen=True)
class CostMatrix:
    """Cost that is saved, as a fraction of the cost that can be saved.

    ``(C_max - C) / (C_max - C_min)`` with the cost C of the decisions. The value is 1
    if every sample gets the cheapest decision for its class, and 0 if every sample gets
    the most expensive one.

    Parameters
    ----------
    costs : sequence of sequences of float, of shape (C, C)
        ``costs[c][k]`` is the cost of deciding k for a sample of class c, in the order
        of ``classes_``.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.multiclass.matrix import CostMatrix
    >>> savings = CostMatrix([[0, 1, 1], [2, 0, 2], [10, 10, 0]])
    >>> M = np.array([[5.0, 1.0, 0.0], [2.0, 3.0, 1.0], [0.0, 0.0, 4.0]])
    >>> round(float(savings(M)), 3)
    0.879
    """

    costs: Sequence[Sequence[float]]

    def __post_init__(self) -> None:
        costs = np.asarray(self.costs, dtype=float)
        if costs.ndim != 2 or costs.shape[0] != costs.shape[1] or len(costs) < 2:
            raise ValueError(
                "costs must be a square matrix with a row for each true class and a "
                f"column for each decision, got the shape {costs.shape}."
            )
        if not np.isfinite(costs).all():
            raise ValueError(f"Costs must be finite numbers, got {self.costs!r}.")
        if (costs == costs[:, :1]).all():
            raise ValueError(
                "These costs are the same whatever is decided; give a cost to at least "
                "one wrong decision."
            )
        # Hashable, as parameters of an estimator that is cloned and cached must be.
        object.__setattr__(self, "costs", tuple(map(tuple, costs.tolist())))

    def __call__(self, M: Array) -> Array:
        if M.shape[-1] != len(self.costs):
            raise ValueError(
                f"costs has {len(self.costs)} rows for the classes, but there are "
                f"{M.shape[-1]} classes."
            )
        costs = np.asarray(self.costs)
        most = costs.max(axis=1)
        saved = (_constant(most[:, None] - costs, M) * M).sum(-1).sum(-1)
        return ratio(
            saved, (_constant(most - costs.min(axis=1), M) * M.sum(-1)).sum(-1)
        )


def _constant(values: np.ndarray, M: Array) -> Array:
    """Values as an array or a tensor like M."""
    return values if isinstance(M, np.ndarray) else M.new_tensor(values)
