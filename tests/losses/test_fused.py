"""AnyLoss of one output in few operations: the same as the three steps, everywhere."""

import copy
import pickle

import numpy as np
import pytest
import torch
from torch import nn

from sk_anyloss.losses import AnyLoss
from sk_anyloss.losses.base import Loss
from sk_anyloss.losses.fused import FusedAnyLoss
from sk_anyloss.losses.steps import Sigmoid
from sk_anyloss.metrics import metric_names
from tests.losses.losses_to_test import FAMILY


def own_metric(tn, fp, fn, tp):
    return tp / torch.sqrt(tp + fn + fp)


#: One that is a product of rates, one with a closed form of its own, one by autograd.
METRICS = ("f1", "gmean", "mcc", own_metric)


def batch(n=600, rate=0.3, dtype=torch.float64, seed=0):
    rng = np.random.default_rng(seed)
    z = torch.from_numpy(rng.normal(size=n) * 3).to(dtype)
    return z.requires_grad_(), torch.from_numpy((rng.random(n) < rate).astype(int))


def fused_calls(monkeypatch):
    """The list to which every call of the fused function is added."""
    calls, apply = [], FusedAnyLoss.apply
    monkeypatch.setattr(FusedAnyLoss, "apply", lambda *a: calls.append(a) or apply(*a))
    return calls


def value_and_gradient(call, z):
    value = call(z)
    (gradient,) = torch.autograd.grad(value, z)
    return value.detach(), gradient


@pytest.mark.parametrize("metric", metric_names())
@pytest.mark.parametrize("threshold", [0.5, 0.4])
@pytest.mark.parametrize("rate", [0.3, 0.97, 0.0, 1.0])
def test_it_equals_the_three_steps(metric, threshold, rate, monkeypatch):
    calls = fused_calls(monkeypatch)
    z, y = batch(rate=rate)
    loss = AnyLoss(metric, Sigmoid(8), threshold)
    found = value_and_gradient(lambda z: loss(z, y), z)
    expected = value_and_gradient(lambda z: Loss.forward(loss, z, y), z)
    torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-13)
    assert len(calls) == (metric not in ("roc_auc", "average_precision"))


@pytest.mark.parametrize("metric", METRICS)
def test_first_and_second_derivatives_equal_finite_differences(metric):
    z, y = batch(9)
    loss = AnyLoss(metric, Sigmoid(8))
    assert torch.autograd.gradcheck(lambda z: loss(z, y), z)
    assert torch.autograd.gradgradcheck(lambda z: loss(z, y), z)


def test_a_gradient_penalty_trains_on_its_own_gradient():
    z, y = batch(9)
    loss = AnyLoss("f1")

    def penalty(z):
        (gradient,) = torch.autograd.grad(loss(z, y), z, create_graph=True)
        return gradient.square().sum()

    assert torch.autograd.gradcheck(penalty, z)


def test_backward_twice_accumulates():
    z, y = batch(9)
    loss = AnyLoss("f1")(z, y)
    (gradient,) = torch.autograd.grad(loss, z, retain_graph=True)
    loss.backward(retain_graph=True)
    z.grad.mul_(10)
    (3 * loss).backward(retain_graph=True)
    loss.backward()
    torch.testing.assert_close(z.grad, 14 * gradient, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("label_type", [torch.bool, torch.uint8, torch.int64, None])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shapes_and_types(label_type, dtype, monkeypatch):
    calls = fused_calls(monkeypatch)
    z, y = batch(dtype=dtype)
    y = y.to(dtype if label_type is None else label_type)
    expected = Loss.forward(AnyLoss("f1"), z, y)
    for logits, labels in ((z, y), (z[:, None], y), (z[:, None], y[:, None])):
        loss = AnyLoss("f1")(logits, labels)
        assert loss.shape == ()
        assert loss.dtype == dtype
        torch.testing.assert_close(loss, expected, rtol=1e-5, atol=1e-7)
        (gradient,) = torch.autograd.grad(2 * loss, logits, retain_graph=True)
        assert gradient.shape == logits.shape
    assert len(calls) == 3
    with torch.no_grad():
        assert not AnyLoss("f1")(z, y).requires_grad


def test_few_negatives_keep_their_digits_in_float32():
    # As the difference of two sums of about 50,000, their decisions would be lost.
    z, y = batch(50_000, rate=2.0)
    with torch.no_grad():
        z += 6
        z[0] = -3
    y[0] = 0
    loss = AnyLoss("gmean")
    expected = Loss.forward(loss, z, y)
    found = loss(z.detach().float(), y)
    torch.testing.assert_close(found.double(), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("bad", [2, -1, 0.5, float("nan"), 1e30])
def test_labels_other_than_0_and_1_are_refused(bad):
    z, y = batch(50)
    y = y.double()
    y[3] = bad
    with pytest.raises(ValueError, match="Labels must be 0 or 1"):
        AnyLoss("f1")(z, y)
    if bad in (2, -1):
        with pytest.raises(ValueError, match="Labels must be 0 or 1"):
            AnyLoss("f1")(z, y.long())


def test_values_that_are_not_finite_are_refused():
    z, y = batch(50)
    with pytest.raises(ValueError, match="outputs of the network are not finite"):
        AnyLoss("f1")(z * float("nan"), y)
    with pytest.raises(ValueError, match="'<lambda>' is not finite at"):
        AnyLoss(lambda tn, fp, fn, tp: tp / (tp + fn))(z, 0 * y)


class Halved(AnyLoss):
    """A loss of a user's own."""

    def value_and_grad(self, S):
        value, (negatives, positives) = super().value_and_grad(S)
        return value / 2, (negatives / 2, positives / 2)


def test_other_losses_and_batches_go_through_the_three_steps(monkeypatch):
    calls = fused_calls(monkeypatch)
    z, y = batch(40)
    others = [loss for loss in FAMILY if not isinstance(loss.step, Sigmoid)]
    for loss in (*others, AnyLoss("f1", "sigmoid"), AnyLoss("f1", decay=0.9)):
        loss(z, y)
    AnyLoss("f1", threshold=(0.4, 0.6))(z, y)
    AnyLoss("f1")(z, y, torch.ones(40))
    AnyLoss("f1")(z.view(8, 5), y.view(8, 5))
    AnyLoss("f1")(z.to(torch.bfloat16), y)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        AnyLoss("f1")(z, y)
    plain = AnyLoss("f1")
    torch.testing.assert_close(Halved("f1")(z, y), plain(z, y) / 2)
    assert len(calls) == 1  # The last one.
    plain.step = Sigmoid(73)
    plain(z, y)
    assert len(calls) == 1


def test_a_loss_that_was_used_is_copied_and_stored():
    z, y = batch(40)
    loss = AnyLoss("f1")
    expected = loss(z, y)
    for again in (copy.deepcopy(loss), pickle.loads(pickle.dumps(loss))):
        torch.testing.assert_close(again(z, y), expected, rtol=0, atol=0)


def test_a_training_takes_the_same_path():
    z, y = batch(300)
    X = torch.stack((z.detach(), y + 0.5 * z.detach()), 1)
    weights = []
    for call in (AnyLoss.forward, Loss.forward):
        torch.manual_seed(0)
        module, loss = nn.Linear(2, 1).double(), AnyLoss("f1")
        optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
        for _ in range(20):
            optimizer.zero_grad()
            call(loss, module(X), y).backward()
            optimizer.step()
        weights.append(module.weight.detach())
    torch.testing.assert_close(*weights, rtol=1e-6, atol=1e-8)
