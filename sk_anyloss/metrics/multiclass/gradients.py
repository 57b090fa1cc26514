"""Values of metrics of C x C matrices, with gradients for training on them.

A gradient G with respect to M is meant for decisions whose rows sum to 1. A constant
that is added to a row of G changes nothing then, so G is given up to such constants.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from sk_anyloss.metrics.arithmetic import Metric
from sk_anyloss.metrics.binary import FBeta
from sk_anyloss.metrics.constraints import TOLERANCE
from sk_anyloss.metrics.derivatives import value_and_derivatives
from sk_anyloss.metrics.derivatives.differentiable import (
    derivatives_of_each,
    has_closed_form,
)
from sk_anyloss.metrics.multiclass.averages import Average
from sk_anyloss.metrics.multiclass.lookup import MatrixAtLeast, OfClass
from sk_anyloss.metrics.multiclass.matrix import (
    CohenKappa,
    CostMatrix,
    MatrixMetric,
    accuracy,
    balanced_accuracy,
    disagreement,
    gmean,
    mcc,
    power_of_two,
)
from sk_anyloss.metrics.registry import get_metric

__all__ = ["differentiate_matrix", "matrix_value_and_grad"]

#: Metrics of this package, which take any number of matrices.
_OF_STACKS = (Average, MatrixAtLeast, OfClass)

#: From matrices of shape (K, C, C) to K values and K gradients.
ValueAndGrad: TypeAlias = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def matrix_value_and_grad(
    metric: MatrixMetric, M: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """A metric of K confusion matrices and its gradients with respect to their entries.

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
        metrics, a binary metric of one class, accuracy, balanced accuracy, G-mean, MCC,
        kappa and costs; by autograd on C x C numbers for others.

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
    return differentiate_matrix(metric)(M)


def differentiate_matrix(metric: MatrixMetric) -> ValueAndGrad:
    """The function of :func:`matrix_value_and_grad` for one metric, looked up once.

    Parameters
    ----------
    metric : callable
        ``f(M)``, from :func:`sk_anyloss.metrics.matrix_metric`.

    Returns
    -------
    value_and_grad : callable
        From matrices of shape (K, C, C) to K values and K gradients.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics import matrix_metric
    >>> from sk_anyloss.metrics.multiclass.gradients import differentiate_matrix
    >>> value, _ = differentiate_matrix(matrix_metric("mcc", [0, 1]))(np.eye(2)[None])
    >>> value
    array([1.])
    """
    if isinstance(metric, Hashable) and metric in _CLOSED_FORMS:
        return _CLOSED_FORMS[metric]
    if isinstance(metric, CohenKappa):
        return partial(_kappa, metric.power)
    if isinstance(metric, CostMatrix):
        return partial(_savings, metric)
    if isinstance(metric, MatrixAtLeast):
        return partial(
            _at_least,
            metric,
            differentiate_matrix(metric.goal),
            differentiate_matrix(metric.constraint),
        )
    found = getattr(metric, "__self__", metric)
    if isinstance(found, (Average, OfClass)) and has_closed_form(found.metric):
        binary = get_metric(found.metric)
        if isinstance(found, OfClass):
            return partial(_of_class_value_and_grad, binary, found.index)
        return partial(_average_value_and_grad, binary, found.average)
    return partial(_value_and_grad_by_autograd, metric)


def _value_and_grad_by_autograd(
    metric: MatrixMetric, M: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    with torch.inference_mode(False), torch.enable_grad():
        matrices = torch.tensor(M, dtype=torch.float64, requires_grad=True)
        values: Any = _call(metric, matrices)
        (G,) = torch.autograd.grad(values.sum(), matrices, allow_unused=True)
    return values.detach().numpy(), np.zeros_like(M) if G is None else G.numpy()


def _call(metric: MatrixMetric, matrices: Tensor) -> Tensor:
    """One value for each matrix, also of a function that takes one at a time."""
    if isinstance(getattr(metric, "__self__", metric), _OF_STACKS):
        return metric(matrices)
    if len(matrices) > 1:
        try:
            values = metric(matrices)
            ends = [float(metric(matrices[i].detach())) for i in (0, -1)]
            # A function of one matrix can give numbers for a stack of them as well.
            if values.shape == matrices.shape[:1] and np.allclose(
                values.detach()[[0, -1]], ends
            ):
                return values
        except (AttributeError, IndexError, RuntimeError, TypeError, ValueError):
            pass
    each = [metric(matrix) for matrix in matrices]
    return torch.stack([matrices.new_zeros(()) + value for value in each])


def _average_value_and_grad(
    metric: Metric, average: str, M: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """By the derivatives of the binary metric, which a few arrays of C numbers give.

    A sample of class c that is decided a little more as c raises TP and lowers FN of
    class c; one that is decided as another class d raises FP and lowers TN of class d.
    So ``G[c, c] = a_c (f_TP - f_FN)`` of class c and ``G[c, d] = a_d (f_FP - f_TN)`` of
    class d, with the weights a of the classes in the average.
    """
    K, C = len(M), M.shape[-1]
    rows, columns, tp = M.sum(2), M.sum(1), M.diagonal(0, 1, 2)
    # A beta whose square rounds to 0 leaves a class that is never decided undefined.
    beta = metric.beta if isinstance(metric, FBeta) else 0.0
    if beta > 1e-6 and average == "macro" and rows.all():
        return _macro_f_beta(beta, rows, columns, tp)
    # Rounding can leave a little less than 0, of which there is no root.
    fn, fp = (rows - tp).clip(0), (columns - tp).clip(0)
    tn = (rows.sum(1, keepdims=True) - rows - fp).clip(0)
    weights = np.ones((1, 1))
    if average == "micro":
        tn, fp, fn, tp = (count.sum(1, keepdims=True) for count in (tn, fp, fn, tp))
    elif average == "macro" and rows.all():
        weights /= C
    else:
        share = rows if average == "weighted" else 1.0 * ((rows + columns) != 0)
        total = share.sum(1, keepdims=True)
        weights = share / (total + (total == 0))
    counts = tn, fp, fn, tp
    try:
        with np.errstate(all="ignore"):
            value, positives, negatives = value_and_derivatives(metric, *counts)
    except ValueError:  # Its branches need single numbers.
        function = partial(value_and_derivatives, metric)
        found = derivatives_of_each(function, (count.ravel() for count in counts))
        value, positives, negatives = found.reshape(3, *tn.shape)
    G = np.empty((K, C, C))
    G[:] = (weights * negatives)[:, None, :]
    G.reshape(K, -1)[:, :: C + 1] = weights * positives
    return (weights * value).sum(1), G


def _macro_f_beta(
    beta: float, rows: np.ndarray, columns: np.ndarray, tp: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The most common objective, where no class is absent, in few operations.

    ``F_c = (1 + b^2) M_cc / (b^2 t_c + p_c)`` with the totals t of rows and p of
    columns, of which t does not depend on the decisions.
    """
    K, C = rows.shape
    beta2 = beta * beta
    factor = 1 / (C * (columns + beta2 * rows))
    gain = (1 + beta2) * factor
    values = gain * tp
    G = np.empty((K, C, C))
    G[:] = (values * (-C * factor))[:, None]
    G.reshape(K, -1)[:, :: C + 1] += gain
    return values.sum(1), G


def _of_class_value_and_grad(
    binary: Metric, c: int, M: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """By the derivatives of the binary metric; other decisions do not matter."""
    each = []
    totals = M.sum(2).tolist(), M[:, :, c].sum(1).tolist(), M[:, c, c].tolist()
    # With numbers, which is faster than arrays of a few of them.
    for rows, column, tp in zip(*totals, strict=True):
        # Rounding can leave a little less than 0, of which there is no root.
        fn, fp = max(rows[c] - tp, 0.0), max(column - tp, 0.0)
        tn = max(sum(rows) - tp - fn - fp, 0.0)
        each.append(value_and_derivatives(binary, tn, fp, fn, tp))
    value, positives, negatives = np.array(each, dtype=float).T
    G = np.zeros_like(M)
    G[:, :, c] = negatives[:, None]
    G[:, c, c] = positives
    return value, G


def _on_diagonal(values: np.ndarray, M: np.ndarray) -> np.ndarray:
    G = np.zeros_like(M)
    each = np.arange(M.shape[-1])
    G[:, each, each] = values
    return G


def _inverse(values: np.ndarray) -> np.ndarray:
    """1 / values, and 0 where they are 0."""
    is_zero = values == 0
    return ~is_zero / (values + is_zero)


def _accuracy(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return accuracy(M), _on_diagonal(_inverse(M.sum((1, 2)))[:, None], M)


def _balanced_accuracy(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    totals = M.sum(-1)
    present = (totals != 0).sum(-1, keepdims=True)
    return balanced_accuracy(M), _on_diagonal(_inverse(totals * present), M)


def _gmean(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # With the recalls r_c = M_cc / t_c: d gmean / d M_cc = gmean / (C M_cc).
    value = gmean(M)
    present = (M.sum(-1) != 0).sum(-1)
    share = value * _inverse(present.astype(float))
    right = M.diagonal(0, 1, 2)
    return value, _on_diagonal(share[:, None] / np.where(right == 0, np.inf, right), M)


def _mcc(M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # The totals t of the rows do not depend on the decisions; see matrix.mcc.
    K, C = len(M), M.shape[-1]
    factor = power_of_two(M.sum((1, 2), keepdims=True))
    M = M * factor
    t, p = M.sum(2), M.sum(1)
    s = t.sum(1, keepdims=True)
    s2 = s * s
    by_p = s2 - (p * p).sum(1, keepdims=True)
    spread = by_p * (s2 - (t * t).sum(1, keepdims=True))
    defined = spread > 1e-12 * s2 * s2
    scale = defined / np.sqrt(np.where(defined, spread, 1.0))
    right = M.diagonal(0, 1, 2).sum(1, keepdims=True)
    value = (s * right - (t * p).sum(1, keepdims=True)) * scale
    # d/dM_ck (s sum M_cc - sum t p) = s [c = k] - t_k; d/dM_ck by_p = -2 p_k.
    shrink = value * defined / np.where(defined, by_p, 1.0)
    G = np.empty((K, C, C))
    G[:] = (shrink * p - scale * t)[:, None]
    G.reshape(K, -1)[:, :: C + 1] += scale * s
    return value[:, 0], G * factor


def _kappa(power: int, M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # 1 - O / E with O = sum(W M) and E = t W p / s; neither t nor s depends on the
    # decisions.
    W = disagreement(M.shape[-1], power)
    t, p = M.sum(2), M.sum(1)
    s = t.sum(1, keepdims=True)
    weighted = t @ W * _inverse(s)  # dE / dp
    by_chance = (weighted * p).sum(1, keepdims=True)
    inverse = _inverse(by_chance)
    observed = np.tensordot(M, W, 2)[:, None] * inverse
    value = (by_chance != 0) - observed
    G = (weighted * (observed * inverse))[:, None] - W * inverse[:, :, None]
    return value[:, 0], G


def _savings(metric: CostMatrix, M: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    # Linear in the decisions, whose rows have fixed totals.
    costs = np.asarray(metric.costs)
    most = costs.max(axis=1)
    value = metric(M)  # Also refuses another number of classes.
    inverse = _inverse(M.sum(2) @ (most - costs.min(axis=1)))
    return value, (most[:, None] - costs) * inverse[:, None, None]


def _at_least(
    metric: MatrixAtLeast, goal: ValueAndGrad, constraint: ValueAndGrad, M: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    # The gradient of the part that the value is made of; 0 times that of the other one
    # is not a number where it overflows.
    (goals, G), (constraints, H) = goal(M), constraint(M)
    is_met = constraints - metric.floor >= -TOLERANCE
    value = np.where(is_met, goals, constraints - metric.floor)
    return value, np.where(is_met[:, None, None], G, H)


_CLOSED_FORMS: dict[MatrixMetric, ValueAndGrad] = {
    accuracy: _accuracy,
    balanced_accuracy: _balanced_accuracy,
    gmean: _gmean,
    mcc: _mcc,
}
