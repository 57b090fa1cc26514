"""Training with torchrun: a worker that dies ends the job, which can be resumed."""

import os
import subprocess
import sys

import numpy as np
import pytest
import torch.distributed as dist

from tests.training.distributed import cases

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not dist.is_available() or not dist.is_gloo_available(),
    reason="signals and gloo on the loopback interface",
)

SCRIPT = """
import os, signal, sys
from datetime import timedelta
from pathlib import Path
import numpy as np
import torch
from skorch.callbacks import Callback
from sk_anyloss.training.distributed.checkpoint import ResumableCheckpoint
from tests.training.distributed import cases

torch.distributed.init_process_group("gloo", timeout=timedelta(seconds=60))
rank = torch.distributed.get_rank()


class Killed(Callback):
    def on_epoch_end(self, net, **kwargs):
        killed = Path("killed")
        if rank == 1 and len(net.history) == 3 and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)


callbacks = [ResumableCheckpoint("net.pt")]
if "kill" in sys.argv:
    callbacks.insert(0, Killed())
figures, weights, decisions = cases.trained("closed form", callbacks=callbacks)
np.savez(f"found{rank}.npz", figures, weights, decisions)
torch.distributed.destroy_process_group()
"""


def torchrun(folder, *args):
    (folder / "train.py").write_text(SCRIPT, encoding="utf-8")
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    command += ["--nproc-per-node=2", "--max-restarts=0", "train.py"]
    return subprocess.run(
        [*command, *args],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        env={
            **os.environ,
            "PYTHONPATH": root,
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "lo",
        },
        check=False,
    )


def assert_trained(folder):
    expected = cases.trained("closed form")
    for rank in range(2):
        with np.load(folder / f"found{rank}.npz") as found:
            for own, other in zip(found.values(), expected, strict=True):
                np.testing.assert_allclose(own, other, rtol=1e-9, atol=1e-9)


def test_a_job_resumes_after_a_worker_was_killed(tmp_path):
    # A job of its own: within one job gloo does not always connect again.
    died = torchrun(tmp_path, "kill")
    assert died.returncode != 0
    assert "exitcode: -9" in died.stderr  # It was, in epoch 3.
    assert not (tmp_path / "found0.npz").exists()
    done = torchrun(tmp_path, "kill")
    assert done.returncode == 0, done.stderr[-2000:]
    assert_trained(tmp_path)
