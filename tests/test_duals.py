"""Dual numbers find the partial derivatives that autograd finds."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sk_anyloss.duals import Dual, value_and_partials
from sk_anyloss.metrics import get_metric, metric_names

counts = st.lists(
    st.sampled_from([0.0, 1e-12, 0.5, 3.0, 40.0, 1e9]), min_size=4, max_size=4
)


@pytest.mark.parametrize("name", metric_names())
@given(matrix=counts)
def test_values_and_partials_equal_autograds_even_at_zero(name, matrix):
    metric = get_metric(name)
    tensor = torch.tensor(matrix, dtype=torch.float64, requires_grad=True)
    expected = metric(*tensor)
    expected.backward()
    value, partials = value_and_partials(metric, matrix)
    assert value == pytest.approx(expected.item(), rel=1e-12, abs=1e-15)
    gradient = tensor.grad.numpy()
    rounding = 1e-15 * (1 + abs(gradient).max())
    np.testing.assert_allclose(partials, gradient, rtol=1e-9, atol=rounding)


def test_every_operation():
    def metric(tn, fp, fn, tp):
        return 3 - (-tp * 2 + 1) / (4 / fn) - (1 - fp) ** 3 + (tn - 2) / 5 + fp * fn

    tensor = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64, requires_grad=True)
    metric(*tensor).backward()
    value, partials = value_and_partials(metric, tensor.tolist())
    assert value == pytest.approx(metric(1.0, 2.0, 3.0, 4.0))
    np.testing.assert_allclose(partials, tensor.grad.numpy())


def test_comparisons_look_at_the_value():
    x = Dual(2.0, 1.0, 1.0, 1.0, 1.0)
    assert x == 2
    assert x != 3
    assert x == Dual(2.0, 0.0, 0.0, 0.0, 0.0)


def test_a_metric_may_have_branches_and_constants():
    def guarded(tn, fp, fn, tp):
        return tp / (tp + fn) if tp + fn > 0 else 0.0

    assert value_and_partials(guarded, [1.0, 2.0, 0.0, 0.0]) == (0.0, [0.0] * 4)
    assert value_and_partials(guarded, [1.0, 2.0, 1.0, 1.0])[0] == 0.5
    x = Dual(2.0, 1.0, 1.0, 1.0, 1.0)
    assert x < 3 <= x + 1
    assert x >= Dual(2.0, 0.0, 0.0, 0.0, 0.0)
