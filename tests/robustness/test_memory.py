"""Memory of a fit and of predictions is bounded by numbers, not by samples."""

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.base import clone

from benchmarks import memory
from sk_anyloss import AnyLossClassifier, fit_stack

TALL = memory.TALL.format(n=500_000)
WIDE = memory.WIDE.format(n=40_000, d=40_000, stored=160_000)


def growth(data, **params):
    pytest.importorskip("resource")
    return memory.measure(data, **params)[2]


def test_wide_sparse_samples_are_never_made_dense():
    # One chunk of 16,384 dense samples would take five gigabytes.
    assert growth(WIDE, early_stopping=True) < 150e6


def test_early_stopping_and_curves_hold_no_copy_of_the_samples():
    # The samples take 160 MB.
    assert growth(TALL, early_stopping=True, metric="roc_auc") < 0.8 * 160e6


def test_bins_hold_no_copy_of_the_encoded_samples():
    # All encoded samples would take 640 MB, and 16,384 of them 42 MB a copy.
    few = TALL.replace("500_000", "250_000")
    assert growth(few, n_bins=8, hidden=()) < 120e6


def thin():
    rng = np.random.default_rng(0)
    X = scipy.sparse.random(400, 300, density=0.02, random_state=0, format="csr")
    signal = X @ rng.normal(size=300)
    return X, (signal > np.quantile(signal, 0.8)).astype(int)


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"hidden": ()},
        {"hidden": (8, 4), "activation": "relu"},
        {"standardize": False},
        {"early_stopping": True},
        {"batch_size": 1.0},
        {"activation": torch.sin},
        {"n_bins": 4},
        {"loss": "bce", "n_init": 2},
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_sparse_and_dense_samples_give_the_same_network(params, weighted):
    X, y = thin()
    weight = np.random.default_rng(1).uniform(0.5, 2, len(y)) if weighted else None
    model = AnyLossClassifier(max_epochs=5, random_state=0, **params)
    sparse = model.fit(X, y, weight).decision_function(X)
    dense = model.fit(X.toarray(), y, weight).decision_function(X.toarray())
    np.testing.assert_allclose(sparse, dense, rtol=1e-6, atol=1e-6)


def test_sparse_samples_in_a_stack():
    X, y = thin()
    rng = np.random.default_rng(0)
    parts = [rng.permutation(400)[:n] for n in (250, 251, 300)] * 2
    models = [
        AnyLossClassifier(L=L, max_epochs=5, random_state=0)
        for L in (5, 5, 5, 20, 20, 20)
    ]
    fit_stack(models, X, y, rows=parts)
    for model, part in zip(models, parts, strict=True):
        alone = clone(model).fit(X[part].toarray(), y[part])
        np.testing.assert_allclose(
            model.decision_function(X),
            alone.decision_function(X.toarray()),
            rtol=1e-6,
            atol=1e-6,
        )


@pytest.mark.parametrize(("dtype", "atol"), [(np.float64, 1e-6), (np.float32, 1e-4)])
def test_a_sparse_column_far_from_zero_keeps_its_digits(dtype, atol):
    X, y = thin()
    far = 1e5 + np.random.default_rng(0).normal(size=(len(y), 1)) + 3 * y[:, None]
    X = scipy.sparse.hstack((X, far), format="csr").astype(dtype)
    model = AnyLossClassifier(max_epochs=20, random_state=0)
    sparse = model.fit(X, y).decision_function(X)
    dense = model.fit(X.toarray(), y).decision_function(X.toarray())
    np.testing.assert_allclose(sparse, dense, rtol=1e-6, atol=atol)
