"""Peak memory of a fit and a prediction, beside the size of X.

    python -m benchmarks.memory
    python -m benchmarks.memory --search FILE

Each case runs in a process of its own, since the peak memory of a process never
decreases. A small fit comes first, so that libraries and their buffers are not counted.

``--search`` fits AnyLossClassifierCV to all samples of an ``.npz`` file, with one and
with two processes. What all of them take, shared pages counted once, is looked at every
20 ms (on Linux).
"""

import argparse
import subprocess
import sys
from pathlib import Path

#: Prints the bytes of X, the growth of the peak in fit, that in fit and predict, and
#: the seconds of both.
MEASURE = """
import resource, sys, time, warnings
import numpy as np, scipy.sparse
from sk_anyloss import {estimator}
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
{data}
def fitted(X, y):
    return {estimator}(max_epochs=1, random_state=0, **{params}).fit(X, y)
def peak():
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
fitted(X[:2000], y[:2000])
before, start = peak(), time.perf_counter()
model = fitted(X, y)
after_fit = peak()
model.predict(X)
size = X.data.nbytes + (X.indices.nbytes if scipy.sparse.issparse(X) else 0)
print(size, after_fit - before, peak() - before, time.perf_counter() - start)
"""
#: The same for a search in several processes.
SEARCH = """
import os, threading, time, warnings
from glob import glob
from pathlib import Path
import numpy as np
from sk_anyloss import AnyLossClassifierCV
warnings.simplefilter("ignore")
with np.load({path!r}) as data:
    order = np.random.default_rng(0).permutation(len(data["y"]))
    X, y = data["X"].astype(float)[order], data["y"][order]
def fitted(X, y, **params):
    return AnyLossClassifierCV(n_jobs={n_jobs}, random_state=0, **params).fit(X, y)
def memory():
    total, todo = 0, [os.getpid()]
    for pid in todo:
        try:
            for path in glob(f"/proc/{{pid}}/task/*/children"):
                todo += map(int, Path(path).read_text().split())
            parts = Path(f"/proc/{{pid}}/smaps_rollup").read_text().split()
            total += 1024 * int(parts[parts.index("Pss:") + 1])
        except OSError:  # A process has ended.
            pass
    return total
def watch():
    while not ended.is_set():
        seen.append(memory())
        time.sleep(0.02)
fitted(X[:3000], y[:3000], max_epochs=1)
before, seen, ended = memory(), [], threading.Event()
thread = threading.Thread(target=watch)
thread.start()
start = time.perf_counter()
fitted(X, y)
seconds = time.perf_counter() - start
ended.set()
thread.join()
print(X.nbytes, max(seen) - before, seconds)
"""
WIDE = """
n, d, stored = {n}, {d}, {stored}
indices = rng.integers(0, n, stored), rng.integers(0, d, stored)
X = scipy.sparse.csr_array((np.ones(stored), indices), shape=(n, d))
y = (rng.random(n) < 0.1).astype(int)
"""
TALL = """
X = rng.random(({n}, 40))
y = (X[:, 0] + X[:, 1] > 1.6).astype(int)
"""


def measure(
    data: str, estimator: str = "AnyLossClassifier", **params: object
) -> tuple[int, int, int, float]:
    """Bytes of X, growth in fit, growth in fit and predict, and seconds.

    ``data`` is code that defines X and y, ``params`` are those of the estimator.
    """
    code = MEASURE.format(data=data, estimator=estimator, params=params)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    size, fit, both, seconds = done.stdout.split()
    return int(size), int(fit), int(both), float(seconds)


def measure_search(path: Path, n_jobs: int) -> tuple[int, int, float]:
    """Bytes of X, growth of what all processes take in a search, and seconds."""
    code = SEARCH.format(path=str(path), n_jobs=n_jobs)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    size, grown, seconds = done.stdout.split()
    return int(size), int(grown), float(seconds)


def main() -> None:
    """Print a line for each case."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--search", type=Path, metavar="FILE", help="an .npz file")
    options = parser.parse_args()
    if options.search:
        for n_jobs in (1, 2):
            size, grown, seconds = measure_search(options.search, n_jobs)
            text = f"X {size / 2**20:.0f} MB, peak {grown / 2**20:.0f} MB beside it"
            text = f"{text} ({grown / size:.1f} times), {seconds:.1f} s"
            print(f"n_jobs={n_jobs}: {text}")
        return
    tall = TALL.format(n=600_000)
    wide = WIDE.format(n=200_000, d=50_000, stored=1_000_000)
    many = TALL.format(n=286_000).replace("40", "10")
    cases: list[tuple[str, str, dict[str, object]]] = [
        ("600,000 x 40", tall, {}),
        ("600,000 x 40", tall, {"early_stopping": True}),
        ("600,000 x 40", tall, {"n_bins": 8}),
        ("600,000 x 40", tall, {"metric": "roc_auc"}),
        ("600,000 x 40", tall, {"hidden": (64,)}),
        ("600,000 x 40", tall, {"batch_size": 1.0}),
        ("200,000 x 50,000, sparse", wide, {}),
        ("200,000 x 50,000, sparse", wide, {"early_stopping": True}),
        ("286,000 x 10", many, {"estimator": "AnyLossClassifierCV"}),
    ]
    print(f"{'samples':<26}{'parameters':<26}{'X, MB':>7}{'fit':>7}{'predict':>9}  s")
    for name, data, params in cases:
        size, fit, both, seconds = (m / 2**20 for m in measure(data, **params))
        text = ", ".join(f"{key}={value}" for key, value in params.items())
        cells = f"{size:>7.0f}{fit:>7.0f}{both:>9.0f}{seconds * 2**20:>5.1f}"
        print(f"{name:<26}{text:<26}{cells}", flush=True)


if __name__ == "__main__":
    main()
