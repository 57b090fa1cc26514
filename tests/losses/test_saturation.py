"""Logits far from 0: gradients of both signs are alike, exact and finite."""

import itertools

import numpy as np
import pytest
import torch

from sk_anyloss import AnyLossNet
from sk_anyloss.losses import AnyLoss, Pairs, get_loss
from sk_anyloss.losses.stacked import stack_losses
from sk_anyloss.losses.steps import Sigmoid, get_step, step_names
from sk_anyloss.metrics import matrix_metric_names, metric_names
from sk_anyloss.metrics.class_weights import ClassWeights
from sk_anyloss.metrics.multiclass.averages import AVERAGES
from sk_anyloss.metrics.multilabel import LABEL_AVERAGES
from tests.losses.losses_to_test import ALL_LOSSES

STEPS = [*(get_step(name) for name in step_names()), Sigmoid(10), Sigmoid(90)]
#: Losses that stay the same if labels and signs of the logits are exchanged.
SYMMETRIC = [
    *(AnyLoss("accuracy", step) for step in STEPS),
    *(get_loss(name, "accuracy") for name in ("bce", "focal", "mse", "weighted_bce")),
    get_loss("hybrid", "accuracy"),
]
FAR = [18.0, 30.0, 80.0]


def gradient(loss, logits, y, weight=None):
    logits = torch.as_tensor(logits).clone().requires_grad_()
    (found,) = torch.autograd.grad(loss(logits, y, weight), logits)
    return found


@pytest.mark.parametrize("loss", SYMMETRIC, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", [1, 200], ids=["few", "many"])
def test_gradients_of_both_signs_are_alike_in_single_precision(loss, weighted, n):
    z = torch.tensor([*FAR, *(-z for z in FAR), 0.0] * n)
    y = torch.tensor([0.0, 1, 0, 1, 0, 1, 0] * n)
    weight = torch.ones(len(z)) if weighted else None
    found = gradient(loss, z, y, weight)
    mirrored = -gradient(loss, -z, 1 - y, weight)
    torch.testing.assert_close(found, mirrored, rtol=1e-4, atol=1e-37)


@pytest.mark.parametrize(
    # Those over pairs take differences of logits.
    "loss",
    [loss for loss in ALL_LOSSES if not isinstance(loss, Pairs)],
    ids=str,
)
def test_gradients_in_single_precision_are_those_in_double(loss):
    z = torch.tensor([18.0, 18, -18, -18, 30, 30, -30, -30, 0.5, -0.5])
    y = torch.tensor([0.0, 1, 0, 1, 0, 1, 0, 1, 1, 0])
    expected = gradient(loss, z.double(), y)
    torch.testing.assert_close(
        gradient(loss, z, y).double(), expected, rtol=1e-2, atol=1e-30
    )


def test_a_stack_of_losses_has_gradients_of_both_signs():
    losses = [AnyLoss("f1", Sigmoid(L)) for L in (5.0, 10.0)]
    z = torch.tensor([[18.0, -18, 0.5], [30.0, -30, 0.5]], requires_grad=True)
    samples = ClassWeights.of(torch.tensor([0.0, 1, 1]))
    value = stack_losses(losses, 1, z).of_batch(z, samples)
    (found,) = torch.autograd.grad(value.sum(), z)
    assert (found[:, 0] > 0).all()
    assert (found[:, 1] < 0).all()


def wide_batches(seed, n_classes):
    """Logits that differ by up to 10,000, where probabilities are next to 0."""
    rng = np.random.default_rng(seed)
    single = [(gap, torch.float32) for gap in (18, 45, 90, 105, 1e4)]
    double = [(gap, torch.float64) for gap in (90, 355, 500, 680, 708, 712, 740, 1e4)]
    for gap, dtype in [*single, *double, (90, torch.bfloat16)] * 2:
        n = int(rng.integers(1, 6))
        sides = rng.choice([-0.5, 0.0, 0.5], size=(n, n_classes))
        z = sides * gap + rng.normal(size=(n, n_classes)) * rng.choice([0, 1])
        y = torch.from_numpy(rng.integers(0, n_classes, n))
        weight = torch.full((n,), 10.0 ** rng.choice([-20, 0, 20]), dtype=torch.float64)
        yield torch.from_numpy(z).to(dtype), y, weight if rng.random() < 0.5 else None


MATRIX_METRICS = [
    *matrix_metric_names(),
    *(f"{name}_{average}" for name in metric_names() for average in AVERAGES),
    *(f"{name}[1]" for name in metric_names()),
    "precision@recall>=0.5",
    "f1_macro@recall[1]>=0.8",
    "gmean@accuracy>=0.6",
]
FEW = ["f1_macro", "fowlkes_mallows_weighted", "precision_micro"]


@pytest.mark.parametrize(
    ("metric", "step", "n_classes"),
    [
        *itertools.product(MATRIX_METRICS, ["identity"], [4]),
        *itertools.product(FEW, step_names(), [2]),
    ],
)
def test_gradients_are_finite_for_classes_whatever_the_logits(metric, step, n_classes):
    loss = AnyLoss(metric, step).for_target("multiclass", range(n_classes))
    for logits, y, weight in wide_batches(n_classes, n_classes):
        assert torch.isfinite(gradient(loss, logits, y, weight)).all(), (logits, y)


@pytest.mark.parametrize(
    "loss",
    [*ALL_LOSSES, AnyLoss("precision@recall>=0.5", "identity")],
    ids=str,
)
def test_gradients_are_finite_for_two_classes_whatever_the_logits(loss):
    for logits, y, weight in wide_batches(0, 2):
        found = gradient(loss, logits[:, :1], y, weight)
        assert torch.isfinite(found).all(), (logits, y)


@pytest.mark.parametrize("average", LABEL_AVERAGES)
@pytest.mark.parametrize("metric", ["precision", "gmean", "fowlkes_mallows", "f1"])
def test_gradients_are_finite_for_labels_whatever_the_logits(metric, average):
    loss = AnyLoss(f"{metric}_{average}", "identity")
    for logits, y, weight in wide_batches(0, 3):
        labels = (torch.arange(3) <= y[:, None]).long()
        found = gradient(loss, logits, labels, weight)
        assert torch.isfinite(found).all(), (logits, y)


@pytest.mark.parametrize("metric", ["accuracy", "f1"])
@pytest.mark.parametrize("bias", [-18.0, 18.0])
def test_a_network_recovers_from_an_output_bias_of_18(bias, metric):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    module = torch.nn.Linear(2, 1)
    with torch.no_grad():
        module.weight.zero_()
        module.bias.fill_(bias)
    params = {"L": 5, "warm_up": 0, "lr": 0.5, "max_epochs": 150, "random_state": 0}
    assert AnyLossNet(module, metric=metric, **params).fit(X, y).score(X, y) > 0.9
