"""Metrics of several labels: averages of a binary metric over labels or samples."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from sk_anyloss.metrics.arithmetic import Array, Metric, ratio, values_of
from sk_anyloss.metrics.multiclass.averages import Average
from sk_anyloss.metrics.multiclass.lookup import needs_matrix
from sk_anyloss.metrics.registry import (
    get_metric,
    is_registered_curve,
    metric_name,
    registered_spelling,
)

__all__ = ["LABEL_AVERAGES", "LabelAverage", "label_metric"]

#: scikit-learn's averages over labels, and over samples.
LABEL_AVERAGES = ("macro", "weighted", "micro", "samples")

_NAME = re.compile(rf"(.+)_({'|'.join(LABEL_AVERAGES)})", re.IGNORECASE)


@dataclass(frozen=True)
class LabelAverage:
    """A binary metric averaged over labels, or over samples.

    Parameters
    ----------
    metric : str or callable, default='f1'
        A metric of one binary confusion matrix.
    average : {'macro', 'weighted', 'micro', 'samples'}, default='macro'
        The mean over the labels; the mean weighted by the number of samples that have
        the label; the metric of the sum of all confusion matrices; or the mean over
        the samples, each with the confusion matrix of its labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.multilabel import LabelAverage
    >>> y_true = np.array([[1, 0, 1], [0, 1, 0]])
    >>> y_pred = np.array([[1, 1, 1], [0, 1, 0]])
    >>> [round(LabelAverage("f1", a).of_labels(y_true, y_pred), 3)
    ...  for a in ("macro", "weighted", "micro", "samples")]
    [0.889, 0.889, 0.857, 0.9]
    """

    metric: str | Metric = "f1"
    average: str = "macro"

    def __post_init__(self) -> None:
        if self.average not in LABEL_AVERAGES:
            raise ValueError(
                f"average must be one of {', '.join(map(repr, LABEL_AVERAGES))}, got "
                f"{self.average!r}."
            )
        if is_registered_curve(get_metric(self.metric)):
            raise ValueError(
                f"{metric_name(self.metric)!r} is a metric over thresholds and has no "
                "average over labels here; choose a metric of the confusion matrix, "
                "such as 'f1'."
            )

    @property
    def __name__(self) -> str:
        return f"{metric_name(self.metric)}_{self.average}"

    def of_counts(self, tn: Array, fp: Array, fn: Array, tp: Array) -> Array:
        """The average, from the confusion matrices of labels or of samples.

        Parameters
        ----------
        tn, fp, fn, tp : array or tensor of shape (..., Q)
            Counts of each label; for the average over samples, of each sample.

        Returns
        -------
        value : array or tensor of shape (...)
            The average.
        """
        metric = get_metric(self.metric)
        if self.average == "micro":
            return values_of(metric, *(x.sum(-1) for x in (tn, fp, fn, tp)))
        values = values_of(metric, tn, fp, fn, tp)
        if self.average == "weighted":
            support = fn + tp
            return ratio((values * support).sum(-1), support.sum(-1))
        return values.mean(-1)

    def of_labels(
        self,
        y_true: np.ndarray,
        y_pred: np.ndarray,
        sample_weight: np.ndarray | None = None,
    ) -> float:
        """The average for decisions.

        Parameters
        ----------
        y_true, y_pred : ndarray of shape (n, Q)
            True and decided labels, 0 or 1.
        sample_weight : ndarray of shape (n,), default=None
            Weights of the samples.

        Returns
        -------
        value : float
            The average.
        """
        true, decided = np.asarray(y_true, float), np.asarray(y_pred, float)
        weight = np.ones(len(true)) if sample_weight is None else sample_weight
        parts = (
            (1 - true) * (1 - decided),
            (1 - true) * decided,
            true * (1 - decided),
            true * decided,
        )
        if self.average == "samples":
            metric = get_metric(self.metric)
            values = values_of(metric, *(part.sum(1) for part in parts))
            return float(np.average(values, weights=weight))
        return float(self.of_counts(*(weight @ part for part in parts)))


def label_metric(metric: str | Metric | LabelAverage) -> LabelAverage:
    """The metric of several labels.

    Parameters
    ----------
    metric : str or callable
        ``'<metric>_macro'``, ``'_weighted'``, ``'_micro'`` or ``'_samples'`` for an
        average of a binary metric; a binary metric, by name or as a callable
        ``f(tn, fp, fn, tp)``, means its macro average.

    Returns
    -------
    metric : LabelAverage
        The average.

    Examples
    --------
    >>> from sk_anyloss.metrics.multilabel import label_metric
    >>> label_metric("f1"), label_metric("Recall_Samples")
    (LabelAverage(metric='f1', average='macro'),
     LabelAverage(metric='recall', average='samples'))
    """
    if isinstance(metric, LabelAverage):
        return metric
    if isinstance(metric, Average):
        return LabelAverage(metric.metric, metric.average)
    if needs_matrix(metric):
        raise ValueError(
            f"metric={metric!r} is a metric of classes that exclude each other and has "
            "no meaning for several labels; choose an average such as 'f1_macro'."
        )
    if isinstance(metric, str):
        if match := _NAME.fullmatch(metric):
            return LabelAverage(registered_spelling(match[1]), match[2].lower())
        return LabelAverage(registered_spelling(metric))
    return LabelAverage(metric)
