"""Batches: sizes, order, stratification, kinds of data."""

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given
from hypothesis import strategies as st
from skorch.dataset import Dataset
from torch.utils.data import TensorDataset

from sk_anyloss.training.iterator import Batches


@given(n=st.integers(1, 500), positives=st.floats(0, 1), size=st.integers(1, 600))
def test_every_sample_comes_once_and_classes_are_spread_evenly(n, positives, size):
    y = (np.arange(n) < positives * n).astype(float)
    data = Dataset({"X": torch.arange(n)}, torch.from_numpy(y))
    batches = Batches(data, size, np.random.default_rng(0))
    seen = [(X["X"], labels) for X, labels in batches]
    assert len(seen) == len(batches)
    assert sorted(torch.cat([X for X, _ in seen]).tolist()) == list(range(n))
    sizes = [len(labels) for _, labels in seen]
    assert max(sizes) - min(sizes) <= 1
    assert max(sizes) <= size
    for X, labels in seen:
        assert (labels.numpy() == y[X]).all()
        assert abs(labels.sum().item() - y.mean() * len(labels)) <= 2


def test_positives_reach_every_batch_if_there_are_enough():
    y = torch.zeros(1000)
    y[:10] = 1
    data = Dataset(torch.arange(1000), y)
    batches = Batches(data, 100, np.random.default_rng(0))
    assert [labels.sum().item() for _, labels in batches] == [1.0] * 10


def test_each_pass_has_a_new_order_which_the_seed_decides():
    def order(seed, passes=1):
        data = Dataset(torch.arange(50), torch.zeros(50))
        batches = Batches(data, 10, np.random.default_rng(seed))
        return [torch.cat([X for X, _ in batches]).tolist() for _ in range(passes)]

    first, second = order(0, 2)
    assert first != second
    assert order(0) == [first]
    assert order(1) != [first]


def test_without_a_generator_samples_keep_their_order():
    data = Dataset(torch.arange(7), torch.arange(7))
    assert torch.cat([X for X, _ in Batches(data, 2)]).tolist() == list(range(7))


X = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize(
    "data",
    [X, torch.from_numpy(X), scipy.sparse.csr_matrix(X), scipy.sparse.csr_array(X)],
    ids=["array", "tensor", "matrix", "sparse array"],
)
@pytest.mark.parametrize("shuffled", [False, True])
def test_arrays_tensors_and_sparse_matrices_give_dense_tensors(data, shuffled):
    y = X[:, 0]
    rng = np.random.default_rng(0) if shuffled else None
    for rows, labels in Batches(Dataset(data, y), 4, rng):
        assert isinstance(rows, torch.Tensor)
        torch.testing.assert_close(rows[:, 0], labels)
        torch.testing.assert_close(rows[:, 1], labels + 1)


def test_any_other_dataset_goes_sample_by_sample(untouched_generators):
    data = TensorDataset(torch.arange(10), torch.zeros(10))
    rows = [X.tolist() for X, _ in Batches(data, 4)]
    assert rows == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    shuffled = [X for X, _ in Batches(data, 4, np.random.default_rng(0))]
    assert sorted(torch.cat(shuffled).tolist()) == list(range(10))


def test_samples_without_labels_can_be_predicted():
    ((rows, _),) = Batches(Dataset(X), 100)
    assert len(rows) == 6
