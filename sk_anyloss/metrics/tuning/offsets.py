"""Offsets of C classes that are best for a metric of the confusion matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sk_anyloss.metrics.arithmetic import Metric
from sk_anyloss.metrics.evaluation import matrix_values
from sk_anyloss.metrics.multiclass.lookup import is_for_matrix, matrix_metric
from sk_anyloss.metrics.tuning.thresholds import (
    best_threshold,
    check_sweeps,
    check_values,
    used,
)

__all__ = ["best_offsets"]

#: Candidates of one coordinate that are evaluated at once. More of them are first
#: thinned out, and then searched around the best of those.
MAX_CANDIDATES = 256
#: An improvement by less is rounding.
TOLERANCE = 1e-10


def best_offsets(
    metric: str | Callable[..., Any],
    log_proba: np.ndarray,
    target: np.ndarray,
    sample_weight: np.ndarray | None = None,
    classes: Sequence[object] | np.ndarray | None = None,
    *,
    start: np.ndarray | None = None,
    max_sweeps: int = 10,
) -> tuple[np.ndarray, float]:
    r"""The offsets b for which argmax(log p + b) maximises a metric.

    Coordinate ascent: with all other offsets fixed, sample i is decided as class c
    where

    .. math::
        b_c > \max_{k \ne c} (\log p_{ik} + b_k) - \log p_{ic} ,

    so one sort of the right-hand sides gives the confusion matrix at every value of
    :math:`b_c`. It starts at zeros and at minus the logarithm of the class frequencies,
    the optimum of balanced accuracy, and keeps the better result.

    Parameters
    ----------
    metric : str or callable
        As :func:`sk_anyloss.metrics.matrix_metric` takes it. With two classes, a metric
        of four counts is that of class 1, as in
        :func:`sk_anyloss.metrics.scoring.metric_score`.
    log_proba : ndarray of shape (n, C)
        Logarithms of probabilities, or any scores of the classes. A class with
        ``-inf`` is not decided for the sample.
    target : ndarray of int of shape (n,)
        Classes, from 0 to C - 1.
    sample_weight : ndarray of shape (n,), default=None
        Sample weights.
    classes : sequence of length C, default=None
        Labels of the classes, for a metric that names one; by default 0 to C - 1.
    start : ndarray of shape (C,), default=None
        Start from these offsets only.
    max_sweeps : int, default=10
        Largest number of passes over the classes from each start.

    Returns
    -------
    offsets : ndarray of shape (C,)
        With mean 0. A class that no sample has keeps the offset 0, and the mean of the
        other offsets is then left as it is. An offset lies halfway between two values
        at which a decision changes; of equally good ones it is the one nearest to 0.
    value : float
        The metric of argmax(log p + b). It is at least that of argmax(log p).

    Notes
    -----
    For two classes the result is that of
    :func:`sk_anyloss.metrics.tuning.best_threshold`, which is the global maximum.
    For more it is a local one: no other value of a single offset is better, among the
    256 that are evaluated at once, and another 256 around the best of them.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.tuning import best_offsets
    >>> p = np.array([[0.8, 0.1, 0.1], [0.6, 0.3, 0.1], [0.5, 0.1, 0.4]])
    >>> offsets, value = best_offsets("f1", np.log(p), np.array([0, 1, 2]))
    >>> np.argmax(np.log(p) + offsets, axis=1), value
    (array([0, 1, 2]), 1.0)
    """
    check_sweeps(max_sweeps)
    C = log_proba.shape[1]
    labels: list[object] = list(
        range(C) if classes is None else np.asarray(classes).tolist()
    )
    if sample_weight is not None:  # Samples of weight 0 count as absent.
        kept = used(sample_weight)
        log_proba, target = log_proba[kept], target[kept]
        sample_weight = sample_weight[kept]
    if C == 2:
        return _two_classes(metric, log_proba, target, sample_weight, labels)
    problem = _Problem(metric, labels, log_proba, target, sample_weight)
    starts = problem.starts() if start is None else [np.asarray(start, dtype=float)]
    found = [problem.ascend(b, max_sweeps) for b in starts]
    # Of equal values the first: max keeps the start at zeros.
    return max(found, key=lambda pair: pair[1])


def _two_classes(
    metric: str | Callable[..., Any],
    log_proba: np.ndarray,
    target: np.ndarray,
    sample_weight: np.ndarray | None,
    labels: list[object],
) -> tuple[np.ndarray, float]:
    """The best threshold on the log-odds of class 1, as offsets."""
    binary: str | Metric = metric
    if is_for_matrix(metric):
        function = matrix_metric(metric, labels)

        def of_counts(*counts: np.ndarray) -> np.ndarray:
            M = np.stack(counts, axis=-1).reshape(-1, 2, 2)
            return check_values(metric, matrix_values(function, M))

        binary = of_counts
    odds = log_proba[:, 1] - log_proba[:, 0]
    threshold, value = best_threshold(binary, odds, target, sample_weight)
    return np.array([threshold / 2, -threshold / 2]), value


class _Problem:
    """Samples and a metric, with one coordinate of the offsets to improve at a time."""

    def __init__(
        self,
        metric: str | Callable[..., Any],
        labels: list[object],
        log_proba: np.ndarray,
        target: np.ndarray,
        sample_weight: np.ndarray | None,
    ) -> None:
        self.metric = metric
        self.function = matrix_metric(metric, labels)
        # Classes first, since every step takes the maximum over them.
        self.log_p = np.ascontiguousarray(log_proba.T, dtype=float)
        self.C, self.n = self.log_p.shape
        self.target = target.astype(np.intp)
        self.weight = sample_weight
        counts = np.bincount(self.target, weights=sample_weight, minlength=self.C)
        self.prior = counts / counts.sum()
        self.present = np.flatnonzero(counts > 0)

    def starts(self) -> list[np.ndarray]:
        zeros, balanced = np.zeros(self.C), np.zeros(self.C)
        logs = -np.log(self.prior[self.present])
        balanced[self.present] = logs - logs.mean()
        return [zeros, balanced]

    def ascend(self, b: np.ndarray, max_sweeps: int) -> tuple[np.ndarray, float]:
        first, initial = b, self.value(b)
        b, value = b.copy(), initial
        unchanged = 0
        for step in range(max_sweeps * len(self.present)):
            c = int(self.present[step % len(self.present)])
            offset, reached = self.improve(b, c)
            if reached > value + TOLERANCE:
                b[c], value, unchanged = offset, reached, 0
            else:
                unchanged += 1
            if unchanged >= len(self.present):
                break
        b = self.normalised(b)
        value = self.value(b)
        if value < initial:  # Rounding, where decisions are as good as tied.
            return self.normalised(first), initial
        return b, value

    def normalised(self, b: np.ndarray) -> np.ndarray:
        return b - b.mean() if len(self.present) == self.C else b

    def value(self, b: np.ndarray) -> float:
        decided = np.argmax(self.log_p + b[:, None], axis=0)
        M = self._matrices(self.target * self.C + decided, None, 1)
        return float(self._metric_of(M)[0])

    def _metric_of(self, M: np.ndarray) -> np.ndarray:
        return check_values(self.metric, matrix_values(self.function, M))

    def improve(self, b: np.ndarray, c: int) -> tuple[float, float]:
        """The best offset of class c, and the metric there."""
        scores = self.log_p + b[:, None]
        scores[c] = -np.inf
        rival = np.argmax(scores, axis=0)
        highest = scores[rival, np.arange(self.n)]
        own = self.log_p[c]
        # Where the class is impossible, so that no offset helps, also without a rival.
        possible = np.isfinite(own)
        switch = np.full(self.n, np.inf)
        np.subtract(highest, own, out=switch, where=possible)
        order = np.argsort(switch, kind="stable")
        switch, rival = switch[order], rival[order]
        points, offsets = _switch_points(switch)
        if len(points) == 0:
            return float(b[c]), -np.inf
        rows = self.target[order] * self.C
        weight = None if self.weight is None else self.weight[order]
        chosen = np.arange(len(points))
        if len(points) > MAX_CANDIDATES:
            chosen = np.linspace(0, len(points) - 1, MAX_CANDIDATES).astype(int)
            values = self._values(points[chosen], rows, rival, c, weight)
            best = int(np.argmax(values))
            low, high = chosen[max(best - 1, 0)], chosen[min(best + 1, len(chosen) - 1)]
            around = np.linspace(low, high, min(MAX_CANDIDATES, high - low + 1))
            chosen = np.union1d(chosen, around.astype(int))
        values = self._values(points[chosen], rows, rival, c, weight)
        equal = chosen[values >= values.max() - TOLERANCE]
        best = int(equal[np.argmin(np.abs(offsets[equal]))])
        return float(offsets[best]), float(values.max())

    def _values(
        self,
        points: np.ndarray,
        rows: np.ndarray,
        rival: np.ndarray,
        c: int,
        weight: np.ndarray | None,
    ) -> np.ndarray:
        """The metric where the first ``points[j]`` samples are decided as class c."""
        # Segment j holds the samples that switch between the points j - 1 and j.
        segment = np.searchsorted(points, np.arange(self.n), side="right")
        m = len(points)
        moved = self._matrices(rows + rival, segment, m + 1, weight)
        switched = np.cumsum(moved[:m], axis=0)
        M = moved.sum(axis=0) - switched
        M[:, :, c] += switched.sum(axis=2)
        if weight is not None:  # Differences of sums leave rounding instead of 0.
            M[np.abs(M) < 1e-12 * weight.sum()] = 0.0
        return self._metric_of(M)

    def _matrices(
        self,
        code: np.ndarray,
        segment: np.ndarray | None,
        m: int,
        weight: np.ndarray | None = None,
    ) -> np.ndarray:
        """Confusion matrices of m segments of the samples."""
        size = self.C * self.C
        if segment is None:
            weight = self.weight
        else:
            code = code + segment * size
        counts = np.bincount(code, weights=weight, minlength=m * size)
        return counts.astype(float).reshape(m, self.C, self.C)


def _switch_points(switch: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers of samples that can be switched, and the offsets that switch them."""
    low = int(np.searchsorted(switch, -np.inf, side="right"))
    high = int(np.searchsorted(switch, np.inf, side="left"))
    finite = switch[low:high]
    if len(finite) == 0:
        return np.empty(0, dtype=int), np.empty(0)
    # Equal scores differ by rounding after offsets have been added to them.
    gap = np.diff(finite) > 1e-10 * (1 + np.abs(finite[1:]))
    after = np.flatnonzero(gap) + 1
    points = np.concatenate(([low], low + after, [high]))
    middle = (finite[after - 1] + finite[after]) / 2
    return points, np.concatenate(([finite[0] - 1], middle, [finite[-1] + 1]))
