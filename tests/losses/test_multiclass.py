import numpy as np
import pytest
import torch
from torch.nn.functional import one_hot

from sk_anyloss.losses import BCE, AnyLoss, Hybrid, MulticlassAnyLoss
from sk_anyloss.losses.stacked import stack_losses
from sk_anyloss.losses.steps import Identity, Linear, LogitSigmoid, Sigmoid, get_step
from sk_anyloss.metrics import CostMatrix, matrix_metric
from sk_anyloss.metrics.class_weights import ClassWeights
from sk_anyloss.metrics.multiclass.gradients import matrix_value_and_grad
from sk_anyloss.metrics.multilabel import label_metric

N = 40
METRICS = [
    "accuracy",
    "balanced_accuracy",
    "f1_macro",
    "f2_weighted",
    "jaccard_micro",
    "specificity_macro",
    "gmean",
    "mcc",
    "kappa_quadratic",
    "recall[1]",
    "f1_macro@recall[2]>=0.9",
    CostMatrix([[0, 1, 5, 1], [1, 0, 1, 1], [9, 1, 0, 1], [1, 1, 1, 0]]),
]


def samples(C, seed=0, dtype=torch.float64):
    rng = np.random.default_rng(seed)
    logits = torch.tensor(rng.normal(size=(N, C)), dtype=dtype, requires_grad=True)
    y = torch.from_numpy(np.r_[np.arange(C), rng.integers(0, C, N - C)])
    weight = torch.tensor(rng.uniform(0.5, 2, N), dtype=dtype)
    return logits, y, weight


def by_autograd(metric, decide, logits, y, weight):
    """The loss written out, for torch to differentiate."""
    C = logits.shape[1]
    M = one_hot(y, C).to(logits.dtype).T @ (weight[:, None] * decide(logits))
    return 1 - matrix_metric(metric, range(C))(M)


STEPS = {
    "amplifier": (Sigmoid(10), lambda z: torch.softmax(5 * z.softmax(1), 1)),
    "identity": (Identity(), lambda z: z.softmax(1)),
    "logit": (LogitSigmoid(2.0), lambda z: torch.softmax(2 * z, 1)),
}


@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("step", STEPS)
def test_value_and_gradient_are_those_of_autograd(metric, step):
    step, decide = STEPS[step]
    logits, y, weight = samples(4)
    loss = MulticlassAnyLoss(metric, step)(logits, y, weight)
    (found,) = torch.autograd.grad(loss, logits)
    expected = by_autograd(metric, decide, logits, y, weight)
    (grad,) = torch.autograd.grad(expected, logits)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(found, grad, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("metric", ["f1_macro", "mcc", "gmean", "accuracy"])
@pytest.mark.parametrize("L", [5, 73])
def test_two_classes_are_the_binary_loss(metric, L):
    logits, y, weight = samples(2)
    z = (logits[:, 1] - logits[:, 0]).detach().requires_grad_()
    loss = MulticlassAnyLoss(metric, Sigmoid(L))(logits, y, weight)
    binary = AnyLoss(metric, Sigmoid(L))(z, y, weight)
    (by_logits,) = torch.autograd.grad(loss, logits)
    (by_z,) = torch.autograd.grad(binary, z)
    assert loss.item() == pytest.approx(binary.item(), rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(by_logits[:, 1], by_z, rtol=1e-9, atol=1e-14)
    np.testing.assert_allclose(by_logits[:, 0], -by_z, rtol=1e-9, atol=1e-14)


def test_statistics_of_parts_add_up_and_models_in_a_stack_keep_apart():
    loss = MulticlassAnyLoss("f1_macro", Sigmoid(10))
    logits, y, weight = samples(3)
    z = torch.stack((logits.detach().T, 2 * logits.detach().T))
    whole = ClassWeights.of_classes(y, 3, z, weight)
    S, cache = loss.statistics(z, whole)
    parts = sum(
        loss.statistics(
            z[:, :, part], ClassWeights.of_classes(y[part], 3, z, weight[part])
        )[0]
        for part in (slice(0, 15), slice(15, N))
    )
    np.testing.assert_allclose(parts, S, rtol=1e-12, atol=1e-12)
    values, grad = loss.value_and_grad(S)
    out = torch.empty_like(z)
    loss.backward(cache, grad, whole, out)
    for k, scale in enumerate((1, 2)):
        single = (scale * logits).detach().requires_grad_()
        value = loss(single, y, weight)
        value.backward()
        assert values[k] == pytest.approx(value.item(), rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(out[k].T, single.grad, rtol=1e-10, atol=1e-13)


def test_one_logit_stands_for_two_classes():
    logits, y, weight = samples(2)
    z = (logits[:, 1] - logits[:, 0]).detach()[None]
    both = ClassWeights.of(y.double(), weight)
    found = []
    for loss in (MulticlassAnyLoss("f1[1]", Sigmoid(73)), AnyLoss("f1", Sigmoid(73))):
        S, cache = loss.statistics(z, both)
        value, grad = loss.value_and_grad(S)
        out = torch.empty_like(z)
        loss.backward(cache, grad, both, out)
        found.append((np.ravel(value), out))
    np.testing.assert_allclose(*(value for value, _ in found), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(*(out for _, out in found), rtol=1e-9, atol=1e-14)


def linear(p):
    """Three segments, as the linear step at 0.5 has them."""
    inner, outer = 1.6 * p - 0.3, torch.where(p < 0.5, 0.4 * p, 0.6 + 0.4 * p)
    return torch.where((p - 0.5).abs() < 0.25, inner, outer)


ONE_AGAINST_REST = {
    "linear": linear,
    "uniform": lambda p: ((p - 0.5) / 0.5 + 0.5).clamp(0, 1),
    "cosine": lambda p: get_step("cosine")(p),
}


@pytest.mark.parametrize("metric", ["f1_macro", "mcc_weighted", "jaccard_micro"])
@pytest.mark.parametrize("step", ONE_AGAINST_REST)
def test_steps_of_one_probability_decide_each_class_against_the_rest(metric, step):
    logits, y, weight = samples(3)
    is_class = one_hot(y, 3).double()
    h = ONE_AGAINST_REST[step](logits.softmax(1))
    parts = [(1 - is_class) * (1 - h), (1 - is_class) * h]
    parts += [is_class * (1 - h), is_class * h]
    expected = 1 - label_metric(metric).of_counts(*(weight @ part for part in parts))
    loss = AnyLoss(metric, step).for_target("multiclass")(logits, y, weight)
    torch.testing.assert_close(loss, expected, rtol=1e-12, atol=1e-12)
    (found,) = torch.autograd.grad(loss, logits)
    (grad,) = torch.autograd.grad(expected, logits)
    np.testing.assert_allclose(found, grad, rtol=1e-9, atol=1e-12)


STACKS = {
    "L": [AnyLoss("f1", Sigmoid(5)), AnyLoss("f1", Sigmoid(40))],
    "metrics": [AnyLoss("f1"), AnyLoss("mcc")],
    "beta": [AnyLoss("f1", LogitSigmoid(1)), AnyLoss("f1", LogitSigmoid(3))],
    "kinds": [BCE(), AnyLoss("f1_weighted")],
    "delta": [AnyLoss("f1", Linear(0.1)), AnyLoss("f1", Linear(0.3), 0.4)],
    "hybrid": [Hybrid("f1", Sigmoid(5)), Hybrid("f1", Sigmoid(9))],
}


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("name", STACKS)
def test_a_stack_computes_what_its_losses_compute_apart(name, groups):
    losses = [loss.for_target("multiclass") for loss in STACKS[name]] * groups
    data = [samples(3, seed)[1:] for seed in range(groups)]
    rng = np.random.default_rng(7)
    logits = torch.from_numpy(rng.normal(size=(len(losses), 3, N)))
    each = [ClassWeights.of_classes(y, 3, logits, w) for y, w in data]
    tables, targets = zip(*((s.table, s.target) for s in each), strict=True)
    together = ClassWeights(torch.cat(tables), torch.cat(targets))
    stacked = stack_losses(losses, groups, logits)
    S, cache = stacked.statistics(logits, together)
    values, grad = stacked.value_and_grad(stacked.average(stacked.reduce(S)))
    out = torch.empty_like(logits)
    stacked.backward(cache, grad, together, out)
    for k, loss in enumerate(losses):
        z = logits[k].T.clone().requires_grad_()
        value = loss(z, *data[k // 2])
        value.backward()
        assert values[k] == pytest.approx(value.item(), rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(out[k].T, z.grad, rtol=1e-10, atol=1e-13)


def test_the_moving_average_is_kept_by_the_loss_that_is_called_and_reset():
    averaged, plain = AnyLoss("f1", Sigmoid(5), decay=0.9), AnyLoss("f1", Sigmoid(5))
    first, second = samples(3, 0), samples(3, 1)
    assert averaged(*first).item() == pytest.approx(plain(*first).item(), abs=1e-12)
    assert averaged(*second).item() != pytest.approx(plain(*second).item(), abs=1e-6)
    averaged.reset()
    assert averaged(*second).item() == pytest.approx(plain(*second).item(), abs=1e-12)


@pytest.mark.parametrize("step", [Sigmoid(10), Linear()], ids=str)
def test_the_moving_average_outlasts_a_change_of_the_step(step):
    losses = [AnyLoss("f1", step, decay=0.9) for _ in range(2)]
    for seed in range(3):
        first, second = (loss(*samples(3, seed)) for loss in losses)
        assert first.item() == second.item()
        losses[1].set_step(step)


@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("L", [10, 73])
def test_a_factor_on_all_weights_changes_nothing(metric, L):
    logits, y, weight = samples(4, dtype=torch.float32)
    loss = MulticlassAnyLoss(metric, Sigmoid(L))
    (expected,) = torch.autograd.grad(loss(logits, y, weight), logits)
    for factor in (1e-30, 1e30):
        (found,) = torch.autograd.grad(loss(logits, y, factor * weight), logits)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "metric",
    [
        lambda M: M.trace() / M.sum(),
        lambda M: M.diagonal().sum(-1) / M.sum((-2, -1)),  # Also gives numbers for K.
        lambda M: M.diagonal(0, -2, -1).sum(-1) / M.sum((-2, -1)),
    ],
    ids=["refuses stacks", "wrong of stacks", "takes stacks"],
)
def test_a_function_of_a_matrix_is_trained_on_alone_and_in_stacks(metric):
    logits, y, weight = samples(3)
    expected = MulticlassAnyLoss("accuracy")(logits, y, weight)
    found = MulticlassAnyLoss(metric)(logits, y, weight)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(
        torch.autograd.grad(found, logits), torch.autograd.grad(expected, logits)
    )
    M = np.random.default_rng(0).uniform(1, 5, (3, 3, 3))
    accuracy = matrix_metric("accuracy", range(3))
    (value, G), (other, other_G) = (
        matrix_value_and_grad(function, M) for function in (metric, accuracy)
    )
    np.testing.assert_allclose(value, other, rtol=1e-12, atol=1e-14)
    centred, other_centred = (g - g.mean(-1, keepdims=True) for g in (G, other_G))
    np.testing.assert_allclose(centred, other_centred, rtol=1e-9, atol=1e-12)


def test_a_metric_with_branches_is_trained_on():
    logits, y, weight = samples(4)

    def precision_of_many(tn, fp, fn, tp):
        return tp / (tp + fp) if tp > 1 else 0 * tp

    found = MulticlassAnyLoss(precision_of_many)(logits, y, weight)
    expected = MulticlassAnyLoss("precision_macro")(logits, y, weight)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(
        torch.autograd.grad(found, logits), torch.autograd.grad(expected, logits)
    )


def test_a_weight_of_two_is_the_sample_twice():
    logits, y, _ = samples(3)
    loss, twice = MulticlassAnyLoss("mcc"), torch.ones(N)
    twice[:5] = 2
    repeated = loss(torch.cat((logits, logits[:5])), torch.cat((y, y[:5])))
    found = loss(logits, y, twice.double()).item()
    assert found == pytest.approx(repeated.item(), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("metric", METRICS, ids=str)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_absent_classes_and_extreme_logits_give_finite_gradients(metric, dtype):
    logits, _, weight = samples(4, dtype=dtype)
    for y in (torch.zeros(N), torch.arange(N) % 2, torch.full((N,), 3)):
        for scale in (0, 1, 100, 1e6):
            z = (scale * logits).detach().requires_grad_()
            loss = MulticlassAnyLoss(metric)(z, y, weight * 1e-10)
            loss.backward()
            assert torch.isfinite(loss)
            assert torch.isfinite(z.grad).all()
            assert z.grad.dtype == dtype


def test_the_gradient_of_a_wrong_decision_survives_float32():
    # The amplifier at L = 73 makes 1 - h about 1e-16 here, far below float32's eps.
    logits = torch.tensor([[9.0, 0.0, 0.0]] * 4, requires_grad=True)
    y = torch.tensor([0, 1, 2, 1])
    MulticlassAnyLoss("f1_macro")(logits, y).backward()
    assert (logits.grad[1:] != 0).all()
    double = logits.detach().double().requires_grad_()
    MulticlassAnyLoss("f1_macro")(double, y).backward()
    np.testing.assert_allclose(logits.grad, double.grad, rtol=1e-3, atol=1e-30)


def test_it_trains_a_network_in_a_plain_torch_loop():
    rng = np.random.default_rng(0)
    y = torch.from_numpy(rng.choice(3, 300, p=[0.8, 0.15, 0.05]))
    centres = torch.tensor([[0.0, 0.0], [2.5, 0.0], [0.0, 2.5]])
    X = centres[y] + 0.7 * torch.from_numpy(rng.normal(size=(300, 2))).float()
    torch.manual_seed(0)
    module = torch.nn.Linear(2, 3)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.05)
    criterion = MulticlassAnyLoss("f1_macro", Sigmoid(10))
    losses = []
    for _ in range(200):
        optimizer.zero_grad()
        loss = criterion(module(X), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.25 < losses[0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MulticlassAnyLoss("f1", "linear"), "one class against the rest"),
        (
            lambda: AnyLoss("mcc", "linear").for_target("multiclass"),
            "one class against the rest, which only averages",
        ),
        (
            lambda: MulticlassAnyLoss()(torch.zeros(3), torch.zeros(3)),
            r"shape \(n, C\)",
        ),
        (
            lambda: MulticlassAnyLoss()(torch.zeros(2, 3), torch.tensor([0, 3])),
            r"whole numbers from 0 to 2, got \[0, 3\]",
        ),
        (
            lambda: MulticlassAnyLoss()(torch.zeros(2, 3), torch.tensor([0, 0.5])),
            "whole numbers from 0 to 2",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()
