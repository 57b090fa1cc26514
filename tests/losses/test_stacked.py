from functools import partial

import numpy as np
import pytest
import torch
from sklearn.base import clone

from sk_anyloss import AnyLossClassifier, fit_stack
from sk_anyloss.losses import BCE, MSE, AnyLoss, Focal
from sk_anyloss.losses.base import Loss
from sk_anyloss.losses.stacked import stack_losses
from sk_anyloss.metrics.class_weights import ClassWeights
from sk_anyloss.metrics.derivatives import value_and_derivatives
from tests.tolerances import SAME_MODEL

N = 30


def separate(losses, logits, classes):
    """Loss and gradient of each model by itself, through autograd's function."""
    values, grads = [], []
    for loss, z, samples in zip(losses, logits, classes, strict=True):
        z = z.clone().requires_grad_()
        value = loss.of_batch(z, samples)
        value.backward()
        values.append(value.item())
        grads.append(z.grad)
    return values, torch.stack(grads)


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    "kinds",
    [
        [lambda: AnyLoss("f1", "sigmoid"), lambda: AnyLoss("mcc", "sigmoid", 0.3)],
        [BCE, MSE, lambda: AnyLoss("f1"), lambda: AnyLoss("gmean", "linear")],
        [lambda: Focal(gamma=1), lambda: Focal(gamma=3)],
        [lambda: AnyLoss("f1", threshold=[0.3, 0.6]), BCE],
    ],
    ids=["one kind", "four kinds", "other options", "several thresholds"],
)
def test_a_stack_computes_what_its_losses_compute_apart(kinds, groups):
    rng = np.random.default_rng(0)
    losses = [make() for _ in range(groups) for make in kinds]
    logits = torch.from_numpy(rng.normal(size=(len(losses), N)))
    y = torch.from_numpy(rng.integers(0, 2, (groups, N))).double()
    weight = torch.from_numpy(rng.uniform(0.5, 2, (groups, N)))
    by_model = [ClassWeights.of(y[g], weight[g]) for g in range(groups) for _ in kinds]
    values, grads = separate(losses, logits, by_model)

    stacked = stack_losses(losses, groups, logits)
    samples = ClassWeights.of(y, weight)
    S, cache = stacked.statistics(logits, samples)
    found, grad = stacked.value_and_grad(stacked.average(stacked.reduce(S)))
    out = torch.empty_like(logits)
    stacked.backward(cache, grad, samples, out)
    np.testing.assert_allclose(found, values, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(out, grads, rtol=1e-10, atol=1e-14)


def test_statistics_of_two_batches_add_up_to_those_of_both():
    rng = np.random.default_rng(1)
    losses = [BCE(), AnyLoss("f1"), AnyLoss("f1")]
    stacked = stack_losses(losses, 1, torch.zeros(1, dtype=torch.float64))
    logits = torch.from_numpy(rng.normal(size=(3, N)))
    y = torch.from_numpy(rng.integers(0, 2, N)).double()
    parts = [
        stacked.statistics(logits[:, part], ClassWeights.of(y[part]))[0]
        for part in (slice(0, 11), slice(11, N))
    ]
    whole = stacked.statistics(logits, ClassWeights.of(y))[0]
    np.testing.assert_allclose(
        stacked.value_and_grad(sum(parts))[0],
        stacked.value_and_grad(whole)[0],
        rtol=1e-12,
        atol=1e-14,
    )


def test_a_single_loss_is_not_wrapped():
    loss = AnyLoss("f1")
    assert stack_losses([loss], 1, torch.zeros(1)) is loss


class Tversky(Loss):
    """A loss of one's own that has an option and says nothing of stacks."""

    def __init__(self, alpha):
        super().__init__()
        self.alpha = alpha

    def statistics(self, logits, samples):
        h = torch.sigmoid(logits)
        return samples.confusion(torch.stack((1 - h, h))), h * (1 - h)

    def value_and_grad(self, S):
        metric = partial(_tversky, self.alpha)
        tn, fp, fn, tp = S[0].flatten(1).numpy().T
        value, positives, negatives = value_and_derivatives(metric, tn, fp, fn, tp)
        if len(S[0]) == 1:
            value, positives, negatives = value[0], positives[0], negatives[0]
        return 1 - value, (-negatives, -positives)


def _tversky(alpha, tn, fp, fn, tp):
    return tp / (tp + alpha * fp + (1 - alpha) * fn)


class Steeper(AnyLoss):
    """A subclass with an option of its own."""

    def __init__(self, power):
        super().__init__("f1", "identity")
        self.power = power

    def statistics(self, logits, samples):
        S, cache = super().statistics(self.power * logits, samples)
        return S, self.power * cache


@pytest.mark.parametrize("make", [Tversky, Steeper])
def test_losses_of_ones_own_keep_their_options_in_a_stack(make):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] + rng.normal(size=80) > 1).astype(int)
    options = {"hidden": (), "max_epochs": 30, "lr": 0.1, "random_state": 0}
    models = [AnyLossClassifier(loss=make(a), **options) for a in (0.1, 0.9)]
    alone = [clone(model).fit(X, y).decision_function(X) for model in models]
    fit_stack(models, X, y)
    for model, expected in zip(models, alone, strict=True):
        np.testing.assert_allclose(model.decision_function(X), expected, **SAME_MODEL)
    assert not np.allclose(*alone, atol=0.1)
