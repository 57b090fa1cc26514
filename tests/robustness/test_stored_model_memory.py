"""A stored model predicts sparse samples in bounded memory, as the fitted one does."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse

from sk_anyloss import AnyLossClassifier
from sk_anyloss.plain import to_plain


@pytest.mark.parametrize(
    "params", [{}, {"hidden": ()}, {"standardize": False}, {"n_bins": 2}]
)
def test_a_stored_model_predicts_sparse_samples_in_bounded_memory(params):
    rng = np.random.default_rng(0)
    n, d, cells = 20_000, 5_000, 50_000
    place = rng.integers(0, n, cells), rng.integers(0, d, cells)
    X = scipy.sparse.csr_array((rng.normal(size=cells), place), shape=(n, d))
    y = np.arange(100) % 3 == 0
    model = AnyLossClassifier(max_epochs=2, random_state=0, **params)
    model.fit(X[:100], y)
    plain = to_plain(model)
    few = X[:50]
    np.testing.assert_allclose(
        plain.decision_function(few), model.decision_function(few), 1e-9, 1e-12
    )
    if params == {"n_bins": 2}:  # The columns in bins are dense, and slow.
        X = X[:8_000]
    tracemalloc.start()
    found = plain.decision_function(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4 * 2**26  # Dense, X alone takes 800 or 320 MB.
    # Chunks of another size are multiplied in another order on some CPUs.
    np.testing.assert_allclose(
        found[:50], plain.decision_function(few), rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sparse_columns_far_from_zero_keep_their_digits(dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) * [1, 1, 3, 0]
    y = X[:, 0] > 0.5
    offsets = np.array([0, 2, 10**5, 10**9])  # The last column is constant.
    X = (X + offsets).astype(dtype)
    model = to_plain(AnyLossClassifier(max_epochs=20, random_state=0).fit(X, y))
    dense = model.decision_function(X)
    sparse = model.decision_function(scipy.sparse.csr_array(X))
    np.testing.assert_allclose(
        sparse, dense, 1e-9 if dtype is np.float64 else 1e-4, 1e-5
    )
