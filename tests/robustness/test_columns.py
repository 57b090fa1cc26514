"""Constant columns, columns of any magnitude, and values beyond reason."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from sk_anyloss import AnyLossClassifier, AnyLossClassifierCV

X, Y = make_classification(
    600, 6, n_informative=4, weights=[0.85], class_sep=1.5, random_state=0
)
#: A time stamp in nanoseconds, of which a sum of 600 rounds.
STAMP = 1_731_234_567_890_123_457.0
QUICK = {"max_epochs": 30, "random_state": 0}


def beside(column, dtype=float):
    return np.column_stack((X, column)).astype(dtype)


def score_with(column, dtype=float, **params):
    Z = beside(column, dtype)
    return AnyLossClassifier("f1", **{**QUICK, **params}).fit(Z, Y).score(Z, Y)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("value", [0.0, 0.1, STAMP, -1e30])
def test_a_constant_column_enters_as_zero(value, dtype):
    found = score_with(np.full(600, value), dtype)
    assert found == pytest.approx(score_with(np.zeros(600), dtype), abs=0.02)


def test_another_value_of_a_constant_column_changes_no_decision():
    model = AnyLossClassifier("f1", **QUICK).fit(beside(np.full(600, STAMP)), Y)
    np.testing.assert_array_equal(
        model.decision_function(beside(np.full(600, STAMP))),
        model.decision_function(beside(np.full(600, STAMP + 1e15))),
    )


def test_rounding_noise_counts_as_constant():
    noise = np.where(np.arange(600) % 2, 0.1 * 3, 0.3)
    assert np.ptp(noise) > 0
    found = score_with(noise)
    assert found == pytest.approx(score_with(np.zeros(600)), abs=0.02)


def test_small_differences_of_large_values_are_seen():
    stamps = STAMP + 1e7 * Y  # Ten milliseconds apart.
    assert score_with(stamps) > 0.99


@pytest.mark.parametrize("magnitude", [1e-300, 1e-150, 1e150, 1e200, 1e300])
def test_the_magnitude_of_a_column_does_not_matter(magnitude):
    column = np.random.default_rng(0).normal(size=600) + 2 * Y
    found = score_with(column * magnitude)
    assert found == pytest.approx(score_with(column), abs=0.02)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_values_next_to_the_largest_number_are_refused_by_column(dtype):
    column = np.linspace(-0.9, 0.9, 600) * np.finfo(dtype).max
    with pytest.raises(ValueError, match="column 6"):
        score_with(column, dtype)


@pytest.mark.parametrize(
    "model",
    [
        AnyLossClassifier("f1", standardize=False, **QUICK),
        AnyLossClassifierCV("f1", candidates=[{"standardize": False}], **QUICK),
    ],
)
def test_huge_values_without_standardising_are_finite_or_a_clear_error(model):
    Z = beside(np.random.default_rng(0).normal(size=600) * 1e200)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            scores = model.fit(Z, Y).predict_proba(Z)
        except ValueError as error:
            assert "standardize=True" in str(error)  # noqa: PT017
        else:
            assert np.isfinite(scores).all()


def test_huge_values_that_come_later_are_a_clear_error_not_nan():
    model = AnyLossClassifier("f1", hidden=(8,), activation="relu", **QUICK)
    model.fit(X.astype(np.float32), Y)
    later = X.copy()
    later[7, 2] = 1e300
    with pytest.raises(ValueError, match=r"sample 7 .* 1e\+300"):
        model.predict_proba(later)


@pytest.mark.parametrize(
    "columns",
    [
        np.zeros((600, 3)),
        np.full((600, 2), STAMP),
        np.column_stack((np.full(600, 1e300), np.full(600, 1e-300))),
    ],
)
def test_nothing_but_constant_columns_gives_finite_scores(columns):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = AnyLossClassifier("f1", **QUICK).fit(columns, Y)
    assert np.isfinite(model.predict_proba(columns)).all()


def test_a_constant_column_of_a_sparse_matrix():
    Z = beside(np.full(600, STAMP))
    dense = AnyLossClassifier("f1", **QUICK).fit(Z, Y)
    sparse = AnyLossClassifier("f1", **QUICK).fit(scipy.sparse.csr_array(Z), Y)
    np.testing.assert_allclose(
        sparse.decision_function(scipy.sparse.csr_array(Z)),
        dense.decision_function(Z),
        rtol=1e-5,
        atol=1e-7,
    )
