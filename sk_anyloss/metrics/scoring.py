"""Metrics on labels: one number for a model's predictions, and scikit-learn scorers."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import make_scorer
from sklearn.utils import check_array
from sklearn.utils.multiclass import unique_labels
from sklearn.utils.validation import (
    check_consistent_length,
    column_or_1d,
)

from sk_anyloss._compat import check_sample_weight
from sk_anyloss.metrics.binary import AtLeast, Metric, get_metric, metric_name
from sk_anyloss.metrics.confusion import Counts, confusion
from sk_anyloss.metrics.curves import Curve, counts_at_every_score

__all__ = [
    "ScoreAtLeast",
    "best_cut",
    "evaluate",
    "evaluate_logits",
    "metric_score",
    "metric_scorer",
    "metric_values",
]


class ScoreAtLeast(float):
    """The value of a metric with a constraint, which shows both of its numbers.

    Attributes
    ----------
    goal, constraint : float
        The metric that is to be high, and the one that has a floor.

    Examples
    --------
    >>> from sk_anyloss import metric_score
    >>> y, decisions = [0, 0, 0, 1, 1], [0, 0, 1, 1, 1]
    >>> score = metric_score(y, decisions, metric="precision@recall>=0.8")
    >>> score
    0.667 (precision 0.667 at recall 1.000, which meets 0.8)
    >>> score.constraint, score > 0.5
    (1.0, True)
    """

    goal: float
    constraint: float
    text: str

    @classmethod
    def of(cls, metric: AtLeast, counts: Counts) -> ScoreAtLeast:
        """From hard counts."""
        parts = (evaluate(part, counts) for part in (metric.goal, metric.constraint))
        goal_value, held = parts
        score = cls(metric.of(goal_value, held))
        score.goal, score.constraint = float(goal_value), float(held)
        met = "misses" if score < 0 else "meets"
        goal, constraint = metric_name(metric.goal), metric_name(metric.constraint)
        score.text = (
            f"{float(score):.3f} ({goal} {score.goal:.3f} at {constraint} "
            f"{score.constraint:.3f}, which {met} {metric.floor:g})"
        )
        return score

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__


def metric_score(
    y_true: Any,
    y_pred: Any,
    *,
    metric: str | Metric = "f1",
    pos_label: Any = None,
    sample_weight: Any = None,
) -> float:
    """Metric of predictions.

    Parameters
    ----------
    y_true, y_pred : array-like of shape (n,)
        True and predicted labels. For a metric over thresholds, ``'roc_auc'`` or
        ``'average_precision'``, the second are scores instead, higher for the positive
        class.
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
        The metric; with a constraint, a :class:`ScoreAtLeast`.

    Examples
    --------
    >>> from sk_anyloss.metrics.scoring import metric_score
    >>> metric_score([0, 0, 1, 1], [0, 1, 1, 1], metric="specificity")
    0.5
    """
    y_true, y_pred = column_or_1d(y_true), column_or_1d(y_pred)
    check_consistent_length(y_true, y_pred, sample_weight)
    curve = isinstance(get_metric(metric), Curve)
    labels = (y_true,) if curve else (y_true, y_pred)
    unique_labels(*labels)  # Refuses a mix of strings and numbers.
    if pos_label is None:
        pos_label = _greater_label(*labels)
    if sample_weight is not None:
        sample_weight = check_sample_weight(sample_weight, len(y_true))
    truth = (y_true == pos_label).astype(float)
    if curve:
        scores = check_array(y_pred, ensure_2d=False, dtype=(np.float64, np.float32))
        return evaluate_logits(metric, scores, truth, sample_weight)
    decision = (y_pred == pos_label).astype(float)
    return evaluate(metric, confusion(decision, 1 - decision, truth, sample_weight))


def evaluate(metric: str | Metric, counts: Counts) -> float:
    """A metric of hard counts, also if it is made of torch's functions.

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
        return ScoreAtLeast.of(function, counts)
    try:
        return float(function(*counts))
    except (AttributeError, TypeError):
        import torch  # Models are stored to be applied without it.

        counts = Counts(*(torch.tensor(float(count)).double() for count in counts))
        return float(function(*counts))


def evaluate_logits(
    metric: str | Metric,
    logits: np.ndarray,
    target: np.ndarray,
    sample_weight: np.ndarray | None = None,
    cut: float = 0.0,
) -> float:
    """A metric of one confusion matrix at a cut, or of all thresholds.

    Parameters
    ----------
    metric : str or callable
        As :func:`sk_anyloss.metrics.get_metric` takes it.
    logits : ndarray of shape (n,)
        One for each row.
    target : ndarray of shape (n,)
        Labels, 0 or 1.
    sample_weight : ndarray of shape (n,), default=None
        Weights of the rows.
    cut : float, default=0
        Rows with a logit above it are positive. Not used by metrics over thresholds.

    Returns
    -------
    score : float
        The metric. A metric over thresholds needs both classes; without, it is NaN,
        with a warning.

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
        decision = (logits > cut).astype(float)
        counts = confusion(decision, 1 - decision, target, sample_weight)
        return evaluate(metric, counts)
    tn, fp, fn, tp = counts_at_every_score(logits, target, sample_weight)
    if tp[-1] == 0 or fp[-1] == 0:
        warnings.warn(
            f"{metric_name(metric)} is not defined for rows of one class.",
            UndefinedMetricWarning,
            stacklevel=3,
        )
        return float("nan")
    return float(function(tn, fp, fn, tp))


def metric_values(
    metric: str | Metric, tn: Any, fp: Any, fn: Any, tp: Any
) -> np.ndarray:
    """A metric of many confusion matrices, however it may be written.

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
        # It takes tensors only, or has a branch that arrays cannot take.
        columns = zip(*counts, strict=True)
        values = [evaluate(metric, Counts(*column)) for column in columns]
    return np.broadcast_to(np.asarray(values, dtype=float), tp.shape)


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
        As :func:`sk_anyloss.metrics.get_metric` takes it.
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
    >>> from sk_anyloss.metrics.scoring import best_cut
    >>> best_cut("f1", np.array([-2.0, -1.0, 0.0, 3.0]), np.array([0, 1, 0, 1]))
    (-1.5, 0.8)
    """
    if sample_weight is not None:  # Rows of no weight are absent.
        kept = sample_weight > 0
        logits, target, sample_weight = logits[kept], target[kept], sample_weight[kept]
    # From the cut above all rows to the one below all of them.
    counts = counts_at_every_score(logits, target, sample_weight)
    tn, fp, fn, tp = (np.insert(count, 0, 0.0) for count in counts)
    tn[0], fn[0] = fp[-1], tp[-1]
    values = metric_values(metric, tn, fp, fn, tp)
    z = np.unique(logits.astype(float))[::-1]
    cuts = np.concatenate(([z[0] + 1], (z[:-1] + z[1:]) / 2, [z[-1] - 1]))
    candidates = np.flatnonzero(values == values.max())
    best = candidates[np.argmin(np.abs(cuts[candidates]))]
    return float(cuts[best]), float(values[best])


def _greater_label(*of: np.ndarray) -> Any:
    labels = np.unique(np.concatenate(of))
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
    >>> from sk_anyloss.metrics.scoring import metric_scorer
    >>> X, y = make_classification(weights=[0.8], random_state=0)
    >>> scorer = metric_scorer("gmean")
    >>> cross_val_score(LogisticRegression(), X, y, scoring=scorer).shape
    (5,)
    """
    # An unknown name should fail here, not after a long fit.
    curve = isinstance(get_metric(metric), Curve)
    params: dict[str, Any] = {"metric": metric}
    if curve:
        params["response_method"] = ("decision_function", "predict_proba")
    if pos_label is not None:
        params["pos_label"] = pos_label
    return make_scorer(metric_score, **params)
