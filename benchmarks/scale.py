"""Time and memory over the number of samples on disk, and over processes.

    python -m benchmarks.scale files 100_000 1_000_000
    python -m benchmarks.scale processes 1 2
    python -m benchmarks.scale messages 2
    python -m benchmarks.scale project 10_000_000_000 64

``files`` writes Parquet files of 30 columns of float32 and trains on them from memory
and from disk, each in a process of its own: seconds and CPU seconds of the second
epoch, peak memory above that of a small fit, F1 on other samples. Above 20 million
samples it is six columns, from disk only, and the first epoch. With ``--folder`` the
files stay there, and are read again by the next call. ``processes`` trains a
network of (256, 256) in several processes, each on a core of its own: samples a second,
those of as many trainings that know nothing of each other, which is what the computer
allows, and CPU seconds of all processes together, in steps of ``--batch`` samples of
all of them. ``messages`` times the sums over processes beside the calls of torch they
consist of. ``project`` measures the terms of an epoch of many samples on many nodes,
and adds them up. CPU seconds count where other programs use the machine.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
from skorch.callbacks import Callback

from sk_anyloss import AnyLossNet
from sk_anyloss.losses.distributed.processes import Processes
from sk_anyloss.losses.steps import Sigmoid
from sk_anyloss.training.network.mlp import MLP

N_FEATURES, ROW_GROUP = 30, 100_000
#: More samples than this are not put into the memory, and have fewer columns.
IN_MEMORY, FEW_FEATURES = 20_000_000, 6
#: Of all processes together.
BATCH_SIZE = 5000
HIDDEN = 256, 256

#: Prints the two times of an epoch, the growth of the peak memory, and the score.
MEASURE = """
import sys, time, warnings
import pyarrow.parquet as pq, numpy as np
from skorch.callbacks import Callback
from sk_anyloss import AnyLossClassifier
from sk_anyloss.training.data.parquet import ParquetSource
warnings.simplefilter("ignore")

class Timer(Callback):
    def on_epoch_begin(self, net, **kwargs):
        self.start = time.perf_counter(), time.process_time()
    def on_epoch_end(self, net, **kwargs):
        self.seconds = time.perf_counter() - self.start[0]
        self.cpu = time.process_time() - self.start[1]

def peak():
    # Not ru_maxrss, which starts at the peak of the process that has started this one.
    lines = open("/proc/self/status").read().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if "VmHWM" in line)

def model(timer, epochs=2):
    return AnyLossClassifier(hidden=(32,), L=10, max_epochs=epochs, random_state=0,
                             batch_size=5000, callbacks=[timer])

folder, where, epochs = sys.argv[1:]
small = ParquetSource(folder + "/test", target="y")
model(Timer(), 1).fit(small)
before, timer = peak(), Timer()
data = ParquetSource(folder + "/train", target="y")
if where == "memory":
    X = np.empty(data.shape, data.dtype)
    for g, start in zip(data.groups, np.cumsum([0] + [g.n for g in data.groups])):
        data.files.matrix(g, X[start : start + g.n])
    fitted = model(timer, int(epochs)).fit(X, data.labels())
else:
    fitted = model(timer, int(epochs)).fit(data)
grown = peak() - before
print(timer.seconds, timer.cpu, grown, fitted.score(small, small.labels()))
"""


def make_samples(
    n: int, rng: np.random.Generator, n_features: int = N_FEATURES
) -> tuple[np.ndarray, np.ndarray]:
    """Samples of float32, about 8 in 100 of them positive."""
    X = rng.normal(size=(n, n_features)).astype(np.float32)
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
    return X, (score > 2).astype(np.int8)


def write_files(folder: Path, n: int, seed: int, n_features: int = N_FEATURES) -> None:
    """Write n samples as Parquet files of a million at most, in small row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    for i, start in enumerate(range(0, n, 10 * ROW_GROUP)):
        X, y = make_samples(min(10 * ROW_GROUP, n - start), rng, n_features)
        columns = {f"x{j}": X[:, j] for j in range(n_features)}
        table = pa.table({**columns, "y": y})
        pq.write_table(table, folder / f"{i:05}.parquet", row_group_size=ROW_GROUP)


def measure_files(n: int, folder: Path) -> dict[str, list[float]]:
    """Seconds, CPU seconds, bytes and score of a training from memory and from disk."""
    found, fits = {}, n <= IN_MEMORY
    n_features = N_FEATURES if fits else FEW_FEATURES
    if not (folder / "test").exists():  # It is written last.
        shutil.rmtree(folder / "train", ignore_errors=True)
        write_files(folder / "train", n, 0, n_features)
        write_files(folder / "unfinished", 20_000, 1, n_features)
        (folder / "unfinished").rename(folder / "test")
    for where in ("memory", "disk") if fits else ("disk",):
        command = [sys.executable, "-c", MEASURE, str(folder), where, str(1 + fits)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found[where] = [float(number) for number in done.stdout.split()]
    return found


def print_files(n: int, folder: str | None = None) -> None:
    """A line for each place that the samples are trained from."""
    if folder is None:
        with tempfile.TemporaryDirectory() as temporary:
            measured = measure_files(n, Path(temporary))
    else:
        measured = measure_files(n, Path(folder, str(n)))
    for where, (seconds, cpu, grown, score) in measured.items():
        print(
            f"{n:12,} samples from {where:6}: {seconds:7.2f} s an epoch, "
            f"{cpu:7.2f} s of CPU, {grown / 2**20:7.0f} MB, F1 {score:.3f}",
            flush=True,
        )


def in_processes(size: int, function: Callable[..., Any], *args: Any) -> list[Any]:
    """Results of a function in several processes that are connected by gloo."""
    with tempfile.TemporaryDirectory() as folder:
        given = size, folder, function, args
        torch.multiprocessing.spawn(_connected, given, nprocs=size)
        paths = [Path(folder) / f"{rank}.json" for rank in range(size)]
        return [json.loads(path.read_text(encoding="utf-8")) for path in paths]


def _connected(
    rank: int, size: int, folder: str, function: Callable[..., Any], args: Any
) -> None:
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    if hasattr(os, "sched_setaffinity"):  # Linux puts them on one core otherwise.
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[rank % len(cores)]})
    warnings.simplefilter("ignore")  # So few epochs end with one class for all samples.
    torch.set_num_threads(1)
    store = f"file://{folder}/store"
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=size)
    found = json.dumps(function(*args))
    Path(folder, f"{rank}.json").write_text(found, encoding="utf-8")
    dist.barrier()
    dist.destroy_process_group()


def train(
    n: int, epochs: int, group: str | None, batch_size: int
) -> list[tuple[float, float]]:
    """Seconds and CPU seconds of the epochs in this process, after a first one."""
    X, y = make_samples(n, np.random.default_rng(0))
    module = MLP(N_FEATURES, hidden=HIDDEN, batch_norm=False, random_state=0)
    timer = EpochTimes()
    net = AnyLossNet(
        module,
        criterion__step=Sigmoid(L=10),
        lr=1e-3,
        batch_size=batch_size,
        max_epochs=1 + epochs,  # The first one also makes buffers and connections.
        callbacks=[timer],
        process_group=group,
        random_state=0,
    )
    dist.barrier()
    net.fit(X, y.astype(int))
    return timer.times[1:]


class EpochTimes(Callback):
    """Seconds and CPU seconds of each epoch."""

    def __init__(self) -> None:
        self.times: list[tuple[float, float]] = []

    def on_epoch_begin(self, net: Any, **kwargs: Any) -> None:
        """Read the clocks."""
        self.start = time.perf_counter(), time.process_time()

    def on_epoch_end(self, net: Any, **kwargs: Any) -> None:
        """Read them again."""
        ends = time.perf_counter(), time.process_time()
        seconds, cpu = (b - a for a, b in zip(self.start, ends, strict=True))
        self.times.append((seconds, cpu))


def measure_training(
    size: int,
    group: str | None,
    batch_size: int = BATCH_SIZE,
    n: int = 100_000,
    epochs: int = 8,
) -> tuple[float, float, float]:
    """Samples a second of all processes, best and median epoch, and CPU s of one."""
    times = np.array(in_processes(size, train, n, epochs, group, batch_size))
    samples = n if group is not None else n * size
    speeds = samples / times[:, :, 0].max(axis=0)
    cpu = np.median(times[:, :, 1].sum(axis=0)) / samples
    return float(speeds.max()), float(np.median(speeds)), float(cpu)


def print_processes(size: int, batch: int = BATCH_SIZE) -> None:
    """What a training in several processes reaches, and what it could reach."""
    kinds: dict[str, str | None] = {"one training": "world"}
    if size > 1:
        kinds["independent trainings"] = None
    for name, group in kinds.items():
        best, median, cpu = measure_training(size, group, batch)
        print(
            f"{size} processes, {name:21}: {best:9,.0f} samples/s in the best epoch, "
            f"{median:9,.0f} in the median one, {1e6 * cpu:.2f} s of CPU for a million",
            flush=True,
        )


def time_messages() -> dict[str, float]:
    """Median seconds of sums over the processes, and of what they consist of."""
    processes, size = Processes(), dist.get_world_size()
    few, many = torch.zeros(4), torch.zeros(10**6)
    gathered = list(torch.empty(size, 4).unbind())
    gradient = torch.zeros(N_FEATURES * 256 + 256**2)
    calls: dict[str, Callable[[], Any]] = {
        "sum of four numbers": lambda: processes.sum(few),
        "torch: all_reduce of four": lambda: dist.all_reduce(few),
        "torch: all_reduce of four, async": lambda: wait_for(dist.all_reduce, few),
        "torch: all_gather of four": lambda: dist.all_gather(gathered, few),
        "sum of a gradient of (256, 256)": lambda: processes.sum_(gradient),
        "sum of a million": lambda: processes.sum_(many),
    }
    times: dict[str, list[float]] = {name: [] for name in calls}
    with torch.inference_mode():
        for i in range(1000):  # In turn, since the load of the computer changes.
            for name, call in calls.items():
                if "four" not in name and i % 20:
                    continue
                start = time.perf_counter()
                call()
                times[name].append(time.perf_counter() - start)
    return {name: float(np.median(seconds)) for name, seconds in times.items()}


def wait_for(collective: Callable[..., Any], tensor: torch.Tensor) -> None:
    """A collective operation that is waited for."""
    collective(tensor, async_op=True).wait()


def print_messages(size: int) -> None:
    """A line for each kind of message."""
    for name, seconds in in_processes(size, time_messages)[0].items():
        print(f"{size} processes, {name:32}: {1e3 * seconds:7.3f} ms", flush=True)


def project(n: int, nodes: int) -> None:
    """An epoch of n samples on many nodes, from terms that are measured here."""
    few = 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        files = measure_files(few, Path(folder))
    decode = max(files["disk"][1] - files["memory"][1], 0) / few
    large = measure_training(1, "world")[2]
    messages = in_processes(2, time_messages)[0]
    hop = messages["sum of four numbers"]
    # Two processes send half of the bytes in each of two rounds.
    bandwidth = 4e6 / max(messages["sum of a million"] - 2 * hop, 1e-9)
    print(f"hop {1e3 * hop:.3f} ms, bandwidth {bandwidth / 1e6:,.0f} MB/s")
    print(f"decoding {1e6 * decode:.2f} s of CPU for a million samples")
    weights = {"(32,)": 31 * 32 + 33, "(256, 256)": 31 * 256 + 257 * 256 + 257}
    costs = {"(32,)": files["disk"][1] / few, "(256, 256)": large + decode}
    for name, cost in costs.items():
        for batch in (BATCH_SIZE, 10 * BATCH_SIZE):
            training, steps, statistics, gradient = terms_of_epoch(
                n / nodes, nodes, batch, cost, 4 * weights[name], hop, bandwidth
            )
            sending = steps * (statistics + gradient)
            print(
                f"{name}, {batch:,} samples of each of {nodes} nodes in a step: "
                f"{training:,.0f} s of training ({1e6 * cost:.2f} s a million); "
                f"{steps:,.0f} steps, {1e3 * statistics:.1f} ms for statistics and "
                f"{1e3 * gradient:.1f} ms for gradients, {sending:,.0f} s; together "
                f"{(training + sending) / 60:.1f} minutes, "
                f"{100 * training / (training + sending):.0f} % of them training",
                flush=True,
            )


def terms_of_epoch(
    own: float,
    nodes: int,
    batch: int,
    cost: float,
    n_bytes: int,
    hop: float,
    bandwidth: float,
) -> tuple[float, float, float, float]:
    """What an epoch takes on each node, on a ring of nodes.

    Parameters
    ----------
    own : float
        Samples of a node.
    nodes, batch : int
        Number of nodes, and of samples of each of them in a step.
    cost : float
        Seconds for a sample.
    n_bytes : int
        Of a gradient.
    hop, bandwidth : float
        Seconds of a round, and bytes a second.

    Returns
    -------
    training, steps, statistics, gradient : float
        Seconds of training, number of steps, and seconds of their two messages: the
        statistics go round the ring once, the gradient in parts twice.
    """
    rounds = nodes - 1
    volume = 2 * rounds / nodes * n_bytes
    return own * cost, own / batch, rounds * hop, 2 * rounds * hop + volume / bandwidth


def main(arguments: list[str]) -> None:
    """Print a line for each case."""
    kinds: dict[str, Callable[..., None]] = {
        "files": print_files,
        "processes": print_processes,
        "messages": print_messages,
        "project": project,
    }
    parser = argparse.ArgumentParser()
    parser.add_argument("kind", choices=kinds)
    parser.add_argument("numbers", nargs="+", type=int)
    parser.add_argument("--folder", help="where files are kept")
    parser.add_argument("--batch", type=int, default=BATCH_SIZE, help="for processes")
    options = parser.parse_args(arguments)
    if options.kind == "project":
        project(*options.numbers)
        return
    more = {"files": {"folder": options.folder}, "processes": {"batch": options.batch}}
    for number in options.numbers:
        kinds[options.kind](number, **more.get(options.kind, {}))


if __name__ == "__main__":
    main(sys.argv[1:])
