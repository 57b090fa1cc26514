"""Metrics of a C x C confusion matrix as metrics of four counts, for two classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sk_anyloss.metrics.arithmetic import Count, Metric
from sk_anyloss.metrics.constraints import AtLeast
from sk_anyloss.metrics.multiclass.lookup import (
    matrix_metric,
    needs_matrix,
    split_constraint,
)
from sk_anyloss.metrics.multiclass.matrix import MatrixMetric
from sk_anyloss.metrics.registry import metric_name

__all__ = ["OfTwoClasses", "binary_metric"]


@dataclass(frozen=True)
class OfTwoClasses:
    """A metric of the 2 x 2 matrix as a function of the four counts.

    Parameters
    ----------
    metric : str or callable
        As :func:`sk_anyloss.metrics.matrix_metric` takes it.
    classes : tuple
        The two labels, in the order of rows and columns.
    positive : {0, 1}, default=1
        Which of them is the positive class of the counts.

    Examples
    --------
    >>> from sk_anyloss.metrics import CostMatrix
    >>> from sk_anyloss.metrics.multiclass.two_classes import OfTwoClasses
    >>> round(float(OfTwoClasses("recall[no]", ("no", "yes"))(90, 10, 1, 4)), 3)
    0.9
    >>> round(float(OfTwoClasses(CostMatrix([[0, 1], [20, 0]]), (0, 1))(9, 1, 1, 4)), 3)
    0.809
    """

    metric: str | MatrixMetric
    classes: tuple[object, ...]
    positive: int = 1

    @property
    def __name__(self) -> str:
        metric: Any = self.metric
        return metric if isinstance(metric, str) else metric_name(metric)

    def __call__(self, tn: Count, fp: Count, fn: Count, tp: Count) -> Count:
        counts = [[tn, fp], [fn, tp]]
        if not self.positive:
            counts = [[tp, fn], [fp, tn]]
        function: Any = matrix_metric(self.metric, self.classes)
        return function(_as_matrix(counts))


def _as_matrix(counts: list[list[Any]]) -> Any:
    """Four numbers, arrays or tensors as matrices of shape (..., 2, 2)."""
    M: Any = 0.0
    for i, row in enumerate(counts):
        for j, count in enumerate(row):
            place = np.zeros((2, 2))
            place[i, j] = 1.0
            if hasattr(count, "new_tensor"):
                M = M + count[..., None, None] * count.new_tensor(place)
            else:
                M = M + np.asarray(count, dtype=float)[..., None, None] * place
    return M


def binary_metric(
    metric: str | Metric | MatrixMetric, classes: Sequence[object], positive: int = 1
) -> str | Metric:
    """A metric as :func:`sk_anyloss.metrics.get_metric` takes it for two classes.

    Parameters
    ----------
    metric : str or callable
        A metric of four counts or of a matrix.
    classes : sequence of length 2
        The labels, sorted.
    positive : {0, 1}, default=1
        Which of them is the positive class.

    Returns
    -------
    metric : str or callable
        The metric itself, if it is one of four counts or an average over classes.

    Examples
    --------
    >>> from sk_anyloss.metrics import get_metric
    >>> from sk_anyloss.metrics.multiclass.two_classes import binary_metric
    >>> binary_metric("f1_macro", ["no", "yes"])
    'f1_macro'
    >>> goal = binary_metric("accuracy@recall[yes]>=0.9", ["no", "yes"])
    >>> round(float(get_metric(goal)(90, 10, 1, 4)), 3)
    -0.1
    """
    if not needs_matrix(metric):
        return metric  # type: ignore[return-value]
    parts = split_constraint(metric)
    if parts is not None:
        goal, constraint, floor = parts
        return AtLeast(
            binary_metric(goal, classes, positive),
            binary_metric(constraint, classes, positive),
            floor,
        )
    own: Any = metric
    found = OfTwoClasses(own, tuple(classes), positive)
    found(1.0, 0.0, 0.0, 1.0)  # Refuses an unknown class, or costs of another shape.
    return found
