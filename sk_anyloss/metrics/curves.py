"""Metrics over all thresholds: areas under curves of confusion matrices.

A curve is a sequence of confusion matrices at falling thresholds, from the one with
the fewest positive decisions to the one with the most. With one matrix for every
distinct score of a data set, the area is scikit-learn's; with soft counts at a few
thresholds, it can be trained on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sk_anyloss.metrics.arithmetic import Array, Metric, ratio
from sk_anyloss.metrics.binary import precision, specificity
from sk_anyloss.metrics.registry import register_curve

__all__ = ["AveragePrecision", "Curve", "RocAuc", "counts_at_every_score"]


class Curve:
    """Base class of the metrics over thresholds; larger is better.

    A subclass defines ``__call__``, ``value_and_derivatives`` and ``at_positives``.
    """

    #: The metric of one confusion matrix whose mean, over matrices taken at the score
    #: of each positive sample, is the area.
    at_positives: ClassVar[Metric]

    def __call__(self, tn: Array, fp: Array, fn: Array, tp: Array) -> Array:
        """Area under the curve.

        Parameters
        ----------
        tn, fp, fn, tp : array or tensor of shape (..., m)
            The counts at m falling thresholds.

        Returns
        -------
        area : array or tensor of shape (...)
            The area.
        """
        raise NotImplementedError

    def value_and_derivatives(
        self, tn: np.ndarray, fp: np.ndarray, fn: np.ndarray, tp: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Area, and its derivatives with respect to the decisions at each threshold.

        Parameters
        ----------
        tn, fp, fn, tp : ndarray of shape (..., m)
            The counts at falling thresholds.

        Returns
        -------
        value : ndarray of shape (...)
            The area.
        positives, negatives : ndarray of shape (..., m)
            Its derivatives with respect to the decisions on positives (FN becomes TP)
            and on negatives (TN becomes FP).
        """
        raise NotImplementedError


def _class_totals(
    tn: Array, fp: Array, fn: Array, tp: Array
) -> tuple[Array, Array, Array]:
    """Weight of positives and negatives, and 1.0 where both classes are present."""
    positives, negatives = tp + fn, tn + fp
    both = (positives[..., 0] != 0) * 1.0 * (negatives[..., 0] != 0)
    return positives, negatives, both


@dataclass(frozen=True)
class RocAuc(Curve):
    """Area under the ROC curve, by the trapezoidal rule from (0, 0) to (1, 1).

    It equals the fraction of correctly ordered pairs of a positive and a negative
    sample, where a tie counts half.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.curves import RocAuc, counts_at_every_score
    >>> scores, y = np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1])
    >>> float(RocAuc()(*counts_at_every_score(scores, y)))
    0.75
    """

    at_positives: ClassVar[Metric] = staticmethod(specificity)

    def __call__(self, tn: Array, fp: Array, fn: Array, tp: Array) -> Array:
        positives, negatives, both = _class_totals(tn, fp, fn, tp)
        tpr, fpr = ratio(tp, positives), ratio(fp, negatives)
        width, height = fpr[..., 1:] - fpr[..., :-1], tpr[..., 1:] + tpr[..., :-1]
        inner = (width * height).sum(-1)
        ends = fpr[..., 0] * tpr[..., 0] + (1 - fpr[..., -1]) * (1 + tpr[..., -1])
        return (inner + ends) / 2 * both

    def value_and_derivatives(
        self, tn: np.ndarray, fp: np.ndarray, fn: np.ndarray, tp: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        positives, negatives, both = _class_totals(tn, fp, fn, tp)
        tpr, fpr = _with_ends(ratio(tp, positives)), _with_ends(ratio(fp, negatives))
        by_tpr = (fpr[..., 2:] - fpr[..., :-2]) / 2 * both[..., None]
        by_fpr = (tpr[..., :-2] - tpr[..., 2:]) / 2 * both[..., None]
        value = self(tn, fp, fn, tp)
        return value, ratio(by_tpr, positives), ratio(by_fpr, negatives)


@dataclass(frozen=True)
class AveragePrecision(Curve):
    """Mean of the precision at each threshold, weighted by the increase in recall.

    ``sum_j (R_j - R_(j-1)) P_j`` over falling thresholds, from no positive decision to
    all of them, as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.curves import AveragePrecision, counts_at_every_score
    >>> scores, y = np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1])
    >>> round(float(AveragePrecision()(*counts_at_every_score(scores, y))), 3)
    0.833
    """

    at_positives: ClassVar[Metric] = staticmethod(precision)

    def __call__(self, tn: Array, fp: Array, fn: Array, tp: Array) -> Array:
        positives, negatives, both = _class_totals(tn, fp, fn, tp)
        R, P = ratio(tp, positives), ratio(tp, tp + fp)
        inner = ((R[..., 1:] - R[..., :-1]) * P[..., 1:]).sum(-1)
        prevalence = ratio(positives[..., 0], positives[..., 0] + negatives[..., 0])
        ends = R[..., 0] * P[..., 0] + (1 - R[..., -1]) * prevalence
        # Without negatives, every positive decision is correct.
        return (inner + ends) * both + (negatives[..., 0] == 0) * (prevalence != 0)

    def value_and_derivatives(
        self, tn: np.ndarray, fp: np.ndarray, fn: np.ndarray, tp: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        positives, negatives, both = _class_totals(tn, fp, fn, tp)
        R = np.insert(ratio(tp, positives), 0, 0.0, axis=-1)
        width = (R[..., 1:] - R[..., :-1]) * both[..., None]
        predicted = tp + fp
        P = ratio(tp, predicted)
        prevalence = ratio(positives, positives + negatives)[..., :1]
        P_next = np.concatenate((P[..., 1:], prevalence), axis=-1)
        by_recall = ratio((P - P_next) * both[..., None], positives)
        by_tp = width * ratio(ratio(fp, predicted), predicted)
        return (
            self(tn, fp, fn, tp),
            by_recall + by_tp,
            -width * ratio(P, predicted),
        )


def _with_ends(points: np.ndarray) -> np.ndarray:
    """Add the points 0 and 1 to the two ends of a curve."""
    shape = (*points.shape[:-1], 1)
    return np.concatenate((np.zeros(shape), points, np.ones(shape)), axis=-1)


register_curve("roc_auc", RocAuc())
register_curve("average_precision", AveragePrecision())


def counts_at_every_score(
    scores: np.ndarray, target: np.ndarray, sample_weight: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Confusion matrices with every distinct score as the threshold, falling.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Any numbers, larger for the positive class.
    target : ndarray of shape (n,)
        Labels, 0 or 1.
    sample_weight : ndarray of shape (n,), default=None
        Sample weights.

    Returns
    -------
    tn, fp, fn, tp : ndarray of shape (m,)
        The counts if all samples with at least the j-th highest of m distinct scores
        are decided positive.

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
