"""How fast the losses learn: the paper's Tables 8 and 9.

Under equal settings, one after the other in turns on one thread, the time of a fit
relative to cross-entropy; and, at the paper's learning rates, the share of its fall
that the loss has behind it after a number of epochs.
"""

import time

import numpy as np

from benchmarks.study.data import ten_folds
from benchmarks.study.paper import EPOCHS, FOUR
from benchmarks.study.published import RATES_OF_FOUR, model, standardised
from benchmarks.study.runs import Task
from benchmarks.study.scores import MAIN, METRICS
from sk_anyloss import AnyLossClassifier

NAME = "learning"
ROUNDS = 5
ROW_EPOCHS = 3 * 10**6
STRUCTURES = {
    "SLP": {"hidden": (), "optimizer": "sgd", "batch_size": 1.0, "max_epochs": 1000},
    "MLP": {"hidden": (2,), "batch_size": 0.05, "max_epochs": 100},
}
LOSSES = {"BCE": {"loss": "bce"}, "MSE": {"loss": "mse"}}
LOSSES |= {f"L_{word}": {"metric": metric} for word, metric in METRICS.items()}
LOSSES |= {f"S_{word}": {"metric": METRICS[word], "step": "cosine"} for word in MAIN}


def tasks(sources):
    """The imbalanced sets, one at a time."""
    kept = [source for source in sources if source.paper_id in FOUR]
    return [Task(NAME, source, (0,)) for source in kept]


def run(source, folds):
    """Times relative to cross-entropy, and shares of the fall in loss."""
    X, y = source.load()
    X = standardised(source, X)
    train = ten_folds(y)[folds[0]][0]
    X, y = X[train], y[train]
    rows = []
    for structure, settings in STRUCTURES.items():
        epochs = max(1, min(settings["max_epochs"], ROW_EPOCHS // len(y)))
        same = {**settings, "max_epochs": epochs, "lr": 0.01, "output_bias": 0}
        seconds = {loss: [] for loss in LOSSES}
        for _ in range(ROUNDS):
            for loss, params in LOSSES.items():
                fresh = AnyLossClassifier(random_state=0, **same, **params)
                start = time.perf_counter()
                fresh.fit(X, y)
                seconds[loss].append(time.perf_counter() - start)
        for loss, times in seconds.items():
            ratio = float(np.median(np.divide(times, seconds["BCE"])))
            row = {"structure": structure, "method": loss, "ratio": ratio}
            rows.append({**row, "fit": float(np.median(times))})
    for loss, rate in RATES_OF_FOUR[source.paper_id].items():
        curve = np.array(model(loss, rate).fit(X, y).loss_curve_)
        fall = (curve[0] - curve[list(EPOCHS)]) / (curve[0] - curve[-1])
        rows.append({"method": loss, "achieved": fall.tolist()})
    return {folds[0]: rows}
