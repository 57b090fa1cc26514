"""Metrics with a constraint, and metrics of a cost matrix."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sk_anyloss.metrics import AtLeast, Savings, get_metric

confusion_matrices = st.tuples(*[st.integers(0, 50)] * 4)


@given(confusion_matrices)
def test_at_least_is_the_goal_or_minus_the_violation(matrix):
    metric = get_metric("precision @ recall >= 0.75")
    assert metric == AtLeast("precision", "recall", 0.75)
    value, recall = metric(*matrix), get_metric("recall")(*matrix)
    if recall >= 0.75:
        assert value == get_metric("precision")(*matrix)
    else:
        assert value == pytest.approx(recall - 0.75)
        assert value < 0
    arrays = metric(*(np.array([count, count]) for count in matrix))
    tensors = metric(*(torch.tensor([float(count)]) for count in matrix))
    assert arrays == pytest.approx([value, value])
    assert tensors.item() == pytest.approx(value, abs=1e-6)


@given(confusion_matrices, st.tuples(*[st.integers(-5, 5)] * 4))
def test_savings_by_brute_force(matrix, costs):
    c_tn, c_fp, c_fn, c_tp = costs
    if c_tn == c_fp and c_fn == c_tp:
        return
    tn, fp, fn, tp = matrix
    cost = c_tn * tn + c_fp * fp + c_fn * fn + c_tp * tp
    high = max(c_tn, c_fp) * (tn + fp) + max(c_fn, c_tp) * (fn + tp)
    low = min(c_tn, c_fp) * (tn + fp) + min(c_fn, c_tp) * (fn + tp)
    value = Savings(fp=c_fp, fn=c_fn, tn=c_tn, tp=c_tp)(*matrix)
    assert value == pytest.approx((high - cost) / (high - low) if high > low else 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AtLeast(floor=1.0), r"must lie in \(0, 1\), got 1.0"),
        (lambda: get_metric("precision@recall>=1.5"), "must lie in"),
        (lambda: get_metric("precision@recal>=0.5"), "recal"),
        (lambda: AtLeast("precison"), "precison"),
        (lambda: Savings(fp=0, fn=0), "the same whatever is decided"),
        (lambda: Savings(fp=float("nan")), "finite"),
    ],
)
def test_invalid_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()
