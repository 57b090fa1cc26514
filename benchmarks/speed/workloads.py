"""What is trained: sizes of the data, the network and the batches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Workload(NamedTuple):
    """Samples, features, batch size, hidden layers and epochs of a training."""

    n: int
    d: int
    batch: int | str
    hidden: tuple[int, ...]
    epochs: int

    def __str__(self) -> str:
        return f"{self.n:,} x {self.d}, batch {self.batch:,}, hidden {self.hidden}"


SMALL = Workload(2_000, 20, 100, (2,), 50)
MEDIUM = Workload(10_000, 20, 500, (2,), 20)
LARGE_BATCH = Workload(10_000, 20, 5_000, (2,), 20)
LARGE = Workload(100_000, 30, 5_000, (64,), 10)
SLP = Workload(10_000, 8, 10_000, (), 1_000)


def make_data(
    workload: Workload, dtype: type[np.float32 | np.float64] = np.float64, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian features, of which the first two are informative."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((workload.n, workload.d), dtype=dtype)
    y = X[:, 0] + X[:, 1] + rng.standard_normal(workload.n, dtype=dtype) > 2
    return X, y.astype(int)
