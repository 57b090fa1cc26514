"""The single-layer perceptron as its authors trained it, through our estimator.

Columns are standardised over the whole set before splitting; weights start at zero;
1,000 full-batch steps of plain gradient descent in float64. The learning rates are the
authors', but for G-mean: their gradient is four times the true one, so it has four
times their rate here.
"""

import numpy as np
from imblearn.over_sampling import SMOTE
from imblearn.under_sampling import RandomUnderSampler
from sklearn.datasets import load_breast_cancer

from benchmarks.study.data import ten_folds
from benchmarks.study.runs import Task
from benchmarks.study.scores import METRICS, counts
from sk_anyloss import AnyLossClassifier, fit_stack
from sk_anyloss.losses.pointwise import MeanLoss

NAME = "published"
EPOCHS = 1000
GMEAN_SLIP = 4

# Learning rates of the 102 sets (Table 15), then of the imbalanced ones (Table 17).
RATES = {
    "MSE": 1e-2, "BCE": 0.1, "L_Acc": 5e-3, "L_F1": 1e-2, "L_F0.5": 5e-3,
    "L_F2": 5e-3, "L_Gmean": 5e-3, "L_BAcc": 5e-3,
}  # fmt: skip
RATES_OF_FOUR = {
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
    """The paper's MSE: half the squared distance of the net value from -1 or 1."""

    def loss_per_sample(self, logits, y):  # noqa: D102
        return (logits - (2 * y - 1)) ** 2 / 2

    def derivative_per_sample(self, logits, y):  # noqa: D102
        return logits - (2 * y - 1)


def tasks(sources):
    """All ten folds of a set in one stack."""
    kept = [source for source in sources if source.match == "exact"]
    kept += [source for source in sources if source.is_of_four and source not in kept]
    kept.sort(key=lambda source: -source.cells)
    return [Task(NAME, source, tuple(range(10))) for source in kept]


def standardised(source, X):
    """Rows with mean 0 and deviation 1 over the whole set.

    The breast cancer rows were standardised before most of the malignant ones were left
    out, and the random ones not at all.
    """
    if source.paper_id == "four#1":
        return X
    whole = X
    if source.paper_id == "four#3" and X.shape[1] == 30:
        whole, _ = load_breast_cancer(return_X_y=True)
    deviation = whole.std(axis=0, ddof=1)
    return (X - whole.mean(axis=0)) / np.where(deviation > 0, deviation, 1)


def model(loss, rate, **params):
    """The perceptron with one of the losses, by the paper's name for it."""
    if loss == "MSE":
        params["loss"] = DeltaRule()
    elif loss == "BCE":
        params["loss"] = "bce"
    else:
        params["metric"] = METRICS[loss.removeprefix("L_")]
    return AnyLossClassifier(
        hidden=(),
        optimizer="sgd",
        lr=rate * GMEAN_SLIP if loss == "L_Gmean" else rate,
        max_epochs=EPOCHS,
        batch_size=1.0,
        output_bias=0,
        standardize=False,
        **params,
    )


def run(source, folds, losses=None):
    """Confusion matrices of every loss on some folds of a set."""
    X, y = source.load()
    X = standardised(source, X)
    rates = RATES_OF_FOUR.get(source.paper_id, RATES)
    rates = {loss: rates[loss] for loss in losses or rates}
    parts = ten_folds(y)
    trained = [(fold, loss) for fold in folds for loss in rates]
    models = [model(loss, rates[loss]) for _, loss in trained]
    fit_stack(models, X, y, rows=[parts[fold][0] for fold, _ in trained])
    found = {fold: [] for fold in folds}
    for (fold, loss), fitted in zip(trained, models, strict=True):
        test = parts[fold][1]
        row = {"method": loss, "test": counts(y[test], fitted.predict(X[test]))}
        found[fold].append(row)
    if source.is_of_four and losses is None:
        for fold in folds:
            found[fold] += resampled(source, X, y, *parts[fold])
    return found


def resampled(source, X, y, train, test):
    """Cross-entropy on rows resampled at every rate, as in Table 7."""
    rows = []
    for tenths in range(1, 11):
        share = tenths / 10
        if share <= y.mean() / (1 - y.mean()):
            continue
        for name, sampler in SAMPLERS.items():
            sample = sampler(sampling_strategy=share, random_state=0)
            fitted = model("BCE", RATES_OF_FOUR[source.paper_id]["BCE"])
            fitted.fit(*sample.fit_resample(X[train], y[train]))
            test_counts = counts(y[test], fitted.predict(X[test]))
            rows.append({"method": name, "share": share, "test": test_counts})
    return rows
