"""Values of metrics of C x C matrices, with gradients for training on them.

A gradient G by the entries of M is meant for decisions whose rows sum to 1. A constant
that is added to a row of G changes nothing then, so G is given up to such constants.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from sk_anyloss.metrics.derivatives import value_and_derivatives
from sk_anyloss.metrics.differentiable import has_closed_form
from sk_anyloss.metrics.multiclass.averages import Average, one_against_rest
from sk_anyloss.metrics.multiclass.matrix import MatrixMetric
from sk_anyloss.metrics.registry import get_metric

__all__ = ["matrix_value_and_grad"]


def matrix_value_and_grad(
    metric: MatrixMetric, M: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A metric of K confusion matrices and its gradients by their entries.

    Parameters
    ----------
    metric : callable
        ``f(M)``, from :func:`sk_anyloss.metrics.matrix_metric`.
    M : ndarray of shape (K, C, C)
        The matrices, true classes in rows.

    Returns
    -------
    values : ndarray of shape (K,)
        The metric of each.
    G : ndarray of shape (K, C, C)
        ``df/dM``, up to a constant for each row. In closed form for averages of binary
        metrics, by autograd on C x C numbers for others.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics import matrix_metric
    >>> from sk_anyloss.metrics.multiclass.gradients import matrix_value_and_grad
    >>> M = np.array([[[3.0, 1.0], [0.0, 4.0]]])
    >>> value, G = matrix_value_and_grad(matrix_metric("recall_macro", [0, 1]), M)
    >>> value, G[0]
    (array([0.875]), array([[0.125, 0.   ],
           [0.   , 0.125]]))
    """
    average = getattr(metric, "__self__", None)
    if isinstance(average, Average) and has_closed_form(average.metric):
        return _average_value_and_grad(average, M)
    with torch.inference_mode(False), torch.enable_grad():
        matrices = torch.tensor(M, dtype=torch.float64, requires_grad=True)
        values: Any = _call(metric, matrices)
        (G,) = torch.autograd.grad(values.sum(), matrices, allow_unused=True)
    return values.detach().numpy(), np.zeros_like(M) if G is None else G.numpy()


def _call(metric: MatrixMetric, matrices: Tensor) -> Tensor:
    """One value for each matrix, also of a function that takes one at a time."""
    values = metric(matrices)
    if isinstance(values, Tensor) and values.shape == matrices.shape[:1]:
        return values
    each = [metric(matrix) for matrix in matrices]
    return torch.stack([matrices.new_zeros(()) + value for value in each])


def _average_value_and_grad(
    average: Average, M: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """By the derivatives of the binary metric, which a few arrays of C numbers give.

    A sample of class c that is decided a little more as c raises TP and lowers FN of
    class c; one that is decided as another class d raises FP and lowers TN of class d.
    So ``G[c, c] = a_c (f_TP - f_FN)`` of class c and ``G[c, d] = a_d (f_FP - f_TN)`` of
    class d, with the weights a of the classes in the average.
    """
    metric, counts = get_metric(average.metric), one_against_rest(M)
    if average.average == "micro":
        counts = type(counts)(*(count.sum(-1, keepdims=True) for count in counts))
        weights = np.ones((len(M), 1))
    elif average.average == "weighted":
        weights = M.sum(-1)
    else:
        weights = 1.0 * ((M.sum(-1) + M.sum(-2)) != 0)
    total = weights.sum(-1, keepdims=True)
    weights = weights / np.where(total == 0, 1, total)
    with np.errstate(all="ignore"):
        found = value_and_derivatives(metric, *counts)
    shape = counts.tp.shape
    value, positives, negatives = (np.broadcast_to(part, shape) for part in found)
    C = M.shape[-1]
    on_diagonal = np.broadcast_to(weights * positives, (len(M), C))
    G = np.repeat(np.broadcast_to(weights * negatives, (len(M), C))[:, None], C, axis=1)
    G[:, np.arange(C), np.arange(C)] = on_diagonal
    return (weights * value).sum(-1), G
