"""Time and memory over the number of samples on disk, and over processes.

    python -m benchmarks.scale files 100_000 1_000_000
    python -m benchmarks.scale processes 1 2

``files`` writes Parquet files of 30 columns of float32 and trains on them from memory
and from disk, each in a process of its own: seconds and CPU seconds of the second
epoch, peak memory above that of a small fit, F1 on other samples. ``processes`` trains
a network of (256, 256) in several processes: samples a second, CPU seconds of all
processes together, and the median time of the sums of four and of a million numbers
over them. CPU seconds count where other programs use the machine.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist

from sk_anyloss import AnyLossNet
from sk_anyloss.losses.distributed.processes import Processes
from sk_anyloss.losses.steps import Sigmoid
from sk_anyloss.training.network.mlp import MLP

N_FEATURES, ROW_GROUP = 30, 100_000

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

folder, where = sys.argv[1:]
small = ParquetSource(folder + "/test", target="y")
model(Timer(), 1).fit(small)
before, timer = peak(), Timer()
data = ParquetSource(folder + "/train", target="y")
if where == "memory":
    X = np.empty(data.shape, data.dtype)
    for g, start in zip(data.groups, np.cumsum([0] + [g.n for g in data.groups])):
        data.files.matrix(g, X[start : start + g.n])
    fitted = model(timer).fit(X, data.labels())
else:
    fitted = model(timer).fit(data)
grown = peak() - before
print(timer.seconds, timer.cpu, grown, fitted.score(small, small.labels()))
"""


def make_samples(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Samples of float32, about 8 in 100 of them positive."""
    X = rng.normal(size=(n, N_FEATURES)).astype(np.float32)
    score = X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=n)
    return X, (score > 2).astype(np.int8)


def write_files(folder: Path, n: int, seed: int) -> None:
    """Write n samples as Parquet files of a million at most, in small row groups."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    folder.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    for i, start in enumerate(range(0, n, 10 * ROW_GROUP)):
        X, y = make_samples(min(10 * ROW_GROUP, n - start), rng)
        columns = {f"x{j}": X[:, j] for j in range(N_FEATURES)}
        table = pa.table({**columns, "y": y})
        pq.write_table(table, folder / f"{i:05}.parquet", row_group_size=ROW_GROUP)


def measure_files(n: int, folder: Path) -> dict[str, list[float]]:
    """Seconds, CPU seconds, bytes and score of a training from memory and from disk."""
    write_files(folder / "train", n, seed=0)
    write_files(folder / "test", 20_000, seed=1)
    found = {}
    for where in ("memory", "disk"):
        command = [sys.executable, "-c", MEASURE, str(folder), where]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found[where] = [float(number) for number in done.stdout.split()]
    return found


def train_in_process(rank: int, size: int, folder: str, n: int) -> None:
    """Train for some epochs; the first process prints what it took."""
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    torch.set_num_threads(1)
    store = f"file://{folder}/store"
    dist.init_process_group("gloo", init_method=store, rank=rank, world_size=size)
    X, y = make_samples(n, np.random.default_rng(0))
    module = MLP(N_FEATURES, hidden=(256, 256), batch_norm=False, random_state=0)
    options = {"criterion__step": Sigmoid(L=10), "lr": 1e-3, "random_state": 0}
    net = AnyLossNet(module, batch_size=5000, max_epochs=3, **options)
    net.fit(X, y.astype(int))  # The first epoch also makes buffers and connections.
    start = time.process_time()
    net.partial_fit(X, y.astype(int))
    processes, cpu = Processes(), torch.tensor([time.process_time() - start])
    cpu = processes.sum(cpu)
    seconds = min(epoch["dur"] for epoch in net.history)
    one_sum, large_sum = time_of_sum(processes, 4), time_of_sum(processes, 10**6, 30)
    if rank == 0:
        print(
            f"{size} processes: {n / seconds:12,.0f} samples/s, "
            f"{1e6 * cpu.item() / (3 * n):.2f} s of CPU for a million samples; "
            f"{1e3 * one_sum:.3f} ms for a sum of four numbers, "
            f"{1e3 * large_sum:.1f} ms of a million",
            flush=True,
        )
    processes.barrier()
    dist.destroy_process_group()


def time_of_sum(processes: Processes, n: int, repeats: int = 1000) -> float:
    """Median time of the sum of n numbers over the processes."""
    counts, times = torch.zeros(n), []
    for _ in range(repeats):
        start = time.perf_counter()
        processes.sum(counts)
        times.append(time.perf_counter() - start)
    return float(np.median(times))


def main(arguments: list[str]) -> None:
    """Print a line for each case."""
    kind, *numbers = arguments
    for number in numbers:
        with tempfile.TemporaryDirectory() as folder:
            if kind == "processes":
                size = int(number)
                args = size, folder, 100_000
                torch.multiprocessing.spawn(train_in_process, args, nprocs=size)
                continue
            n = int(number)
            for where, found in measure_files(n, Path(folder)).items():
                seconds, cpu, grown, score = found
                print(
                    f"{n:12,} samples from {where:6}: {seconds:7.2f} s an epoch, "
                    f"{cpu:7.2f} s of CPU, {grown / 2**20:7.0f} MB, F1 {score:.3f}",
                    flush=True,
                )


if __name__ == "__main__":
    main(sys.argv[1:])
