"""Quantiles and scales from passes over blocks are those of all samples at once."""

import numpy as np
import pytest

from sk_anyloss.estimators.fitting.encoding import fit_encoding
from sk_anyloss.estimators.fitting.quantiles import QuantileSketch
from sk_anyloss.training.data.dataset import Subset
from sk_anyloss.training.data.source import as_source


@pytest.mark.parametrize("order", ["random", "sorted"])
@pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])
def test_ranks_of_the_quantiles_are_within_the_bound(order, weighted):
    rng = np.random.default_rng(0)
    X = rng.lognormal(size=(60_000, 2)).astype(np.float32)
    X = np.sort(X, axis=0) if order == "sorted" else X
    weight = rng.uniform(0, 2, len(X)) if weighted else np.ones(len(X))
    size, n_blocks = 512, 20
    sketch = QuantileSketch(n_values=9, size=size)
    for rows in np.split(np.arange(len(X)), n_blocks):
        sketch.add(X[rows], weight[rows] if weighted else None)
    for j in range(2):
        edges = sketch.edges(j, 8)
        assert len(edges) == 9
        assert edges[0] == X[:, j].min()
        assert edges[-1] == X[:, j].max()
        by_value = np.argsort(X[:, j])
        below = np.cumsum(weight[by_value]) / weight.sum()
        ranks = below[np.searchsorted(X[by_value, j], edges[1:-1])]
        bound = (1 + np.log2(n_blocks)) / size
        assert np.abs(ranks - np.arange(1, 8) / 8).max() < bound


def test_a_feature_of_few_values_has_an_edge_at_each_of_them():
    sketch = QuantileSketch(n_values=3, size=10)
    for values in ([1.0, 5.0], [5.0, 2.0], [1.0] * 50):
        sketch.add(np.array(values)[:, None])
    assert sketch.edges(0, 2).tolist() == [1, 2, 5]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_odd_columns_are_standardised_from_blocks_as_from_memory(dtype):
    rng = np.random.default_rng(1)
    noise, limit = rng.normal(size=40_000), np.finfo(dtype).max
    X = np.array(
        [
            np.full(40_000, 3.7),
            1e6 + np.spacing(np.array(1e6, dtype)).astype(float) * (noise > 0),
            1e30 * (1 + 1e-3 * noise),
            noise * (limit / 1e6),
            noise,
        ]
    ).T.astype(dtype)
    weight = rng.uniform(0.5, 2, 40_000)
    sample = Subset(None, noise > 1, weight)
    memory, streamed = as_source(X), as_source(X)
    streamed.is_streamed = True
    expected, found = (
        fit_encoding(source, sample, True, None) for source in (memory, streamed)
    )
    np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(found.scale, expected.scale, rtol=1e-6, atol=0)
    assert np.isinf(found.scale[0])
    X[7, 4] = limit
    with pytest.raises(ValueError, match="too large to be standardised in column 4"):
        fit_encoding(streamed, sample, True, None)
