"""Which row groups an epoch goes through together."""

from __future__ import annotations

import math

import numpy as np

__all__ = ["deal"]


def deal(
    sizes: np.ndarray, rates: np.ndarray, capacity: int, rng: np.random.Generator
) -> tuple[list[list[int]], np.ndarray]:
    """Deal row groups to windows that fit into the memory, with about equal rates.

    Of row groups sorted by their rate of the rarest class, each window has one from
    every run of as many as there are windows, larger ones where less is. Where fewer
    groups than windows hold most of the rarest class, as in files sorted by class,
    these are split over several windows: over all, if they may stay in memory.

    Parameters
    ----------
    sizes : ndarray of int of shape (n_groups,)
        Numbers of samples.
    rates : ndarray of shape (n_groups,)
        Frequencies of the rarest class.
    capacity : int
        The most samples in memory.
    rng : numpy.random.Generator
        Where the order comes from.

    Returns
    -------
    windows : list of lists of int
        Groups of each window; a group that is split is in several of them.
    parts : ndarray of int of shape (n_groups,)
        Into how many parts each group is split.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.training.data.row_groups.dealing import deal
    >>> rng, sizes = np.random.default_rng(0), np.full(5, 10)
    >>> windows, parts = deal(sizes, np.array([0.0, 0, 0, 0, 1]), 30, rng)
    >>> [4 in window for window in windows], parts.tolist()
    ([True, True], [1, 1, 1, 1, 2])
    """
    counts = rates * sizes
    is_rich = rates > 1.5 * counts.sum() / sizes.sum()
    is_rich &= 2 * counts[is_rich].sum() > counts.sum()
    n_rich, stays = is_rich.sum(), 2 * sizes[is_rich].sum() <= capacity
    by_rate = np.lexsort((rng.random(len(sizes)), -rates))
    n_windows = min(max(math.ceil(sizes.sum() / capacity), 1), len(sizes))
    while True:
        parts = np.ones(len(sizes), dtype=np.int64)
        if 0 < n_rich < n_windows:
            parts[is_rich] = n_windows if stays else math.ceil(n_windows / n_rich)
        ranked = np.repeat(by_rate, parts[by_rate])
        windows: list[list[int]] = [[] for _ in range(n_windows)]
        filled = np.zeros(n_windows, dtype=np.int64)
        for start in range(0, len(ranked), n_windows):
            run = ranked[start : start + n_windows]
            run = run[np.argsort(-sizes[run], kind="stable")]
            emptiest = np.lexsort((rng.random(n_windows), filled))[: len(run)]
            filled[emptiest] += sizes[run]
            for w, g in zip(emptiest.tolist(), run.tolist(), strict=True):
                windows[w].append(g)
        if filled.max() <= capacity or n_windows == len(sizes):
            return windows, parts
        n_windows = min(n_windows + 1 + n_windows // 50, len(sizes))
