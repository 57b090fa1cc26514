"""Second derivatives of AnyLoss, and AnyLoss under the transforms of torch.func."""

import pytest
import torch
from torch import nn
from torch.func import functional_call, grad, stack_module_state, vmap

from sk_anyloss.losses import BCE, AnyLoss, Hybrid
from sk_anyloss.losses.steps import LogitSigmoid, Sigmoid, step_names

#: Metrics of each kind of target, by the kinds of their formulas.
METRICS = {
    "binary": ("f1", "gmean", "mcc", "precision@recall>=0.8"),
    "classes": ("f1_macro", "gmean", "kappa_quadratic"),
    "labels": ("f1", "mcc_weighted", "f1_micro", "f1_samples"),
}
#: Other settings of the loss of two classes.
OTHERS = {
    "thresholds": AnyLoss("f1", Sigmoid(5), threshold=(0.3, 0.6)),
    "roc_auc": AnyLoss("roc_auc", "identity"),
    "average_precision": AnyLoss("average_precision", "identity", (0.3, 0.5, 0.7)),
    "own": AnyLoss(lambda tn, fp, fn, tp: tp / torch.sqrt(tp + fn + fp)),
    "logit": AnyLoss("f1", LogitSigmoid(beta=3, eta=0.5)),
}
CLOSE = {"rtol": 1e-6, "atol": 1e-8}
CASES = [
    pytest.param(kind, AnyLoss(metric, step), id=f"{kind}-{metric}-{step}")
    for kind, metrics in METRICS.items()
    for metric in metrics
    for step in (*step_names(), Sigmoid(5))
    if kind != "classes"
    or metric == "f1_macro"
    or step in ("sigmoid", "logit", "identity")
] + [pytest.param("binary", loss, id=name) for name, loss in OTHERS.items()]


def batch(kind, seed=0, n=9):
    """Logits, labels and weights; all classes and labels are there."""
    generator = torch.Generator().manual_seed(seed)
    shape = (n,) if kind == "binary" else (n, 3)
    z = torch.randn(shape, dtype=torch.float64, generator=generator)
    y = torch.arange(n) % 3
    if kind == "binary":
        y = (y == 0).long()
    elif kind == "labels":
        y = torch.stack((y == 0, y > 0, torch.arange(n) % 2 == 0), dim=1).long()
    weight = torch.rand(n, dtype=torch.float64, generator=generator) + 0.5
    return z.requires_grad_(), y, weight


@pytest.mark.parametrize(("kind", "loss"), CASES)
def test_second_derivatives(kind, loss):
    z, y, weight = batch(kind)
    for weights in (None, weight):
        (expected,) = torch.autograd.grad(loss(z, y, weights), z)
        value = loss(z, y, weights)
        (gradient,) = torch.autograd.grad(value, z, create_graph=True)
        torch.testing.assert_close(gradient, expected, **CLOSE)
    assert torch.autograd.gradgradcheck(lambda z: loss(z, y, weight), z)


@pytest.mark.parametrize(("kind", "loss"), CASES)
def test_transforms(kind, loss):
    batches = [batch(kind, seed)[:2] for seed in range(3)]
    rolled = [(z, y.roll(seed, 0)) for seed, (z, y) in enumerate(batches)]
    for same_labels, parts in ((True, batches), (False, rolled)):
        z, y = (torch.stack([part[i].detach() for part in parts]) for i in (0, 1))
        expected = [torch.autograd.grad(loss(*part), part[0])[0] for part in parts]
        of_each = vmap(grad(loss), in_dims=(0, None if same_labels else 0))
        found = of_each(z, y[0] if same_labels else y)
        torch.testing.assert_close(found, torch.stack(expected), **CLOSE)


# Of torch's own imports.
@pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
def test_a_hessian_in_all_ways():
    z, y, _ = batch("binary")
    for loss in (AnyLoss("f1"), AnyLoss("f1", "linear")):
        expected = torch.func.hessian(loss)(z.detach(), y)
        for vectorize in (False, True):
            found = torch.autograd.functional.hessian(
                lambda z, loss=loss: loss(z, y), z, vectorize=vectorize
            )
            torch.testing.assert_close(found, expected)
        value = loss(z, y)
        several = torch.autograd.grad(
            value, z, torch.tensor([1.0, 2.0]).double(), is_grads_batched=True
        )
        torch.testing.assert_close(several[0][1], 2 * several[0][0])


def test_an_ensemble_of_modules():
    X = torch.randn(20, 4, dtype=torch.float64)
    y = torch.arange(20) % 2
    modules, loss = [nn.Linear(4, 1).double() for _ in range(3)], AnyLoss("f1")
    params, buffers = stack_module_state(modules)

    def loss_of(params, buffers):
        return loss(functional_call(modules[0], (params, buffers), X), y)

    gradients = vmap(grad(loss_of))(params, buffers)
    for k, module in enumerate(modules):
        loss(module(X), y).backward()
        torch.testing.assert_close(gradients["weight"][k], module.weight.grad)


class Halved(AnyLoss):
    """A loss of a user's own."""

    def value_and_grad(self, S):
        value, (negatives, positives) = super().value_and_grad(S)
        return value / 2, (negatives / 2, positives / 2)


@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (AnyLoss("f1_macro", "linear", decay=0.5), r"decay=0\.5.*decay=0 or \.eval"),
        (BCE(), r"BCE has no second derivatives.*torch\.nn"),
        (Hybrid("f1"), r"Hybrid has no second derivatives"),
        (Halved("f1"), r"Halved has no second derivatives.*differentiable"),
        (AnyLoss("f1", decay=0.5), r"decay=0\.5.*decay=0 or \.eval\(\)"),
    ],
    ids=["one against rest", "BCE", "hybrid", "own", "decay"],
)
def test_what_has_none_says_so(loss, message):
    z, y, _ = batch("classes" if "f1_macro" in repr(loss) else "binary")
    (gradient,) = torch.autograd.grad(loss(z, y), z, create_graph=True)
    loss.reset()
    (expected,) = torch.autograd.grad(loss(z, y), z)
    torch.testing.assert_close(gradient, expected)  # The first ones it has.
    with pytest.raises(NotImplementedError, match=message):
        gradient.sum().backward()
    with pytest.raises(NotImplementedError, match=message):
        grad(loss)(z.detach(), y)
