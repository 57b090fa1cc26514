"""Losses of single samples for C classes."""

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy, one_hot

from sk_anyloss.losses import (
    BCE,
    MSE,
    CrossEntropy,
    Focal,
    Hybrid,
    MulticlassFocal,
    MulticlassMSE,
    WeightedBCE,
    WeightedCrossEntropy,
)
from sk_anyloss.losses.stacked import stack_losses
from sk_anyloss.losses.steps import Sigmoid
from sk_anyloss.metrics import matrix_metric
from sk_anyloss.metrics.class_weights import ClassWeights

N, C = 40, 4
CLASS_WEIGHT = (1.0, 3.0, 0.5, 2.0)
EXACT = {"rtol": 1e-10, "atol": 1e-12}


def mean(values, weight):
    return (values * weight).sum() / weight.sum()


def focal(z, y, w, gamma):
    log_q = z.log_softmax(1).gather(1, y[:, None])[:, 0]
    return mean(-((1 - log_q.exp()) ** gamma) * log_q, w)


def balanced(z, y, w):
    each = cross_entropy(z, y, reduction="none")
    present = y.unique()
    return sum(mean(each[y == c], w[y == c]) for c in present) / len(present)


def macro_f1(z, y, w):
    h = torch.softmax(5 * z.softmax(1), 1)
    M = one_hot(y, z.shape[1]).to(z).T @ (w[:, None] * h)
    return 1 - matrix_metric("f1_macro", range(z.shape[1]))(M)


#: A loss, and the same written out for torch to differentiate.
LOSSES = {
    "cross_entropy": (
        CrossEntropy(),
        lambda z, y, w: mean(cross_entropy(z, y, reduction="none"), w),
    ),
    "balanced": (WeightedCrossEntropy(), balanced),
    "class weights": (
        WeightedCrossEntropy(CLASS_WEIGHT),
        lambda z, y, w: mean(
            cross_entropy(z, y, reduction="none"), w * w.new_tensor(CLASS_WEIGHT)[y]
        ),
    ),
    "focal": (MulticlassFocal(2), lambda z, y, w: focal(z, y, w, 2)),
    "focal 0.5": (MulticlassFocal(0.5), lambda z, y, w: focal(z, y, w, 0.5)),
    "mse": (
        MulticlassMSE(),
        lambda z, y, w: mean(
            ((z.softmax(1) - one_hot(y, z.shape[1])) ** 2).sum(1) / 2, w
        ),
    ),
    "hybrid": (
        Hybrid("f1", Sigmoid(10), share=0.3).for_target("multiclass"),
        lambda z, y, w: 0.7 * balanced(z, y, w) + 0.3 * macro_f1(z, y, w),
    ),
}
every_loss = pytest.mark.parametrize("name", LOSSES)


def batch(seed=0, shape=(N, C)):
    rng = np.random.default_rng(seed)
    y = torch.from_numpy(np.r_[np.arange(C), rng.integers(0, C, N - C)])
    weight = torch.from_numpy(rng.integers(1, 4, N).astype(float))
    return torch.from_numpy(rng.normal(size=shape)).requires_grad_(), y, weight


@every_loss
def test_value_and_gradient_are_those_of_autograd(name):
    loss, written_out = LOSSES[name]
    z, y, w = batch()
    for weight in (w, None):
        value = loss(z, y, weight)
        expected = written_out(z, y, torch.ones_like(w) if weight is None else w)
        found = torch.autograd.grad(value, z)
        torch.testing.assert_close(value, expected, **EXACT)
        torch.testing.assert_close(found, torch.autograd.grad(expected, z), **EXACT)


@pytest.mark.parametrize(
    "binary",
    [
        BCE(),
        WeightedBCE(),
        Focal(2),
        Focal(0.5),
        MSE(),
        Hybrid("f1_macro", Sigmoid(10)),
    ],
    ids=str,
)
def test_two_classes_are_the_binary_loss(binary):
    rng = np.random.default_rng(0)
    z = torch.from_numpy(3 * rng.normal(size=N)).requires_grad_()
    y = torch.from_numpy(rng.integers(0, 2, N))
    w = torch.from_numpy(rng.uniform(0.5, 2, N))
    value = binary.for_target("multiclass")(torch.stack((-z / 2, z / 2), 1), y, w)
    expected = binary(z, y, w)
    torch.testing.assert_close(value, expected, **EXACT)
    found = torch.autograd.grad(value, z)
    torch.testing.assert_close(found, torch.autograd.grad(expected, z), **EXACT)


@every_loss
def test_an_integer_weight_is_the_sample_repeated(name):
    loss, _ = LOSSES[name]
    z, y, w = batch()
    repeats = w.long()
    repeated = loss(z.repeat_interleave(repeats, 0), y.repeat_interleave(repeats))
    torch.testing.assert_close(loss(z, y, w), repeated, **EXACT)


@pytest.mark.parametrize("groups", [1, 2])
@every_loss
def test_models_share_the_samples_of_their_group_and_parts_add_up(name, groups):
    loss, _ = LOSSES[name]
    models = 2
    data = [batch(g)[1:] for g in range(groups)]
    logits = batch(7, (groups * models, C, N))[0].detach()
    samples = grouped(data)
    stacked = stack_losses([loss] * len(logits), groups, logits)
    S, cache = stacked.statistics(logits, samples)
    values, grad = stacked.value_and_grad(S)
    out = torch.empty_like(logits)
    stacked.backward(cache, grad, samples, out)
    for k, z in enumerate(logits):
        alone = z.T.clone().requires_grad_()
        value = loss(alone, *data[k // models])
        value.backward()
        assert values[k] == pytest.approx(value.item(), rel=1e-12, abs=1e-12)
        torch.testing.assert_close(out[k].T, alone.grad, **EXACT)
    parts = [slice(0, 13), slice(13, N)]
    summed = sum(
        stacked.statistics(
            logits[..., part], grouped([(y[part], w[part]) for y, w in data])
        )[0]
        for part in parts
    )
    np.testing.assert_allclose(stacked.value_and_grad(summed)[0], values, **EXACT)


def grouped(data):
    like = torch.zeros(1, dtype=torch.float64)
    each = [ClassWeights.of_classes(y, C, like, w) for y, w in data]
    return ClassWeights(
        torch.cat([samples.table for samples in each]),
        torch.cat([samples.target for samples in each]),
    )


@every_loss
def test_a_class_with_an_infinite_logit_is_one_that_is_impossible(name):
    loss, _ = LOSSES[name]
    z = torch.from_numpy(np.random.default_rng(0).normal(size=(N, C)))
    y = torch.arange(N) % (C - 1)
    z[:, -1] = -torch.inf
    z.requires_grad_()
    low = z.detach().clone()
    low[:, -1] = -1e6
    low.requires_grad_()
    torch.testing.assert_close(loss(z, y), loss(low, y))
    torch.testing.assert_close(
        torch.autograd.grad(loss(z, y), z), torch.autograd.grad(loss(low, y), low)
    )


@every_loss
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_degenerate_batches_are_finite(name, dtype):
    loss, _ = LOSSES[name]
    logits = batch()[0].detach().to(dtype)
    weights = (None, torch.zeros(N), torch.full((N,), 1e-10))
    for y in (torch.zeros(N), torch.arange(N) % 2):
        for scale in (0, 1, 100, 1e6):
            for weight in weights:
                z = (scale * logits).requires_grad_()
                value = loss(z, y, weight)
                value.backward()
                assert torch.isfinite(value)
                assert torch.isfinite(z.grad).all()
                assert z.grad.dtype == dtype


@every_loss
def test_wrong_decisions_keep_a_gradient_in_float32(name):
    loss, _ = LOSSES[name]
    logits = torch.tensor([[20.0, 0, 0, 0]] * 4, requires_grad=True)
    loss(logits, torch.arange(4)).backward()
    assert (logits.grad[1:].diagonal(1) < 0).all()


@every_loss
def test_half_precision_is_computed_in_float32(name):
    loss, _ = LOSSES[name]
    z, y, w = batch()
    half = z.detach().bfloat16()
    torch.testing.assert_close(loss(half, y, w), loss(half.float(), y, w.float()))


@pytest.mark.parametrize("weight", ["equal", (1, -1), (0, 0), (1, float("inf"))])
def test_invalid_class_weights_are_refused(weight):
    with pytest.raises(ValueError, match="class_weight"):
        WeightedCrossEntropy(weight)


def test_class_weights_must_be_as_many_as_the_classes():
    with pytest.raises(ValueError, match="3 entries for 4 classes"):
        WeightedCrossEntropy((1, 2, 3))(torch.zeros(2, 4), torch.tensor([0, 1]))
