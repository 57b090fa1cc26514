"""Training with torchrun: a worker that dies ends or restarts the job, which resumes.

The job is that of the command line, by its own parser and agent, but its workers are
forked from a server that has imported everything, instead of two interpreters for each
attempt.
"""

import os
import signal
import sys
from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.distributed as dist
from skorch.callbacks import Callback
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

from sk_anyloss.training.distributed.checkpoint import ResumableCheckpoint
from tests.processes import fork_context
from tests.training.distributed import cases

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not dist.is_available() or not dist.is_gloo_available(),
    reason="signals and gloo on the loopback interface",
)


class KilledOnce(Callback):
    """Kill one of the workers in its third epoch, before that is saved."""

    def __init__(self, flag):
        self.flag = flag

    def on_epoch_end(self, net, **kwargs):
        is_victim = net.processes_.rank == 1 and len(net.history) == 3
        if is_victim and not self.flag.exists():
            self.flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)


class Started(Callback):
    """Note how many epochs lie behind at the start of an epoch."""

    def __init__(self):
        self.epochs = []

    def on_epoch_begin(self, net, **kwargs):
        self.epochs.append(len(net.history) - 1)


def _train(folder):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", timeout=timedelta(seconds=60))
    folder, started = Path(folder), Started()
    saved = ResumableCheckpoint(folder / "net.pt")
    callbacks = [KilledOnce(folder / "killed"), started, saved]
    found = cases.trained("closed form", callbacks=callbacks)
    dist.destroy_process_group()
    return started.epochs, found


@pytest.fixture
def torchrun(tmp_path, monkeypatch):
    """Run the job, and return what its workers do."""
    launcher = pytest.importorskip("torch.distributed.run")
    api = pytest.importorskip("torch.distributed.launcher.api")
    fork_context()
    # Workers of a restart would read the addresses of those before it.
    monkeypatch.setenv("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1")
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    signals = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT]
    handlers = [signal.getsignal(number) for number in signals]

    def run(*options):
        # What --standalone stands for.
        command = ["--rdzv-backend=c10d", "--rdzv-endpoint=localhost:0"]
        command += ["--nproc-per-node=2", "--monitor-interval=0.1", *options]
        args = launcher.parse_args([*command, "train.py"])
        config, _, _ = launcher.config_from_args(args)
        config.start_method = "forkserver"
        return api.elastic_launch(config, _train)(str(tmp_path))

    yield run
    for number, handler in zip(signals, handlers, strict=True):
        signal.signal(number, handler)


def assert_resumed(results):
    """After epoch 2 or 3, and at the end as if nothing had happened."""
    expected = cases.trained("closed form")
    assert sorted(results) == [0, 1]
    for epochs, found in results.values():
        assert epochs in ([2, 3], [3])  # The first process may have saved the third.
        for own, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-9)


def test_a_killed_worker_ends_the_job_and_the_next_one_resumes(torchrun, tmp_path):
    # That of the worker, or that of the other one, which has lost it.
    message = r"Signal 9 \(SIGKILL\) received|Connection \w+ by peer"
    with pytest.raises(ChildFailedError, match=message):
        torchrun("--max-restarts=0")
    assert (tmp_path / "killed").exists()
    assert_resumed(torchrun("--max-restarts=0"))


def test_a_restart_within_the_job_resumes(torchrun, tmp_path):
    results = torchrun("--max-restarts=1")
    assert (tmp_path / "killed").exists()
    assert_resumed(results)
