"""Metrics of true and predicted labels, and scorers of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import confusion_matrix, make_scorer
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import (
    check_consistent_length,
    column_or_1d,
)

from sk_anyloss._compat import check_sample_weight
from sk_anyloss.metrics.confusion import confusion
from sk_anyloss.metrics.curves import Curve
from sk_anyloss.metrics.evaluation import evaluate, evaluate_logits, evaluate_matrix
from sk_anyloss.metrics.multiclass.lookup import is_for_matrix
from sk_anyloss.metrics.multilabel import LabelAverage, label_metric
from sk_anyloss.metrics.registry import get_metric

__all__ = [
    "check_classes",
    "check_indicator",
    "is_curve",
    "metric_score",
    "metric_scorer",
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
        It must be one of the labels, unless all samples have the same one.
    sample_weight : array-like of shape (n,), default=None
        Sample weights.
    labels : array-like of shape (C,), default=None
        All classes in their order, for a metric of more than two, of ordered classes
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
        if pos_label not in (None, 1) or labels is not None:
            raise ValueError(
                f"pos_label={pos_label!r} and labels={labels!r} have no meaning for "
                "matrices of 0 and 1; leave them out."
            )
        return _label_score(metric, y_true, y_pred, sample_weight)
    true: np.ndarray = column_or_1d(y_true)
    predicted: np.ndarray = column_or_1d(y_pred)
    check_consistent_length(true, predicted, sample_weight)
    if not len(true):
        raise ValueError("y_true and y_pred are empty; at least one sample is needed.")
    weight: np.ndarray | None = None
    if sample_weight is not None:
        weight = check_sample_weight(sample_weight, len(true))
    is_for_all = is_for_matrix(metric)
    over_thresholds = is_curve(metric)
    given = (true,) if over_thresholds else (true, predicted)
    distinct = unique_labels(*given)  # Refuses a mix of strings and numbers.
    classes = distinct if labels is None else check_classes(labels, distinct)
    if pos_label is not None:
        _check_pos_label(pos_label, classes)
    if is_for_all or (len(classes) > 2 and pos_label is None and not over_thresholds):
        M = confusion_matrix(true, predicted, labels=classes, sample_weight=weight)
        return evaluate_matrix(metric, M.astype(float), classes.tolist())
    if pos_label is None:
        pos_label = _greater_label(*given)
    target = (true == pos_label).astype(float)
    if over_thresholds:
        scores = check_array(predicted, ensure_2d=False, input_name="y_pred")
        scores = scores.astype(np.result_type(scores, np.float32), copy=False)
        return evaluate_logits(metric, scores, target, weight)
    decision = (predicted == pos_label).astype(float)
    return evaluate(metric, confusion(decision, 1 - decision, target, weight))


def check_classes(
    given: ArrayLike, distinct: np.ndarray, name: str = "labels"
) -> np.ndarray:
    """The classes that a user lists, once each, among them all those of the samples.

    Parameters
    ----------
    given : array-like of shape (C,)
        The list.
    distinct : ndarray
        Classes of the samples.
    name : str, default='labels'
        Name of the list, for messages.

    Returns
    -------
    classes : ndarray of shape (C,)
        The list as an array, in its order.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.scoring import check_classes
    >>> check_classes(["no", "Yes"], np.array(["no", "yes"]))
    Traceback (most recent call last):
    ...
    ValueError: labels=['no', 'Yes'] must hold all classes, but y has 'yes' as well.
    """
    classes = np.asarray(given)
    assert_all_finite(classes, input_name=name)
    # unique_labels refuses a mix of strings and numbers, which an array would convert.
    if classes.ndim != 1 or len(unique_labels(given)) < max(len(classes), 1):
        raise ValueError(
            f"{name} must be a list of the classes, each of them once; got {given!r}."
        )
    if len(others := np.setdiff1d(unique_labels(distinct, classes), classes)):
        raise ValueError(
            f"{name}={classes.tolist()} must hold all classes, but y has "
            f"{others.tolist()[0]!r} as well."
        )
    return classes


def _check_pos_label(pos_label: Any, classes: np.ndarray) -> None:
    """Refuse what is not one of the classes; a single one does not tell the other."""
    known = classes.tolist()
    is_text = [isinstance(label, str) for label in (pos_label, known[0])]
    alone = len(known) == 1 and is_text[0] == is_text[1]
    if np.ndim(pos_label) or not (alone or any(pos_label == c for c in classes)):
        raise ValueError(
            f"pos_label={pos_label!r} is not a valid label: It should be one of "
            f"{known[:20]}."
        )


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
