"""Time over the number of samples, features, hidden units and networks; memory."""

from __future__ import annotations

import resource
import threading
from pathlib import Path
from typing import TypeAlias

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone

from benchmarks.speed.ratios import time_call
from benchmarks.speed.workloads import SMALL, Workload, make_data
from sk_anyloss import AnyLossClassifier, fit_stack

#: ``value`` of the size and ``seconds`` of a fit.
Point: TypeAlias = dict[str, float]

SIZES = {
    "samples": [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000],
    "features": [2, 8, 32, 128, 512],
    "hidden width": [1, 4, 16, 64, 256],
    "networks in a stack": [1, 5, 10, 50, 200],
}


def measure_scaling(repeats: int, quick: bool) -> dict[str, list[Point]]:
    """Seconds for each value of one size, with the others fixed."""
    results: dict[str, list[Point]] = {}
    for name, values in SIZES.items():
        results[name] = []
        for value in values[:-1] if quick else values:
            workload, n_models = Workload(10_000, 20, 500, (16,), 3), 1
            if name == "samples":
                workload = workload._replace(n=value, batch="auto")
            elif name == "features":
                workload = workload._replace(d=value)
            elif name == "hidden width":
                workload = workload._replace(hidden=(value,))
            else:
                workload, n_models = Workload(2_000, 20, 100, (2,), 10), value
            seconds = time_stack(workload, n_models, repeats)
            results[name].append({"value": value, "seconds": seconds})
            print(f"{name:<22}{value:>10,}{seconds:>10.3f} s", flush=True)
    return results


def time_stack(workload: Workload, n_models: int, repeats: int) -> float:
    """Shortest time of several fits of a stack."""
    X, y = make_data(workload)
    base = AnyLossClassifier(
        hidden=workload.hidden, batch_size=workload.batch, max_epochs=workload.epochs
    )
    stacks = [
        [clone(base).set_params(random_state=0, L=5 + k / 4) for k in range(n_models)]
        for _ in range(repeats)
    ]
    return min(time_call(fit_stack, stack, X, y) for stack in stacks)


def scaling_exponent(points: list[Point], start: float = 10_000) -> float:
    """Exponent b of the power law ``seconds ~ value^b``, by least squares on logs."""
    kept = [(p["value"], p["seconds"]) for p in points if p["value"] >= start]
    logs = np.log(np.array(kept))
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def measure_large_fit(n_samples: int) -> dict[str, float]:
    """Seconds per epoch, and peak memory relative to X, of a fit on 30 features."""
    workload = Workload(n_samples, 30, "auto", (2,), 2)
    AnyLossClassifier(max_epochs=1).fit(*make_data(SMALL, np.float32))
    X, y = make_data(workload, np.float32)
    before = resident_memory()
    peak, done = [before], threading.Event()

    def watch() -> None:
        while not done.wait(0.002):
            peak[0] = max(peak[0], resident_memory())

    watcher = threading.Thread(target=watch)
    watcher.start()
    model = AnyLossClassifier(max_epochs=workload.epochs, random_state=0)
    seconds = time_call(model.fit, X, y) / workload.epochs
    done.set()
    watcher.join()
    memory = (peak[0] - before) / X.nbytes
    return {"samples": n_samples, "seconds": seconds, "memory": memory}


def resident_memory() -> int:
    """Bytes of memory in use, on Linux."""
    pages = Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]
    return int(pages) * resource.getpagesize()


def plot_scaling(results: dict[str, list[Point]], path: Path) -> None:
    """Seconds over each size, on logarithmic axes."""
    figure, all_axes = plt.subplots(1, 4, figsize=(12, 3.2))
    for axes, (name, points) in zip(all_axes, results.items(), strict=True):
        x, y = zip(*[(p["value"], p["seconds"]) for p in points], strict=True)
        axes.loglog(x, y, "o-", color="#2a7f62", ms=4)
        proportional = [y[-1] * value / x[-1] for value in x]
        axes.loglog(x, proportional, ":", color="grey", lw=1)
        axes.set_xlabel(name)
        axes.spines[["top", "right"]].set_visible(False)
    all_axes[0].set_ylabel("seconds per fit")
    figure.suptitle("Time of a fit; dotted: proportional to the size", fontsize=10)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
