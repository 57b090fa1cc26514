"""Which L: the paper's Tables 12 and 13 and Figure 3, over a wider range.

The network of two hidden units, a new one for each fit, trained for three metrics with
ten values of L, three learning rates, in float32 and float64, on the first five of the
ten folds (three of the largest data set).
"""

import itertools
import math
import warnings
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from scipy.special import expit

from benchmarks.study.data import Source, built_in, ten_folds
from benchmarks.study.nested import n_batches
from benchmarks.study.paper import ZeroStart
from benchmarks.study.published import make_model, standardize
from benchmarks.study.runs import Records, Task
from benchmarks.study.scores import MAIN_METRICS, METRICS, confusion_counts
from sk_anyloss import AnyLossClassifier, fit_stack

NAME = "L"
LARGE = 10**5  # Samples times features above which a data set is left out.
LS = (1, 2, 5, 10, 20, 30, 50, 73, 90, 110)
LRS = (0.001, 0.01, 0.1)
DTYPES = ("float64", "float32")
CURVE_LS = (1, 5, 10, 73, 100)
CURVE_LRS = (0.01, 0.1)

#: From learning rate, dtype and L to two loss curves: ours, and with subtraction.
Curves: TypeAlias = dict[tuple[float, str, float], tuple[list[float], list[float]]]


def make_tasks(sources: Sequence[Source]) -> list[Task]:
    """Data sets that are not large, and the imbalanced ones."""
    kept = [s for s in sources if s.size < LARGE or s.is_imbalanced]
    return [
        Task(NAME, source, folds, {"dtype": dtype})
        for source in sorted(kept, key=lambda source: source.size)
        for dtype in DTYPES
        for folds in ([tuple(range(5))] if source.size < LARGE else zip(range(3)))
    ]


def run(source: Source, folds: Sequence[int], dtype: str) -> Records:
    """Confusion matrices of every L, learning rate and metric."""
    X, y = source.load()
    X = X.astype(dtype)
    outer = ten_folds(y)
    batches = n_batches(min(len(outer[fold][0]) for fold in folds))
    settings = list(itertools.product(folds, MAIN_METRICS, LS, LRS))
    models = [
        AnyLossClassifier(
            METRICS[metric],
            L=L,
            lr=lr,
            callbacks=[ZeroStart()],
            batch_size=math.ceil(len(outer[fold][0]) / batches),
            random_state=0,
        )
        for fold, metric, L, lr in settings
    ]
    fit_stack(models, X, y, rows=[outer[fold][0] for fold, *_ in settings])
    records: Records = {fold: [] for fold in folds}
    for (fold, metric, L, lr), model in zip(settings, models, strict=True):
        test = outer[fold][1]
        counts = confusion_counts(y[test], model.predict(X[test]))
        record = {"dtype": dtype, "aim": metric, "L": L, "lr": lr, "test": counts}
        records[fold].append(record)
    return records


def loss_curves() -> Curves:
    """Training loss of the perceptron by L, without and with rounding by 1 - A(p)."""
    source = next(s for s in built_in() if s.name == "p033_wdbc")
    X, y = source.load()
    X = standardize(source, X)
    curves: Curves = {}
    for lr, dtype, L in itertools.product(CURVE_LRS, DTYPES, CURVE_LS):
        X_cast, model = X.astype(dtype), make_model("L_F1", lr, L=L)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Of an L above the valid range.
            model.fit(X_cast, y)
        subtracted = train_with_subtraction(X_cast, y, L, lr, model.max_epochs)
        curves[lr, dtype, L] = model.loss_curve_, subtracted
    return curves


def train_with_subtraction(
    X: np.ndarray, y: np.ndarray, L: float, lr: float, epochs: int
) -> list[float]:
    """The same training with the paper's equations 9, 15 and 17; its loss curve.

    1 - A(p) is computed by subtraction, which loses digits for A(p) close to 1.
    """
    X = np.column_stack((np.ones(len(X), X.dtype), X))
    y = y.astype(X.dtype)
    weights, losses = np.zeros(X.shape[1], X.dtype), []
    for _ in range(epochs):
        p = expit(X @ weights)
        h = 1 / (1 + np.exp(-X.dtype.type(L) * (p - X.dtype.type(0.5))))
        tp, denominator = (y * h).sum(), y.sum() + h.sum()
        losses.append(float(1 - 2 * tp / denominator))
        grad_h = -2 * (y * denominator - tp) / denominator**2
        weights -= X.dtype.type(lr) * (X.T @ (grad_h * L * h * (1 - h) * p * (1 - p)))
    return losses
