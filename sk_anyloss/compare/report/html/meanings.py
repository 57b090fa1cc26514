"""What metrics mean, in a sentence for a reader who has not met them."""

from __future__ import annotations

import re

from sk_anyloss.metrics import Metric, Savings, get_metric, metric_name
from sk_anyloss.metrics.multiclass.averages import AVERAGES

__all__ = ["metric_meaning"]

MEANINGS = {
    "accuracy": "Fraction of all samples that are labelled correctly.",
    "average_precision": "Area under the precision-recall curve: the mean precision "
    "over all thresholds. At random it is the fraction of positives.",
    "balanced_accuracy": "Mean of the fractions of positives and of negatives that are "
    "labelled correctly. At random it is 0.5.",
    "f1": "Harmonic mean of precision and recall: high only if both are.",
    "gmean": "Geometric mean of the fractions of positives and of negatives that are "
    "labelled correctly: 0 if one class is never found.",
    "mcc": "Matthews correlation coefficient between labels and predictions: 1 is "
    "perfect, 0 no better than chance.",
    "precision": "Of the samples that are labelled positive, the fraction that are.",
    "recall": "Of the positive samples, the fraction that is found.",
    "roc_auc": "Probability that a positive sample has a higher score than a negative "
    "one, over all thresholds. At random it is 0.5.",
    "specificity": "Of the negative samples, the fraction that is labelled negative.",
}
OF_AVERAGES = {
    "macro": "Mean over the classes, each counted alike",
    "weighted": "Mean over the classes by their sizes",
    "micro": "From the decisions on all classes together",
}
COLUMNS = {
    "rank": "Mean rank over the folds; 1 is the best.",
    "s / fit": "Median time of a fit in seconds.",
}


def metric_meaning(metric: str | Metric) -> str:
    """What a metric, or another column of the ranking, means.

    Parameters
    ----------
    metric : str or callable
        The metric, or the heading of the column.

    Returns
    -------
    sentence : str
        Empty if nothing is known of it.

    Examples
    --------
    >>> from sk_anyloss.compare.report.html.meanings import metric_meaning
    >>> metric_meaning("precision")
    'Of the samples that are labelled positive, the fraction that are.'
    >>> metric_meaning("recall[late]")
    "Of the positive samples, the fraction that is found. Positive: 'late'."
    """
    if isinstance(metric, Savings):
        return "Cost that the decisions save, of the most that can be saved."
    name = metric_name(metric)
    known = {**COLUMNS, **MEANINGS}
    if name in known:
        return known[name]
    first, at, rest = name.partition("@")
    if at:
        return (
            f"{metric_meaning(first)} Only if {rest.replace('_', ' ')}; a negative "
            "number says by how much that is missed."
        )
    of_class = re.fullmatch(r"(.+)\[(.+)\]", name)
    if of_class:
        return f"{metric_meaning(of_class[1])} Positive: {of_class[2]!r}."
    base, _, average = name.rpartition("_")
    if average in AVERAGES and average in OF_AVERAGES:
        return f"{OF_AVERAGES[average]}. {metric_meaning(base)}"
    return _of_docstring(metric)


def _of_docstring(metric: str | Metric) -> str:
    try:
        lines = (get_metric(metric).__doc__ or "").strip().splitlines()
    except ValueError:
        return ""
    return lines[0].replace("`", "").strip() if lines else ""
