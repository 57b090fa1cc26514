"""Averages of a binary metric over the classes, each against the rest."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sk_anyloss.metrics.arithmetic import Array, Count, Metric, ratio, values_of
from sk_anyloss.metrics.confusion import Counts
from sk_anyloss.metrics.registry import (
    get_metric,
    is_registered_curve,
    metric_name,
    register_family,
    registered_spelling,
)

__all__ = ["AVERAGES", "Average", "one_against_rest"]

#: scikit-learn's averages over classes.
AVERAGES = ("macro", "weighted", "micro")


def one_against_rest(M: Array) -> Counts[Array]:
    """The binary confusion matrix of each class against the rest.

    Parameters
    ----------
    M : array or tensor of shape (..., C, C)
        Confusion matrices, true classes in rows, decided classes in columns.

    Returns
    -------
    counts : Counts
        ``tn, fp, fn, tp``, each of shape (..., C).

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.multiclass.averages import one_against_rest
    >>> M = np.array([[5.0, 1.0, 0.0], [2.0, 3.0, 1.0], [0.0, 0.0, 4.0]])
    >>> one_against_rest(M).fp
    array([2., 1., 1.])
    """
    tp = M.diagonal(0, -2, -1)
    # Rounding can leave a little less than 0, of which there is no root.
    fn, fp = (M.sum(-1) - tp).clip(0), (M.sum(-2) - tp).clip(0)
    tn = (M.sum(-1).sum(-1)[..., None] - tp - fn - fp).clip(0)
    return Counts(tn, fp, fn, tp)


@dataclass(frozen=True)
class Average:
    """A binary metric averaged over the classes, each against the rest.

    By name, ``'<metric>_<average>'``, as scikit-learn's scorers have it:
    ``'f1_macro'``, ``'precision_weighted'``.

    Parameters
    ----------
    metric : str or callable, default='f1'
        A metric of one binary confusion matrix.
    average : {'macro', 'weighted', 'micro'}, default='macro'
        The mean over the classes; the mean weighted by the number of true samples of
        each; or the metric of the sum of the binary matrices. A class without a sample
        that neither is nor is predicted as such is left out.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.multiclass.averages import Average
    >>> M = np.array([[5.0, 1.0, 0.0], [2.0, 3.0, 1.0], [0.0, 0.0, 4.0]])
    >>> round(float(Average("recall", "macro").of_matrix(M)), 3)
    0.778

    With two classes, both count, the negatives in the role of the positives:

    >>> round(Average("recall", "macro")(90, 10, 1, 4), 3)
    0.85
    """

    metric: str | Metric = "f1"
    average: str = "macro"

    def __post_init__(self) -> None:
        if self.average not in AVERAGES:
            raise ValueError(
                f"average must be one of {', '.join(map(repr, AVERAGES))}, got "
                f"{self.average!r}."
            )
        binary = get_metric(self.metric)
        if is_registered_curve(binary) or isinstance(binary, Average):
            raise ValueError(
                f"{metric_name(self.metric)!r} cannot be averaged over classes; choose "
                "a metric of one binary confusion matrix, such as 'f1'."
            )

    @property
    def __name__(self) -> str:
        return f"{metric_name(self.metric)}_{self.average}"

    def __call__(self, tn: Count, fp: Count, fn: Count, tp: Count) -> Count:
        metric = get_metric(self.metric)
        if self.average == "micro":
            right, wrong = tn + tp, fp + fn
            return metric(right, wrong, wrong, right)
        of_negatives, of_positives = metric(tp, fn, fp, tn), metric(tn, fp, fn, tp)
        if self.average == "weighted":
            negatives, positives = tn + fp, fn + tp
            total = of_negatives * negatives + of_positives * positives
            return ratio(total, negatives + positives)
        has_negatives = (tn + fp + fn) != 0
        has_positives = (fp + fn + tp) != 0
        total = of_negatives * has_negatives + of_positives * has_positives
        return ratio(total, 1.0 * has_negatives + 1.0 * has_positives)

    def of_matrix(self, M: Array) -> Array:
        """The average for confusion matrices of C classes.

        Parameters
        ----------
        M : array or tensor of shape (..., C, C)
            Confusion matrices, true classes in rows, decided classes in columns.

        Returns
        -------
        value : array or tensor of shape (...)
            The average.
        """
        metric, counts = get_metric(self.metric), one_against_rest(M)
        if self.average == "micro":
            return values_of(metric, *(count.sum(-1) for count in counts))
        values = values_of(metric, *counts)
        weights = M.sum(-1)
        if self.average == "macro":
            weights = 1.0 * ((weights + M.sum(-2)) != 0)
        return ratio((values * weights).sum(-1), weights.sum(-1))


def _build(match: re.Match[str]) -> Average:
    return Average(match[1], match[2].lower())


def _spelling(match: re.Match[str]) -> str:
    return f"{registered_spelling(match[1])}_{match[2].lower()}"


register_family(
    rf"([\w.]+)_({'|'.join(AVERAGES)})",
    _build,
    _spelling,
    reserved_for="averages over classes",
)
