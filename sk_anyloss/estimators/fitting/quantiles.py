"""Quantiles of all features from one pass over samples that do not fit into memory."""

from __future__ import annotations

import numpy as np

__all__ = ["QuantileSketch"]

#: Weighted points: values and weights of shape (k, d), sorted by value.
Points = tuple[np.ndarray, np.ndarray]


class QuantileSketch:
    """Approximate quantiles of each feature, from blocks of samples.

    Blocks are summarised by points of equal weight. Two summaries of as many blocks
    are merged into one, so that there are as many of them as a binary number has
    digits, as by Munro and Paterson, "Selection and sorting with limited storage",
    1980, and by Manku et al., "Approximate medians and other quantiles in one pass and
    with limited memory", 1998. Each merge moves a rank by at most 1 / size of the
    weight of its two summaries, so that all together move it by less than
    ``(1 + log2(n_blocks)) / size`` of the total, and by far less in the mean since
    their offsets are random. Features of few values have exactly these.

    Parameters
    ----------
    n_values : int
        A feature of at most so many values has all of them.
    size : int, default=4096
        Number of points in a summary.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.estimators.fitting.quantiles import QuantileSketch
    >>> sketch = QuantileSketch(n_values=3)
    >>> for start in range(0, 100_000, 10_000):
    ...     sketch.add(np.arange(start, start + 10_000)[:, None] / 1e5)
    >>> bool(np.abs(sketch.edges(0, 4) - [0, 0.25, 0.5, 0.75, 1]).max() < 0.002)
    True
    """

    def __init__(self, n_values: int, size: int = 4096) -> None:
        self.n_values, self.size = n_values, size
        self._rng = np.random.default_rng(0)
        #: Summaries of 1, 2, 4, ... blocks; None where there is none.
        self._summaries: list[Points | None] = []
        #: All values of each feature; None once they are too many.
        self._values: list[np.ndarray | None] = []
        self._least, self._greatest = np.array(np.inf), np.array(-np.inf)

    def add(self, block: np.ndarray, weight: np.ndarray | None = None) -> None:
        """Add a block of samples.

        Parameters
        ----------
        block : ndarray of shape (n, d)
            Samples, at least one.
        weight : ndarray of shape (n,), default=None
            Their weights.
        """
        if not self._values:
            self._values = [np.empty(0)] * block.shape[1]
        for j, known in enumerate(self._values):
            if known is not None:
                found = np.union1d(known, block[:, j])
                self._values[j] = None if len(found) > self.n_values else found
        self._least = np.minimum(self._least, block.min(axis=0))
        self._greatest = np.maximum(self._greatest, block.max(axis=0))
        weights = np.ones(len(block)) if weight is None else weight
        points = self._summarise(block, np.broadcast_to(weights[:, None], block.shape))
        for i, other in enumerate(self._summaries):
            if other is None:
                self._summaries[i] = points
                return
            points = self._summarise(
                *(np.concatenate(pair) for pair in zip(points, other, strict=True))
            )
            self._summaries[i] = None
        self._summaries.append(points)

    def _summarise(self, values: np.ndarray, weights: np.ndarray) -> Points:
        """Points of equal weight, at a random offset from the first one."""
        order = values.argsort(axis=0)
        values = np.take_along_axis(values, order, axis=0)
        weights = np.take_along_axis(weights, order, axis=0)
        if len(values) <= self.size:
            return values, weights
        below = weights.cumsum(axis=0)
        share = below[-1] / self.size
        ranks = np.arange(self.size) + self._rng.random()
        chosen = np.empty((self.size, values.shape[1]), dtype=np.intp)
        for j in range(values.shape[1]):
            chosen[:, j] = np.searchsorted(below[:, j], ranks * share[j])
        chosen.clip(max=len(values) - 1, out=chosen)
        found = np.take_along_axis(values, chosen, axis=0)
        return found, np.broadcast_to(share, found.shape)

    def edges(self, j: int, n: int) -> np.ndarray:
        """Edges of at most n bins of equal weight of a feature.

        Parameters
        ----------
        j : int
            Number of the feature.
        n : int
            Number of bins.

        Returns
        -------
        edges : ndarray
            All values of a feature of few; otherwise the least and the greatest value,
            and quantiles between them, each once.
        """
        known = self._values[j]
        if known is not None:
            return known.astype(float)
        kept = [points for points in self._summaries if points is not None]
        values = np.concatenate([values[:, j] for values, _ in kept])
        weights = np.concatenate([weights[:, j] for _, weights in kept])
        order = values.argsort()
        below = weights[order].cumsum()
        ranks = np.linspace(0, below[-1], n + 1)[1:-1]
        inner = values[order][np.searchsorted(below, ranks).clip(max=len(values) - 1)]
        return np.unique([self._least[j], *inner, self._greatest[j]]).astype(float)
