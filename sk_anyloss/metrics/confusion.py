"""The weighted soft confusion matrix.

Soft decisions ``h`` in [0, 1] replace predicted labels, so that the counts can be
differentiated. The last axis runs over the samples; axes before it (several models,
several classes) are kept. The functions take numpy arrays and tensors.
"""

from __future__ import annotations

from typing import Generic, NamedTuple

from sk_anyloss.metrics.arithmetic import Array, Count

__all__ = ["Counts", "class_parts", "confusion", "weighted_sum"]


class Counts(NamedTuple, Generic[Count]):
    """The four entries of a binary confusion matrix, in scikit-learn's order.

    Examples
    --------
    >>> from sk_anyloss.metrics.confusion import Counts
    >>> Counts(tn=90, fp=2, fn=3, tp=5)
    Counts(tn=90, fp=2, fn=3, tp=5)
    """

    tn: Count
    fp: Count
    fn: Count
    tp: Count


def confusion(
    h: Array, h_not: Array, y: Array, sample_weight: Array | None = None
) -> Counts[Array]:
    r"""Sum soft decisions into a confusion matrix (eq. 6 of the AnyLoss paper).

    .. math::
        TN = \sum_i w_i (1 - y_i)(1 - h_i) \qquad FP = \sum_i w_i (1 - y_i) h_i

        FN = \sum_i w_i y_i (1 - h_i) \qquad TP = \sum_i w_i y_i h_i

    Parameters
    ----------
    h, h_not : array or tensor of shape (..., n)
        The soft decisions, and one minus them. The second is a parameter because
        ``1 - h`` loses all digits where ``h`` rounds to 1.
    y : array or tensor of shape (n,) or (..., n)
        Labels, 1 for the positive class and 0 for the negative one.
    sample_weight : array or tensor of the shape of y, default=None
        Weights; a sample of weight 2 counts as two samples.

    Returns
    -------
    counts : Counts
        ``tn, fp, fn, tp``, each of shape ``(...)``.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.confusion import confusion
    >>> h, y = np.array([0.75, 0.25, 1.0]), np.array([1, 0, 1])
    >>> [float(count) for count in confusion(h, 1 - h, y)]
    [0.75, 0.25, 0.25, 1.75]
    """
    negative, positive = class_parts(y, sample_weight)
    return Counts(
        tn=_dot(h_not, negative),
        fp=_dot(h, negative),
        fn=_dot(h_not, positive),
        tp=_dot(h, positive),
    )


def class_parts(y: Array, sample_weight: Array | None = None) -> tuple[Array, Array]:
    """Weight of each sample as a negative, and as a positive.

    Parameters
    ----------
    y : array or tensor
        Labels, 0 or 1.
    sample_weight : array or tensor of the shape of y, default=None
        Weights.

    Returns
    -------
    negatives, positives : array or tensor of the shape of y
        One of the two is 0 for each sample.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.confusion import class_parts
    >>> class_parts(np.array([0.0, 1.0]), np.array([2.0, 3.0]))
    (array([2., 0.]), array([0., 3.]))
    """
    if sample_weight is None:
        return 1 - y, y
    positives = sample_weight * y
    return sample_weight - positives, positives


def _dot(a: Array, b: Array) -> Array:
    # A matrix product is the faster sum where it applies.
    return a @ b if b.ndim == 1 and a.dtype == b.dtype else (a * b).sum(-1)


def weighted_sum(values: Array, sample_weight: Array | None = None) -> Array:
    """Weighted sum over the samples.

    Parameters
    ----------
    values : array or tensor of shape (..., n)
        What to sum.
    sample_weight : array or tensor of shape (n,) or (..., n), default=None
        Weights.

    Returns
    -------
    sum : array or tensor of shape (...)
        The sum over the last axis.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.confusion import weighted_sum
    >>> float(weighted_sum(np.array([1.0, 2.0]), np.array([3.0, 1.0])))
    5.0
    """
    return values.sum(-1) if sample_weight is None else _dot(values, sample_weight)
