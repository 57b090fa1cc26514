"""Nets whose training is the same in any number of processes."""

import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from scipy.sparse import csr_array
from skorch.dataset import ValidSplit
from torch import nn

from sk_anyloss import AnyLossNet
from sk_anyloss.losses import AnyLoss
from sk_anyloss.training.callbacks import StopOnScore
from sk_anyloss.training.data.dataset import SubsetDataset
from sk_anyloss.training.data.parquet import ParquetSource
from sk_anyloss.training.network.mlp import MLP

N = 120


def samples(kind="binary"):
    """Samples, labels and weights; ``few`` are the first of those with two classes."""
    if kind == "few":
        return tuple(values[:45] for values in samples())
    rng = np.random.default_rng(5)
    X = rng.normal(size=(N, 6))
    score = X[:, :3] + 0.7 * rng.normal(size=(N, 3))
    y = {
        "binary": (score[:, 0] > 1).astype(int),
        "classes": np.digitize(score[:, 0], [-0.7, 0.9]),
        "labels": (score > 0.8).astype(int),
    }[kind]
    return X, y, rng.uniform(0.2, 3, size=N)


def small_net(n_outputs=1):
    torch.manual_seed(0)
    layers = nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, n_outputs)
    return nn.Sequential(*layers).double()


def mlp(n_outputs=1, **options):
    return MLP(
        6,
        hidden=(5,),
        n_outputs=n_outputs,
        dtype=torch.float64,
        random_state=0,
        **options,
    )


SPLIT = ValidSplit(4, stratified=True)

#: Kind of samples, whether they are weighted, and parameters of the net.
CASES = {
    "closed form": ("binary", True, {"module": mlp()}),
    "closed form, full batch": ("binary", True, {"module": mlp(), "batch_size": 1.0}),
    "closed form, classes": ("classes", False, {"module": mlp(3)}),
    "closed form, labels": (
        "labels",
        True,
        {"module": mlp(3), "target_type": "multilabel-indicator"},
    ),
    "autograd": ("binary", True, {"module": small_net()}),
    "autograd, classes": ("classes", True, {"module": small_net(3)}),
    "autograd, labels": ("labels", False, {"module": small_net(3)}),
    "moving average": (
        "binary",
        False,
        {"module": mlp(), "criterion": AnyLoss("f2", decay=0.9), "metric": "f2"},
    ),
    "batches of three": (
        "few",
        False,
        {"module": mlp(), "batch_size": 3, "max_epochs": 2},
    ),
    "autograd, batches of three": (
        "few",
        False,
        {"module": small_net(), "batch_size": 3, "max_epochs": 2},
    ),
    "torch's cross-entropy": (
        "few",
        False,
        {
            "module": small_net(),
            "criterion": nn.BCEWithLogitsLoss,
            "batch_size": 3,
            "max_epochs": 2,
        },
    ),
    "early stopping": (
        "binary",
        True,
        {
            "module": mlp(),
            "train_split": SPLIT,
            "callbacks": [StopOnScore(patience=2)],
            "max_epochs": 30,
            "lr": 0.1,
        },
    ),
    "validation by a curve": (
        "binary",
        False,
        {"module": small_net(), "metric": "roc_auc", "train_split": SPLIT},
    ),
}


def build(name, **changed):
    options = {"batch_size": 40, "max_epochs": 4, "lr": 0.03, "random_state": 3}
    return AnyLossNet(**(options | CASES[name][2] | changed))


def trained(name, **changed):
    """Losses and scores of all epochs, weights, and decisions."""
    kind, weighted, _ = CASES[name]
    X, y, weight = samples(kind)
    if "torch's" in name:
        y = y.astype(float)
    net = build(name, **changed)
    net.fit(X, y, sample_weight=weight if weighted else None)
    return summary(net, X)


def trained_sparse():
    X, y, _ = samples()
    wide = np.zeros((N, 600))
    wide[:, ::100] = X
    module = MLP(600, hidden=(3,), dtype=torch.float64, random_state=0)
    net = AnyLossNet(module, batch_size=50, max_epochs=4, random_state=1)
    return summary(net.fit(csr_array(wide), y), csr_array(wide))


def trained_parquet():
    """From row groups of 25 samples, of which two are in memory at a time."""
    X, y, weight = samples()
    columns = {f"x{j}": X[:, j] for j in range(6)}
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/samples.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=25)
        data = SubsetDataset(ParquetSource(path, window=50 * 6 * 8), y, weight)
        return summary(build("closed form").fit(data, None), X)


def summary(net, X):
    keys = ("train_loss", "valid_loss", "valid_score")
    figures = [[epoch[key] for key in keys if key in epoch] for epoch in net.history]
    parameters = [p.detach().reshape(-1) for p in net.module_.parameters()]
    return np.array(figures), torch.cat(parameters).numpy(), net.predict(X)
