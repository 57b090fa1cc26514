"""The methods of the studies: criteria and decisions for the same network."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from benchmarks.networks.images import Split
from benchmarks.networks.store import Record
from sk_anyloss import AnyLossNet, metric_score
from sk_anyloss.losses import (
    BCE,
    MSE,
    AnyLoss,
    Focal,
    Hybrid,
    SurrogateFBeta,
    WeightedBCE,
)
from sk_anyloss.losses.base import Loss
from sk_anyloss.losses.steps import Cosine, Sigmoid
from sk_anyloss.metrics import FBeta, get_metric
from sk_anyloss.metrics.tuning import best_threshold

__all__ = ["METRIC_FREE", "run_methods"]

NINE = tuple(t / 10 for t in range(1, 10))
#: Methods that train for no metric: one fit serves all of them.
METRIC_FREE = ("cross-entropy", "MSE", "class weights", "focal")


def _loop(
    module: nn.Module, criterion: nn.Module, split: Split, epochs: int, lr: float,
    batch: int,
) -> Callable[[np.ndarray], np.ndarray]:  # fmt: skip
    """A plain training loop, as people write it: the criterion and nothing else."""
    X, y = torch.from_numpy(split.X), torch.from_numpy(split.y)
    optimizer = torch.optim.Adam(module.parameters(), lr=lr)
    for _ in range(epochs):
        for index in torch.randperm(len(y)).split(batch):
            optimizer.zero_grad()
            criterion(module(X[index]), y[index]).backward()
            optimizer.step()
    module.eval()

    def logits(images: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return module(torch.from_numpy(images)).squeeze(1).numpy()

    return logits


def _criterion(name: str, metric: str) -> Any:
    """The criterion of a method; None is the default of ``AnyLossNet``."""
    made: dict[str, Callable[[], Any]] = {
        "cross-entropy": BCE,
        "MSE": MSE,
        "class weights": WeightedBCE,
        "focal": Focal,
        "hybrid": lambda: Hybrid(metric),
        "soft sets, linear": lambda: AnyLoss(metric, "linear", NINE),
        "SOL, cosine": lambda: AnyLoss(metric, Cosine(0.1)),
        "AnyLossNet": lambda: None,
        "bare AnyLoss": lambda: AnyLoss(metric),
        "bare AnyLoss, L=73": lambda: AnyLoss(metric, Sigmoid(73)),
    }
    if name == "surrogate":
        function = get_metric(metric)
        assert isinstance(function, FBeta)
        return SurrogateFBeta(function.beta)
    return made[name]()


def _fit(
    name: str, make: Callable[[], nn.Module], split: Split, metric: str, seed: int,
    epochs: int, lr: float, batch: int,
) -> Callable[[np.ndarray], np.ndarray]:  # fmt: skip
    """Train the network with a method; a function from images to logits."""
    torch.manual_seed(seed)
    module, criterion = make(), _criterion(name, metric)
    if isinstance(criterion, Loss):
        criterion.prepare(float((split.y == 0).sum()), float(split.y.sum()))
    if name.startswith("bare"):
        return _loop(module, criterion, split, epochs, lr, batch)
    chosen = {} if criterion is None else {"criterion": criterion}
    net = AnyLossNet(
        module, metric=metric, lr=lr, max_epochs=epochs, batch_size=batch,
        random_state=seed, **chosen,
    )  # fmt: skip
    return net.fit(split.X, split.y).logits


def _fits(
    methods: Mapping[str, Sequence[str]],
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The fits that methods and their metrics need, with the metrics of each."""
    for name, metrics in methods.items():
        if name in METRIC_FREE:
            yield name, tuple(metrics)
        else:
            yield from ((name, (metric,)) for metric in metrics)


def run_methods(
    methods: Mapping[str, Sequence[str]], make: Callable[[], nn.Module], split: Split,
    seed: int, epochs: int, lr: float, batch: int, tuned: Sequence[str] = (),
) -> list[Record]:  # fmt: skip
    """Fit the network with every method, and score its decisions.

    Seconds are processor time.

    Parameters
    ----------
    methods : dict of str to list of str
        The metrics that each method is scored by. Those of ``METRIC_FREE`` are fitted
        once, the others once for each metric.
    make : callable
        Makes the network.
    split : Split
        The samples.
    seed : int
        Of initial weights and order.
    epochs, lr, batch
        Of the training with Adam, the same for all.
    tuned : list of str, default=()
        Of which methods the threshold is also tuned on the validation samples.
    """
    records: list[Record] = []
    for name, metrics in _fits(methods):
        start = time.process_time()
        logits = _fit(name, make, split, metrics[0], seed, epochs, lr, batch)
        seconds = time.process_time() - start
        test = logits(split.X_test)
        for metric in metrics:
            offsets = {name: 0.0}
            if name in tuned:
                best, _ = best_threshold(metric, logits(split.X_valid), split.y_valid)
                offsets[f"{name}, tuned"] = best
            for label, offset in offsets.items():
                decided = (test > offset).astype(int)
                score = metric_score(split.y_test, decided, metric=metric)
                records.append({
                    "method": label, "metric": metric, "score": round(score, 5),
                    "collapsed": int(decided.min() == decided.max()),
                    "seconds": round(seconds, 1),
                })  # fmt: skip
    return records
