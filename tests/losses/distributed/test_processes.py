"""A loss over several processes is that of all of their samples together."""

import copy
import pickle

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch.distributed import fsdp
from torch.distributed.device_mesh import init_device_mesh

from sk_anyloss.losses import BCE, AnyLoss, CrossEntropy
from sk_anyloss.losses.distributed.processes import GATHERED, Processes
from tests.losses.distributed import cases
from tests.processes import run_in_processes

pytestmark = pytest.mark.skipif(
    not dist.is_available() or not dist.is_gloo_available(),
    reason="torch was built without gloo",
)


def _all_cases(rank, size):
    found = {
        (name, weighted): cases.loss_and_gradient(name, rank, size, weighted)
        for name in cases.CASES
        for weighted in (False, True)
    }
    parts = {name: cases.accumulated(name, rank, size) for name in cases.CASES}
    return found, parts, cases.trained_weights(rank, size)


@pytest.fixture(scope="module", params=[1, 2, 4], ids="{} processes".format)
def results(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("processes")
    return run_in_processes(request.param, _all_cases, folder=folder)


@pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])
@pytest.mark.parametrize("name", cases.CASES)
def test_loss_and_gradient_are_those_of_one_process(results, name, weighted):
    value, gradient = cases.loss_and_gradient(name, weighted=weighted)
    assert np.abs(gradient).max() > 1e-4
    for found, _, _ in results:
        assert found[name, weighted][0] == pytest.approx(value, rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(
            found[name, weighted][1], gradient, rtol=1e-9, atol=1e-12
        )


@pytest.mark.parametrize("name", cases.CASES)
def test_parts_of_a_batch_add_up_to_it(results, name):
    value, gradient = cases.loss_and_gradient(name, weighted=True)
    for _, parts, _ in results:
        assert parts[name][0] == pytest.approx(value, rel=1e-12, abs=1e-12)
        np.testing.assert_allclose(parts[name][1], gradient, rtol=1e-9, atol=1e-12)


def test_a_training_with_a_moving_average_ends_at_the_same_weights(results):
    weights, decisions = cases.trained_weights()
    # The average does something.
    assert np.abs(weights - cases.trained_weights(decay=0.0)[0]).max() > 1e-3
    for _, _, (found, decided) in results:
        np.testing.assert_allclose(found, weights, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(decided, decisions)


@pytest.mark.parametrize("name", cases.CASES)
def test_an_empty_batch_has_a_finite_loss(name):
    n_outputs, is_labels, loss = cases.CASES[name]
    logits = torch.empty(0, n_outputs, requires_grad=True)
    y = torch.empty(0, n_outputs) if is_labels else torch.empty(0)
    value = copy.deepcopy(loss)(logits, y)
    value.backward()
    assert torch.isfinite(value)
    assert logits.grad.shape == logits.shape


def _groups(rank, size):
    """F1 losses of this process, of a pair and of all, with gradients to be summed."""
    # A negative and a positive in each, with decisions that differ.
    z = torch.tensor([rank - 1.5, 0.5 * rank], dtype=torch.float64, requires_grad=True)
    y = torch.tensor([0, 1])
    pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    found = {}
    for name, group in [("alone", None), ("pair", pairs[rank // 2]), ("all", "world")]:
        loss = AnyLoss("f1", "identity", process_group=group)
        loss.processes.gradients = "sum"
        value = loss(z, y)
        (gradient,) = torch.autograd.grad(value, z)
        # Copies have the same group.
        assert copy.deepcopy(loss)(z, y) == value
        found[name] = value.item(), gradient.numpy()
    return found


def _soft_f1(z):
    """The loss by its formula, with autograd; z holds (negative, positive) pairs."""
    z = torch.tensor(z, dtype=torch.float64, requires_grad=True)
    p = torch.sigmoid(z)
    tp, fp, fn = p[:, 1].sum(), p[:, 0].sum(), (1 - p[:, 1]).sum()
    loss = 1 - 2 * tp / (2 * tp + fp + fn)
    (gradient,) = torch.autograd.grad(loss, z)
    return loss.item(), gradient.numpy()


def test_the_group_says_over_which_processes_to_sum(tmp_path):
    results = run_in_processes(4, _groups, folder=tmp_path)
    z = np.array([[rank - 1.5, 0.5 * rank] for rank in range(4)])
    for rank, found in enumerate(results):
        first = rank - rank % 2
        members = {"alone": slice(rank, rank + 1), "all": slice(0, 4)}
        members["pair"] = slice(first, first + 2)
        for name, group in members.items():
            value, gradient = _soft_f1(z[group])
            assert found[name][0] == pytest.approx(value, abs=1e-12)
            own = gradient[rank - group.start]
            np.testing.assert_allclose(found[name][1], own, atol=1e-12)


#: Seconds for a few messages; processes that wait in vain have failed after them.
SHORT = 40


def _evaluated_by_the_first(rank, size):
    """Losses and gradients of one process, while the other one has left already."""
    found = {}
    for name, (n_outputs, is_labels, loss) in cases.CASES.items():
        loss, (X, y, weight) = copy.deepcopy(loss), cases.samples(n_outputs, is_labels)
        module, own = cases.network(n_outputs), cases.shard(rank, size)
        part = module(X[own]), y[own], weight[own]
        value = loss(*part)  # Together.
        if name == "f1":
            (gradient,) = torch.autograd.grad(value, part[0], create_graph=True)
            with pytest.raises(NotImplementedError, match="process_group=None"):
                gradient.sum().backward()
        if rank:
            continue
        with torch.no_grad():
            without = loss(*part).item()
        evaluated = loss.eval()(*part)
        (gradient,) = torch.autograd.grad(evaluated, part[0])
        found[name] = without, evaluated.item(), gradient.numpy()
    return found


def test_one_process_evaluates_by_itself(tmp_path):
    found, _ = run_in_processes(
        2, _evaluated_by_the_first, folder=tmp_path, timeout=SHORT
    )
    own = cases.shard(0, 2)
    for name, (n_outputs, is_labels, loss) in cases.CASES.items():
        X, y, weight = (part[own] for part in cases.samples(n_outputs, is_labels))
        z = cases.network(n_outputs)(X)
        value = copy.deepcopy(loss)(z, y, weight)
        (gradient,) = torch.autograd.grad(value, z)
        assert found[name][:2] == pytest.approx([value.item()] * 2, abs=1e-12)
        np.testing.assert_allclose(found[name][2], gradient, rtol=1e-9, atol=1e-12)


def _sums(rank, size):
    processes = Processes()
    found = []
    for n in (3, GATHERED):  # Gathered, and reduced.
        for dtype in (torch.float64, torch.int32):
            own = (torch.arange(n) + rank).to(dtype)
            found.append(processes.sum((own, own[:1])))
            processes.sum_(own)
            assert torch.equal(own, found[-1][0])
    return found


def test_short_and_long_messages_are_summed_alike(tmp_path):
    for found in run_in_processes(2, _sums, folder=tmp_path):
        for whole, first in found:
            expected = 2 * torch.arange(len(whole)) + 1
            torch.testing.assert_close(whole, expected.to(whole.dtype))
            torch.testing.assert_close(first, whole[:1])


def _mistakes(rank, size):
    """Messages of errors that all processes are to have."""
    z, y = torch.zeros(2, 3), torch.tensor([0, 1])
    messages = []
    for loss, logits in [
        (AnyLoss("f1" if rank else "mcc"), z[:, 0]),
        (BCE() if rank else AnyLoss("f1"), z[:, 0]),
        (CrossEntropy(), z[:, : 3 - rank]),
    ]:
        with pytest.raises(ValueError, match="Processes have different") as error:
            loss(logits, y)
        messages.append(str(error.value))
    group = dist.new_group([0, 1])
    loss = AnyLoss("f1", process_group=group)
    loss(z[:, 0], y)
    dist.barrier()
    dist.destroy_process_group(group)
    with pytest.raises(RuntimeError, match=r"was destroyed.*process_group=None"):
        loss(z[:, 0], y)
    loss = AnyLoss("f1")
    loss(z[:, 0], y)
    of_classes = AnyLoss("f1", "linear").for_target("multiclass")
    of_classes(z, y)
    dist.barrier()
    dist.destroy_process_group()
    with pytest.raises(RuntimeError, match=r"was destroyed.*process_group=None"):
        loss(z[:, 0], y)
    loss.process_group = None
    loss(z[:, 0], y)
    AnyLoss("f1")(z[:, 0], y)  # A new one knows of no group.
    of_classes.reset()  # Nor does one in a new training.
    of_classes(z, y)
    return messages


def test_different_losses_or_classes_are_an_error_in_all_processes(tmp_path):
    first, second = run_in_processes(2, _mistakes, folder=tmp_path)
    assert first == second
    metric, kind, classes = first
    assert "process 0 has AnyLoss(metric='mcc'" in metric
    assert "metric='f1'" in metric
    assert "process 1 has BCE()" in kind
    assert "(2, 1, 3)" in classes
    assert "(2, 1, 2)" in classes


def test_a_group_has_to_be_one():
    with pytest.raises(TypeError, match="process_group must be 'world', None or"):
        AnyLoss("f1", process_group="all")
    with pytest.raises(ValueError, match=r"'mean'.*'sum'; got 'max'"):
        Processes(gradients="max")


def test_forms_for_classes_follow_the_group():
    loss = AnyLoss("f1")
    loss(torch.zeros(2, 3), torch.tensor([0, 1]))
    loss.process_group = None
    (form,) = loss._forms.values()
    assert form.process_group is None
    assert (
        AnyLoss("f1", process_group=None).for_target("multiclass").process_group is None
    )
    assert pickle.loads(pickle.dumps(loss)).process_group is None


def _sharded_weights(rank, size):
    """The gradient of a batch, and what a training ends with."""

    def wrap(module):
        fsdp.fully_shard(module, mesh=init_device_mesh("cpu", (size,)))
        return module

    module, own = wrap(cases.network(1)), cases.shard(rank, size)
    X, y, weight = (values[own] for values in cases.samples(1, False))
    AnyLoss("f1")(module(X), y, weight).backward()
    grads = [parameter.grad.full_tensor() for parameter in module.parameters()]
    gradient = torch.cat([grad.reshape(-1) for grad in grads]).numpy()
    return gradient, *cases.trained_weights(rank, size, wrap=wrap)


@pytest.mark.parametrize("size", [2, 4])
def test_a_training_of_sharded_weights_is_that_of_one_process(tmp_path, size):
    _, gradient = cases.loss_and_gradient("f1", weighted=True)
    weights, decisions = cases.trained_weights()
    for found in run_in_processes(size, _sharded_weights, folder=tmp_path):
        np.testing.assert_allclose(found[0], gradient, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found[1], weights, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(found[2], decisions)
