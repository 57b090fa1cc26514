"""Metrics on labels: one number for hard predictions, and scikit-learn scorers."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from sklearn.metrics import make_scorer
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import (
    _check_sample_weight,
    check_consistent_length,
    column_or_1d,
)

from sk_anyloss.counts import Counts, confusion
from sk_anyloss.metrics import Metric, get_metric

__all__ = ["best_cut", "evaluate", "metric_score", "metric_scorer"]


def metric_score(
    y_true: Any,
    y_pred: Any,
    *,
    metric: str | Metric = "f1",
    pos_label: Any = None,
    sample_weight: Any = None,
) -> float:
    """Metric of hard predictions.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted labels.
    metric : str or callable, default='f1'
        As :func:`sk_anyloss.metrics.get_metric` takes it.
    pos_label : label, default=None
        The positive class; by default the greater of the two labels, as in
        ``classes_[1]``.
    sample_weight : array-like of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    score : float
        The metric.

    Examples
    --------
    >>> from sk_anyloss.scoring import metric_score
    >>> metric_score([0, 0, 1, 1], [0, 1, 1, 1], metric="specificity")
    0.5
    """
    y_true, y_pred = column_or_1d(y_true), column_or_1d(y_pred)
    check_consistent_length(y_true, y_pred, sample_weight)
    unique_labels(y_true, y_pred)  # Refuses a mix of strings and numbers.
    if pos_label is None:
        pos_label = _greater_label(y_true, y_pred)
    if sample_weight is not None:
        sample_weight = _check_sample_weight(
            sample_weight, y_true, dtype=np.float64, ensure_non_negative=True
        )
    decision = (y_pred == pos_label).astype(float)
    truth = (y_true == pos_label).astype(float)
    return evaluate(metric, confusion(decision, 1 - decision, truth, sample_weight))


def evaluate(metric: str | Metric, counts: Counts) -> float:
    """A metric of hard counts, also if it is made of torch's functions.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.counts import Counts
    >>> from sk_anyloss.scoring import evaluate
    >>> evaluate(lambda tn, fp, fn, tp: torch.sqrt(tp), Counts(1.0, 2.0, 3.0, 4.0))
    2.0
    """
    function = get_metric(metric)
    try:
        return float(function(*counts))
    except (AttributeError, TypeError):
        counts = Counts(*(torch.tensor(float(count)).double() for count in counts))
        return float(function(*counts))


def best_cut(
    metric: str | Metric,
    logits: np.ndarray,
    target: np.ndarray,
    sample_weight: np.ndarray | None = None,
) -> tuple[float, float]:
    """Where to cut logits so that a metric is best on the given rows.

    Parameters
    ----------
    metric : str or callable
        As :func:`sk_anyloss.metrics.get_metric` takes it; of plain arithmetic.
    logits : ndarray of shape (n,)
        One for each row.
    target : ndarray of shape (n,)
        Labels, 0 or 1.
    sample_weight : ndarray of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    cut : float
        Rows with a logit above it are to be called positive. Halfway between two
        rows; of equally good places the one nearest to 0.
    value : float
        The metric there.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.scoring import best_cut
    >>> best_cut("f1", np.array([-2.0, -1.0, 0.0, 3.0]), np.array([0, 1, 0, 1]))
    (-1.5, 0.8)
    """
    order = np.argsort(-logits, kind="stable")
    z, y = logits[order].astype(float), target[order].astype(float)
    w = np.ones(len(z)) if sample_weight is None else sample_weight[order]
    tp = np.concatenate(([0.0], np.cumsum(w * y)))
    fp = np.concatenate(([0.0], np.cumsum(w * (1 - y))))
    values = np.broadcast_to(
        get_metric(metric)(fp[-1] - fp, fp, tp[-1] - tp, tp), tp.shape
    )
    # The first i rows are positive if the cut lies between i - 1 and i.
    ends = (z[0] + 1, z[-1] - 1)
    cuts = np.concatenate((ends[:1], (z[:-1] + z[1:]) / 2, ends[1:]))
    possible = np.concatenate(([True], z[:-1] != z[1:], [True]))
    candidates = np.flatnonzero(possible & (values == values[possible].max()))
    best = candidates[np.argmin(np.abs(cuts[candidates]))]
    return float(cuts[best]), float(values[best])


def _greater_label(y_true: np.ndarray, y_pred: np.ndarray) -> Any:
    labels = np.union1d(y_true, y_pred)
    if len(labels) == 2:
        return labels[1]
    if len(labels) == 1 and labels[0] in (-1, 0, 1):
        return 1
    raise ValueError(
        f"Cannot tell which label is positive from {labels[:5].tolist()}: two labels "
        "are needed, or pos_label."
    )


def metric_scorer(metric: str | Metric = "f1", *, pos_label: Any = None) -> Any:
    """A scikit-learn scorer for ``scoring=`` anywhere in scikit-learn.

    Parameters
    ----------
    metric : str or callable, default='f1'
        As :func:`sk_anyloss.metrics.get_metric` takes it.
    pos_label : label, default=None
        The positive class; by default the greater of the two labels. Give it if a
        fold may lack one of them and they are not 0 and 1.

    Returns
    -------
    scorer : callable
        Made by :func:`sklearn.metrics.make_scorer`.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_score
    >>> from sk_anyloss.scoring import metric_scorer
    >>> X, y = make_classification(weights=[0.8], random_state=0)
    >>> scorer = metric_scorer("gmean")
    >>> cross_val_score(LogisticRegression(), X, y, scoring=scorer).shape
    (5,)
    """
    get_metric(metric)  # An unknown name should fail here, not after a long fit.
    params = {"metric": metric}
    if pos_label is not None:
        params["pos_label"] = pos_label
    return make_scorer(metric_score, **params)
