"""Every registered step: shape, derivative, symmetry; and the paper's Table 1."""

import math

import numpy as np
import pytest
import torch

from sk_anyloss.losses import AnyLoss
from sk_anyloss.losses.steepness import valid_L_range
from sk_anyloss.losses.steps import (
    Cosine,
    Linear,
    LogitSigmoid,
    Sigmoid,
    check_threshold,
    get_step,
    step_names,
)
from sk_anyloss.metrics.class_weights import ClassWeights

every_step = pytest.mark.parametrize(
    "step", [get_step(name) for name in step_names()], ids=str
)
THRESHOLDS = (0.05, 0.3, 0.5, 0.8)
P = torch.linspace(0, 1, 1001, dtype=torch.float64)


@every_step
def test_decisions_rise_from_0_to_1_and_are_undecided_at_the_threshold(step):
    for threshold in THRESHOLDS:
        h = step(P, threshold)
        assert h.min() >= 0
        assert h.max() <= 1
        assert (h.diff() >= -1e-15).all()
        at = step(torch.tensor(threshold, dtype=torch.float64), threshold)
        expected = threshold if step == get_step("identity") else 0.5
        assert at.item() == pytest.approx(expected)


@every_step
def test_derivative_equals_finite_differences(step):
    p = P[1:-1] + 1.2e-5  # Off the corners of the linear step.
    e = 1e-7
    for threshold in THRESHOLDS:
        difference = (step(p + e, threshold) - step(p - e, threshold)) / (2 * e)
        torch.testing.assert_close(
            step.derivative(p, threshold), difference, rtol=1e-5, atol=1e-6
        )


@every_step
def test_symmetry(step):
    for threshold in THRESHOLDS:
        torch.testing.assert_close(1 - step(P, threshold), step(1 - P, 1 - threshold))


def decide_through_loss(step, threshold, z, label):
    """The soft decision on each logit, and its derivative, as a loss computes them.

    The recall of one positive sample is its decision h, and the specificity of one
    negative sample is 1 - h.
    """
    z = z.clone().requires_grad_()
    loss = AnyLoss("recall" if label else "specificity", step, threshold)
    samples = ClassWeights.of(torch.tensor([float(label)], dtype=z.dtype))
    value = loss.of_batch(z[:, None], samples)  # Each logit is a model of its own.
    (gradient,) = torch.autograd.grad(value.sum(), z)
    return (1 - value, -gradient) if label else (value, gradient)


@every_step
@pytest.mark.parametrize("n", [101, 1001], ids=["few", "many"])
def test_decisions_on_logits_equal_those_on_probabilities(step, n):
    z = torch.linspace(-6, 6, n, dtype=torch.float64) + 1.2e-5
    p = z.sigmoid()
    for threshold in THRESHOLDS:
        h = step(p, threshold)
        derivative = step.derivative(p, threshold) * p * (1 - p)
        for label in (0, 1):
            found = decide_through_loss(step, threshold, z, label)
            expected = h.detach(), derivative
            torch.testing.assert_close(found, expected, rtol=1e-7, atol=1e-9)


def test_linear_step_passes_through_its_corners():
    for t in (0.2, 0.5, 0.7):
        m, d = min(t, 1 - t), 0.15
        p = torch.tensor([0, t - m / 2, t, t + m / 2, 1], dtype=torch.float64)
        h = torch.tensor([0, d, 0.5, 1 - d, 1], dtype=torch.float64)
        torch.testing.assert_close(Linear(delta=d)(p, t), h)


def test_logit_step_equals_its_formula():
    p, t, beta, eta = P[1:-1], 0.3, 3.0, 0.5
    z = torch.logit(p) - math.log(t / (1 - t))
    expected = 1 / (1 + torch.exp(-beta * (z + eta)))
    torch.testing.assert_close(LogitSigmoid(beta, eta)(p, t), expected)


def test_cosine_step_is_flat_outside_its_band():
    p = torch.tensor([0.0, 0.29, 0.71, 1.0])
    assert Cosine(delta=0.2)(p).tolist() == [0, 0, 1, 1]
    assert Cosine(delta=0.2).derivative(p).abs().max() < 1e-6


@pytest.mark.parametrize(
    ("distance", "low", "high"),
    [
        (0.1, 5.50, 91.84),
        (0.01, 9.38, 74.97),
        (0.001, 13.85, 73.62),
        (1e-14, 64.48, 73.47),
        (1e-15, 69.08, 73.47),
        (1e-16, 73.69, 73.47),
    ],
)
def test_valid_range_equals_table_1_of_the_paper(distance, low, high):
    computed = valid_L_range(distance)
    assert math.ceil(computed[0] * 100) / 100 == low
    assert math.floor(computed[1] * 100) / 100 == high


@pytest.mark.parametrize("distance", [0.1, 0.01, 0.001])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_outside_the_valid_range_the_amplifier_rounds_or_weakens(distance, dtype):
    low, high = valid_L_range(distance, dtype)
    p = torch.tensor(1 - distance, dtype=dtype)
    assert Sigmoid(high * 1.01)(p) == 1
    assert Sigmoid(high * 0.99)(p) < 1
    assert Sigmoid(low * 1.01)(p) > p
    assert Sigmoid(low * 0.99)(p) < p


def test_valid_range_takes_numpy_dtypes():
    assert valid_L_range(0.1, np.float32) == valid_L_range(0.1, torch.float32)
    assert valid_L_range(0.1, "float64") == valid_L_range(0.1)


@pytest.mark.parametrize("distance", [0, 0.5, 1])
def test_invalid_distance(distance):
    with pytest.raises(ValueError, match="distance"):
        valid_L_range(distance)


@pytest.mark.parametrize("L", [0, -1, math.inf, math.nan])
def test_invalid_L(L):
    with pytest.raises(ValueError, match="L must be positive"):
        Sigmoid(L)


@pytest.mark.parametrize("make", [Linear, Cosine])
@pytest.mark.parametrize("delta", [0, -0.1, math.inf])
def test_invalid_delta(make, delta):
    with pytest.raises(ValueError, match="delta"):
        make(delta)


def test_unknown_step():
    with pytest.raises(ValueError, match=r"Did you mean 'linear'.*cosine, identity"):
        get_step("linaer")


@pytest.mark.parametrize("threshold", [0, 1, -0.2, 2, "0.5", None])
def test_invalid_threshold(threshold):
    with pytest.raises(ValueError, match="strictly between 0 and 1"):
        check_threshold(threshold)
