"""The piecewise-linear encoding: what enters the network, and that it learns."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold

from sk_anyloss import AnyLossClassifier, fit_stack
from sk_anyloss.estimators.fitting.encoding import fit_encoding
from sk_anyloss.training.data.dataset import Subset
from sk_anyloss.training.data.source import as_source
from sk_anyloss.training.network.mlp import MLP
from tests.tolerances import SAME_MODEL

X, Y = make_classification(200, 5, weights=[0.7], flip_y=0.1, random_state=0)
X[:, 0] = np.round(X[:, 0])
X[:, 1] = X[:, 1] > 0
X[:, 2] = 7


def encode(column, n_bins, weight=None, target=None):
    """Bins of one feature, as they enter the network."""
    column = np.asarray(column, dtype=float)
    target = np.zeros(len(column)) if target is None else target
    subset = Subset(None, target, weight)
    encoding = fit_encoding(as_source(column[:, None]), subset, True, n_bins)
    module = MLP(1, hidden=(), **encoding._asdict())
    return module.standardize(module.mean.new_tensor(column)[:, None]).numpy()


def test_few_values_have_an_edge_at_each():
    bins = encode([0, 0, 0, 1, 5, 0], 8)
    expected = [[-1, -1], [-1, -1], [-1, -1], [1, -1], [1, 1], [-1, -1]]
    np.testing.assert_array_equal(bins, expected)


def test_a_column_of_one_value_says_nothing():
    np.testing.assert_array_equal(encode([3, 3, 3], 8), np.zeros((3, 1)))


def test_the_number_of_bins_is_a_power_of_two_so_that_folds_agree():
    assert [encode(range(n), 8).shape[1] for n in (2, 3, 4, 5, 6, 9, 90)] == [
        1, 2, 4, 4, 8, 8, 8,
    ]  # fmt: skip
    assert encode(range(90), 6).shape[1] == 6


columns = hnp.arrays(
    float, st.integers(2, 40), elements=st.floats(-1e300, 1e300) | st.integers(-3, 3)
)


@given(columns, st.integers(1, 10))
def test_bins_are_bounded_and_keep_the_order(column, n_bins):
    bins = encode(column, n_bins)
    assert np.isfinite(bins).all()
    assert np.abs(bins).max() <= 1
    steps = np.diff(bins[np.argsort(column)], axis=0)
    assert (steps >= 0).all()


@given(columns, st.integers(1, 10), st.randoms(use_true_random=False))
def test_a_sample_of_weight_two_is_the_same_sample_twice(column, n_bins, random):
    weight = np.array([random.randint(1, 3) for _ in column])
    target = np.array([float(random.random() < 0.3) for _ in column])
    twice = np.repeat(np.arange(len(column)), weight)
    one = encode(column, n_bins, weight.astype(float), target)
    other = encode(column[twice], n_bins, target=target[twice])
    np.testing.assert_array_equal(one[twice], other)


@pytest.mark.parametrize(
    ("hidden", "batch_size", "kind"),
    [
        ((), "auto", scipy.sparse.csr_array),
        ((4,), "auto", np.asarray),
        ((4,), 200, scipy.sparse.csr_array),
        ((), 200, np.asarray),
    ],
)
def test_alone_in_a_stack_and_from_sparse_rows(hidden, batch_size, kind):
    def make():
        return AnyLossClassifier(
            hidden=hidden, L=5, n_bins=4, batch_size=batch_size, max_epochs=5,
            random_state=0,
        )  # fmt: skip

    folds = [train for train, _ in StratifiedKFold(3).split(X, Y)]
    models = fit_stack([make() for _ in folds], kind(X), Y, rows=folds)
    for model, train in zip(models, folds, strict=True):
        alone = make().fit(X[train], Y[train])
        np.testing.assert_allclose(
            model.decision_function(kind(X)), alone.decision_function(X), **SAME_MODEL
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_no_hidden_layer_is_needed_to_follow_a_curve(dtype):
    x = np.linspace(-3, 3, 400, dtype=dtype)[:, None]
    y = (np.abs(x[:, 0]) < 1).astype(int)
    model = AnyLossClassifier(hidden=(), L=5, lr=0.05, random_state=0)
    assert model.fit(x, y).score(x, y) < 0.7
    assert model.set_params(n_bins=8).fit(x, y).score(x, y) > 0.95


def test_a_warm_start_keeps_the_bins():
    model = AnyLossClassifier(n_bins=4, max_epochs=2, warm_start=True, random_state=0)
    model.fit(X, Y)
    with pytest.raises(ValueError, match="n_bins=4 cannot continue with n_bins=8"):
        model.set_params(n_bins=8).fit(X, Y)
