"""Time and convergence of the losses: the paper's Tables 8 and 9.

The time of a fit relative to cross-entropy, with equal parameters, alternating on one
thread; and, at the paper's learning rates, the fraction of its total decrease that the
loss has reached after a number of epochs.
"""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.study.data import Source, ten_folds
from benchmarks.study.paper import EPOCHS, IMBALANCED, ZeroStart
from benchmarks.study.published import (
    IMBALANCED_LEARNING_RATES,
    make_model,
    standardize,
)
from benchmarks.study.runs import Record, Records, Task
from benchmarks.study.scores import MAIN_METRICS, METRICS
from sk_anyloss import AnyLossClassifier

NAME = "learning"
ROUNDS = 5
#: Samples times epochs of a timed fit, at most.
MAX_SAMPLE_EPOCHS = 3 * 10**6
NETWORKS: dict[str, dict[str, Any]] = {
    "SLP": {"hidden": (), "optimizer": "sgd", "batch_size": 1.0, "max_epochs": 1000},
    "MLP": {"hidden": (2,), "batch_size": 0.05, "max_epochs": 100},
}
LOSSES: dict[str, dict[str, Any]] = {"BCE": {"loss": "bce"}, "MSE": {"loss": "mse"}}
LOSSES |= {f"L_{name}": {"metric": metric} for name, metric in METRICS.items()}
LOSSES |= {
    f"S_{name}": {"metric": METRICS[name], "step": "cosine"} for name in MAIN_METRICS
}


def make_tasks(sources: Sequence[Source]) -> list[Task]:
    """The imbalanced data sets, one at a time."""
    kept = [source for source in sources if source.paper_id in IMBALANCED]
    return [Task(NAME, source, (0,)) for source in kept]


def run(source: Source, folds: Sequence[int]) -> Records:
    """Times relative to cross-entropy, and convergence of the loss."""
    X, y = source.load()
    X = standardize(source, X)
    train = ten_folds(y)[folds[0]][0]
    X, y = X[train], y[train]
    records: list[Record] = []
    for network, params in NETWORKS.items():
        records += [{"structure": network, **r} for r in time_losses(X, y, params)]
    for loss, lr in IMBALANCED_LEARNING_RATES[source.paper_id].items():
        curve = np.array(make_model(loss, lr).fit(X, y).loss_curve_)
        fractions = (curve[0] - curve[list(EPOCHS)]) / (curve[0] - curve[-1])
        records.append({"method": loss, "achieved": fractions.tolist()})
    return {folds[0]: records}


def time_losses(X: np.ndarray, y: np.ndarray, params: dict[str, Any]) -> list[Record]:
    """Median times of all losses, and their ratios to cross-entropy."""
    epochs = max(1, min(params["max_epochs"], MAX_SAMPLE_EPOCHS // len(y)))
    common = {**params, "max_epochs": epochs, "lr": 0.01}
    seconds: dict[str, list[float]] = {loss: [] for loss in LOSSES}
    for _ in range(ROUNDS):
        for loss, loss_params in LOSSES.items():
            model = AnyLossClassifier(
                random_state=0, callbacks=[ZeroStart()], **common, **loss_params
            )
            start = time.perf_counter()
            model.fit(X, y)
            seconds[loss].append(time.perf_counter() - start)
    return [
        {
            "method": loss,
            "ratio": float(np.median(np.divide(times, seconds["BCE"]))),
            "fit": float(np.median(times)),
        }
        for loss, times in seconds.items()
    ]
