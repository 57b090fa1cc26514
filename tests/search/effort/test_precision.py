"""Where the networks of a search compute in single precision."""

import numpy as np
import pytest
import scipy.sparse
import torch
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score

from sk_anyloss import AnyLossClassifierCV
from sk_anyloss.search.effort.precision import fits_in_single

X, Y = make_classification(
    700, 4, weights=[0.8], class_sep=1.5, flip_y=0.02, random_state=0
)
PARAMS = {"candidates": [{"hidden": (3,)}], "cv": 3, "random_state": 0}


def precisions(model):
    return {p.dtype for m in model.estimators_ for p in m.net_.module_.parameters()}


def test_networks_compute_in_single_precision_where_nothing_is_lost():
    model = AnyLossClassifierCV(**PARAMS).fit(X[:500], Y[:500])
    assert precisions(model) == {torch.float32}
    # Training is as it is for samples that are stored in single precision.
    stored = AnyLossClassifierCV(**PARAMS).fit(X[:500].astype(np.float32), Y[:500])
    found, expected = (m.decision_function(X[500:]) for m in (model, stored))
    np.testing.assert_allclose(found, expected, rtol=1e-2, atol=1e-2)
    assert f1_score(Y[500:], model.predict(X[500:])) > 0.7


def test_samples_far_from_zero_are_learned_in_double_precision():
    far = X + np.array([0, 1e8, 0, 0])
    model = AnyLossClassifierCV(**PARAMS).fit(far[:500], Y[:500])
    assert precisions(model) == {torch.float64}
    near = AnyLossClassifierCV(**PARAMS).fit(X[:500], Y[:500])
    agree = model.predict(far[500:]) == near.predict(X[500:])
    assert agree.mean() > 0.95


def test_the_best_candidate_is_trained_on_all_samples_in_the_same_precision():
    model = AnyLossClassifierCV(ensemble=False, **PARAMS).fit(X, Y)
    assert precisions(model) == {torch.float32}


@pytest.mark.parametrize(
    ("samples", "expected"),
    [
        (X, True),
        (X[:499], False),
        (X.astype(np.float32), False),
        (scipy.sparse.csr_array(X), False),
        (np.where(np.arange(4) == 1, 1e9, X), True),  # A constant feature.
        (X * 1e31, False),
        (X * 1e-200, False),
        (X + 1e3, True),
        (X + 1e5, False),
        (np.vstack([X, np.full((1, 4), 1e6)]), True),  # An outlier.
    ],
)
def test_where_single_precision_suffices(samples, expected):
    assert fits_in_single(samples) is expected
