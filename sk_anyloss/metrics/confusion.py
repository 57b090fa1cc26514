"""The weighted soft confusion matrix. Nothing else in the package sums over rows.

Soft decisions ``h`` in [0, 1] stand in for predicted labels, so that the counts can
be differentiated. The last axis runs over the rows; axes in front of it (several
models, several classes) are kept. The functions take numpy arrays and tensors.
"""

from __future__ import annotations

from typing import Any, NamedTuple

__all__ = ["Counts", "class_parts", "confusion", "weighted_sum"]


class Counts(NamedTuple):
    """The four entries of a binary confusion matrix, in scikit-learn's order."""

    tn: Any
    fp: Any
    fn: Any
    tp: Any


def confusion(h: Any, h_not: Any, y: Any, sample_weight: Any = None) -> Counts:
    r"""Sum soft decisions into a confusion matrix (eq. 6 of the AnyLoss paper).

    .. math::
        TN = \sum_i w_i (1 - y_i)(1 - h_i) \qquad FP = \sum_i w_i (1 - y_i) h_i

        FN = \sum_i w_i y_i (1 - h_i) \qquad TP = \sum_i w_i y_i h_i

    Parameters
    ----------
    h, h_not : array or tensor of shape (..., n)
        The soft decisions, and one minus them. The second is asked for because
        ``1 - h`` loses all digits where ``h`` rounds to 1.
    y : array or tensor of shape (n,) or (..., n)
        Labels, 1 for the positive class and 0 for the negative one.
    sample_weight : array or tensor of the shape of y, default=None
        Weights; a row of weight 2 counts as two rows.

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


def class_parts(y: Any, sample_weight: Any = None) -> tuple[Any, Any]:
    """What each row counts for as a negative, and as a positive.

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


def _dot(a: Any, b: Any) -> Any:
    # A product of matrices is the faster sum, where it applies.
    return a @ b if b.ndim == 1 and a.dtype == b.dtype else (a * b).sum(-1)


def weighted_sum(values: Any, sample_weight: Any = None) -> Any:
    """Sum over the rows, each times its weight.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.confusion import weighted_sum
    >>> float(weighted_sum(np.array([1.0, 2.0]), np.array([3.0, 1.0])))
    5.0
    """
    return values.sum(-1) if sample_weight is None else _dot(values, sample_weight)
