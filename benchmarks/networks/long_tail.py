"""Ten classes with a long tail: macro F1 of several criteria."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.special import log_softmax
from torch import Tensor, nn

from benchmarks.networks.images import MODULES, long_tail
from benchmarks.networks.store import Record, Task
from sk_anyloss import AnyLossNet, metric_score
from sk_anyloss.losses import BCE, AnyLoss, Hybrid
from sk_anyloss.metrics.tuning import best_offsets

__all__ = ["run_long_tail"]


class LogitAdjusted(nn.Module):
    """Cross-entropy of logits plus log priors (Menon et al. 2021, tau = 1)."""

    def __init__(self, y: np.ndarray) -> None:
        super().__init__()
        prior = np.bincount(y) / len(y)
        self.register_buffer("log_prior", torch.from_numpy(np.log(prior)).float())

    def forward(self, logits: Tensor, y: Tensor) -> Tensor:
        """The loss."""
        assert isinstance(self.log_prior, Tensor)
        return nn.functional.cross_entropy(logits + self.log_prior, y)


def run_long_tail(task: Task, data: Path) -> list[Record]:
    """All methods on one draw of the samples; offsets are tuned on validation samples.

    Class weights are those that give all classes the same total weight.
    """
    side, seed = int(task["side"]), int(task["seed"])
    path = data / "images" / f"{task['set']}.npz"
    split = long_tail(path, side, int(task["samples"]) // 2, float(task["ratio"]), seed)
    weight = len(split.y) / (10 * np.bincount(split.y))
    weighted = nn.CrossEntropyLoss(torch.from_numpy(weight).float())
    methods: dict[str, dict[str, Any]] = {
        "cross-entropy": {"criterion": BCE()},
        "class weights": {"criterion": weighted},
        "logit adjustment": {"criterion": LogitAdjusted(split.y)},
        "hybrid": {"criterion": Hybrid("f1_macro")},
        "AnyLoss, no warm-up": {"criterion": AnyLoss("f1_macro")},
        "AnyLossNet": {},
    }
    records: list[Record] = []
    for name, options in methods.items():
        torch.manual_seed(seed)
        start = time.perf_counter()
        net = AnyLossNet(
            MODULES[str(task["network"])](side, 10), metric="f1_macro",
            lr=float(task["lr"]), max_epochs=int(task["epochs"]),
            batch_size=int(task["batch"]), random_state=seed, **options,
        ).fit(split.X, split.y)  # fmt: skip
        seconds = time.perf_counter() - start
        test = net.logits(split.X_test)
        offsets = {name: np.zeros(10)}
        if name == "cross-entropy":
            valid = log_softmax(net.logits(split.X_valid), axis=1)
            best, _ = best_offsets("f1_macro", valid, split.y_valid)
            offsets["cross-entropy, tuned offsets"] = best
        for label, offset in offsets.items():
            decided = (log_softmax(test, axis=1) + offset).argmax(1)
            scores = {
                metric: round(metric_score(split.y_test, decided, metric=metric), 5)
                for metric in ("f1_macro", "balanced_accuracy", "accuracy")
            }
            n_decided = len(np.unique(decided))
            records.append({
                "method": label, **scores, "classes_predicted": n_decided,
                "seconds": round(seconds, 1),
            })  # fmt: skip
    return records
