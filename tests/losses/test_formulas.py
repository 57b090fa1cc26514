"""Losses of single samples against their formulas."""

import numpy as np
import pytest
import torch
from torch.nn.functional import binary_cross_entropy_with_logits

from sk_anyloss.losses import (
    BCE,
    MSE,
    AnyLoss,
    Focal,
    Hybrid,
    SurrogateFBeta,
    WeightedBCE,
)
from tests.losses.losses_to_test import batch


def test_focal_loss_equals_its_formula():
    z, y, w = batch()
    p = 1 / (1 + np.exp(-z.detach().numpy()))
    q = np.where(y == 1, p, 1 - p)
    a = np.where(y == 1, 0.25, 0.75)
    expected = np.average(-a * (1 - q) ** 3 * np.log(q), weights=w)
    assert Focal(gamma=3, alpha=0.25)(z, y, w).item() == pytest.approx(expected)
    torch.testing.assert_close(Focal(gamma=0)(z, y, w), BCE()(z, y, w))


def test_surrogate_equals_its_formula():
    z, y, w = batch()
    y_, p = y.numpy(), 1 / (1 + np.exp(-z.detach().numpy()))
    expected = -y_ * np.log(p) + (1 - y_) * np.log(4 * 0.3 + p)
    loss = SurrogateFBeta(beta=2, rate=0.3)
    assert loss(z, y, w).item() == pytest.approx(np.average(expected, weights=w))


def test_surrogate_needs_the_rate():
    z, y, _ = batch()
    with pytest.raises(ValueError, match="needs rate="):
        SurrogateFBeta()(z, y)
    loss = SurrogateFBeta()
    loss.prepare(80.0, 20.0)
    assert loss.rate == 0.25
    given_one = SurrogateFBeta(rate=0.5)
    given_one.prepare(80.0, 20.0)
    assert given_one.rate == 0.5


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_hybrid_is_a_weighted_sum(share):
    z, y, w = batch()
    loss = Hybrid("mcc", "identity", 0.4, share=share, class_weight=(1, 3))
    bce = WeightedBCE((1, 3))(z, y, w)
    metric = AnyLoss("mcc", "identity", 0.4)(z, y, w)
    torch.testing.assert_close(loss(z, y, w), (1 - share) * bce + share * metric)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Focal(gamma=-1), "gamma must be at least 0"),
        (lambda: Focal(alpha=1), "alpha must lie in"),
        (lambda: SurrogateFBeta(beta=0), "beta must be positive"),
        (lambda: SurrogateFBeta(rate=0), "rate must be positive"),
        (lambda: Hybrid(share=1.5), "share must lie in"),
    ],
)
def test_invalid_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_bce_equals_torchs():
    z, y, w = batch()
    torch.testing.assert_close(BCE()(z, y), binary_cross_entropy_with_logits(z, y))
    expected = (binary_cross_entropy_with_logits(z, y, reduction="none") * w).sum()
    torch.testing.assert_close(BCE()(z, y, w), expected / w.sum())


def test_mse_of_the_probability():
    z, y, _ = batch()
    torch.testing.assert_close(MSE()(z, y), ((z.sigmoid() - y) ** 2).mean())


def test_balanced_bce_is_the_mean_of_the_class_means():
    z, y, _ = batch()
    expected = (BCE()(z[y == 0], y[y == 0]) + BCE()(z[y == 1], y[y == 1])) / 2
    torch.testing.assert_close(WeightedBCE()(z, y), expected)
    torch.testing.assert_close(WeightedBCE((1, 1))(z, y), BCE()(z, y))
    torch.testing.assert_close(WeightedBCE((0, 2))(z, y), BCE()(z[y == 1], y[y == 1]))
