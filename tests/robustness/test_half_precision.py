"""Half precision: statistics and losses are computed in float32 at least."""

import numpy as np
import pytest
import torch
from torch import nn

from sk_anyloss import AnyLoss, AnyLossClassifier, AnyLossNet
from sk_anyloss.losses import get_loss, loss_names
from sk_anyloss.metrics import curve_names, metric_names

HALF = (torch.float16, torch.bfloat16)
METRICS = ("f1", "recall", "specificity", "precision", "mcc", "gmean", "roc_auc")


def batch(n=200, scale=3.0):
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(n, generator=generator, dtype=torch.float64) * scale
    y = (torch.rand(n, generator=generator) < 0.3).long()
    return logits, y


def gradient(loss, logits, y):
    logits = logits.detach().clone().requires_grad_()
    value = loss(logits, y)
    value.backward()
    return value.detach(), logits.grad


def every_loss():
    losses = {name: AnyLoss(name) for name in metric_names() + curve_names()}
    for name in loss_names():
        metric = "roc_auc" if name == "pairs" else "f1"
        losses[name] = get_loss(name, metric)
        losses[name].prepare(140.0, 60.0)
    return losses


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("name", every_loss())
def test_every_loss_of_half_logits_is_that_of_the_same_numbers(name, dtype):
    loss = every_loss()[name]
    logits, y = batch()
    half = logits.to(dtype)
    value, grad = gradient(loss, half, y)
    expected, slopes = gradient(loss, half.double(), y)
    assert value.item() == pytest.approx(expected.item(), abs=2e-5)
    assert grad.dtype == dtype
    # What is not lost by rounding to half precision is there.
    np.testing.assert_allclose(
        grad.double(), slopes.to(dtype).double(), rtol=0.02, atol=1e-5
    )


def test_recall_and_specificity_in_float16():
    logits = torch.tensor([5.0, 4.0, -4.0, 6.0, 7.0], dtype=torch.float16)
    y = torch.tensor([1, 1, 1, 0, 0])
    assert AnyLoss("recall", "sigmoid")(logits, y).item() == pytest.approx(
        1 / 3, abs=1e-3
    )
    assert AnyLoss("specificity", "sigmoid")(logits, y).item() == pytest.approx(
        1, abs=1e-3
    )


@pytest.mark.parametrize("dtype", HALF)
def test_counts_above_the_largest_half_number(dtype):
    y = torch.arange(200_000) % 2
    logits = torch.where(y == 1, 4.0, -4.0).to(dtype)
    assert AnyLoss("f1", "sigmoid")(logits, y).item() == pytest.approx(0, abs=1e-4)
    wrong = torch.where(torch.arange(200_000) % 8 == 1, -logits, logits)
    assert AnyLoss("accuracy", "sigmoid")(wrong, y).item() == pytest.approx(
        1 / 8, abs=1e-3
    )


def test_weights_in_half_precision():
    logits, y = batch()
    weight = torch.full((200,), 1000.0, dtype=torch.float16)
    plain = AnyLoss("f1")(logits.float(), y)
    assert AnyLoss("f1")(logits.float(), y, weight).item() == pytest.approx(
        plain.item(), abs=1e-5
    )


@pytest.mark.parametrize("dtype", HALF)
@pytest.mark.parametrize("metric", METRICS)
def test_autocast_around_the_criterion_changes_nothing(metric, dtype):
    loss = AnyLoss(metric)
    logits, y = batch()
    expected, slopes = gradient(loss, logits, y)
    with torch.autocast("cpu", dtype=dtype):
        value, grad = gradient(loss, logits, y)
    assert value.dtype == torch.float64
    assert value.item() == pytest.approx(expected.item(), abs=1e-12)
    np.testing.assert_allclose(grad, slopes, rtol=1e-9, atol=1e-12)


def rings():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5)).astype(np.float32)
    return X, (X[:, 0] + X[:, 1] > 1.2).astype(int)


@pytest.mark.parametrize("params", [{}, {"activation": torch.sin}])
def test_autocast_around_a_fit_of_the_classifier_changes_nothing(params):
    X, y = rings()
    model = AnyLossClassifier(max_epochs=5, random_state=0, **params)
    expected = model.fit(X, y).decision_function(X)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = model.fit(X, y).decision_function(X)
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", HALF)
def test_autocast_around_a_fit_of_a_net(dtype):
    X, y = rings()
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 1))
    net = AnyLossNet(module, max_epochs=40, random_state=0, criterion__step="identity")
    with torch.autocast("cpu", dtype=dtype):
        net.fit(X, y)
        scores = net.predict_proba(X)
    assert np.isfinite(scores).all()
    assert net.score(X, y) > 0.9


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_a_module_in_half_precision(dtype):
    X, y = rings()
    torch.manual_seed(0)
    module = nn.Linear(5, 1).to(dtype)
    net = AnyLossNet(module, lr=0.05, max_epochs=30, random_state=0,
                     optimizer=torch.optim.SGD, criterion__step="identity")  # fmt: skip
    net.fit(X, y)
    assert np.isfinite(net.predict_proba(X)).all()
    assert net.history[-1]["train_loss"] < net.history[0]["train_loss"]
