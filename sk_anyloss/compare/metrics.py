"""The metric of a comparison, for the number of classes and the labels of its tables.

Models are fitted on codes 0, 1, ..., C - 1 of the classes, and a fold is stored as its
C x C confusion matrix, from which every metric is computed; of several labels as the
four counts of each.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from sklearn.metrics import confusion_matrix, multilabel_confusion_matrix

from sk_anyloss.compare.tables.labels import Label
from sk_anyloss.metrics import (
    Metric,
    Savings,
    get_metric,
    matrix_metric,
    metric_name,
)
from sk_anyloss.metrics.confusion import Counts
from sk_anyloss.metrics.evaluation import evaluate, matrix_values
from sk_anyloss.metrics.multiclass.lookup import is_for_matrix, matrix_metric_name
from sk_anyloss.metrics.multilabel import LabelAverage, label_metric

__all__ = [
    "AnyMetric",
    "check_metric",
    "count_decisions",
    "encode_metric",
    "metric_for_classes",
    "metric_for_labels",
    "metric_from_text",
    "parse_cost",
    "score_counts",
    "text_of_metric",
]

#: A metric of four counts, of a C x C matrix, or the name of one.
AnyMetric: TypeAlias = str | Callable[..., Any]


def check_metric(metric: AnyMetric, classes: Sequence[Label]) -> None:
    """Refuse a metric that does not exist for these classes.

    Parameters
    ----------
    metric : str or callable
        The metric.
    classes : sequence of labels
        The classes of a table.

    Examples
    --------
    >>> from sk_anyloss.compare.metrics import check_metric
    >>> check_metric("recall[c]", ["a", "b", "d"])
    Traceback (most recent call last):
    ...
    ValueError: metric='recall[c]' names the class 'c', but the classes are a, b, d.
    """
    if len(classes) == 2:
        get_metric(metric)
    else:
        matrix_metric(metric, classes)


def metric_for_classes(metric: AnyMetric, n_classes: int) -> AnyMetric:
    """The metric that is meant where there are more than two classes.

    Parameters
    ----------
    metric : str or callable
        A valid metric.
    n_classes : int
        The number of classes.

    Returns
    -------
    metric : str or callable
        With more than two classes, the macro average of a metric of two classes; other
        metrics as they are.

    Examples
    --------
    >>> from sk_anyloss.compare.metrics import metric_for_classes
    >>> metric_for_classes("f1", 2), metric_for_classes("f1", 3)
    ('f1', 'f1_macro')
    >>> metric_for_classes("precision@recall[a]>=0.8", 3), metric_for_classes("mcc", 3)
    ('precision_macro@recall[a]>=0.8', 'mcc')
    """
    if n_classes == 2:
        return metric
    if not isinstance(metric, str) and _is_name_of(metric, metric_name(metric)):
        metric = metric_name(metric)  # A function means the same as its name.
    found: AnyMetric = matrix_metric_name(metric)
    return found


def metric_for_labels(metric: AnyMetric) -> LabelAverage:
    """The metric that is meant where samples have several labels.

    Parameters
    ----------
    metric : str or callable
        A metric.

    Returns
    -------
    metric : LabelAverage
        The average over the labels; the macro average of a metric of two classes.

    Examples
    --------
    >>> from sk_anyloss.compare.metrics import metric_for_labels
    >>> metric_for_labels("f1"), metric_for_labels("recall_micro")
    (LabelAverage(metric='f1', average='macro'),
     LabelAverage(metric='recall', average='micro'))
    """
    average = label_metric(metric)
    if average.average == "samples":
        raise ValueError(
            f"metric={metric!r} is an average over samples, and methods are compared "
            f"by the counts of each label; use '{metric_name(average.metric)}_macro', "
            "_micro or _weighted."
        )
    return average


def _is_name_of(metric: Metric, name: str) -> bool:
    try:
        return bool(get_metric(name) == metric)
    except ValueError:
        return False


def parse_cost(text: str) -> Savings:
    """Costs such as ``'fp=1,fn=20'`` as a metric.

    Examples
    --------
    >>> from sk_anyloss.compare.metrics import parse_cost
    >>> parse_cost("fp=1, fn=20")
    Savings(fp=1.0, fn=20.0, tn=0.0, tp=0.0)
    """
    costs: dict[str, float] = {}
    for part in filter(None, map(str.strip, text.split(","))):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        try:
            if not equals or name not in ("fp", "fn", "tn", "tp") or name in costs:
                raise ValueError
            costs[name] = float(value)
        except ValueError:
            raise ValueError(
                f"--cost must be such as fp=1,fn=20, with fp, fn, tn and tp once at "
                f"most, got {text!r}."
            ) from None
    return Savings(**costs)


def text_of_metric(metric: AnyMetric) -> str:
    """A metric as a model file holds it; empty for a function without a name.

    Examples
    --------
    >>> from sk_anyloss.compare.metrics import metric_from_text, text_of_metric
    >>> from sk_anyloss.metrics import Savings
    >>> text_of_metric("F1"), text_of_metric(Savings(fp=1, fn=20))
    ('f1', 'fp=1,fn=20,tn=0.0,tp=0.0')
    >>> metric_from_text("fp=1,fn=20,tn=0.0,tp=0.0") == Savings(fp=1, fn=20)
    True
    """
    if isinstance(metric, Savings):
        return ",".join(f"{name}={cost!r}" for name, cost in vars(metric).items())
    name = metric_name(metric)
    return name if isinstance(metric, str) or _is_name_of(metric, name) else ""


def metric_from_text(text: str) -> AnyMetric:
    """The metric that :func:`text_of_metric` was made from."""
    return parse_cost(text) if text.startswith(("fp=", "fn=", "tn=")) else text


def encode_metric(metric: AnyMetric, classes: Sequence[Label]) -> AnyMetric:
    """The metric for labels that are encoded as 0, 1, ..., C - 1.

    Parameters
    ----------
    metric : str or callable
        The metric, which may name a class.
    classes : sequence of labels
        The classes in the order of their codes.

    Returns
    -------
    metric : str or callable
        The same metric, with codes where it names classes.

    Examples
    --------
    >>> from sk_anyloss.compare.metrics import encode_metric
    >>> encode_metric("f1_macro@recall[late]>=0.8", ["fine", "late", "lost"])
    'f1_macro@recall[1]>=0.8'
    """
    if not isinstance(metric, str) or "[" not in metric:
        return metric
    codes = {str(label): code for code, label in enumerate(classes)}
    texts = "|".join(re.escape(text) for text in sorted(codes, key=len, reverse=True))
    return re.sub(
        rf"\[(['\"]?)({texts})\1\]", lambda match: f"[{codes[match[2]]}]", metric
    )


def count_decisions(
    y: np.ndarray,
    predicted: np.ndarray,
    n_classes: int,
    weight: np.ndarray | None = None,
) -> list[float]:
    """What metrics are computed from: the confusion matrix of some samples.

    Parameters
    ----------
    y, predicted : ndarray of shape (n_samples,) or (n_samples, n_labels)
        True and predicted classes, or labels.
    n_classes : int
        Number of classes.
    weight : ndarray of shape (n_samples,), default=None
        Weights of the samples, which are summed instead of counted.

    Returns
    -------
    counts : list of float
        As :func:`score_counts` takes them.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.compare.metrics import count_decisions
    >>> count_decisions(np.array([0, 1, 1]), np.array([0, 1, 0]), 2)
    [1.0, 0.0, 1.0, 1.0]
    """
    if y.ndim == 2:
        M = multilabel_confusion_matrix(y, predicted, sample_weight=weight)
    else:
        labels = range(n_classes)
        M = confusion_matrix(y, predicted, labels=labels, sample_weight=weight)
    return [float(n) for n in M.ravel()]


def score_counts(
    metric: AnyMetric, counts: Sequence[float], classes: Sequence[Label]
) -> float:
    """A metric of a confusion matrix.

    Parameters
    ----------
    metric : str or callable
        The metric; from :func:`metric_for_labels` for several labels.
    counts : sequence of float of length C * C
        The matrix row by row, true classes in rows; ``tn, fp, fn, tp`` for two, and for
        each of several labels.
    classes : sequence of labels of length C
        The classes.

    Returns
    -------
    score : float
        The metric.

    Examples
    --------
    >>> from sk_anyloss.compare.metrics import score_counts
    >>> score_counts("recall", [5, 1, 1, 3], ["no", "yes"])
    0.75
    >>> score_counts("recall[b]", [5, 1, 0, 0, 2, 2, 1, 0, 4], "abc")
    0.5
    """
    if isinstance(metric, LabelAverage):
        of_labels = np.asarray(counts, dtype=float).reshape(-1, 4)
        return float(metric.of_counts(*of_labels.T))
    if len(classes) == 2 and not is_for_matrix(metric):
        return float(evaluate(metric, Counts(*map(float, counts))))
    function = matrix_metric(metric, list(classes))
    M = np.asarray(counts, dtype=float).reshape(1, len(classes), len(classes))
    return float(matrix_values(function, M)[0])
