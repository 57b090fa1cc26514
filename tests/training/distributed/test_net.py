"""A net in several processes trains as in one."""

import functools
from unittest.mock import patch

import numpy as np
import pytest
import torch
import torch.distributed as dist
from skorch.callbacks import Checkpoint

from sk_anyloss.losses import AnyLoss
from sk_anyloss.training.distributed.checkpoint import ResumableCheckpoint
from sk_anyloss.training.network import warm_up
from tests.processes import run_in_processes
from tests.training.distributed import cases

pytestmark = pytest.mark.skipif(
    not dist.is_available() or not dist.is_gloo_available(),
    reason="torch was built without gloo",
)


#: What four processes train as well as two: some of them have no samples of a batch.
OF_FOUR = [
    "closed form",
    "moving average",
    "early stopping",
    *(name for name in cases.CASES if "batches of three" in name),
]
RUNS = [(2, name) for name in cases.CASES] + [(4, name) for name in OF_FOUR]


def _all_cases(rank, size):
    torch.manual_seed(rank)
    found = {name: cases.trained(name) for n, name in RUNS if n == size}
    found["sparse"] = cases.trained_sparse()
    found["parquet"] = cases.trained_parquet()
    found["few seen"] = _trained_with_few_seen()
    # Weights and order come from the first process.
    torch.manual_seed(rank)
    module = torch.nn.Linear(6, 1).double()
    found["seeds"] = cases.trained("autograd", module=module, random_state=None)
    return found


@pytest.fixture(scope="module")
def results_of(tmp_path_factory):
    """What some number of processes find, computed once."""

    @functools.cache
    def run(size):
        folder = tmp_path_factory.mktemp("nets")
        return run_in_processes(size, _all_cases, folder=folder)

    return run


@pytest.fixture(params=[2, 4], ids="{} processes".format)
def results(request, results_of):
    return results_of(request.param)


def assert_same(found, expected):
    for own, other in zip(found[:2], expected[:2], strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(found[2], expected[2])


@pytest.mark.parametrize(
    ("results", "name"), RUNS, indirect=["results"], ids=lambda value: f"{value}"
)
def test_a_training_is_that_of_one_process(results, name):
    expected = cases.trained(name)
    assert len(set(expected[0][:, 0])) > 1  # It learns.
    for found in results:
        assert_same(found[name], expected)


def test_sparse_samples_are_spread_as_well(results):
    for found in results:
        assert_same(found["sparse"], cases.trained_sparse())


def test_samples_on_disk_are_spread_as_well(results):
    for found in results:
        assert_same(found["parquet"], cases.trained_parquet())


def _trained_with_few_seen():
    """The threshold after the start on cross-entropy is that of one batch."""
    with patch.object(warm_up, "MAX_SAMPLES", 30):
        return cases.trained("autograd")


def test_the_threshold_is_placed_by_the_samples_that_one_process_sees(results):
    expected = _trained_with_few_seen()
    assert np.abs(expected[1] - cases.trained("autograd")[1]).max() > 1e-3
    for found in results:
        assert_same(found["few seen"], expected)


def test_weights_and_order_come_from_the_first_process(results):
    for found in results[1:]:
        for own, first in zip(found["seeds"], results[0]["seeds"], strict=True):
            np.testing.assert_array_equal(own, first)


def _with_own_samples(rank, size):
    X, y, weight = cases.samples()
    own = slice(0, 50) if rank == 0 else slice(50, None)
    options = {"sharded": True, "max_epochs": 8}
    full = cases.build("closed form", batch_size=1.0, **options)
    full.fit(X[own], y[own], sample_weight=weight[own])
    several = cases.build("autograd", batch_size=60, **options)
    several.fit(X[own], y[own], sample_weight=weight[own])
    return cases.summary(full, X), cases.summary(several, X), len(several.history)


def test_processes_may_have_samples_of_their_own(tmp_path):
    results = run_in_processes(2, _with_own_samples, folder=tmp_path)
    expected = cases.trained("closed form, full batch", max_epochs=8)
    for full, several, n_epochs in results:
        assert_same(full, expected)
        assert n_epochs == 8
        np.testing.assert_array_equal(several[1], results[0][1][1])


def _without_samples(rank, size):
    """The second process has none, or no sample of the last class."""
    full = {"batch_size": 1.0, "max_epochs": 8}
    X, y, weight = cases.samples()
    own = slice(None) if rank == 0 else slice(0, 0)
    net = cases.build("closed form", sharded=True, **full)
    net.fit(X[own], y[own], sample_weight=weight[own])
    X, y, weight = cases.samples("classes")
    own = (y < 2) == bool(rank)
    steep = cases.build("autograd, classes", sharded=True, L="auto", **full)
    steep.fit(X[own], y[own], sample_weight=weight[own])
    return cases.summary(net, X), cases.summary(steep, X)


def test_a_process_may_lack_a_class_or_have_no_samples(tmp_path):
    full = {"batch_size": 1.0, "max_epochs": 8}
    expected = cases.trained("closed form", **full)
    steep = cases.trained("autograd, classes", L="auto", **full)
    for own, other in run_in_processes(2, _without_samples, folder=tmp_path):
        assert_same(own, expected)
        assert_same(other, steep)


def _evaluated_by_the_first(rank, size):
    X, y, _ = cases.samples()
    found = []
    for criterion in (AnyLoss, torch.nn.BCEWithLogitsLoss):
        net = cases.build("autograd", criterion=criterion, warm_up=0, max_epochs=2)
        net.fit(X, y)
        if not rank:
            z = torch.from_numpy(net.logits(X))
            loss = net.get_loss(z, y, X=X, training=False).item()
            found.append((net.score(X, y), loss))
    return found


def test_one_process_evaluates_by_itself(tmp_path):
    found, _ = run_in_processes(2, _evaluated_by_the_first, folder=tmp_path, timeout=40)
    expected = _evaluated_by_the_first(0, 1)
    assert found == [pytest.approx(values, abs=1e-9) for values in expected]


def _with_checkpoint(rank, size, folder):
    checkpoint = Checkpoint(None, dirname=f"{folder}/{rank}")
    lines = []
    net = cases.build(
        "closed form", callbacks=[checkpoint], callbacks__print_log__sink=lines.append
    )
    net.fit(*cases.samples()[:2])
    return len(lines)


def test_the_first_process_prints_and_writes_the_checkpoints(tmp_path):
    found = run_in_processes(2, _with_checkpoint, tmp_path, folder=tmp_path / "store")
    assert found[0] > 0
    assert found[1] == 0
    assert (tmp_path / "0" / "params.pt").exists()
    assert not (tmp_path / "1" / "params.pt").exists()


def _with_damaged_checkpoint(rank, size, folder):
    saved = ResumableCheckpoint(folder / "net.pt")
    cases.trained("closed form", callbacks=[saved])
    if not rank:
        (path,) = folder.glob("net-*.pt")
        path.write_bytes(b"something else")
    with pytest.raises(
        ValueError, match=r"net-\w+\.pt is no checkpoint.*remove it"
    ) as error:
        cases.trained("closed form", callbacks=[saved])
    return str(error.value)


def test_a_damaged_checkpoint_is_an_error_in_all_processes(tmp_path):
    folder = tmp_path / "at"
    found = run_in_processes(2, _with_damaged_checkpoint, tmp_path, folder=folder)
    assert found[0] == found[1]


def _messages(rank, size):
    """Number of messages of an epoch of 40 batches, less that of one of 3 batches."""
    counts = []
    for batch_size in (3, 40):
        with (
            patch.object(dist, "all_gather", wraps=dist.all_gather) as gathered,
            patch.object(dist, "all_reduce", wraps=dist.all_reduce) as reduced,
        ):
            module = cases.mlp(batch_norm=False)
            options = {"batch_size": batch_size, "max_epochs": 1, "module": module}
            cases.build("closed form", **options).fit(*cases.samples()[:2])
            counts.append(gathered.call_count + reduced.call_count)
    return counts[0] - counts[1]


def test_a_step_has_a_message_of_the_statistics_and_one_of_the_gradient(tmp_path):
    assert run_in_processes(2, _messages, folder=tmp_path) == [2 * 37] * 2


def _mistakes(rank, size):
    X, y, _ = cases.samples()
    messages = []
    for changed, data in [
        ({"metric": "mcc" if rank else "f1"}, (X, y)),
        ({"batch_size": 20 + rank}, (X, y)),
        ({"max_epochs": 2 + rank}, (X, y)),
        ({}, (X[rank:], y[rank:])),
        ({}, (X, np.roll(y, rank))),
        ({"module": cases.mlp(1 + rank)}, (X, y)),
    ]:
        with pytest.raises(ValueError, match="Processes have different") as error:
            cases.build("closed form", **changed).fit(*data)
        messages.append(str(error.value))
    # By itself, each trains on what it likes.
    cases.build("closed form", process_group=None).fit(X[rank:], y[rank:])
    return messages


def test_processes_that_do_not_train_the_same_are_an_error_in_all(tmp_path):
    first, second = run_in_processes(2, _mistakes, folder=tmp_path)
    assert first == second
    metric, size, epochs, samples, labels, module = first
    assert "metric='f1'" in metric
    assert "metric='mcc'" in metric
    assert "batch_size=21" in size
    assert "max_epochs=3" in epochs
    assert "120 samples" in samples
    assert "119 samples" in samples
    assert "sharded=True" in labels
    assert "parameters=" in module
