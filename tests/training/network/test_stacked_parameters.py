"""Steps on one vector are the torch optimisers' own steps, for one module or many."""

import copy

import pytest
import torch
from torch import nn

from sk_anyloss.training.network.stacked_parameters import (
    FlatModules,
    get_stepper,
    needs_closure,
)

OPTIMIZERS = {
    "adam": lambda p, lr: torch.optim.Adam(p, lr=lr),
    "adam, decay": lambda p, lr: torch.optim.Adam(p, lr=lr, weight_decay=0.1),
    "adam, betas": lambda p, lr: torch.optim.Adam(p, lr=lr, betas=(0.8, 0.9), eps=0.01),
    "adamw": lambda p, lr: torch.optim.AdamW(p, lr=lr, weight_decay=0.1),
    "sgd": lambda p, lr: torch.optim.SGD(p, lr=lr),
    "sgd, decay": lambda p, lr: torch.optim.SGD(p, lr=lr, weight_decay=0.1),
}
OTHERS = {
    "sgd, momentum": lambda p, lr: torch.optim.SGD(p, lr=lr, momentum=0.9),
    "amsgrad": lambda p, lr: torch.optim.Adam(p, lr=lr, amsgrad=True),
    "rmsprop": lambda p, lr: torch.optim.RMSprop(p, lr=lr),
}


@pytest.fixture(params=[True, False], ids=["fused", "public operations"])
def fused(request, monkeypatch):
    """Torch with its private fused step of Adam, and without."""
    if not request.param:
        monkeypatch.delattr(torch, "_fused_adam_")
        monkeypatch.delattr(torch, "_fused_adamw_")


def modules(n=1):
    return [
        nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 1)).double().requires_grad_()
        for _ in range(n)
    ]


def gradients(module, generator):
    return [
        torch.randn(parameter.shape, dtype=torch.float64, generator=generator)
        for parameter in module.parameters()
    ]


def take_steps(pairs, n, seed=0, stepper=None):
    """Follow gradients drawn at random, the same ones for every way to follow them."""
    generator = torch.Generator().manual_seed(seed)
    for _ in range(n):
        for module, optimizer in pairs:
            for parameter, grad in zip(
                module.parameters(), gradients(module, generator), strict=True
            ):
                if parameter.grad is None:
                    parameter.grad = grad
                else:
                    parameter.grad.copy_(grad)
            if stepper is None:
                optimizer.step()
        if stepper is not None:
            with torch.no_grad():
                stepper.step()


def assert_same(left, right):
    for a, b in zip(left, right, strict=True):
        for (name, value), other in zip(
            a.state_dict().items(), b.state_dict().values(), strict=True
        ):
            torch.testing.assert_close(value, other, rtol=1e-12, atol=1e-14, msg=name)


@pytest.mark.usefixtures("fused")
@pytest.mark.parametrize("name", [*OPTIMIZERS, *OTHERS])
def test_torch_goes_on_where_the_flat_steps_ended_and_the_other_way_round(name):
    make = {**OPTIMIZERS, **OTHERS}[name]
    (ours,) = modules()
    theirs = copy.deepcopy(ours)
    optimizer, other = make(ours.parameters(), 0.1), make(theirs.parameters(), 0.1)
    for seed in range(3):
        with torch.no_grad():
            flat = FlatModules([ours])
            flat.adopt()
            stepper = get_stepper([optimizer], flat)
            stepper.begin()
        take_steps([(ours, optimizer)], 7, 2 * seed, stepper)
        flat.release()
        stepper.release()
        take_steps([(ours, optimizer)], 3, 2 * seed + 1)
        take_steps([(theirs, other)], 7, 2 * seed)
        take_steps([(theirs, other)], 3, 2 * seed + 1)
    assert_same([ours], [theirs])


EQUAL, UNEQUAL = (0.1, 0.1, 0.1), (0.1, 0.2, 0.01)


@pytest.mark.usefixtures("fused")
@pytest.mark.parametrize(
    ("name", "rates"),
    [("adam", EQUAL), ("sgd", EQUAL), *((name, UNEQUAL) for name in OPTIMIZERS)],
)
def test_each_of_a_stack_has_its_own_learning_rate(name, rates):
    make = OPTIMIZERS[name]
    ours = modules(3)
    theirs = copy.deepcopy(ours)
    pairs = [(m, make(m.parameters(), lr)) for m, lr in zip(ours, rates, strict=True)]
    others = [
        (m, make(m.parameters(), lr)) for m, lr in zip(theirs, rates, strict=True)
    ]
    with torch.no_grad():
        flat = FlatModules(ours)
        flat.adopt()
        stepper = get_stepper([optimizer for _, optimizer in pairs], flat)
        stepper.begin()
    take_steps(pairs, 10, stepper=stepper)
    flat.release()
    stepper.release()
    take_steps(others, 10)
    assert_same(ours, theirs)
    take_steps(pairs, 2, 1)
    take_steps(others, 2, 1)
    assert_same(ours, theirs)


def test_while_adopted_the_modules_are_views_and_afterwards_their_own():
    ours = modules(2)
    with torch.no_grad():
        flat = FlatModules(ours)
        before = [parameter.clone() for parameter in ours[1].parameters()]
        flat.adopt()
        assert flat.is_adopted()
        for parameter, old in zip(ours[1].parameters(), before, strict=True):
            assert torch.equal(parameter, old)
        flat.values.fill_(7)
        assert all((p == 7).all() for m in ours for p in m.parameters())
        flat.release()
        flat.values.fill_(8)
    assert not flat.is_adopted()
    assert all((p == 7).all() for m in ours for p in m.parameters())
    assert all(p.grad is None for m in ours for p in m.parameters())


@pytest.mark.parametrize("name", OTHERS)
def test_what_has_no_flat_step_cannot_be_stacked(name):
    stack = modules(2)
    optimizers = [OTHERS[name](module.parameters(), 0.1) for module in stack]
    with torch.no_grad():
        assert get_stepper(optimizers, FlatModules(stack)) is None


def test_lbfgs_has_no_step_without_the_loss():
    (module,) = modules()
    optimizer = torch.optim.LBFGS(module.parameters())
    assert needs_closure(optimizer)
    with torch.no_grad():
        assert get_stepper([optimizer], FlatModules([module])) is None


def test_several_groups_of_parameters_are_left_to_torch():
    (module,) = modules()
    groups = [{"params": [p], "lr": 0.1} for p in module.parameters()]
    with torch.no_grad():
        stepper = get_stepper([torch.optim.Adam(groups)], FlatModules([module]))
    assert type(stepper).__name__ == "_TorchStep"
