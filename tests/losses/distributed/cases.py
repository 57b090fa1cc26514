"""Losses, samples and trainings that are the same in any number of processes."""

import copy

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from sk_anyloss.losses import (
    BCE,
    MSE,
    AnyLoss,
    CrossEntropy,
    Focal,
    Hybrid,
    SurrogateFBeta,
    WeightedBCE,
    WeightedCrossEntropy,
)
from sk_anyloss.losses.distributed.accumulation import Accumulation

N = 97
#: Number of outputs, whether targets are labels, and the loss.
CASES = {
    "f1": (1, False, AnyLoss("f1")),
    "mcc, linear, thresholds": (1, False, AnyLoss("mcc", "linear", (0.3, 0.6))),
    "roc_auc": (1, False, AnyLoss("roc_auc")),
    "bce": (1, False, BCE()),
    "mse": (1, False, MSE()),
    "balanced bce": (1, False, WeightedBCE()),
    "focal": (1, False, Focal(2, 0.3)),
    "surrogate": (1, False, SurrogateFBeta(2, rate=0.4)),
    "hybrid": (1, False, Hybrid("gmean", share=0.3)),
    "f1 of classes": (4, False, AnyLoss("f1")),
    "kappa of classes": (4, False, AnyLoss("kappa_quadratic")),
    "one against rest": (4, False, AnyLoss("f1_macro", "cosine")),
    "cross-entropy": (4, False, CrossEntropy()),
    "balanced cross-entropy": (4, False, WeightedCrossEntropy()),
    "hybrid of classes": (4, False, Hybrid("f1_macro")),
    "f1 of labels": (3, True, AnyLoss("f1")),
    "micro f1 of labels": (3, True, AnyLoss("f1_micro")),
    "weighted f1 of labels": (3, True, AnyLoss("f1_weighted")),
    "f1 of samples": (3, True, AnyLoss("f1_samples")),
    "bce of labels": (3, True, BCE()),
    "hybrid of labels": (3, True, Hybrid("f1")),
}


def samples(n_outputs, is_labels):
    """Samples, targets and weights, the same in every process."""
    generator = torch.Generator().manual_seed(n_outputs)
    X = torch.randn(N, 5, dtype=torch.float64, generator=generator)
    score = X[:, :3].cumsum(1) + torch.randn(N, 3, generator=generator)
    if is_labels:
        y = (score > 0.8).to(torch.int64)
    elif n_outputs > 1:
        y = (score[:, 0].abs() * 1.5).to(torch.int64).clamp(max=n_outputs - 1)
    else:
        y = (score[:, 0] > 0.8).to(torch.int64)
    return X, y, torch.rand(N, dtype=torch.float64, generator=generator) * 3


def shard(rank, size):
    """Which samples a process has: uneven numbers, and none in one of four."""
    bounds = {1: [0, N], 2: [0, 71, N], 4: [0, 50, 50, 90, N]}[size]
    return slice(bounds[rank], bounds[rank + 1])


def network(n_outputs):
    generator = torch.Generator().manual_seed(7)
    module = nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Linear(4, n_outputs)).double()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) * 0.5)
    return module


def loss_and_gradient(name, rank=0, size=1, weighted=False):
    n_outputs, is_labels, loss = CASES[name]
    loss, module = copy.deepcopy(loss), network(n_outputs)
    whole_set, own = samples(n_outputs, is_labels), shard(rank, size)
    X, y, weight = (values[own] for values in whole_set)
    wrapped = DistributedDataParallel(module) if size > 1 else module
    value = loss(wrapped(X), y, weight if weighted else None)
    value.backward()
    return value.item(), _flat(parameter.grad for parameter in module.parameters())


def trained_weights(rank=0, size=1, decay=0.8, wrap=DistributedDataParallel):
    """Parameters after a training in batches, with a moving average, and decisions."""
    loss, module = AnyLoss("f2", "identity", decay=decay), network(1)
    X, y, weight = samples(1, False)
    wrapped = wrap(module) if size > 1 else module
    optimizer = torch.optim.Adam(module.parameters(), lr=0.02)
    generator = torch.Generator().manual_seed(3)
    for _ in range(12):
        for rows in torch.randperm(N, generator=generator).split(30):
            own = rows[rank::size]
            if len(rows) < 30:  # The last batch is in the first process.
                own = rows[: 0 if rank else None]
            optimizer.zero_grad()
            loss(wrapped(X[own]), y[own], weight[own]).backward()
            optimizer.step()
    with torch.no_grad():
        return _flat(module.parameters()), (module(X) > 0).numpy()


def accumulated(name, rank=0, size=1):
    """Loss and gradient of a batch that is gone through in parts."""
    n_outputs, is_labels, loss = CASES[name]
    whole, module = Accumulation(copy.deepcopy(loss)), network(n_outputs)
    whole_set, own = samples(n_outputs, is_labels), shard(rank, size)
    X, y, weight = (values[own] for values in whole_set)
    parts = torch.arange(len(X)).split(17 + 6 * rank)
    wrapped = DistributedDataParallel(module) if size > 1 else module
    with torch.no_grad():
        for rows in parts:
            whole.add(module(X[rows]), y[rows], weight[rows])
    value = whole.value()
    for i, rows in enumerate(parts):
        is_last = i + 1 == len(parts)
        if size > 1 and not is_last:
            with wrapped.no_sync():
                whole.part(wrapped(X[rows]), y[rows], weight[rows]).backward()
        else:
            whole.part(wrapped(X[rows]), y[rows], weight[rows]).backward()
    return value.item(), _flat(parameter.grad for parameter in module.parameters())


def _flat(tensors):
    # Of FSDP, each process has a part.
    whole = [t.full_tensor() if hasattr(t, "full_tensor") else t for t in tensors]
    return torch.cat([tensor.detach().reshape(-1) for tensor in whole]).numpy()
