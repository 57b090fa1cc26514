"""Windows fit into the memory, and have about the class frequencies of all files."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from sk_anyloss.training.data.row_groups.dealing import deal
from sk_anyloss.training.data.row_groups.window import Window

RNG = np.random.default_rng(0)
SIZES = {
    "equal": np.full(60, 100),
    "uneven": RNG.integers(20, 200, 60),
    "small last ones": np.tile([100] * 9 + [7], 6),
}


def epoch(sizes, y, capacity, seed=0):
    """Samples of the windows of an epoch, and how often groups are read."""
    rng, bounds = np.random.default_rng(seed), np.cumsum([0, *sizes])
    rates = [np.mean(y[a:b]) for a, b in pairwise(bounds)]
    windows, parts = deal(sizes, np.array(rates), capacity, rng)
    reads = []
    window = Window(
        bounds, 1, np.dtype("float32"), 4 * capacity, lambda g, out: reads.append(g)
    )
    for groups in windows:
        for _ in range(3):  # Three batches, each of all groups of the window.
            first = bounds[np.unique(groups)]
            window.gather(first, torch.empty(len(first), 1))
    counts = np.bincount(np.concatenate(windows), minlength=len(sizes))
    np.testing.assert_array_equal(counts, parts)
    return windows, parts, len(reads)


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_each_group_is_read_once_in_an_epoch(sizes):
    y = np.random.default_rng(1).random(sizes.sum()) < 0.1
    windows, parts, n_reads = epoch(sizes, y, capacity=1050)
    assert (parts == 1).all()
    assert n_reads == len(sizes)
    assert max(sizes[window].sum() for window in windows) <= 1050
    assert len(windows) <= 1.5 * sizes.sum() / 1050


@pytest.mark.parametrize(("n_positive", "most"), [(150, 75), (700, 75)])
def test_a_rare_class_of_sorted_files_is_in_each_window(n_positive, most):
    sizes = SIZES["equal"]
    y = np.arange(sizes.sum()) < n_positive
    windows, _, n_reads = epoch(sizes, y, capacity=1050)
    rates = np.array([y[::100][window].mean() for window in windows])
    assert (rates > 0).all()
    assert n_reads <= most


def test_one_group_or_one_window_is_dealt_too():
    rng = np.random.default_rng(0)
    assert deal(np.array([5]), np.array([0.0]), 5, rng)[0] == [[0]]
    windows, parts = deal(np.array([5, 9]), np.array([0.0, 1.0]), 20, rng)
    assert sorted(windows[0]) == [0, 1]
    assert parts.tolist() == [1, 1]
