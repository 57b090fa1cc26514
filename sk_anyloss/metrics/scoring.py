"""Scores of a model: metrics of labels or logits, best thresholds, scorers."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import confusion_matrix, make_scorer
from sklearn.utils import check_array
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import (
    check_consistent_length,
    column_or_1d,
)

from sk_anyloss._compat import check_sample_weight
from sk_anyloss.metrics.arithmetic import Metric
from sk_anyloss.metrics.confusion import Counts, confusion
from sk_anyloss.metrics.constraints import AtLeast, ScoreAtLeast
from sk_anyloss.metrics.curves import Curve, counts_at_every_score
from sk_anyloss.metrics.multiclass.lookup import is_for_matrix, matrix_metric
from sk_anyloss.metrics.multiclass.matrix import MatrixMetric
from sk_anyloss.metrics.multilabel import LabelAverage, label_metric
from sk_anyloss.metrics.registry import get_metric, metric_name

__all__ = [
    "best_threshold",
    "check_indicator",
    "evaluate",
    "evaluate_logits",
    "evaluate_matrix",
    "is_curve",
    "matrix_values",
    "metric_score",
    "metric_scorer",
    "metric_values",
]


def metric_score(
    y_true: ArrayLike,
    y_pred: ArrayLike,
    *,
    metric: str | Callable[..., Any] = "f1",
    pos_label: object = None,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
) -> float:
    """Metric of predictions, for any number of classes or labels.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,) or (n, Q)
        True and predicted labels; two indicator matrices, of zeros and ones, for
        several labels. For a metric over thresholds, ``'roc_auc'`` or
        ``'average_precision'``, ``y_pred`` holds scores instead, higher for the
        positive class.
    metric : str or callable, default='f1'
        As :func:`sk_anyloss.metrics.get_metric` takes it for two classes,
        :func:`sk_anyloss.metrics.matrix_metric` for more, and
        :func:`sk_anyloss.metrics.multilabel.label_metric` for several labels.
    pos_label : label, default=None
        The positive class; by default the greater of the two labels, as in
        ``classes_[1]``. With more than two labels, the other ones are the negatives.
    sample_weight : array-like of shape (n,), default=None
        Sample weights.
    labels : array-like of shape (C,), default=None
        The classes in their order, for a metric of more than two, of ordered classes
        or of a cost matrix; by default the sorted labels of both arrays.

    Returns
    -------
    score : float
        The metric; with a constraint, a
        :class:`sk_anyloss.metrics.constraints.ScoreAtLeast`.

    Examples
    --------
    >>> from sk_anyloss.metrics.scoring import metric_score
    >>> metric_score([0, 0, 1, 1], [0, 1, 1, 1], metric="specificity")
    0.5
    >>> metric_score([0, 0, 1, 2], [0, 1, 1, 1], metric="recall_macro")
    0.5
    >>> metric_score([[1, 0], [1, 1]], [[1, 0], [0, 1]], metric="jaccard_samples")
    0.75
    """
    if _is_indicator(y_true) and _is_indicator(y_pred):
        return _label_score(metric, y_true, y_pred, sample_weight)
    true: np.ndarray = column_or_1d(y_true)
    predicted: np.ndarray = column_or_1d(y_pred)
    check_consistent_length(true, predicted, sample_weight)
    weight: np.ndarray | None = None
    if sample_weight is not None:
        weight = check_sample_weight(sample_weight, len(true))
    is_for_all = is_for_matrix(metric)
    over_thresholds = is_curve(metric)
    given = (true,) if over_thresholds else (true, predicted)
    distinct = unique_labels(*given)  # Refuses a mix of strings and numbers.
    classes = distinct if labels is None else np.asarray(labels)
    if is_for_all or (len(classes) > 2 and pos_label is None and not over_thresholds):
        M = confusion_matrix(true, predicted, labels=classes, sample_weight=weight)
        return evaluate_matrix(metric, M.astype(float), classes.tolist())
    if pos_label is None:
        pos_label = _greater_label(*given)
    target = (true == pos_label).astype(float)
    if over_thresholds:
        scores = check_array(predicted, ensure_2d=False, dtype=(np.float64, np.float32))
        return evaluate_logits(metric, scores, target, weight)
    decision = (predicted == pos_label).astype(float)
    return evaluate(metric, confusion(decision, 1 - decision, target, weight))


def is_curve(metric: str | Callable[..., Any]) -> bool:
    """Whether a metric is one over all thresholds, of scores rather than decisions.

    Examples
    --------
    >>> from sk_anyloss.metrics.scoring import is_curve
    >>> is_curve("roc_auc"), is_curve("recall[fraud]")
    (True, False)
    """
    return not is_for_matrix(metric) and isinstance(get_metric(metric), Curve)


def _is_indicator(y: ArrayLike) -> bool:
    shape = y.shape if hasattr(y, "shape") else np.shape(y)
    return len(shape) == 2 and shape[1] > 1


def _is_for_labels(metric: str | Callable[..., Any]) -> bool:
    """Whether a metric is one of several labels only."""
    if isinstance(metric, str):
        return metric.lower().endswith("_samples")
    return isinstance(metric, LabelAverage)


def _label_score(
    metric: str | Callable[..., Any],
    y_true: ArrayLike,
    y_pred: ArrayLike,
    sample_weight: ArrayLike | None,
) -> float:
    """A metric of several labels."""
    average = label_metric(metric)
    check_consistent_length(y_true, y_pred, sample_weight)
    true, predicted = (check_indicator(y) for y in (y_true, y_pred))
    if true.shape != predicted.shape:
        raise ValueError(
            f"y_true has {true.shape[1]} labels and y_pred {predicted.shape[1]}."
        )
    weight = None
    if sample_weight is not None:
        weight = check_sample_weight(sample_weight, len(true))
    return average.of_labels(true, predicted, weight)


def check_indicator(y: ArrayLike) -> np.ndarray:
    """Validate an indicator matrix of several labels.

    Parameters
    ----------
    y : {array-like, sparse matrix} of shape (n, Q)
        Zeros and ones.

    Returns
    -------
    y : ndarray of shape (n, Q)
        The same, dense.

    Examples
    --------
    >>> from sk_anyloss.metrics.scoring import check_indicator
    >>> check_indicator([[0, 2], [1, 1]])
    Traceback (most recent call last):
    ...
    ValueError: y in two dimensions must hold zeros and ones, a column for each label;
    it also holds 2.
    """
    dense = y.toarray() if hasattr(y, "toarray") else y
    array: np.ndarray = check_array(dense, dtype=None, input_name="y")
    others = np.setdiff1d(np.unique(array), [0, 1])
    if len(others):
        raise ValueError(
            "y in two dimensions must hold zeros and ones, a column for each label; it "
            f"also holds {others[0]}."
        )
    return array


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
    >>> from sk_anyloss.metrics.scoring import evaluate_matrix
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
    >>> from sk_anyloss.metrics.scoring import matrix_values
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
    >>> from sk_anyloss.metrics.scoring import evaluate
    >>> evaluate(lambda tn, fp, fn, tp: torch.sqrt(tp), Counts(1.0, 2.0, 3.0, 4.0))
    2.0
    """
    function = get_metric(metric)
    if isinstance(function, AtLeast):
        goal = evaluate(function.goal, counts)
        constraint = evaluate(function.constraint, counts)
        return ScoreAtLeast.from_values(function, goal, constraint)
    try:
        return float(function(*counts))
    except (AttributeError, TypeError):
        import torch  # Stored models are applied without it.

        tensors = (torch.tensor(float(count)).double() for count in counts)
        return float(function(*tensors))


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
    >>> from sk_anyloss.metrics.scoring import evaluate_logits
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
    >>> from sk_anyloss.metrics.scoring import metric_values
    >>> counts = np.array([[1.0, 4.0]] * 4)
    >>> metric_values(lambda tn, fp, fn, tp: torch.sqrt(tp), *counts)
    array([1., 2.])
    >>> metric_values(lambda tn, fp, fn, tp: tp if tp > 2 else 0.0, *counts)
    array([0., 4.])
    """
    function, counts = get_metric(metric), (tn, fp, fn, tp)
    try:
        values = function(*counts)
    except (AttributeError, TypeError, ValueError):
        # It takes tensors only, or its branches need single numbers.
        matrices = zip(*counts, strict=True)
        values = [evaluate(metric, Counts(*matrix)) for matrix in matrices]
    return np.broadcast_to(np.asarray(values, dtype=float), tp.shape)


def best_threshold(
    metric: str | Metric,
    logits: np.ndarray,
    target: np.ndarray,
    sample_weight: np.ndarray | None = None,
) -> tuple[float, float]:
    """The threshold on logits that maximises a metric on the given samples.

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

    Returns
    -------
    threshold : float
        Samples with a larger logit are to be decided positive. It lies halfway between
        two logits; of equally good thresholds, it is the one nearest to 0.
    value : float
        The metric at the threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.scoring import best_threshold
    >>> best_threshold("f1", np.array([-2.0, -1.0, 0.0, 3.0]), np.array([0, 1, 0, 1]))
    (-1.5, 0.8)
    """
    if sample_weight is not None:  # Samples of weight 0 count as absent.
        kept = sample_weight > 0
        logits, target, sample_weight = logits[kept], target[kept], sample_weight[kept]
    # From the threshold above all logits to the one below all of them.
    counts = counts_at_every_score(logits, target, sample_weight)
    tn, fp, fn, tp = (np.insert(count, 0, 0.0) for count in counts)
    tn[0], fn[0] = fp[-1], tp[-1]
    values = metric_values(metric, tn, fp, fn, tp)
    z = np.unique(logits.astype(float))[::-1]
    thresholds = np.concatenate(([z[0] + 1], (z[:-1] + z[1:]) / 2, [z[-1] - 1]))
    candidates = np.flatnonzero(values == values.max())
    best = candidates[np.argmin(np.abs(thresholds[candidates]))]
    return float(thresholds[best]), float(values[best])


def _greater_label(*labels: np.ndarray) -> object:
    distinct = np.unique(np.concatenate(labels))
    if len(distinct) == 2:
        return distinct[1]
    if len(distinct) == 1 and distinct[0] in (-1, 0, 1):
        return 1
    raise ValueError(
        f"Cannot tell which label is positive from {distinct[:5].tolist()}: two labels "
        "are needed, or pos_label."
    )


def metric_scorer(
    metric: str | Callable[..., Any] = "f1",
    *,
    pos_label: object = None,
    labels: ArrayLike | None = None,
) -> Callable[..., float]:
    """A scikit-learn scorer, for any ``scoring=`` parameter.

    Parameters
    ----------
    metric : str or callable, default='f1'
        As :func:`metric_score` takes it.
    pos_label : label, default=None
        The positive class; by default the greater of the two labels. Give it if a
        fold may lack one of them and they are not 0 and 1.
    labels : array-like of shape (C,), default=None
        The classes, for a metric of more than two. Give them if a fold may lack one
        and the metric is of ordered classes, of a cost matrix or of a named class.

    Returns
    -------
    scorer : callable
        Made by :func:`sklearn.metrics.make_scorer`.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from sk_anyloss.metrics.scoring import metric_scorer
    >>> X, y = make_classification(weights=[0.8], random_state=0)
    >>> scorer = metric_scorer("gmean")
    >>> cross_val_score(LogisticRegression(), X, y, scoring=scorer).shape
    (5,)
    """
    # An unknown name should fail here, not after a long fit.
    if _is_for_labels(metric):
        return make_scorer(metric_score, metric=label_metric(metric))
    params: dict[str, Any] = {"metric": metric}
    if labels is not None:
        params["labels"] = labels
    if is_curve(metric):
        params["response_method"] = ("decision_function", "predict_proba")
    if pos_label is not None:
        params["pos_label"] = pos_label
    return make_scorer(metric_score, **params)
