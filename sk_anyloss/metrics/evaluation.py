"""A metric of one confusion matrix, of many, or of the outputs of a model."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from sk_anyloss.metrics.arithmetic import Metric, value_of, values_of
from sk_anyloss.metrics.confusion import Counts, confusion
from sk_anyloss.metrics.constraints import AtLeast, ScoreAtLeast
from sk_anyloss.metrics.curves import Curve, counts_at_every_score
from sk_anyloss.metrics.multiclass.lookup import matrix_metric
from sk_anyloss.metrics.multiclass.matrix import MatrixMetric
from sk_anyloss.metrics.registry import get_metric, metric_name

__all__ = [
    "evaluate",
    "evaluate_logits",
    "evaluate_matrix",
    "matrix_values",
    "metric_values",
]


def evaluate(metric: str | Metric, counts: Counts) -> float:
    """A metric of hard counts, also if it is written with torch functions.

    Parameters
    ----------
    metric : str or callable
        As :func:`sk_anyloss.metrics.get_metric` takes it.
    counts : Counts
        One confusion matrix.

    Returns
    -------
    score : float
        The metric; with a constraint, a
        :class:`sk_anyloss.metrics.constraints.ScoreAtLeast`.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.metrics.confusion import Counts
    >>> from sk_anyloss.metrics.evaluation import evaluate
    >>> evaluate(lambda tn, fp, fn, tp: torch.sqrt(tp), Counts(1.0, 2.0, 3.0, 4.0))
    2.0
    """
    function = get_metric(metric)
    if isinstance(function, AtLeast):
        goal = evaluate(function.goal, counts)
        constraint = evaluate(function.constraint, counts)
        return ScoreAtLeast.from_values(function, goal, constraint)
    return value_of(function, counts)


def evaluate_matrix(
    metric: str | MatrixMetric, M: np.ndarray, classes: Sequence[object]
) -> float:
    """A metric of one C x C matrix, also if it is written with torch functions.

    Parameters
    ----------
    metric : str or callable
        As :func:`sk_anyloss.metrics.matrix_metric` takes it.
    M : ndarray of shape (C, C)
        Confusion matrix, true classes in rows.
    classes : sequence
        The labels, in the order of rows and columns.

    Returns
    -------
    score : float
        The metric.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.evaluation import evaluate_matrix
    >>> evaluate_matrix("recall", np.array([[1.0, 1.0], [0.0, 2.0]]), [0, 1])
    0.75
    """
    return _one_matrix(matrix_metric(metric, classes), M)


def _one_matrix(function: MatrixMetric, M: np.ndarray) -> float:
    try:
        return float(function(M))
    except (AttributeError, TypeError):
        import torch  # Stored models are applied without it.

        return float(function(torch.from_numpy(M)))


def evaluate_logits(
    metric: str | Metric,
    logits: np.ndarray,
    target: np.ndarray,
    sample_weight: np.ndarray | None = None,
    threshold: float = 0.0,
) -> float:
    """A metric of the decisions at one threshold, or over all thresholds.

    Parameters
    ----------
    metric : str or callable
        As :func:`sk_anyloss.metrics.get_metric` takes it.
    logits : ndarray of shape (n,)
        One for each sample.
    target : ndarray of shape (n,)
        Labels, 0 or 1.
    sample_weight : ndarray of shape (n,), default=None
        Sample weights.
    threshold : float, default=0
        Samples with a larger logit are decided positive. Metrics over thresholds
        ignore it.

    Returns
    -------
    score : float
        The metric. A metric over thresholds is undefined without both classes; it is
        then NaN, with a warning.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.evaluation import evaluate_logits
    >>> logits, y = np.array([-1.0, 0.5, 2.0]), np.array([0, 0, 1])
    >>> evaluate_logits("roc_auc", logits, y), evaluate_logits("precision", logits, y)
    (1.0, 0.5)
    """
    function = get_metric(metric)
    if not isinstance(function, Curve):
        decision = (logits > threshold).astype(float)
        counts = confusion(decision, 1 - decision, target, sample_weight)
        return evaluate(metric, counts)
    tn, fp, fn, tp = counts_at_every_score(logits, target, sample_weight)
    if tp[-1] == 0 or fp[-1] == 0:
        warnings.warn(
            f"{metric_name(metric)} is not defined for samples of one class.",
            UndefinedMetricWarning,
            stacklevel=3,
        )
        return float("nan")
    return float(function(tn, fp, fn, tp))


def metric_values(
    metric: str | Metric,
    tn: np.ndarray,
    fp: np.ndarray,
    fn: np.ndarray,
    tp: np.ndarray,
) -> np.ndarray:
    """A metric of many confusion matrices, whether or not it takes arrays.

    Parameters
    ----------
    metric : str or callable
        As :func:`sk_anyloss.metrics.get_metric` takes it.
    tn, fp, fn, tp : ndarray of shape (m,)
        The counts.

    Returns
    -------
    values : ndarray of shape (m,)
        The metric of each matrix.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from sk_anyloss.metrics.evaluation import metric_values
    >>> counts = np.array([[1.0, 4.0]] * 4)
    >>> metric_values(lambda tn, fp, fn, tp: torch.sqrt(tp), *counts)
    array([1., 2.])
    >>> metric_values(lambda tn, fp, fn, tp: tp if tp > 2 else 0.0, *counts)
    array([0., 4.])
    """
    return values_of(get_metric(metric), tn, fp, fn, tp)


def matrix_values(function: MatrixMetric, M: np.ndarray) -> np.ndarray:
    """A metric of many C x C matrices, whether or not it takes more than one.

    Parameters
    ----------
    function : callable
        As :func:`sk_anyloss.metrics.matrix_metric` returns it.
    M : ndarray of shape (m, C, C)
        Confusion matrices, true classes in rows.

    Returns
    -------
    values : ndarray of shape (m,)
        The metric of each matrix.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.evaluation import matrix_values
    >>> M = np.array([np.eye(3), np.ones((3, 3))])
    >>> matrix_values(lambda M: np.trace(M) / M.sum(), M).round(3)
    array([1.   , 0.333])
    """
    if len(M) == 0:
        return np.empty(0)
    ends = [_one_matrix(function, M[i]) for i in (0, -1)]
    try:
        values = np.asarray(function(M), dtype=float)
        # A function of one matrix can give numbers for a stack of them as well.
        if values.shape == (len(M),) and np.allclose(values[[0, -1]], ends):
            return values
    except (AttributeError, TypeError, ValueError, IndexError):
        pass
    return np.array([_one_matrix(function, matrix) for matrix in M])
