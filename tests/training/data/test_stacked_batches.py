"""Stacked batches: those of a skorch dataset, standardised, in reused buffers."""

import numpy as np
import pytest
import scipy.sparse
import torch
from skorch.dataset import Dataset

from sk_anyloss.training.data.stacked_batches import Group, StackedBatches
from sk_anyloss.training.iterator import Batches
from sk_anyloss.training.network.mlp import MLP


def problem(n=40, d=3, positives=0.3):
    rng = np.random.default_rng(0)
    y = (rng.random(n) < positives).astype(float)
    return rng.normal(5, 2, size=(n, d)), y, rng.random(n)


def epoch_of(batches):
    """Samples, weights as negatives, weights as positives: a list of batches."""
    epoch = []
    for batch in batches:
        chunks = [
            torch.cat((rows.X.reshape(-1, rows.X.shape[-1]), *rows.classes.columns), 1)
            for rows in batch
        ]
        epoch.append(torch.cat(chunks))
    return epoch


@pytest.mark.parametrize(
    ("kind", "weighted"),
    [("tensor", False), ("tensor", True), ("sparse", True), ("float32", False)],
)
@pytest.mark.parametrize(("block", "chunk"), [(2**20, 2**20), (30, 2**20), (1, 12)])
def test_they_are_the_same_batches_standardised(
    kind, weighted, block, chunk, monkeypatch
):
    monkeypatch.setattr("sk_anyloss.training.data.stacked_batches.BLOCK_SIZE", block)
    monkeypatch.setattr("sk_anyloss.training.data.stacked_batches.CHUNK_SIZE", chunk)
    X, y, w = problem()
    X = X.astype(np.float32 if kind == "float32" else np.float64)
    mean, scale = X.mean(0), X.std(0)
    module = MLP(3, mean=mean, scale=scale, dtype=torch.float64)
    rows = scipy.sparse.csr_array(X) if kind == "sparse" else torch.from_numpy(X)
    inputs = {"X": rows, "sample_weight": w} if weighted else {"X": rows}
    plain = Batches(Dataset(inputs, y), 9, np.random.default_rng(0))
    other = Batches(Dataset(inputs, y), 9, np.random.default_rng(0))
    batches = other.stacked(module, torch.device("cpu"))
    assert batches is other.stacked(module, torch.device("cpu"))
    assert len(batches) == len(plain) == 5
    for _ in range(2):  # Epochs.
        for got, (Xi, yi) in zip(epoch_of(batches), plain, strict=True):
            weight = torch.as_tensor(Xi["sample_weight"]) if weighted else 1.0
            expected = module.standardize(Xi["X"].double())
            torch.testing.assert_close(got[:, :3], expected)
            torch.testing.assert_close(got[:, 3], weight * (1 - yi))
            torch.testing.assert_close(got[:, 4], weight * yi)


def test_groups_with_a_sample_less_are_padded_with_weight_0():
    X, y, _ = problem(11)
    groups = [
        Group(y, np.random.default_rng(0)),
        Group(y[:10], np.random.default_rng(1), np.arange(10)),
    ]
    batches = StackedBatches(torch.from_numpy(X), groups, 2, 1, torch.float64)
    seen = np.zeros((2, 2))
    for (rows,) in batches:
        assert rows.X.shape[0] == 2
        seen += rows.classes.totals().numpy()
    assert seen.tolist() == [[11 - y.sum(), y.sum()], [10 - y[:10].sum(), y[:10].sum()]]


def test_one_batch_is_gathered_once(monkeypatch):
    X, y, _ = problem()
    batches = StackedBatches(torch.from_numpy(X), [Group(y)], 1, 2, torch.float64)
    (first,), gathered = epoch_of(batches), []
    monkeypatch.setattr(batches.source, "dense", gathered.append)
    (again,) = epoch_of(batches)
    assert torch.equal(first, again)
    assert gathered == []


def test_they_hold_little_more_than_a_block(monkeypatch):
    monkeypatch.setattr("sk_anyloss.training.data.stacked_batches.BLOCK_SIZE", 300)
    X, y, _ = problem(1000)
    batches = StackedBatches(torch.from_numpy(X), [Group(y)], 50, 2, torch.float64)
    assert batches.buffers[0].numel() <= 300
    monkeypatch.setattr("sk_anyloss.training.data.stacked_batches.CHUNK_SIZE", 90)
    batches = StackedBatches(torch.from_numpy(X), [Group(y)], 1, 2, torch.float64)
    assert batches.buffers[0].numel() <= 90
    assert len(next(iter(batches))) == 34


def test_only_groups_with_a_generator_are_shuffled():
    X, y, _ = problem()
    groups = [Group(y), Group(y, np.random.default_rng(0))]
    batches = StackedBatches(torch.from_numpy(X), groups, 4, 1, torch.float64)
    rows = torch.cat([batch[0].X.clone() for batch in batches], dim=1).numpy()
    np.testing.assert_array_equal(rows[0], X)
    assert (rows[1] != X).any()
    np.testing.assert_array_equal(np.sort(rows[1], axis=0), np.sort(X, axis=0))


def test_positions_take_four_bytes():
    X, y, _ = problem()
    groups = [Group(y, np.random.default_rng(i), np.arange(40)) for i in range(2)]
    batches = StackedBatches(torch.from_numpy(X), groups, 4, 1, torch.float64)
    list(batches)
    order = batches.order
    list(batches)
    assert order is batches.order  # The same memory in every epoch.
    assert order.dtype == batches.index.dtype == np.int32
