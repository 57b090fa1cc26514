"""Losses of two classes for several labels."""

import copy

import numpy as np
import pytest
import torch

from sk_anyloss.losses import (
    BCE,
    MSE,
    AnyLoss,
    Focal,
    Hybrid,
    Pairs,
    SurrogateFBeta,
    WeightedBCE,
)
from sk_anyloss.losses.multilabel import OverLabels
from sk_anyloss.losses.stacked import stack_losses
from sk_anyloss.losses.steps import Sigmoid
from sk_anyloss.metrics import get_metric
from sk_anyloss.metrics.class_weights import LabelWeights
from sk_anyloss.metrics.multilabel import LabelAverage

N, Q = 30, 3
EXACT = {"rtol": 1e-10, "atol": 1e-12}
AVERAGES = ["macro", "weighted", "micro", "samples"]
#: Losses of two classes, which are averaged over labels.
BINARY = [
    BCE(),
    MSE(),
    Focal(2),
    WeightedBCE(),
    WeightedBCE((1, 4)),
    SurrogateFBeta(rate=0.5),
    AnyLoss("f1", Sigmoid(10)),
    AnyLoss("mcc", "linear", 0.4),
    AnyLoss("f1", Sigmoid(10), [0.3, 0.6]),
    Hybrid("gmean", Sigmoid(10), share=0.3),
]


def batch(seed=0, shape=(N, Q)):
    rng = np.random.default_rng(seed)
    y = torch.from_numpy((rng.random((N, Q)) < (0.2, 0.5, 0.7)).astype(float))
    weight = torch.from_numpy(rng.integers(1, 4, N).astype(float))
    return torch.from_numpy(rng.normal(size=shape)).requires_grad_(), y, weight


def assert_same(value, expected, z):
    torch.testing.assert_close(value, expected, **EXACT)
    found = torch.autograd.grad(value, z)
    torch.testing.assert_close(found, torch.autograd.grad(expected, z), **EXACT)


@pytest.mark.parametrize("loss", BINARY, ids=str)
def test_the_loss_of_several_labels_is_the_mean_over_them(loss):
    z, y, w = batch()
    for weight in (None, w):
        each = [loss(z[:, q], y[:, q], weight) for q in range(Q)]
        expected = sum(each) / Q
        assert_same(loss.for_target("multilabel-indicator")(z, y, weight), expected, z)


def written_out(metric, average, thresholds, z, y, w):
    """One minus the average of soft decisions, for torch to differentiate."""
    values = []
    for t in thresholds:
        h = torch.sigmoid(10 * (z.sigmoid() - t))
        parts = ((1 - y) * (1 - h), (1 - y) * h, y * (1 - h), y * h)
        if average == "samples":
            each = get_metric(metric)(*(part.sum(1) for part in parts))
            values.append((w * each).sum() / w.sum())
        else:
            counts = (w @ part for part in parts)
            values.append(LabelAverage(metric, average).of_counts(*counts))
    return 1 - sum(values) / len(values)


@pytest.mark.parametrize("thresholds", [[0.5], [0.3, 0.6]], ids=str)
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("metric", ["f1", "mcc"])
def test_averages_of_a_metric_are_those_of_autograd(metric, average, thresholds):
    z, y, w = batch()
    loss = AnyLoss(f"{metric}_{average}", Sigmoid(10), thresholds)
    assert_same(loss(z, y, w), written_out(metric, average, thresholds, z, y, w), z)


STACKS = {
    "steps and metrics": [
        AnyLoss("f1_micro", Sigmoid(5)),
        AnyLoss("f2_micro", Sigmoid(20)),
    ],
    "samples": [AnyLoss("f1_samples", Sigmoid(5)), AnyLoss("jaccard_samples")],
    "weighted": [AnyLoss("f1_weighted", threshold=0.3), AnyLoss("f1_weighted")],
    "shares": [Hybrid("f1", share=0.2), Hybrid("f1", share=0.9)],
    "class weights": [WeightedBCE((1, 2)), WeightedBCE((1, 9))],
    "kinds": [BCE(), AnyLoss("f1")],
    "rates": [SurrogateFBeta(rate=0.1), SurrogateFBeta(rate=0.9)],
}


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("name", STACKS)
def test_a_stack_computes_what_its_losses_compute_apart(name, groups):
    losses = [loss.for_target("multilabel-indicator") for loss in STACKS[name]]
    losses = losses * groups
    data = [batch(g)[1:] for g in range(groups)]
    logits = batch(7, (len(losses), Q, N))[0].detach()
    stacked = stack_losses(losses, groups, logits)
    samples = joined(data)
    S, cache = stacked.statistics(logits, samples)
    values, grad = stacked.value_and_grad(stacked.average(stacked.reduce(S)))
    out = torch.empty_like(logits)
    stacked.backward(cache, grad, samples, out)
    for k, loss in enumerate(losses):
        z = logits[k].T.clone().requires_grad_()
        value = loss(z, *data[k // 2])
        value.backward()
        assert values[k] == pytest.approx(value.item(), rel=1e-12, abs=1e-12)
        torch.testing.assert_close(out[k].T, z.grad, **EXACT)


def joined(data):
    each = [LabelWeights.of(y, w) for y, w in data]
    tables, targets = zip(*((s.table, s.target) for s in each), strict=True)
    return LabelWeights(torch.cat(tables), torch.cat(targets))


@pytest.mark.parametrize("average", AVERAGES)
def test_statistics_of_parts_add_up(average):
    loss = OverLabels(AnyLoss("f1", Sigmoid(10)), average)
    z, y, w = batch()
    logits = z.detach().T[None]
    parts = [
        loss.statistics(logits[..., part], LabelWeights.of(y[part], w[part]))[0]
        for part in (slice(0, 11), slice(11, N))
    ]
    value, _ = loss.value_and_grad(sum(parts))
    assert np.ravel(value).item() == pytest.approx(loss(z, y, w).item(), abs=1e-12)


@pytest.mark.parametrize("average", AVERAGES)
def test_an_integer_weight_is_the_sample_repeated(average):
    loss = AnyLoss(f"f1_{average}")
    z, y, w = batch()
    repeats = w.long()
    repeated = loss(z.repeat_interleave(repeats, 0), y.repeat_interleave(repeats, 0))
    torch.testing.assert_close(loss(z, y, w), repeated, **EXACT)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize(
    "loss", [*(AnyLoss(f"gmean_{a}") for a in AVERAGES), *BINARY], ids=str
)
def test_degenerate_batches_are_finite(loss, dtype):
    logits = batch()[0].detach().to(dtype)
    for y in (torch.zeros(N, Q), torch.ones(N, Q), torch.eye(Q).repeat(N // Q, 1)):
        for scale in (0, 1, 1e4):
            for weight in (None, torch.zeros(N), torch.full((N,), 1e-10)):
                z = (scale * logits).requires_grad_()
                value = loss(z, y, weight)
                value.backward()
                assert torch.isfinite(value)
                assert torch.isfinite(z.grad).all()
                assert z.grad.dtype == dtype


def test_a_metric_without_any_true_label_is_zero_as_for_decisions():
    z, y = torch.zeros(4, Q), torch.zeros(4, Q)
    assert AnyLoss("recall_weighted")(z, y).item() == 1


@pytest.mark.parametrize("average", AVERAGES)
def test_wrong_decisions_keep_a_gradient_in_float32(average):
    # Far off 0.5, where h rounds to 0 or 1 at L = 73.
    z = torch.tensor([[6.0, -6, 0.4], [-0.4, 6, -6]], requires_grad=True)
    y = torch.tensor([[0, 1, 1], [1, 0, 1]])
    AnyLoss(f"f1_{average}")(z, y).backward()
    assert (z.grad != 0).all()


def test_half_precision_is_computed_in_float32():
    z, y, w = batch()
    half = z.detach().bfloat16()
    loss = AnyLoss("f1_samples")
    torch.testing.assert_close(loss(half, y, w), loss(half.float(), y, w.float()))


@pytest.mark.parametrize("average", AVERAGES)
def test_with_decay_the_gradient_is_taken_at_the_moving_average(average):
    averaged = AnyLoss(f"f1_{average}", Sigmoid(10), decay=0.9)
    plain = AnyLoss(f"f1_{average}", Sigmoid(10))
    first, second = batch(0), batch(1)
    torch.testing.assert_close(averaged(*first), plain(*first), **EXACT)
    assert averaged(*second).item() != pytest.approx(plain(*second).item(), abs=1e-6)
    averaged.reset()
    torch.testing.assert_close(averaged(*second), plain(*second), **EXACT)


def test_the_surrogate_learns_the_rate_of_each_label():
    z, y, _ = batch()
    loss = SurrogateFBeta().for_target("multilabel-indicator")
    positives = y.sum(0).numpy()
    loss.prepare(N - positives, positives)
    rates = (positives / (N - positives)).tolist()
    each = [SurrogateFBeta(rate=r)(z[:, q], y[:, q]) for q, r in enumerate(rates)]
    assert_same(copy.deepcopy(loss)(z, y), sum(each) / Q, z)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: OverLabels(BCE(), "micro"), "averaged over labels by 'macro' only"),
        (lambda: OverLabels(AnyLoss(), "mean"), "average must be one of"),
        (lambda: Pairs().for_target("multilabel-indicator"), "no form for several"),
        (
            lambda: AnyLoss("kappa_quadratic").for_target("multilabel-indicator"),
            "label",
        ),
        (lambda: AnyLoss("f1")(torch.zeros(4, 3), torch.zeros(4, 2)), "shape"),
        (lambda: AnyLoss("f1")(torch.zeros(2, 4, 3), torch.zeros(3)), "takes logits"),
        (lambda: AnyLoss("f1")(torch.zeros(4, 3), torch.full((4, 3), 2)), "0 or 1"),
    ],
)
def test_what_cannot_be_meant_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
