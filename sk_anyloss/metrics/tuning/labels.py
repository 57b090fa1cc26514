"""Thresholds of several labels that are best for a metric of them."""

from __future__ import annotations

import numpy as np

from sk_anyloss.metrics.arithmetic import Metric
from sk_anyloss.metrics.confusion import Counts
from sk_anyloss.metrics.curves import counts_at_every_score
from sk_anyloss.metrics.evaluation import metric_values
from sk_anyloss.metrics.multilabel import LabelAverage, label_metric
from sk_anyloss.metrics.tuning.thresholds import (
    best_threshold,
    check_sweeps,
    check_values,
    thresholds_between,
    used,
)

__all__ = ["best_label_thresholds"]

#: An improvement by less is rounding.
TOLERANCE = 1e-10


def best_label_thresholds(
    metric: str | Metric | LabelAverage,
    log_odds: np.ndarray,
    target: np.ndarray,
    sample_weight: np.ndarray | None = None,
    *,
    max_sweeps: int = 10,
) -> tuple[np.ndarray, float]:
    """The threshold of each label for which a metric of all labels is best.

    A macro or weighted average is best where each label is best by itself. For a micro
    average and an average over samples the labels depend on each other: coordinate
    ascent, each threshold by one exact sweep over the sorted log-odds of its label.

    Parameters
    ----------
    metric : str or callable
        As :func:`sk_anyloss.metrics.multilabel.label_metric` takes it.
    log_odds : ndarray of shape (n, Q)
        Of each label.
    target : ndarray of shape (n, Q)
        Labels, 0 or 1.
    sample_weight : ndarray of shape (n,), default=None
        Sample weights.
    max_sweeps : int, default=10
        Largest number of passes over the labels.

    Returns
    -------
    thresholds : ndarray of shape (Q,)
        A label is decided where its log-odds are larger. A label that all samples have,
        or none of them, keeps the threshold 0.
    value : float
        The metric at the thresholds.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.tuning import best_label_thresholds
    >>> z = np.array([[-3.0, 1.0], [-1.0, 2.0], [-2.0, 3.0]])
    >>> y = np.array([[0, 0], [1, 0], [0, 1]])
    >>> best_label_thresholds("f1_macro", z, y)
    (array([-1.5,  2.5]), 1.0)
    """
    check_sweeps(max_sweeps)
    average = label_metric(metric)
    if sample_weight is not None:  # Samples of weight 0 count as absent.
        kept = used(sample_weight)
        log_odds, target = log_odds[kept], target[kept]
        sample_weight = sample_weight[kept]
    z, y = np.asarray(log_odds, dtype=float), np.asarray(target)
    varies = [int(q) for q in np.flatnonzero(y.min(axis=0) != y.max(axis=0))]
    alone = np.zeros(z.shape[1])
    for q in varies:
        alone[q] = best_threshold(average.metric, z[:, q], y[:, q], sample_weight)[0]

    def value_at(thresholds: np.ndarray) -> float:
        return average.of_labels(y, z > thresholds, sample_weight)

    if average.average in ("macro", "weighted"):
        return alone, value_at(alone)
    weight = np.ones(len(z)) if sample_weight is None else sample_weight
    sweep = _sweep_micro if average.average == "micro" else _sweep_samples
    common = best_threshold(
        average.metric, z.ravel(), y.ravel(), np.repeat(weight, z.shape[1])
    )[0]
    starts = [np.zeros(z.shape[1]), np.where(alone == 0, 0.0, common), alone]
    found = []
    for start in starts:
        thresholds, value = start.copy(), value_at(start)
        for _ in range(max_sweeps):
            before = value
            for q in varies:
                threshold, reached = sweep(average.metric, z, y, weight, thresholds, q)
                if reached > value + TOLERANCE:
                    thresholds[q], value = threshold, reached
            if value <= before:
                break
        found.append((thresholds, value_at(thresholds)))
    return max(found, key=lambda pair: pair[1])


def _sweep_micro(
    metric: str | Metric,
    z: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    thresholds: np.ndarray,
    q: int,
) -> tuple[float, float]:
    """The best threshold of label q for the metric of the sum of all counts."""
    others = np.arange(z.shape[1]) != q
    decided, true = (z > thresholds)[:, others], y[:, others] == 1
    fixed = [weight @ part.sum(1) for part in _parts(decided, true)]
    tn, fp, fn, tp = counts_at_every_score(z[:, q], y[:, q], weight)
    # The first is the threshold above all scores.
    counts = [np.insert(count, 0, 0.0) for count in (tn, fp, fn, tp)]
    counts[0][0], counts[2][0] = fp[-1], tp[-1]
    totals = [count + rest for count, rest in zip(counts, fixed, strict=True)]
    return _best_of(z[:, q], check_values(metric, metric_values(metric, *totals)))


def _sweep_samples(
    metric: str | Metric,
    z: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    thresholds: np.ndarray,
    q: int,
) -> tuple[float, float]:
    """The best threshold of label q for the mean of the samples' metrics."""
    others = np.arange(z.shape[1]) != q
    parts = _parts((z > thresholds)[:, others], y[:, others] == 1)
    tn, fp, fn, tp = (part.sum(1).astype(float) for part in parts)
    has, has_not = y[:, q] == 1, y[:, q] != 1
    without = metric_values(metric, tn + has_not, fp, fn + has, tp)
    with_label = metric_values(metric, tn, fp + has_not, fn, tp + has)
    order = np.argsort(-z[:, q], kind="stable")
    falling = z[order, q]
    last = np.append(np.flatnonzero(falling[1:] != falling[:-1]), len(falling) - 1)
    gain = np.cumsum((weight * (with_label - without))[order])[last]
    values = (weight @ without + np.insert(gain, 0, 0.0)) / weight.sum()
    return _best_of(z[:, q], check_values(metric, values))


def _parts(decided: np.ndarray, true: np.ndarray) -> Counts[np.ndarray]:
    return Counts(~true & ~decided, ~true & decided, true & ~decided, true & decided)


def _best_of(scores: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """The threshold nearest to 0 of those with the largest value."""
    thresholds, reachable = thresholds_between(scores)
    values = values[reachable]
    best = np.flatnonzero(values >= values.max() - TOLERANCE)
    nearest = best[np.argmin(np.abs(thresholds[best]))]
    return float(thresholds[nearest]), float(values[nearest])
