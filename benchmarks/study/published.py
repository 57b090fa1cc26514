"""The single-layer perceptron as the authors trained it, through our estimator.

Features are standardised over the whole data set before splitting; weights start at
zero; 1,000 full-batch steps of plain gradient descent in float64. The learning rates
are the authors', except for G-mean: their gradient is four times the true one, so its
learning rate is four times theirs here.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from imblearn.over_sampling import SMOTE
from imblearn.under_sampling import RandomUnderSampler
from sklearn.datasets import load_breast_cancer
from torch import Tensor

from benchmarks.study.data import Source, ten_folds
from benchmarks.study.paper import ZeroStart
from benchmarks.study.runs import Record, Records, Task
from benchmarks.study.scores import METRICS, confusion_counts
from sk_anyloss import AnyLossClassifier, fit_stack
from sk_anyloss.losses.pointwise import MeanLoss

NAME = "published"
EPOCHS = 1000
GMEAN_FACTOR = 4

# Learning rates of the 102 data sets (Table 15), and of the imbalanced ones (Table 17)
LEARNING_RATES = {
    "MSE": 1e-2, "BCE": 0.1, "L_Acc": 5e-3, "L_F1": 1e-2, "L_F0.5": 5e-3,
    "L_F2": 5e-3, "L_Gmean": 5e-3, "L_BAcc": 5e-3,
}  # fmt: skip
IMBALANCED_LEARNING_RATES = {
    "four#1": {
        "MSE": 1e-2, "BCE": 0.2, "L_Acc": 1e-2, "L_F1": 1e-2, "L_F0.5": 1e-2,
        "L_F2": 1e-2, "L_Gmean": 1e-2, "L_BAcc": 1e-2,
    },
    "four#2": {
        "MSE": 5e-3, "BCE": 1e-2, "L_Acc": 1e-3, "L_F1": 5e-3, "L_F0.5": 5e-3,
        "L_F2": 5e-4, "L_Gmean": 1e-3, "L_BAcc": 5e-3,
    },
    "four#3": {
        "MSE": 5e-2, "BCE": 5e-2, "L_Acc": 5e-4, "L_F1": 1e-3, "L_F0.5": 1e-2,
        "L_F2": 7e-3, "L_Gmean": 3e-3, "L_BAcc": 5e-3,
    },
    "four#4": {
        "MSE": 5e-2, "BCE": 0.1, "L_Acc": 1e-2, "L_F1": 1e-2, "L_F0.5": 1e-2,
        "L_F2": 1e-2, "L_Gmean": 1e-2, "L_BAcc": 1e-2,
    },
}  # fmt: skip
SAMPLERS = {"SMOTE": SMOTE, "under": RandomUnderSampler}


class DeltaRule(MeanLoss):
    """The paper's MSE: half the squared difference of the logit from -1 or 1."""

    def loss_per_sample(self, logits: Tensor, y: Tensor) -> Tensor:  # noqa: D102
        return (logits - (2 * y - 1)) ** 2 / 2

    def derivative_per_sample(self, logits: Tensor, y: Tensor) -> Tensor:  # noqa: D102
        return logits - (2 * y - 1)


def make_tasks(sources: Sequence[Source]) -> list[Task]:
    """All ten folds of a data set in one stack, the largest data sets first."""
    kept = [source for source in sources if source.match == "exact"]
    kept += [s for s in sources if s.is_imbalanced and s not in kept]
    kept.sort(key=lambda source: -source.size)
    return [Task(NAME, source, tuple(range(10))) for source in kept]


def standardize(source: Source, X: np.ndarray) -> np.ndarray:
    """Standardise over the whole data set, as the authors did.

    They standardised the breast cancer data before most malignant samples were dropped,
    and the random data not at all.
    """
    if source.paper_id == "four#1":
        return X
    reference = X
    if source.paper_id == "four#3" and X.shape[1] == 30:
        reference, _ = load_breast_cancer(return_X_y=True)
    std = reference.std(axis=0, ddof=1)
    return (X - reference.mean(axis=0)) / np.where(std > 0, std, 1)


def make_model(loss: str, lr: float, **params: Any) -> AnyLossClassifier:
    """The perceptron with one of the losses, by the paper's name of it."""
    if loss == "MSE":
        params["loss"] = DeltaRule()
    elif loss == "BCE":
        params["loss"] = "bce"
    else:
        params["metric"] = METRICS[loss.removeprefix("L_")]
    return AnyLossClassifier(
        hidden=(),
        optimizer="sgd",
        lr=lr * GMEAN_FACTOR if loss == "L_Gmean" else lr,
        max_epochs=EPOCHS,
        batch_size=1.0,
        callbacks=[ZeroStart()],
        standardize=False,
        **params,
    )


def run(
    source: Source, folds: Sequence[int], losses: Iterable[str] | None = None
) -> Records:
    """Confusion matrices of every loss on some folds of a data set."""
    X, y = source.load()
    X = standardize(source, X)
    lrs = IMBALANCED_LEARNING_RATES.get(source.paper_id, LEARNING_RATES)
    lrs = {loss: lrs[loss] for loss in losses or lrs}
    splits = ten_folds(y)
    settings = [(fold, loss) for fold in folds for loss in lrs]
    models = [make_model(loss, lrs[loss]) for _, loss in settings]
    fit_stack(models, X, y, rows=[splits[fold][0] for fold, _ in settings])
    records: Records = {fold: [] for fold in folds}
    for (fold, loss), model in zip(settings, models, strict=True):
        test = splits[fold][1]
        counts = confusion_counts(y[test], model.predict(X[test]))
        records[fold].append({"method": loss, "test": counts})
    if source.is_imbalanced and losses is None:
        for fold in folds:
            records[fold] += run_resampled(source, X, y, *splits[fold])
    return records


def run_resampled(
    source: Source, X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray
) -> list[Record]:
    """Cross-entropy on samples resampled at every ratio, as in Table 7."""
    lr = IMBALANCED_LEARNING_RATES[source.paper_id]["BCE"]
    records: list[Record] = []
    for tenths in range(1, 11):
        ratio = tenths / 10
        if ratio <= y.mean() / (1 - y.mean()):
            continue
        for name, sampler in SAMPLERS.items():
            resampler = sampler(sampling_strategy=ratio, random_state=0)
            model = make_model("BCE", lr)
            model.fit(*resampler.fit_resample(X[train], y[train]))
            counts = confusion_counts(y[test], model.predict(X[test]))
            records.append({"method": name, "share": ratio, "test": counts})
    return records
