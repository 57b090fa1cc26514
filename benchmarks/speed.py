"""How long a fit takes, beside others that train the same network on the same rows.

    python -m benchmarks.speed [--repeats 7] [--out docs] [--quick]

Everything runs side by side in one process, on one thread, in float64, in turns, so
that a machine that is busy slows all of them down. What counts is the ratio of two
neighbours in time; the table gives its median and its range over the repeats. Writes
``speed.json``, ``speed.png`` (the ratios) and ``scaling.png`` (time over rows, columns,
width and number of networks) into a folder.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import statistics
import subprocess
import sys
import threading
import time
import warnings
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from skorch import NeuralNetBinaryClassifier
from threadpoolctl import threadpool_limits
from torch import nn

from sk_anyloss import AnyLossClassifier, fit_stack


class Work(NamedTuple):
    """A training to be done: rows, columns, batch, hidden layer, epochs."""

    n: int
    d: int
    batch: int
    hidden: tuple[int, ...]
    epochs: int

    def __str__(self):
        return f"{self.n:,} x {self.d}, batch {self.batch:,}, hidden {self.hidden}"


SMALL = Work(2_000, 20, 100, (2,), 50)
MIDDLE = Work(10_000, 20, 500, (2,), 20)
BROAD = Work(10_000, 20, 5_000, (2,), 20)
LARGE = Work(100_000, 30, 5_000, (64,), 10)
SLP = Work(10_000, 8, 10_000, (), 1_000)


def data(work, dtype=np.float64, seed=0):
    """Rows of noise, of which a few columns tell something."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((work.n, work.d), dtype=dtype)
    y = X[:, 0] + X[:, 1] + rng.standard_normal(work.n, dtype=dtype) > 2
    return X, y.astype(int)


def ours(work, **params):
    """Our estimator on the plain network that the others train as well."""
    return AnyLossClassifier(
        hidden=work.hidden,
        L=10 if work is LARGE else 73,  # What suits a wide network.
        batch_size=work.batch,
        max_epochs=work.epochs,
        batch_norm=False,
        standardize=False,
        random_state=0,
        **params,
    )


def fit_ours(work, X, y):
    """The metric, F1, as the loss."""
    ours(work).fit(X, y)


def fit_bce(work, X, y):
    """Our estimator on cross-entropy."""
    ours(work, loss="bce").fit(X, y)


def fit_mlp(work, X, y):
    """scikit-learn's MLPClassifier."""
    MLPClassifier(
        work.hidden,
        activation="logistic",
        batch_size=work.batch,
        learning_rate_init=0.01,
        max_iter=work.epochs,
        n_iter_no_change=work.epochs,
        random_state=0,
    ).fit(X, y)


def network(work):
    """The network as one writes it in torch."""
    widths = [work.d, *work.hidden]
    layers = []
    for n_in, n_out in pairwise(widths):
        layers += [nn.Linear(n_in, n_out), nn.Sigmoid()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], 1), nn.Flatten(0)).double()


def fit_skorch(work, X, y):
    """Plain skorch, on cross-entropy."""
    NeuralNetBinaryClassifier(
        network(work),
        optimizer=torch.optim.Adam,
        lr=0.01,
        max_epochs=work.epochs,
        batch_size=work.batch,
        iterator_train__shuffle=True,
        train_split=None,
        verbose=0,
    ).fit(X, y.astype(float))


def fit_torch(work, X, y):
    """A loop by hand in torch: soft F1 with the amplifier, by autograd."""
    X, y = torch.from_numpy(X), torch.from_numpy(y).double()
    module = network(work)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    for _ in range(work.epochs):
        for rows in torch.randperm(work.n).split(work.batch):
            p = torch.sigmoid(module(X[rows]))
            h, yi = torch.sigmoid(73 * (p - 0.5)), y[rows]
            loss = 1 - 2 * (yi * h).sum() / (yi.sum() + h.sum())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def fit_slp(work, X, y):
    """Our single-layer perceptron, full batch, plain gradient descent."""
    model = ours(work, optimizer="sgd", lr=0.5, output_bias=0)
    return model.fit(X, y).loss_curve_


def fit_slp_numpy(work, X, y):
    """The same by hand in numpy: counts, F1, and its gradient."""
    w, b, losses = np.zeros(work.d), 0.0, []
    for _ in range(work.epochs):
        p = 1 / (1 + np.exp(-(X @ w + b)))
        h = 1 / (1 + np.exp(-73 * (p - 0.5)))
        tp, fp, fn = (y * h).sum(), ((1 - y) * h).sum(), (y * (1 - h)).sum()
        whole = 2 * tp + fp + fn
        losses.append(1 - 2 * tp / whole)
        by_h = -2 * (y * whole - tp) / whole**2
        g = by_h * 73 * h * (1 - h) * p * (1 - p)
        w -= 0.5 * (X.T @ g)
        b -= 0.5 * g.sum()
    return losses


def many(kind):
    """Fifty estimators: settings on the same rows, folds times settings, or seeds."""
    one = AnyLossClassifier(batch_size=100, max_epochs=SMALL.epochs, random_state=0)
    X, y = data(SMALL)
    if kind == "settings":
        grid = [(L, lr) for L in np.linspace(5, 73, 10) for lr in (0.003, 0.01, 0.03)]
        grid += [(L, 0.1) for L in np.linspace(5, 73, 20)]
        return [clone(one).set_params(L=L, lr=lr) for L, lr in grid], None
    if kind == "folds":
        folds = [train for train, _ in StratifiedKFold(10).split(X, y)]
        Ls = [L for L in (5, 10, 20, 40, 73) for _ in folds]
        return [clone(one).set_params(L=L) for L in Ls], folds * 5
    return [clone(one).set_params(random_state=seed) for seed in range(50)], None


def stack(kind):
    """Two ways to fit fifty estimators."""
    models, rows = many(kind)

    def together(work, X, y):
        fit_stack([clone(model) for model in models], X, y, rows=rows)

    def one_by_one(work, X, y):
        for k, model in enumerate(models):
            index = slice(None) if rows is None else rows[k]
            clone(model).fit(X[index], y[index])

    return together, one_by_one


class Race(NamedTuple):
    """Two ways to do the same work, and the ratio of times to reach."""

    against: str
    work: Work
    fit: object
    other: object
    goal: float


def races():
    """All comparisons."""
    found = [
        Race("plain skorch", MIDDLE, fit_ours, fit_skorch, 0.08),
        Race("plain skorch", BROAD, fit_ours, fit_skorch, 0.04),
        Race("MLPClassifier", SMALL, fit_ours, fit_mlp, 0.7),
        Race("MLPClassifier", MIDDLE, fit_ours, fit_mlp, 0.7),
        Race("MLPClassifier", LARGE, fit_ours, fit_mlp, 0.6),
    ]
    for work, goal in ((SMALL, 0.5), (MIDDLE, 0.5), (BROAD, 1.0), (LARGE, 1.0)):
        found.append(Race("our own BCE", work, fit_ours, fit_bce, 1.05))
        found.append(Race("torch by hand", work, fit_ours, fit_torch, goal))
    for kind, name in (
        ("settings", "50 fits, 50 settings"),
        ("folds", "50 fits, 10 folds x 5 L"),
        ("seeds", "50 fits, 50 seeds"),
    ):
        found.append(Race(name, SMALL, *stack(kind), 0.15))
    found.append(Race("SLP in numpy", SLP, fit_slp, fit_slp_numpy, 0.8))
    return found


def seconds(function, *args):
    """How long a call takes."""
    start = time.perf_counter()
    function(*args)
    return time.perf_counter() - start


def turns(race, repeats):
    """Times of both ways in turns, more often where they are short."""
    X, y = data(race.work)
    times = []
    least = max(2, repeats // 2) if race.against.startswith("50") else repeats
    # The first turn imports and warms up.
    while len(times) <= least or (
        len(times) < 5 * least and np.sum(times) < 1.5 * least
    ):
        ways = (race.fit, race.other)
        times.append([seconds(way, race.work, X, y) for way in ways])
    return times[1:]


def run_races(repeats):
    """Time all pairs, in turns."""
    results = []
    print(f"{'against':<25}{'work':<42}{'ratio':>7}{'range':>15}{'goal':>7}")
    for race in races():
        times = turns(race, repeats)
        ratios = sorted(a / b for a, b in times)
        ratio = statistics.median(ratios)
        results.append(
            {
                "against": race.against,
                "work": str(race.work),
                "ratio": ratio,
                "range": [ratios[0], ratios[-1]],
                "goal": race.goal,
                "seconds": statistics.median(a for a, _ in times),
                "seconds_of_the_other": statistics.median(b for _, b in times),
            }
        )
        span = f"{ratios[0]:.3f}-{ratios[-1]:.3f}"
        mark = "" if ratio <= race.goal else "  not reached"
        print(
            f"{race.against:<25}{race.work!s:<42}{ratio:>7.3f}{span:>15}"
            f"{race.goal:>7}{mark}",
            flush=True,
        )
    return results


SCALES = {
    "rows": [1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000],
    "columns": [2, 8, 32, 128, 512],
    "hidden width": [1, 4, 16, 64, 256],
    "networks in a stack": [1, 5, 10, 50, 200],
}


def scaling(repeats, quick):
    """Seconds for each value of one size, all others kept."""
    results = {}
    for name, values in SCALES.items():
        results[name] = []
        for value in values[:-1] if quick else values:
            work = Work(10_000, 20, 500, (16,), 3)
            models = 1
            if name == "rows":
                work = work._replace(n=value, batch="auto")
            elif name == "columns":
                work = work._replace(d=value)
            elif name == "hidden width":
                work = work._replace(hidden=(value,))
            else:
                work, models = Work(2_000, 20, 100, (2,), 10), value
            X, y = data(work)
            one = AnyLossClassifier(
                hidden=work.hidden, batch_size=work.batch, max_epochs=work.epochs
            )
            stacks = [
                [
                    clone(one).set_params(random_state=0, L=5 + k / 4)
                    for k in range(models)
                ]
                for _ in range(repeats)
            ]
            times = [seconds(fit_stack, stack, X, y) for stack in stacks]
            results[name].append({"value": value, "seconds": min(times)})
            print(f"{name:<22}{value:>10,}{min(times):>10.3f} s", flush=True)
    return results


def slope(points, start=10_000):
    """Exponent with which time grows."""
    kept = [(p["value"], p["seconds"]) for p in points if p["value"] >= start]
    logs = np.log(np.array(kept))
    return float(np.polyfit(logs[:, 0], logs[:, 1], 1)[0])


def one_fit(rows):
    """Seconds an epoch, and peak memory in sizes of X, of a fit on 30 columns."""
    work = Work(rows, 30, "auto", (2,), 2)
    AnyLossClassifier(max_epochs=1).fit(*data(SMALL, np.float32))
    X, y = data(work, np.float32)
    before = resident()
    peak, done = [before], threading.Event()

    def watch():
        while not done.wait(0.002):
            peak[0] = max(peak[0], resident())

    watcher = threading.Thread(target=watch)
    watcher.start()
    model = AnyLossClassifier(max_epochs=work.epochs, random_state=0)
    taken = seconds(model.fit, X, y) / work.epochs
    done.set()
    watcher.join()
    return {"rows": rows, "seconds": taken, "memory": (peak[0] - before) / X.nbytes}


def resident():
    """Bytes of memory in use, on Linux."""
    pages = Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]
    return int(pages) * resource.getpagesize()


def draw_races(results, path):
    """Ratios with their range, and what they should be at most."""
    figure, axes = plt.subplots(figsize=(9, 0.36 * len(results) + 1.2))
    for i, result in enumerate(results):
        low, high = result["range"]
        good = result["ratio"] <= result["goal"]
        color = "#2a7f62" if good else "#c0504d"
        axes.barh(i, result["ratio"], color=color, height=0.6)
        axes.plot([low, high], [i, i], color="black", lw=1)
        axes.plot([result["goal"]] * 2, [i - 0.4, i + 0.4], color="#e0a030", lw=2.5)
        right = max(high, result["goal"]) * 1.08
        axes.text(right, i, f"{result['ratio']:.2f}", va="center", fontsize=8)
    names = [f"{r['against']}: {r['work']}" for r in results]
    axes.set_yticks(range(len(results)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    ticks = [0.03, 0.1, 0.3, 1]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.axvline(1, color="grey", lw=0.8)
    axes.set_xlabel("time of our fit / time of the other (line: range, gold: goal)")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def draw_scaling(results, path):
    """Seconds over each size, on logarithmic axes."""
    figure, all_axes = plt.subplots(1, 4, figsize=(12, 3.2))
    for axes, (name, points) in zip(all_axes, results.items(), strict=True):
        x, y = zip(*[(p["value"], p["seconds"]) for p in points], strict=True)
        axes.loglog(x, y, "o-", color="#2a7f62", ms=4)
        reference = [y[-1] * value / x[-1] for value in x]
        axes.loglog(x, reference, ":", color="grey", lw=1)
        axes.set_xlabel(name)
        axes.spines[["top", "right"]].set_visible(False)
    all_axes[0].set_ylabel("seconds a fit")
    figure.suptitle("Time of a fit; dotted: in proportion to the size", fontsize=10)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def main():
    """Measure, print, and write the figures and pictures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--out", type=Path, default=Path("docs"))
    parser.add_argument("--quick", action="store_true", help="leave the longest out")
    parser.add_argument("--rows", type=int, help="only fit so many rows, in float32")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # Few epochs: nobody expects them to converge.
    torch.set_num_threads(1)
    with threadpool_limits(1):
        if options.rows:
            print(json.dumps(one_fit(options.rows)))
            return
        found = {"races": run_races(options.repeats)}
        found["scaling"] = scaling(max(2, options.repeats // 3), options.quick)
    found["slope"] = slope(found["scaling"]["rows"])
    print(f"time grows with rows to the power of {found['slope']:.2f}")
    found["large"] = []
    for rows in (1_000_000,) if options.quick else (1_000_000, 10_000_000):
        command = [sys.executable, "-m", "benchmarks.speed", "--rows", str(rows)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True)
        one = json.loads(answer.stdout)
        found["large"].append(one)
        print(
            f"{rows:,} x 30 in float32: {one['seconds']:.2f} s an epoch, peak memory "
            f"{one['memory']:.2f} times X above the data"
        )
    found["versions"] = {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "speed.json").write_text(
        json.dumps(found, indent=1) + "\n", encoding="utf-8"
    )
    draw_races(found["races"], options.out / "speed.png")
    draw_scaling(found["scaling"], options.out / "scaling.png")


if __name__ == "__main__":
    main()
