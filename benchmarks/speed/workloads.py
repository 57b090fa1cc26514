"""What is trained: sizes of the data, the network and the batches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Workload(NamedTuple):
    """Samples, features, batch size, hidden layers, epochs and classes."""

    n: int
    d: int
    batch: int | str
    hidden: tuple[int, ...]
    epochs: int
    classes: int = 2

    def __str__(self) -> str:
        text = f"{self.n:,} x {self.d}, batch {self.batch:,}, hidden {self.hidden}"
        return text if self.classes == 2 else f"{text}, {self.classes} classes"


SMALL = Workload(2_000, 20, 100, (2,), 50)
MEDIUM = Workload(10_000, 20, 500, (2,), 20)
LARGE_BATCH = Workload(10_000, 20, 5_000, (2,), 20)
LARGE = Workload(100_000, 30, 5_000, (64,), 10)
TEN_CLASSES = Workload(10_000, 20, 500, (32,), 20, 10)
SLP = Workload(10_000, 8, 10_000, (), 1_000)


def make_data(
    workload: Workload, dtype: type[np.float32 | np.float64] = np.float64, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian features, of which the first two are informative."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((workload.n, workload.d), dtype=dtype)
    y = X[:, 0] + X[:, 1] + rng.standard_normal(workload.n, dtype=dtype)
    if workload.classes > 2:
        edges = np.quantile(y, np.linspace(0, 1, workload.classes + 1)[1:-1])
        return X, np.digitize(y, edges)
    return X, (y > 2).astype(int)
