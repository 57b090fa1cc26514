import numpy as np
import pytest
import torch

from sk_anyloss.losses import BCE, MSE, AnyLoss, Focal
from sk_anyloss.losses.stacked import stack_losses
from sk_anyloss.metrics.class_weights import ClassWeights

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
