"""Gradients by hand equal autograd's, for every loss, activation, depth and weight."""

import copy

import numpy as np
import pytest
import torch

from sk_anyloss.losses import AnyLoss
from sk_anyloss.training.data.batches import Chunk
from sk_anyloss.training.network.closed_form import ClosedForm, supports
from sk_anyloss.training.network.mlp import MLP, activation_names
from tests.losses.losses_to_test import ALL_LOSSES, NAMED, SPECIAL


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
        rows = Chunk.of(module.standardize(X), y, w)
        value, logits, *_ = ClosedForm(module, loss)([rows])
        logits = logits[0]
    by_hand = {name: p.grad.clone() for name, p in module.named_parameters()}
    figures = {name: buffer.clone() for name, buffer in module.named_buffers()}
    module.load_state_dict(state)
    module.zero_grad()
    expected_logits = module(X, w)
    expected = loss(expected_logits, y, w)
    expected.backward()
    torch.testing.assert_close(logits, expected_logits)
    assert value == pytest.approx(expected.item(), rel=rtol, abs=rtol)
    for name, parameter in module.named_parameters():
        scale = 1 + parameter.grad.abs().max().item()
        torch.testing.assert_close(
            by_hand[name], parameter.grad, rtol=rtol, atol=rtol * scale, msg=name
        )
    for name, buffer in module.named_buffers():
        torch.testing.assert_close(figures[name], buffer)


@pytest.mark.parametrize("loss", ALL_LOSSES, ids=str)
def test_every_loss(loss):
    module, X, y, w = problem((3,), "sigmoid", batch_norm=True)
    for weight in (None, w):
        assert_equal_to_autograd(module, loss, X, y, weight)


# With a width of 1, of two layers, and of one that is much wider than its input.
SHAPES = [(), (2,), (1,), (4, 3), (3, 3, 3), (64,)]


@pytest.mark.parametrize("activation", activation_names())
@pytest.mark.parametrize("batch_norm", [False, True])
def test_every_activation(activation, batch_norm):
    module, X, y, w = problem((4, 3), activation, batch_norm)
    assert_equal_to_autograd(module, AnyLoss("f1"), X, y, w)


@pytest.mark.parametrize("hidden", SHAPES, ids=str)
@pytest.mark.parametrize("batch_norm", [False, True])
def test_every_depth_and_width(hidden, batch_norm):
    module, X, y, w = problem(hidden, "tanh", batch_norm)
    for weight in (None, w):
        assert_equal_to_autograd(module, AnyLoss("f1"), X, y, weight)


# Every loss in one shape, and one loss in every shape.
IN_PIECES = [
    *((loss, (4, 3), True, True) for loss in [AnyLoss("mcc"), *NAMED, SPECIAL[0]]),
    *((AnyLoss("f1"), hidden, True, False) for hidden in SHAPES),
    *((AnyLoss("f1"), hidden, False, True) for hidden in SHAPES),
]


@pytest.mark.parametrize(
    ("loss", "hidden", "batch_norm", "weighted"), IN_PIECES, ids=str
)
def test_a_batch_in_pieces_is_the_batch(loss, hidden, batch_norm, weighted):
    module, X, y, w = problem(hidden, "tanh", batch_norm)
    other = copy.deepcopy(module)
    w = w if weighted else None
    X = module.standardize(X)
    cuts = [slice(0, 13), slice(13, 14), slice(14, 33), slice(33, 40)]
    pieces = [Chunk.of(X[cut], y[cut], None if w is None else w[cut]) for cut in cuts]
    with torch.no_grad():
        whole = ClosedForm(module, loss)([Chunk.of(X, y, w)])
        parts = ClosedForm(other, loss)(pieces)
    assert parts[0] == pytest.approx(whole[0], rel=1e-12, abs=1e-14)
    for (name, p), q in zip(module.named_parameters(), other.parameters(), strict=True):
        torch.testing.assert_close(q.grad, p.grad, rtol=1e-11, atol=1e-13, msg=name)
    for (name, p), q in zip(module.named_buffers(), other.buffers(), strict=True):
        torch.testing.assert_close(q, p, rtol=1e-11, atol=1e-13, msg=name)


def test_float32_stays_float32():
    module, X, y, w = problem((3,), "relu", True, torch.float32)
    with torch.no_grad():
        _, logits, *_ = ClosedForm(module, AnyLoss("f1"))([Chunk.of(X, y, w)])
    assert logits.dtype == torch.float32
    assert {p.grad.dtype for p in module.parameters()} == {torch.float32}


@pytest.mark.parametrize(
    ("module", "loss"),
    [
        (torch.nn.Linear(3, 1), AnyLoss("f1")),
        (MLP(3), torch.nn.BCEWithLogitsLoss()),
        (MLP(3, activation=torch.sin), AnyLoss("f1")),
        (type("Other", (MLP,), {})(3), AnyLoss("f1")),
    ],
)
def test_what_has_no_closed_form_is_left_to_autograd(module, loss):
    assert not supports(module, loss)
