"""Batches: sizes, order, stratification, kinds of data."""

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given
from hypothesis import strategies as st
from skorch.dataset import Dataset
from torch.utils.data import TensorDataset

from sk_anyloss.batches import Batches, Feed, Group, batch_rows, stratified_order
from sk_anyloss.modules import MLP


@given(n=st.integers(1, 500), positives=st.floats(0, 1), size=st.integers(1, 600))
def test_every_row_comes_once_and_each_batch_has_its_share(n, positives, size):
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


def test_without_a_generator_rows_keep_their_order():
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


def test_any_other_dataset_goes_row_by_row(untouched_generators):
    data = TensorDataset(torch.arange(10), torch.zeros(10))
    rows = [X.tolist() for X, _ in Batches(data, 4)]
    assert rows == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    shuffled = [X for X, _ in Batches(data, 4, np.random.default_rng(0))]
    assert sorted(torch.cat(shuffled).tolist()) == list(range(10))


def test_rows_without_labels_can_be_predicted():
    ((rows, _),) = Batches(Dataset(X), 100)
    assert len(rows) == 6


@pytest.mark.parametrize("size", [0, -1, 0.0, 1.5, True, "all", None])
def test_sizes_that_make_no_sense(size):
    with pytest.raises(ValueError, match="batch_size must be 'auto'"):
        batch_rows(size, 100)


def test_stratified_order_with_one_class():
    order = stratified_order(np.zeros(5), np.random.default_rng(0))
    assert sorted(order.tolist()) == list(range(5))


def problem(n=40, d=3, positives=0.3):
    rng = np.random.default_rng(0)
    y = (rng.random(n) < positives).astype(float)
    return rng.normal(5, 2, size=(n, d)), y, rng.random(n)


def epoch_of(feed):
    """Rows, weights as negatives, weights as positives: a list of batches."""
    epoch = []
    for batch in feed:
        pieces = [
            torch.cat((rows.X.reshape(-1, rows.X.shape[-1]), *rows.classes.columns), 1)
            for rows in batch
        ]
        epoch.append(torch.cat(pieces))
    return epoch


@pytest.mark.parametrize("kind", ["tensor", "sparse", "float32"])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("block", "piece"), [(2**20, 2**20), (30, 2**20), (1, 12)])
def test_a_feed_gives_the_same_batches_standardised(
    kind, weighted, block, piece, monkeypatch
):
    monkeypatch.setattr("sk_anyloss.batches.BLOCK_SIZE", block)
    monkeypatch.setattr("sk_anyloss.batches.PIECE_SIZE", piece)
    X, y, w = problem()
    X = X.astype(np.float32 if kind == "float32" else np.float64)
    mean, scale = X.mean(0), X.std(0)
    module = MLP(3, mean=mean, scale=scale, dtype=torch.float64)
    rows = scipy.sparse.csr_array(X) if kind == "sparse" else torch.from_numpy(X)
    inputs = {"X": rows, "sample_weight": w} if weighted else {"X": rows}
    plain = Batches(Dataset(inputs, y), 9, np.random.default_rng(0))
    other = Batches(Dataset(inputs, y), 9, np.random.default_rng(0))
    feed = other.feed(module, torch.device("cpu"))
    assert feed is other.feed(module, torch.device("cpu"))
    assert len(feed) == len(plain) == 5
    for _ in range(2):  # Epochs.
        for got, (Xi, yi) in zip(epoch_of(feed), plain, strict=True):
            weight = torch.as_tensor(Xi["sample_weight"]) if weighted else 1.0
            expected = module.standardize(Xi["X"].double())
            torch.testing.assert_close(got[:, :3], expected)
            torch.testing.assert_close(got[:, 3], weight * (1 - yi))
            torch.testing.assert_close(got[:, 4], weight * yi)


def test_groups_with_a_row_less_are_filled_up_with_rows_of_no_weight():
    X, y, _ = problem(11)
    groups = [
        Group(y, np.random.default_rng(0)),
        Group(y[:10], np.random.default_rng(1), np.arange(10)),
    ]
    feed = Feed(torch.from_numpy(X), groups, 2, 1, torch.float64)
    seen = np.zeros((2, 2))
    for (rows,) in feed:
        assert rows.X.shape[0] == 2
        seen += rows.classes.totals().numpy()
    assert seen.tolist() == [[11 - y.sum(), y.sum()], [10 - y[:10].sum(), y[:10].sum()]]


def test_one_batch_is_gathered_once(monkeypatch):
    X, y, _ = problem()
    feed = Feed(torch.from_numpy(X), [Group(y)], 1, 2, torch.float64)
    (first,), gathered = epoch_of(feed), []
    monkeypatch.setattr(feed, "_gather", gathered.append)
    (again,) = epoch_of(feed)
    assert torch.equal(first, again)
    assert gathered == []


def test_a_feed_holds_little_more_than_a_block(monkeypatch):
    monkeypatch.setattr("sk_anyloss.batches.BLOCK_SIZE", 300)
    X, y, _ = problem(1000)
    feed = Feed(torch.from_numpy(X), [Group(y)], 50, 2, torch.float64)
    assert feed.memory[0].numel() <= 300
    monkeypatch.setattr("sk_anyloss.batches.PIECE_SIZE", 90)
    feed = Feed(torch.from_numpy(X), [Group(y)], 1, 2, torch.float64)
    assert feed.memory[0].numel() <= 90
    assert len(next(iter(feed))) == 34
