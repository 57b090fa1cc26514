"""Gradients by hand equal autograd's, for every loss, activation, depth and weight."""

import numpy as np
import pytest
import torch

from sk_anyloss.closed_form import ClosedForm, supports
from sk_anyloss.losses import AnyLoss, get_loss, loss_names
from sk_anyloss.metrics import metric_names
from sk_anyloss.modules import MLP, activation_names
from sk_anyloss.steps import step_names

LOSSES = [AnyLoss(metric, step) for metric in metric_names() for step in step_names()]
LOSSES += [get_loss(name) for name in loss_names()]


def problem(hidden, activation, batch_norm, dtype=torch.float64):
    rng = np.random.default_rng(0)
    X = torch.from_numpy(rng.normal(3, 2, size=(40, 5))).to(dtype)
    y = torch.from_numpy(rng.random(40) < 0.3).to(dtype)
    w = torch.from_numpy(rng.random(40)).to(dtype)
    mean, scale = np.full(5, 3.0), np.full(5, 2.0)
    module = MLP(
        5, hidden, activation, batch_norm, mean, scale, dtype=dtype, random_state=0
    )
    with torch.no_grad():  # The last layer starts at 0, where much would go unseen.
        generator = torch.Generator().manual_seed(0)
        for parameter in module.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.2)
    return module, X, y, w


def assert_equal_to_autograd(module, loss, X, y, w, rtol=1e-12):
    assert supports(module, loss)
    state = {key: value.clone() for key, value in module.state_dict().items()}
    with torch.no_grad():
        value, logits, sums = ClosedForm(module, loss)(X, y, w)
    by_hand = {name: p.grad for name, p in module.named_parameters()}
    figures = {name: buffer.clone() for name, buffer in module.named_buffers()}
    module.load_state_dict(state)
    module.zero_grad()
    expected_logits = module(X, w)
    expected = loss(expected_logits, y, w)
    expected.backward()
    torch.testing.assert_close(logits, expected_logits)
    torch.testing.assert_close(sums, loss.sums(expected_logits, y, w))
    assert value == pytest.approx(expected.item(), rel=rtol, abs=rtol)
    for name, parameter in module.named_parameters():
        scale = 1 + parameter.grad.abs().max().item()
        torch.testing.assert_close(
            by_hand[name], parameter.grad, rtol=rtol, atol=rtol * scale, msg=name
        )
    for name, buffer in module.named_buffers():
        torch.testing.assert_close(figures[name], buffer)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
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


@pytest.mark.parametrize("threshold", [0.2, 0.8])
def test_other_thresholds(threshold):
    module, X, y, w = problem((3,), "tanh", True)
    assert_equal_to_autograd(module, AnyLoss("gmean", "sigmoid", threshold), X, y, w)


def test_float32_stays_float32():
    module, X, y, w = problem((3,), "relu", True, torch.float32)
    with torch.no_grad():
        _, logits, _ = ClosedForm(module, AnyLoss("f1"))(X, y, w)
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
