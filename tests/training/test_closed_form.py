"""Gradients by hand equal autograd's, for every loss, activation, depth and weight."""

import copy

import numpy as np
import pytest
import torch

from sk_anyloss.losses import AnyLoss, Hybrid
from sk_anyloss.losses.steps import Cosine, Linear, LogitSigmoid, Sigmoid, Uniform
from sk_anyloss.metrics.confusion import ClassWeights
from sk_anyloss.training.batches import Rows
from sk_anyloss.training.closed_form import ClosedForm, supports
from sk_anyloss.training.mlp import MLP, activation_names
from tests.losses.losses_to_test import ALL_LOSSES, CURVES, NAMED, SPECIAL


def problem(hidden, activation, batch_norm, dtype=torch.float64, seed=0):
    rng = np.random.default_rng(seed)
    X = torch.from_numpy(rng.normal(3, 2, size=(40, 5))).to(dtype)
    y = torch.from_numpy(rng.random(40) < 0.3).to(dtype)
    w = torch.from_numpy(rng.random(40)).to(dtype)
    mean, scale = np.full(5, 3.0), np.full(5, 2.0)
    module = MLP(
        5, hidden, activation, batch_norm, mean, scale, dtype=dtype, random_state=0
    )
    with torch.no_grad():  # The last layer starts at 0, where much would go unseen.
        generator = torch.Generator().manual_seed(seed)
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.2)
    return module, X, y, w


def assert_equal_to_autograd(module, loss, X, y, w, rtol=1e-12):
    assert supports(module, loss)
    state = {key: value.clone() for key, value in module.state_dict().items()}
    with torch.no_grad():
        rows = Rows.of(module.standardize(X), y, w)
        value, logits, sums = ClosedForm(module, loss)([rows])
        logits = logits[0]
    by_hand = {name: p.grad.clone() for name, p in module.named_parameters()}
    figures = {name: buffer.clone() for name, buffer in module.named_buffers()}
    module.load_state_dict(state)
    module.zero_grad()
    expected_logits = module(X, w)
    expected = loss(expected_logits, y, w)
    expected.backward()
    torch.testing.assert_close(logits, expected_logits)
    assert loss.value_and_grad(sums)[0] == value
    assert value == pytest.approx(expected.item(), rel=rtol, abs=rtol)
    for name, parameter in module.named_parameters():
        scale = 1 + parameter.grad.abs().max().item()
        torch.testing.assert_close(
            by_hand[name], parameter.grad, rtol=rtol, atol=rtol * scale, msg=name
        )
    for name, buffer in module.named_buffers():
        torch.testing.assert_close(figures[name], buffer)


@pytest.mark.parametrize("loss", ALL_LOSSES, ids=str)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("batch_norm", [False, True])
def test_every_loss(loss, weighted, batch_norm):
    module, X, y, w = problem((3,), "sigmoid", batch_norm)
    assert_equal_to_autograd(module, loss, X, y, w if weighted else None)


@pytest.mark.parametrize("activation", activation_names())
@pytest.mark.parametrize("hidden", [(), (2,), (4, 3), (3, 3, 3)])
@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_activation_and_depth(activation, hidden, batch_norm, weighted):
    module, X, y, w = problem(hidden, activation, batch_norm)
    assert_equal_to_autograd(module, AnyLoss("f1"), X, y, w if weighted else None)


@pytest.mark.parametrize("loss", [AnyLoss("mcc"), *NAMED, SPECIAL[0]], ids=str)
@pytest.mark.parametrize("hidden", [(), (2,), (4, 3), (3, 3, 3)])
@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_batch_in_pieces_is_the_batch(loss, hidden, batch_norm, weighted):
    module, X, y, w = problem(hidden, "tanh", batch_norm)
    other = copy.deepcopy(module)
    w = w if weighted else None
    X = module.standardize(X)
    cuts = [slice(0, 13), slice(13, 14), slice(14, 33), slice(33, 40)]
    pieces = [Rows.of(X[cut], y[cut], None if w is None else w[cut]) for cut in cuts]
    with torch.no_grad():
        whole = ClosedForm(module, loss)([Rows.of(X, y, w)])
        parts = ClosedForm(other, loss)(pieces)
    assert parts[0] == pytest.approx(whole[0], rel=1e-12)
    torch.testing.assert_close(parts[2], whole[2])
    for (name, p), q in zip(module.named_parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(q.grad, p.grad, rtol=1e-11, atol=1e-13, msg=name)
    for (name, p), q in zip(module.named_buffers(), other.buffers(), strict=True):
        torch.testing.assert_close(q, p, rtol=1e-11, atol=1e-13, msg=name)


LS = (5, 20, 73, 73, 5, 20)
METRICS = ("f1", "mcc", "f1", "gmean", "accuracy", "f2")
PAIRS = list(zip(METRICS, LS, strict=True))
STACKS = {
    "sigmoid": [AnyLoss(m, Sigmoid(L)) for m, L in zip(METRICS, LS, strict=True)],
    "identity": [AnyLoss(metric, "identity") for metric in METRICS],
    "linear": [AnyLoss(m, Linear(L / 200)) for m, L in zip(METRICS, LS, strict=True)],
    "cosine": [AnyLoss(m, Cosine(L / 50)) for m, L in zip(METRICS, LS, strict=True)],
    "thresholds": [
        AnyLoss(m, "linear", L / 100) for m, L in zip(METRICS, LS, strict=True)
    ],
    "a metric with a branch": [
        AnyLoss(lambda tn, fp, fn, tp: tp / (tp + fn) if tp > 0 else 0 * tp)
        for _ in METRICS
    ],
    "several thresholds": [AnyLoss(m, "linear", (L / 100, 0.6)) for m, L in PAIRS],
    "hybrid": [Hybrid(m, Sigmoid(L)) for m, L in PAIRS],
    "logit": [AnyLoss(m, LogitSigmoid(L / 10, L / 100)) for m, L in PAIRS],
    "uniform": [AnyLoss(m, Uniform(L / 80)) for m, L in PAIRS],
    "curve": [AnyLoss("average_precision", Sigmoid(L)) for L in LS],
    **{str(loss): [loss] * 6 for loss in [*NAMED, *CURVES]},
}


@pytest.mark.parametrize("kind", STACKS)
@pytest.mark.parametrize("hidden", [(), (3,), (4, 3)])
@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize("groups", [1, 2, 6])
def test_each_of_a_stack_is_the_network_alone(kind, hidden, batch_norm, groups):
    losses = STACKS[kind]
    alone = []
    for seed in range(6):
        module, *_ = problem(hidden, "sigmoid", batch_norm, seed=seed)
        alone.append(module)
    stack = copy.deepcopy(alone)
    batches = [
        problem(hidden, "sigmoid", False, seed=seed)[1:] for seed in range(groups)
    ]
    expected, of_group = [], []
    with torch.no_grad():
        for k, (module, loss) in enumerate(zip(alone, losses, strict=True)):
            X, y, w = batches[k // (6 // groups)]
            rows = Rows.of(module.standardize(X), y, w)
            value, logits, _ = ClosedForm(module, loss)([rows])
            expected.append((value, logits[0].clone()))
            of_group.append(rows)
        of_group = of_group[:: 6 // groups]
        X = torch.stack([rows.X for rows in of_group])
        classes = ClassWeights(
            torch.cat([rows.classes.table for rows in of_group]),
            torch.cat([rows.classes.target for rows in of_group]),
        )
        X = X if groups > 1 else X[0]
        engine = ClosedForm(stack, losses, groups)
        values, logits, _ = engine([Rows(X, X.mT, classes, 40)])
    np.testing.assert_allclose(values, [v for v, _ in expected], rtol=1e-12)
    torch.testing.assert_close(logits, torch.stack([z for _, z in expected]))
    for a, b in zip(alone, stack, strict=True):
        for (name, p), q in zip(a.named_parameters(), b.parameters(), strict=True):
            torch.testing.assert_close(q.grad, p.grad, rtol=1e-11, atol=1e-13, msg=name)
        for (name, p), q in zip(a.named_buffers(), b.buffers(), strict=True):
            torch.testing.assert_close(q, p, msg=name)


@pytest.mark.parametrize("threshold", [0.2, 0.8])
def test_other_thresholds(threshold):
    module, X, y, w = problem((3,), "tanh", True)
    assert_equal_to_autograd(module, AnyLoss("gmean", "sigmoid", threshold), X, y, w)


def test_float32_stays_float32():
    module, X, y, w = problem((3,), "relu", True, torch.float32)
    with torch.no_grad():
        _, logits, _ = ClosedForm(module, AnyLoss("f1"))([Rows.of(X, y, w)])
    assert logits.dtype == torch.float32
    assert {p.grad.dtype for p in module.parameters()} == {torch.float32}


@pytest.mark.parametrize(
    ("module", "loss"),
    [
        (torch.nn.Linear(3, 1), AnyLoss("f1")),
        (MLP(3), torch.nn.BCEWithLogitsLoss()),
        (MLP(3), AnyLoss(lambda tn, fp, fn, tp: torch.sqrt(tp / (tp + fn)))),
        (MLP(3, activation=torch.sin), AnyLoss("f1")),
        (type("Other", (MLP,), {})(3), AnyLoss("f1")),
    ],
)
def test_what_has_no_closed_form_is_left_to_autograd(module, loss):
    assert not supports(module, loss)
