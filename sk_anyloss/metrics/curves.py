"""Metrics over all thresholds: areas under curves of confusion matrices.

A curve is a row of confusion matrices, from the one with the fewest decisions for the
positive class to the one with the most. With a matrix for every score in a data set it
is scikit-learn's area; with soft counts at a few thresholds it can be trained on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sk_anyloss.metrics.binary import (
    Metric,
    precision,
    ratio,
    register_curve,
    specificity,
)

__all__ = ["AveragePrecision", "Curve", "RocAuc", "counts_at_every_score"]


class Curve:
    """Base of the metrics over thresholds; larger is better.

    A subclass gives ``__call__``, ``slopes``, and ``at_positives``.
    """

    #: The metric of one confusion matrix whose mean this is, if a matrix is taken at
    #: the score of each positive row.
    at_positives: ClassVar[Metric]

    def __call__(self, tn: Any, fp: Any, fn: Any, tp: Any) -> Any:
        """The area, from counts of shape (..., m), thresholds falling: shape (...)."""
        raise NotImplementedError

    def slopes(
        self, tn: np.ndarray, fp: np.ndarray, fn: np.ndarray, tp: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The area, and what decisions at each threshold change in it.

        Parameters
        ----------
        tn, fp, fn, tp : ndarray of shape (..., m)
            The counts at falling thresholds.

        Returns
        -------
        value : ndarray of shape (...)
            The area.
        positives, negatives : ndarray of shape (..., m)
            Its derivatives by the decisions on positives (FN becomes TP) and on
            negatives (TN becomes FP).
        """
        raise NotImplementedError


def _both_present(tn: Any, fp: Any, fn: Any, tp: Any) -> tuple[Any, Any, Any]:
    """Weight of positives and negatives, and 1.0 where there are both."""
    positives, negatives = tp + fn, tn + fp
    both = (positives[..., 0] != 0) * 1.0 * (negatives[..., 0] != 0)
    return positives, negatives, both


@dataclass(frozen=True)
class RocAuc(Curve):
    """Area under the ROC curve, by the trapezoidal rule from (0, 0) to (1, 1).

    The share of pairs of a positive and a negative row that are in the right order,
    a tie counting half.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.curves import RocAuc, counts_at_every_score
    >>> scores, y = np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1])
    >>> float(RocAuc()(*counts_at_every_score(scores, y)))
    0.75
    """

    at_positives: ClassVar[Metric] = staticmethod(specificity)

    def __call__(self, tn: Any, fp: Any, fn: Any, tp: Any) -> Any:
        positives, negatives, both = _both_present(tn, fp, fn, tp)
        y, x = ratio(tp, positives), ratio(fp, negatives)
        inner = ((x[..., 1:] - x[..., :-1]) * (y[..., 1:] + y[..., :-1])).sum(-1)
        ends = x[..., 0] * y[..., 0] + (1 - x[..., -1]) * (1 + y[..., -1])
        return (inner + ends) / 2 * both

    def slopes(self, tn: Any, fp: Any, fn: Any, tp: Any) -> Any:
        positives, negatives, both = _both_present(tn, fp, fn, tp)
        y, x = _with_ends(ratio(tp, positives)), _with_ends(ratio(fp, negatives))
        by_y = (x[..., 2:] - x[..., :-2]) / 2 * both[..., None]
        by_x = (y[..., :-2] - y[..., 2:]) / 2 * both[..., None]
        value = self(tn, fp, fn, tp)
        return value, ratio(by_y, positives), ratio(by_x, negatives)


@dataclass(frozen=True)
class AveragePrecision(Curve):
    """Precision at each threshold, weighted with the recall that it adds.

    ``sum_j (R_j - R_(j-1)) P_j`` over falling thresholds, from no decision for the
    positive class to all of them, as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.curves import AveragePrecision, counts_at_every_score
    >>> scores, y = np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1])
    >>> round(float(AveragePrecision()(*counts_at_every_score(scores, y))), 3)
    0.833
    """

    at_positives: ClassVar[Metric] = staticmethod(precision)

    def __call__(self, tn: Any, fp: Any, fn: Any, tp: Any) -> Any:
        positives, negatives, both = _both_present(tn, fp, fn, tp)
        recall, found = ratio(tp, positives), ratio(tp, tp + fp)
        inner = ((recall[..., 1:] - recall[..., :-1]) * found[..., 1:]).sum(-1)
        prior = ratio(positives[..., 0], positives[..., 0] + negatives[..., 0])
        ends = recall[..., 0] * found[..., 0] + (1 - recall[..., -1]) * prior
        # Without negatives, every decision for the positive class is right.
        return (inner + ends) * both + (negatives[..., 0] == 0) * (prior != 0)

    def slopes(self, tn: Any, fp: Any, fn: Any, tp: Any) -> Any:
        positives, negatives, both = _both_present(tn, fp, fn, tp)
        recall = np.insert(ratio(tp, positives), 0, 0.0, axis=-1)
        width = (recall[..., 1:] - recall[..., :-1]) * both[..., None]
        decided = tp + fp
        found = ratio(tp, decided)
        prior = ratio(positives, positives + negatives)[..., :1]
        after = np.concatenate((found[..., 1:], prior), axis=-1)
        by_recall = ratio((found - after) * both[..., None], positives)
        by_tp = width * ratio(ratio(fp, decided), decided)
        return (
            self(tn, fp, fn, tp),
            by_recall + by_tp,
            -width * ratio(found, decided),
        )


def _with_ends(points: np.ndarray) -> np.ndarray:
    """A curve between 0 and 1."""
    shape = (*points.shape[:-1], 1)
    return np.concatenate((np.zeros(shape), points, np.ones(shape)), axis=-1)


register_curve("roc_auc", RocAuc())
register_curve("average_precision", AveragePrecision())


def counts_at_every_score(
    scores: np.ndarray, target: np.ndarray, sample_weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Confusion matrices of all ways to cut scores in two, thresholds falling.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Any numbers, larger for the positive class.
    target : ndarray of shape (n,)
        Labels, 0 or 1.
    sample_weight : ndarray of shape (n,), default=None
        Weights of the rows.

    Returns
    -------
    tn, fp, fn, tp : ndarray of shape (m,)
        The counts if all rows with at least the j-th highest of m different scores
        are called positive.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.curves import counts_at_every_score
    >>> tn, fp, fn, tp = counts_at_every_score(
    ...     np.array([0.2, 0.9, 0.2, 0.5]), np.array([0, 1, 1, 0])
    ... )
    >>> fp.tolist(), tp.tolist()
    ([0.0, 1.0, 2.0], [1.0, 1.0, 2.0])
    """
    order = np.argsort(-scores, kind="stable")
    z, y = scores[order], target[order].astype(float)
    w = np.ones(len(z)) if sample_weight is None else sample_weight[order].astype(float)
    last = np.append(np.flatnonzero(z[1:] != z[:-1]), len(z) - 1)
    positives, negatives = np.cumsum(w * y), np.cumsum(w * (1 - y))
    tp, fp = positives[last], negatives[last]
    return fp[-1] - fp, fp, tp[-1] - tp, tp
