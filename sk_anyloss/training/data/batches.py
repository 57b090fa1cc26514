"""Batches: their sizes, the order of samples, and the form in which they are used."""

from __future__ import annotations

import math
import numbers
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from torch import Tensor

from sk_anyloss.metrics.class_weights import AnyWeights, ClassWeights
from sk_anyloss.training.data.sparse import SparseStack
from sk_anyloss.training.data.strata import strata

__all__ = [
    "Chunk",
    "Part",
    "batch_bounds",
    "own_bounds",
    "resolve_batch_size",
    "stratified_order",
]

#: Number of a process, and of all processes that share the samples.
Part: TypeAlias = tuple[int, int]

#: Up to this many samples, ``batch_size='auto'`` trains on all of them at once.
FULL_BATCH_SAMPLES = 64
#: The most samples that ``batch_size='auto'`` puts into one batch.
MAX_AUTO_BATCH = 5000


@dataclass(slots=True)
class Chunk:
    """Samples of a batch, or of a part of it, as they enter the first layer.

    Parameters
    ----------
    X : tensor of shape (G, n, d), or (n, d) if there is one group
        The samples of each group of models.
    XT : tensor of shape (G, d, n) or (d, n)
        The same, transposed.
    classes : ClassWeights or LabelWeights
        Their classes or labels, and weights.
    n : int
        Their number.
    sparse : SparseStack, default=None
        The samples, if they are not to be made dense; X and XT are then not used.
    """

    X: Tensor
    XT: Tensor
    classes: AnyWeights
    n: int
    sparse: SparseStack | None = None

    @classmethod
    def of(cls, X: Tensor, y: Tensor, sample_weight: Tensor | None = None) -> Chunk:
        """From samples (n, d), labels (n,) and weights (n,) of one group and dtype."""
        return cls(X, X.mT, ClassWeights.of(y, sample_weight), len(y))

    @classmethod
    def of_sparse(cls, samples: SparseStack, classes: AnyWeights) -> Chunk:
        """From samples that stay sparse."""
        nothing = classes.table[:0]
        return cls(nothing, nothing, classes, classes.n, samples)


def resolve_batch_size(batch_size: int | float | str, n: int) -> int:
    """Number of samples in a batch of a data set of n samples.

    Parameters
    ----------
    batch_size : int, float or 'auto'
        A number of samples; a fraction of the samples in (0, 1], 1.0 being all of
        them; or ``'auto'``, a twentieth of the samples, but no fewer than 64 and no
        more than 5,000 of them.
    n : int
        Number of samples.

    Returns
    -------
    size : int
        Between 1 and n.

    Examples
    --------
    >>> from sk_anyloss.training.data.batches import resolve_batch_size
    >>> [resolve_batch_size("auto", n) for n in (150, 1_000, 20_000, 1_000_000)]
    [64, 64, 1000, 5000]
    >>> [resolve_batch_size(size, 1_000) for size in (0.25, 1.0, 32)]
    [250, 1000, 32]
    """
    if isinstance(batch_size, str):
        if batch_size == "auto":
            size = math.ceil(n / 20)
            return min(n, max(FULL_BATCH_SAMPLES, min(size, MAX_AUTO_BATCH)))
    elif isinstance(batch_size, bool):
        pass
    elif isinstance(batch_size, numbers.Integral):
        if batch_size >= 1:
            return min(n, int(batch_size))
    elif isinstance(batch_size, numbers.Real) and 0 < batch_size <= 1:
        return min(n, math.ceil(float(batch_size) * n))
    raise ValueError(
        "batch_size must be 'auto', a whole number of samples of at least 1, or a "
        f"fraction of the samples in (0, 1] such as 0.05; got {batch_size!r}."
    )


def batch_bounds(n: int, n_batches: int) -> list[int]:
    """Where the batches begin and end: their sizes differ by one at most.

    Examples
    --------
    >>> from sk_anyloss.training.data.batches import batch_bounds
    >>> batch_bounds(10, 3)
    [0, 3, 6, 10]
    """
    return np.linspace(0, n, n_batches + 1).astype(int).tolist()


def own_bounds(bounds: list[int], part: Part) -> list[tuple[int, int]]:
    """Where the part of one process begins and ends in every batch.

    Parameters
    ----------
    bounds : list of int
        Those of the batches.
    part : tuple of two ints
        Number of the process, and of all processes.

    Returns
    -------
    bounds : list of tuples
        A run of consecutive samples of each batch, which is as stratified as the batch
        is; the parts of all processes make up the batch.

    Examples
    --------
    >>> from sk_anyloss.training.data.batches import own_bounds
    >>> own_bounds([0, 5, 10], (0, 2)), own_bounds([0, 5, 10], (1, 2))
    ([(0, 2), (5, 7)], [(2, 5), (7, 10)])
    """
    rank, size = part
    return [
        (a + (b - a) * rank // size, a + (b - a) * (rank + 1) // size)
        for a, b in pairwise(bounds)
    ]


def stratified_order(y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Random order of the samples in which each class is spread out evenly.

    Any run of consecutive samples then holds its proportion of each class, to within
    one of two classes and nearly so of several, so that each batch can compute a metric
    of all classes.

    Parameters
    ----------
    y : ndarray of shape (n,) or (n, Q)
        Classes, or labels, 0 or 1; these are stratified by :func:`strata`.
    rng : numpy.random.Generator
        Where the order comes from.

    Returns
    -------
    order : ndarray of int of shape (n,)
        Positions of the samples.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.training.data.batches import stratified_order
    >>> y = np.array([1, 1, 0, 0, 0, 0, 0, 0])
    >>> order = stratified_order(y, np.random.default_rng(0))
    >>> int(y[order][:4].sum()), int(y[order][4:].sum())
    (1, 1)
    """
    if y.ndim > 1 or (len(y) and y.max() > 1):
        return _spread_out(strata(y), rng)
    order = rng.permutation(len(y))
    positive = y[order] > 0
    n_positive = np.count_nonzero(positive)
    n_negative = len(y) - n_positive
    if not n_positive or not n_negative:
        return order
    # Both classes at even distances from a random start, merged: positive i has place
    # (i + a) / n_positive, so it comes after all negatives j with (j + b) / n_negative
    # below that.
    a, b = rng.random(2)
    i = np.arange(n_positive)
    before = np.ceil((i + a) * (n_negative / n_positive) - b).clip(0, n_negative)
    is_positive = np.zeros(len(y), dtype=bool)
    is_positive[i + before.astype(np.intp)] = True
    merged = np.empty_like(order)
    merged[is_positive] = order[positive]
    merged[~is_positive] = order[~positive]
    return merged


def _spread_out(strata: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The order for any number of strata: each at even distances, then merged."""
    order = rng.permutation(len(strata))
    codes = strata[order].astype(np.int64)
    if codes.max(initial=0) < 2**15:
        codes = codes.astype(np.int16)  # Sorted by counting.
    counts = np.bincount(codes)
    grouped = np.argsort(codes, kind="stable")
    firsts = np.cumsum(counts) - counts
    starts = rng.random(len(counts))
    sizes = np.maximum(counts, 1)
    # Sample i of a stratum has place (i + start) / size.
    places = np.arange(len(order)) - np.repeat(firsts - starts, counts)
    places = places / np.repeat(sizes, counts)
    return order[grouped[np.argsort(places, kind="stable")]]
