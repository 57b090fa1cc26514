"""Which L: the paper's Tables 12 and 13 and Figure 3, wider.

The network of two hidden nodes, a fresh one for each fit, trained for three metrics
with ten values of L, three learning rates and both widths of floats, on the first five
of the ten folds (three of the largest set).
"""

import itertools
import math
import warnings

import numpy as np
from scipy.special import expit

from benchmarks.study.data import built_in, ten_folds
from benchmarks.study.honest import n_batches
from benchmarks.study.published import model, standardised
from benchmarks.study.runs import Task
from benchmarks.study.scores import MAIN, METRICS, counts
from sk_anyloss import AnyLossClassifier, fit_stack

NAME = "L"
LARGE = 10**5  # Rows times columns; what has more is left out.
LS = (1, 2, 5, 10, 20, 30, 50, 73, 90, 110)
LRS = (0.001, 0.01, 0.1)
DTYPES = ("float64", "float32")
CURVES = (1, 5, 10, 73, 100)
CURVE_LRS = (0.01, 0.1)


def tasks(sources):
    """Sets that are not large, and the imbalanced ones."""
    kept = [s for s in sources if s.cells < LARGE or s.is_of_four]
    return [
        Task(NAME, source, folds, {"dtype": dtype})
        for source in sorted(kept, key=lambda source: source.cells)
        for dtype in DTYPES
        for folds in ([tuple(range(5))] if source.cells < LARGE else zip(range(3)))
    ]


def run(source, folds, dtype):
    """Confusion matrices of every L, learning rate and metric."""
    X, y = source.load()
    X = X.astype(dtype)
    outer = ten_folds(y)
    batches = n_batches(min(len(outer[fold][0]) for fold in folds))
    trained = list(itertools.product(folds, MAIN, LS, LRS))
    models = [
        AnyLossClassifier(
            METRICS[aim],
            L=L,
            lr=lr,
            output_bias=0,
            batch_size=math.ceil(len(outer[fold][0]) / batches),
            random_state=0,
        )
        for fold, aim, L, lr in trained
    ]
    fit_stack(models, X, y, rows=[outer[fold][0] for fold, *_ in trained])
    found = {fold: [] for fold in folds}
    for (fold, aim, L, lr), fitted in zip(trained, models, strict=True):
        test = outer[fold][1]
        row = {"dtype": dtype, "aim": aim, "L": L, "lr": lr}
        test_counts = counts(y[test], fitted.predict(X[test]))
        found[fold].append({**row, "test": test_counts})
    return found


def curves():
    """Training loss of the perceptron by L: ours, and with 1 - A(p) by subtraction.

    Returns
    -------
    found : dict
        From learning rate, dtype and L to a pair of lists, a loss a step.
    """
    source = next(s for s in built_in() if s.name == "p033_wdbc")
    X, y = source.load()
    X = standardised(source, X)
    found = {}
    for lr, dtype, L in itertools.product(CURVE_LRS, DTYPES, CURVES):
        rows, ours = X.astype(dtype), model("L_F1", lr, L=L)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Of an L that is too large.
            ours.fit(rows, y)
        theirs = subtracting(rows, y, L, lr, ours.max_epochs)
        found[lr, dtype, L] = ours.loss_curve_, theirs
    return found


def subtracting(X, y, L, lr, epochs):
    """The same training, with the arithmetic of the paper's equations 9, 15 and 17."""
    X = np.column_stack((np.ones(len(X), X.dtype), X))
    y = y.astype(X.dtype)
    weights, losses = np.zeros(X.shape[1], X.dtype), []
    for _ in range(epochs):
        p = expit(X @ weights)
        h = 1 / (1 + np.exp(-X.dtype.type(L) * (p - X.dtype.type(0.5))))
        tp, whole = (y * h).sum(), y.sum() + h.sum()
        losses.append(float(1 - 2 * tp / whole))
        by_h = -2 * (y * whole - tp) / whole**2
        weights -= X.dtype.type(lr) * (X.T @ (by_h * L * h * (1 - h) * p * (1 - p)))
    return losses
