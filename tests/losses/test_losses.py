"""Losses: values, gradients, the paper's formulas, rounding, degenerate batches."""

import itertools

import numpy as np
import pytest
import sklearn.metrics
import torch
from hypothesis import given
from hypothesis import strategies as st

from sk_anyloss.losses import (
    AnyLoss,
    WeightedBCE,
)
from sk_anyloss.losses.steps import Sigmoid
from sk_anyloss.metrics import get_metric, metric_names
from sk_anyloss.metrics.class_weights import ClassWeights
from sk_anyloss.metrics.derivatives.differentiable import check_metric
from tests.losses.losses_to_test import ALL_LOSSES, FAMILY, KINDS, OTHERS, batch

every_loss = pytest.mark.parametrize("loss", ALL_LOSSES, ids=str)
every_kind = pytest.mark.parametrize("loss", KINDS, ids=str)


@pytest.mark.parametrize("loss", OTHERS, ids=str)
def test_gradient_equals_finite_differences(loss):
    # Logits near 0 stay within the band of the cosine step, where all steps are steep.
    z, y, w = batch(spread=0.15)
    for weight in (None, w):
        assert torch.autograd.gradcheck(lambda z, w=weight: loss(z, y, w), z)


@pytest.mark.parametrize("loss", FAMILY, ids=str)
def test_gradient_is_a_factor_per_class_times_the_derivative(loss):
    z, y, w = batch(spread=0.15)
    p = z.detach().sigmoid()
    h, derivative = loss.step(p), loss.step.derivative(p) * p * (1 - p)
    for weight in (None, w):
        w = torch.ones_like(y) if weight is None else weight
        counts = torch.stack(
            [
                (w * (1 - y) * (1 - h)).sum(),
                (w * (1 - y) * h).sum(),
                (w * y * (1 - h)).sum(),
                (w * y * h).sum(),
            ]
        ).requires_grad_()
        score = loss.metric(*counts)
        score.backward()
        tn, fp, fn, tp = counts.grad
        expected = -w * (y * (tp - fn) + (1 - y) * (fp - tn)) * derivative
        value = loss(z, y, weight)
        (gradient,) = torch.autograd.grad(value, z)
        torch.testing.assert_close(value, 1 - score)
        torch.testing.assert_close(gradient, expected, rtol=1e-10, atol=1e-13)


def paper_gradient(name, y, yh, dyh, beta=1.0):
    """Eqs. 13, 17, 20 and 23 of the paper, in its own notation.

    Eq. 20 as printed is too large by a factor of 4, and eq. 22, from which 23 follows,
    has a wrong sign; both are corrected here.
    """
    n, positives, predicted = len(y), y.sum(), yh.sum()
    tp = (y * yh).sum()
    d_predicted, d_tp = dyh.sum(0), (y[:, None] * dyh).sum(0)
    if name == "accuracy":  # eq. 13
        return (d_predicted - 2 * d_tp) / n
    if name == "f":  # eq. 17
        denominator = beta**2 * positives + predicted
        numerator = d_tp * denominator - d_predicted * tp
        return -(1 + beta**2) * numerator / denominator**2
    negatives = n - positives
    tn = negatives - predicted + tp
    if name == "gmean":  # eq. 20, with 1/2 where it has 2
        inner = tp * tn / (positives * negatives)
        d_inner = d_tp * tn + tp * (d_tp - d_predicted)
        return -0.5 * inner**-0.5 * d_inner / (positives * negatives)
    # eq. 23
    return -0.5 * (d_tp / positives + (d_tp - d_predicted) / negatives)


@pytest.mark.parametrize(
    ("metric", "name", "beta"),
    [
        ("accuracy", "accuracy", None),
        ("f1", "f", 1.0),
        ("f2", "f", 2.0),
        ("f0.5", "f", 0.5),
        ("gmean", "gmean", None),
        ("balanced_accuracy", "balanced_accuracy", None),
    ],
)
def test_gradient_equals_the_formulas_of_the_paper(metric, name, beta):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(40, 3)), (rng.random(40) < 0.3).astype(float)
    W, L = rng.normal(size=3) * 0.05, 73
    p = 1 / (1 + np.exp(-X @ W))
    yh = 1 / (1 + np.exp(-L * (p - 0.5)))
    dyh = (L * yh * (1 - yh) * p * (1 - p))[:, None] * X  # eq. 9
    expected = paper_gradient(name, y, yh, dyh, beta)
    weights = torch.from_numpy(W).requires_grad_()
    AnyLoss(metric, Sigmoid(L))(
        torch.from_numpy(X) @ weights, torch.from_numpy(y)
    ).backward()
    np.testing.assert_allclose(weights.grad.numpy(), expected, rtol=1e-10, atol=1e-14)


@every_kind
def test_float32_agrees_with_float64(loss):
    z, y, w = batch(50)
    loss(z, y, w).backward()
    z32 = z.detach().float().requires_grad_()
    value = loss(z32, y, w)
    value.backward()
    assert value.dtype == z32.grad.dtype == torch.float32
    assert value.item() == pytest.approx(loss(z, y, w).item(), abs=1e-5)
    torch.testing.assert_close(z32.grad.double(), z.grad, rtol=2e-3, atol=1e-5)


# Recall does not depend on negatives, nor specificity on positives.
INDEPENDENT = {("recall", 0), ("specificity", 1)}


@pytest.mark.parametrize("metric", metric_names())
def test_gradient_does_not_vanish_in_float32(metric):
    for label in {0, 1} - {label for name, label in INDEPENDENT if name == metric}:
        far = torch.logit(torch.tensor([[0.728], [0.9], [0.999], [0.001]]))
        others = torch.tensor([0.4, -0.4, 0.4, -0.4]).expand(4, 4)
        z = torch.cat((far, others), dim=1).requires_grad_()
        y = torch.tensor([label, 0, 1, 1, 0])
        sum(AnyLoss(metric, Sigmoid(73))(each, y) for each in z).backward()
        # A descent step raises the logits of positives and lowers those of negatives.
        assert (z.grad[:, 0] < 0 if label else z.grad[:, 0] > 0).all()


LABELS = [[0] * 5, [1] * 5, [0, 0, 0, 1, 1]]
WEIGHTS = [None, [0.0, 0, 0, 0, 1], [1e30, 1, 0, 1, 1e-30]]


@every_loss
def test_degenerate_batches_give_finite_values_and_gradients(loss):
    batches = itertools.product((1.0, 40.0, 1e4), LABELS, WEIGHTS)
    batches = [*batches, (0.0, [1], None), (0.0, [], None)]
    for case in itertools.product(batches, (torch.float32, torch.float64)):
        (extreme, y, w), dtype = case
        logits = torch.tensor([-1, 1, 0, -1, 1], dtype=dtype)[: len(y)]
        z = (logits * extreme).requires_grad_()
        value = loss(z, torch.tensor(y), None if w is None else torch.tensor(w))
        (gradient,) = torch.autograd.grad(value, z)
        assert torch.isfinite(value), case
        assert torch.isfinite(gradient).all(), case


@every_kind
@given(seed=st.integers(0, 2**16))
def test_integer_weights_equal_repeated_samples_in_any_order(loss, seed):
    z, y, w = batch(10, seed)
    repeats = w.long()
    order = torch.randperm(
        int(repeats.sum()), generator=torch.Generator().manual_seed(seed)
    )
    z2 = z.repeat_interleave(repeats)[order]
    y2 = y.repeat_interleave(repeats)[order]
    weighted, repeated = loss(z, y, w), loss(z2, y2)
    torch.testing.assert_close(weighted, repeated)
    torch.testing.assert_close(
        torch.autograd.grad(weighted, z), torch.autograd.grad(repeated, z)
    )


@every_loss
@pytest.mark.parametrize(
    ("dtype", "tiny"), [(torch.float32, 1e-30), (torch.float64, 1e-299)]
)
def test_a_factor_on_all_weights_changes_nothing(loss, dtype, tiny):
    z, y, w = (part.detach().to(dtype) for part in batch())
    z.requires_grad_()
    for factor in (tiny, 1 / tiny):
        expected, found = loss(z, y, w), loss(z, y, w * factor)
        torch.testing.assert_close(found, expected)
        torch.testing.assert_close(
            torch.autograd.grad(found, z), torch.autograd.grad(expected, z)
        )


def test_leading_axes_are_separate_models():
    z, y, w = batch(8)
    stacked, samples = torch.stack((z, z + 0.1, -z)), ClassWeights.of(y, w)
    for loss in KINDS:
        expected = torch.stack([loss(each, y, w) for each in stacked])
        found = loss.of_batch(stacked, samples)
        torch.testing.assert_close(found, expected, msg=str(loss))


def test_loss_of_several_thresholds_is_the_mean():
    z, y, w = batch()
    each = [AnyLoss("f1", "linear", t)(z, y, w) for t in (0.2, 0.5, 0.9)]
    several = AnyLoss("f1", "linear", [0.2, 0.5, 0.9])
    torch.testing.assert_close(several(z, y, w), sum(each) / 3)
    one = AnyLoss("f1", "linear", [0.3])
    torch.testing.assert_close(one(z, y), AnyLoss("f1", "linear", 0.3)(z, y))


@pytest.mark.parametrize("threshold", [[], (), np.array([])])
def test_empty_thresholds_are_refused(threshold):
    with pytest.raises(ValueError, match="empty list; give at least one"):
        AnyLoss("f1", threshold=threshold)


@pytest.mark.parametrize("weight", ["equal", (1,), (-1, 2), (0, 0), (1, float("inf"))])
def test_invalid_class_weights(weight):
    with pytest.raises(ValueError, match="class_weight"):
        WeightedBCE(weight)


def test_shapes_and_labels_are_validated():
    z, y, _ = batch()
    loss = AnyLoss("f1")
    torch.testing.assert_close(loss(z[:, None], y), loss(z, y))
    torch.testing.assert_close(
        loss(z[:, None], y[:, None], y[:, None] + 1), loss(z, y, y + 1)
    )
    with pytest.raises(ValueError, match="Labels must be 0 or 1"):
        loss(z, 2 * y - 1)
    with pytest.raises(ValueError, match="one logit per sample"):
        loss(torch.zeros(11), y)
    with pytest.raises(ValueError, match=r"of shape \(n, C\) with y of shape"):
        loss(torch.zeros(11, 2), y)
    with pytest.raises(ValueError, match=r"got \(2, 2, 2\)"):
        loss(torch.zeros(2, 2, 2), y)
    with pytest.raises(ValueError, match="one entry per sample"):
        loss(z, y, torch.ones(3))
    # One label for all logits, and no axis of samples at all.
    for logits, labels in ((z[:, None], y[:1]), (z[0], y[0])):
        with pytest.raises(ValueError, match="one logit per sample"):
            loss(logits, labels)


@pytest.mark.parametrize(
    ("logits", "y"),
    [
        (torch.zeros(4), torch.tensor([0, 1, 1, 0])),
        (torch.zeros(4, 3), torch.tensor([0, 1, 2, 0])),
        (torch.zeros(4, 3), torch.eye(4, 3)),
    ],
    ids=["two classes", "classes", "labels"],
)
def test_every_kind_of_target_takes_one_weight_per_sample(logits, y):
    loss, weight = AnyLoss("f1"), torch.tensor([1.0, 2, 3, 4])
    torch.testing.assert_close(
        loss(logits, y, weight[:, None]), loss(logits, y, weight)
    )
    for shape in ((5,), (3,), (1,), (1, 4), (3, 4), ()):
        with pytest.raises(ValueError, match="one entry per sample; got shape"):
            loss(logits, y, torch.ones(shape))


def test_training_in_a_plain_torch_loop():
    rng = np.random.default_rng(0)
    X = torch.from_numpy(rng.normal(size=(200, 3)))
    y = X[:, 0] > 1
    layer = torch.nn.Linear(3, 1, dtype=torch.float64)
    torch.nn.init.zeros_(layer.weight)
    torch.nn.init.zeros_(layer.bias)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.05)
    loss = AnyLoss("f1", Sigmoid(10))
    for _ in range(200):
        optimizer.zero_grad()
        loss(layer(X), y).backward()
        optimizer.step()
    decision = (layer(X).squeeze(1) > 0).numpy()
    assert sklearn.metrics.f1_score(y.numpy(), decision) > 0.9


def bad_nan(tn, fp, fn, tp):
    return tp * float("nan")


def bad_shape(tn, fp, fn, tp):
    return torch.stack([tp, fp])


def bad_float(tn, fp, fn, tp):
    return float(tp) / float(tp + fn)


def bad_numpy(tn, fp, fn, tp):
    return np.sqrt(tp)


def bad_detached(tn, fp, fn, tp):
    return torch.tensor(1.0)


def bad_arguments(tp, fp):
    return tp


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        (bad_nan, "returned nan"),
        (bad_shape, "one number for one confusion matrix"),
        (bad_float, "must be differentiable"),
        (bad_numpy, "failed on tensors|must be differentiable"),
        (bad_detached, "cut off from its arguments"),
        (bad_arguments, "failed on tensors"),
    ],
)
def test_error_for_a_metric_that_is_not_differentiable(metric, message):
    with pytest.raises(ValueError, match=f"'{metric.__name__}'.*({message})"):
        check_metric(metric)


def test_error_for_a_metric_that_becomes_nan_shows_the_counts():
    loss = AnyLoss(lambda tn, fp, fn, tp: tp / (tp + fn))
    with pytest.raises(ValueError, match=r"'<lambda>' is not finite at .*ratio"):
        loss(torch.zeros(2), torch.zeros(2))


def soft_counts(z, y):
    """Confusion matrix with the identity step."""
    p = z.sigmoid()
    per_sample = torch.stack([(1 - y) * (1 - p), (1 - y) * p, y * (1 - p), y * p])
    return per_sample.sum(-1)


def test_with_decay_the_gradient_is_taken_at_the_moving_average():
    loss = AnyLoss("f1", "identity", decay=0.75)
    average = None
    for seed in range(3):
        z, y, _ = batch(seed=seed)
        counts = soft_counts(z, y)
        now = counts.detach()
        average = now if average is None else 0.75 * average + 0.25 * now
        (1 - get_metric("f1")(*(average + counts - now))).backward()
        expected, z.grad = z.grad, None
        loss(z, y).backward()
        torch.testing.assert_close(z.grad, expected)
        with torch.no_grad():  # Evaluation neither uses nor updates the average.
            alone = AnyLoss("f1", "identity")(z, y)
            torch.testing.assert_close(loss(z, y), alone)
    with pytest.raises(ValueError, match=r"decay must lie in \[0, 1\)"):
        AnyLoss("f1", decay=1.0)


def test_logits_must_be_floating_point_numbers():
    _, y, _ = batch()
    with pytest.raises(TypeError, match="floating-point"):
        AnyLoss()(y.long(), y)


@pytest.mark.parametrize("loss", KINDS, ids=str)
@pytest.mark.parametrize("wrong", [-1.0, -1e-30, np.nan, np.inf])
def test_weights_that_are_negative_or_not_finite_are_refused(loss, wrong):
    z, y, w = batch()
    w[3] = wrong
    with pytest.raises(ValueError, match="values that are negative or not finite"):
        loss(z, y, w)


@pytest.mark.parametrize("labels", [torch.tensor([0, 2, 1]), torch.eye(3)])
def test_negative_weights_are_refused_for_classes_and_labels(labels):
    with pytest.raises(ValueError, match="values that are negative or not finite"):
        AnyLoss("f1_macro")(torch.zeros(3, 3), labels, torch.tensor([1.0, -1, 1]))
