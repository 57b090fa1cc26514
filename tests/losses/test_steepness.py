import numpy as np
import pytest
import torch

from sk_anyloss.losses.steepness import auto_L, valid_L_range
from sk_anyloss.losses.steps import Sigmoid


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_at_the_upper_end_the_amplifier_just_does_not_round_to_1(dtype):
    distance = 0.01
    _, high = valid_L_range(distance, dtype)
    p = torch.tensor(1 - distance, dtype=dtype)
    assert Sigmoid(L=high * 0.98)(p) < 1
    assert Sigmoid(L=high * 1.1)(p) == 1


@pytest.mark.parametrize("distance", [0.1, 0.001])
def test_at_the_lower_end_the_amplifier_leaves_the_probability_where_it_is(distance):
    low, _ = valid_L_range(distance)
    p = torch.tensor(1 - distance, dtype=torch.float64)
    assert Sigmoid(L=low)(p).item() == pytest.approx(1 - distance, rel=0, abs=1e-12)


def test_dtypes_of_numpy_and_torch_mean_the_same():
    assert valid_L_range(0.1, np.float32) == valid_L_range(0.1, torch.float32)
    assert valid_L_range(0.1, "float64") == valid_L_range(0.1)


def test_longer_trainings_and_wider_layers_get_a_less_steep_amplifier():
    by_steps = [auto_L(0.01, steps) for steps in (100, 1_000, 5_000)]
    by_width = [auto_L(0.01, 500, width) for width in (2, 8, 64)]
    for values in (by_steps, by_width):
        assert sorted(values, reverse=True) == values
        assert len(set(values)) == 3


def test_the_rule_stays_between_5_and_what_the_dtype_allows():
    assert auto_L(1.0, 10**6) == 5
    for dtype in (torch.float32, torch.float64):
        high = valid_L_range(1e-9, dtype)[1]
        assert auto_L(1e-9, 1, dtype=dtype) == high


@pytest.mark.parametrize("distance", [0, 0.5, float("nan")])
def test_a_distance_out_of_range_is_named(distance):
    with pytest.raises(ValueError, match=r"distance must lie in \(0, 0.5\), got"):
        valid_L_range(distance)
