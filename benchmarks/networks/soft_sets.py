"""The mammography tables of the soft-sets paper, as published and as they should be."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from scipy.special import expit
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import Tensor, nn

from benchmarks.networks.methods import NINE
from benchmarks.networks.store import Record, Task
from sk_anyloss import metric_score
from sk_anyloss.losses import BCE, AnyLoss, Pairs, WeightedBCE
from sk_anyloss.losses.base import Loss
from sk_anyloss.losses.steps import Sigmoid
from sk_anyloss.metrics.tuning import best_threshold

__all__ = ["CRITERIA", "MAIN", "run_trial"]

METRICS = (
    "f1", "f2", "f3", "precision", "recall", "accuracy", "balanced_accuracy",
)  # fmt: skip
#: Criteria by the names of the paper; the last two are not in it.
CRITERIA: dict[str, Callable[[], Loss]] = {
    "F1, linear": lambda: AnyLoss("f1", "linear", NINE),
    "F1, sigmoid k=10": lambda: AnyLoss("f1", Sigmoid(10), NINE),
    "F2, linear": lambda: AnyLoss("f2", "linear", NINE),
    "F3, linear": lambda: AnyLoss("f3", "linear", NINE),
    "accuracy, linear": lambda: AnyLoss("accuracy", "linear", NINE),
    "AUROC, linear": lambda: AnyLoss("roc_auc", "linear", NINE),
    "BCE": BCE,
    "WMW, right": lambda: Pairs("roc_auc"),
    "class weights": WeightedBCE,
    "AnyLoss F1, t = 0.5": lambda: AnyLoss("f1"),
}
#: Those of a run of reduced size.
MAIN = ("F1, linear", "BCE", "WMW, right", "class weights", "AnyLoss F1, t = 0.5")


def _network(n_features: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(n_features, 32), nn.ReLU(), nn.Dropout(0.5),
        nn.Linear(32, 16), nn.ReLU(), nn.Dropout(0.5),
        nn.Linear(16, 1), nn.Flatten(0),
    )  # fmt: skip


def _parts(path: Path, seed: int, stratified: bool) -> Iterator[tuple[Tensor, Tensor]]:
    """64, 16 and 20 % of the samples, standardised by the first."""
    with np.load(path) as data:
        X, y = data["X"], data["y"].astype(int)

    def split(rows: np.ndarray, fraction: float) -> tuple[np.ndarray, np.ndarray]:
        labels = y[rows] if stratified else None
        found = train_test_split(
            rows, test_size=fraction, random_state=seed, stratify=labels
        )
        return found[0], found[1]

    rest, test = split(np.arange(len(y)), 0.2)
    train, valid = split(rest, 0.2)
    scaler = StandardScaler().fit(X[train])
    for rows in (train, valid, test):
        scaled = torch.from_numpy(scaler.transform(X[rows])).float()
        yield scaled, torch.from_numpy(y[rows])


def _train(
    module: nn.Module, criterion: Loss, train: tuple[Tensor, Tensor],
    valid: tuple[Tensor, Tensor], epochs: int, patience: int,
) -> int:  # fmt: skip
    """Train until the validation loss has not fallen for a while; keep the best."""
    X, y = train
    criterion.prepare(float((y == 0).sum()), float(y.sum()))
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-3, fused=True)
    lowest, best, best_epoch, epoch = math.inf, module.state_dict(), 0, 0
    for epoch in range(epochs):
        module.train()
        for index in torch.randperm(len(y)).split(1024):
            optimizer.zero_grad()
            criterion(module(X[index]), y[index]).backward()
            optimizer.step()
        module.eval()
        with torch.no_grad():
            loss = float(criterion(module(valid[0]), valid[1]))
        if loss < lowest:
            lowest, best_epoch = loss, epoch
            best = copy.deepcopy(module.state_dict())
        if epoch - best_epoch >= patience:
            break
    module.load_state_dict(best)
    return epoch + 1


def run_trial(task: Task, path: Path) -> list[Record]:
    """One criterion on one split of the samples.

    The scores are means over the thresholds 0.1 to 0.9. Those named ``logit`` cut the
    logit there instead of the probability, as the published BCE network was scored.
    ``f1_tuned`` is F1 at the best threshold on the validation samples.
    """
    seed = int(task["trial"])
    parts = list(_parts(path, seed, task["split"] == "stratified"))
    train, valid, (X, target) = parts
    y = target.numpy()
    torch.manual_seed(seed)
    start, module = time.process_time(), _network(X.shape[1])
    epochs, patience = int(task["epochs"]), int(task["patience"])
    criterion = CRITERIA[str(task["method"])]()
    n_epochs = _train(module, criterion, train, valid, epochs, patience)
    seconds = time.process_time() - start
    with torch.no_grad():
        z, z_valid = module(X).numpy(), module(valid[0]).numpy()
    offset, _ = best_threshold("f1", z_valid, valid[1].numpy())
    record: Record = {"positives": int(y.sum())}
    for kind, values in (("", expit(z)), ("_logit", z)):
        for metric in METRICS:
            scores = [
                metric_score(y, (values > t).astype(int), metric=metric) for t in NINE
            ]
            record[f"{metric}{kind}"] = round(float(np.mean(scores)), 5)
    tuned = metric_score(y, (z > offset).astype(int))
    record |= {
        "f1_tuned": round(tuned, 5),
        "auroc": round(metric_score(y, z, metric="roc_auc"), 5),
        "epochs_used": n_epochs,
        "seconds": round(seconds, 1),
    }
    return [record]
