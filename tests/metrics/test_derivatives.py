"""Dual numbers give the derivatives that autograd gives."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from sk_anyloss.metrics import get_metric, metric_names
from sk_anyloss.metrics.derivatives import Dual, value_and_derivatives

COUNTS = [0.0, 1e-12, 0.5, 3.0, 40.0, 1e9]
confusion_matrices = st.lists(st.sampled_from(COUNTS), min_size=4, max_size=4)


def autograd_reference(metric, matrix):
    """Value and derivatives, and the largest partial derivative for the tolerance."""
    tensor = torch.tensor(matrix, dtype=torch.float64, requires_grad=True)
    value = metric(*tensor)
    value.backward()
    tn, fp, fn, tp = tensor.grad.tolist()
    return (value.item(), tp - fn, fp - tn), max(map(abs, (tn, fp, fn, tp)))


@pytest.mark.parametrize("name", metric_names())
@given(matrix=confusion_matrices)
def test_values_and_derivatives_equal_autograd_even_at_zero(name, matrix):
    expected, largest = autograd_reference(get_metric(name), matrix)
    found = value_and_derivatives(get_metric(name), *matrix)
    rounding = 1e-15 * (1 + largest)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=rounding)


def test_arrays_equal_single_numbers():
    matrices = np.random.default_rng(0).choice(COUNTS, size=(4, 50))
    for name in metric_names():
        metric = get_metric(name)
        found = np.stack(np.broadcast_arrays(*value_and_derivatives(metric, *matrices)))
        expected = [
            value_and_derivatives(metric, *matrix) for matrix in matrices.T.tolist()
        ]
        np.testing.assert_allclose(found.T, expected, 1e-12, 1e-14, err_msg=name)


def test_every_operation():
    def metric(tn, fp, fn, tp):
        return 3 - (-tp * 2 + 1) / (4 / fn) - (1 - fp) ** 3 + (tn - 2) / 5 + fp * fn

    matrix = [1.0, 2.0, 3.0, 4.0]
    np.testing.assert_allclose(
        value_and_derivatives(metric, *matrix), autograd_reference(metric, matrix)[0]
    )


def test_comparisons_are_of_the_value():
    x = Dual(2.0, 1.0, 1.0)
    assert x == 2
    assert x != 3
    assert x == Dual(2.0, 0.0, 0.0)
    assert x < 3 <= x + 1
    assert x >= Dual(2.0, 0.0, 0.0)
    assert x > 1


def test_numpy_leaves_the_arithmetic_to_the_dual():
    x = np.array([2.0, 3.0]) * Dual(np.array([1.0, 2.0]), 1.0, 0.0)
    assert isinstance(x, Dual)
    assert x.value.tolist() == [2.0, 6.0]
    assert x.positives.tolist() == [2.0, 3.0]


def test_a_metric_may_have_branches_and_constants():
    def guarded(tn, fp, fn, tp):
        return tp / (tp + fn) if tp + fn > 0 else 0.0

    assert value_and_derivatives(guarded, 1.0, 2.0, 0.0, 0.0) == (0.0, 0.0, 0.0)
    assert value_and_derivatives(guarded, 1.0, 2.0, 1.0, 1.0)[0] == 0.5
