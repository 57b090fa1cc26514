"""Which offsets of C classes to choose: none, the best, or smoother choices.

    python -m benchmarks.offsets --data FOLDER [--folds 3] [--max-samples 5500]

CSV files whose last column is the class. Words are encoded by their order of
appearance, missing values by -1. Two models, outer folds of shuffled samples, offsets
tuned on the out-of-fold log-probabilities of five inner folds by each rule. Prints what
``benchmarks.thresholds`` prints for two classes.
"""

import argparse
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin, clone
from tqdm import tqdm

from benchmarks.datasets import outer_folds
from benchmarks.thresholds import MODELS, summarise
from sk_anyloss.estimators.folds import inner_cv
from sk_anyloss.metrics.decision import log_probabilities
from sk_anyloss.metrics.scoring import metric_score
from sk_anyloss.metrics.tuning import best_offsets

METRICS = ("f1", "balanced_accuracy", "mcc")
N_BOOTSTRAP = 20


def load(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Features as numbers, and codes of the classes."""
    table = pd.read_csv(path)
    table = table[table.groupby("target")["target"].transform("size") >= 3]
    X = table.drop(columns="target").apply(
        lambda x: x if x.dtype.kind in "if" else pd.factorize(x)[0]
    )
    return X.fillna(-1).to_numpy(float), pd.factorize(table["target"], sort=True)[0]


def log_proba(model: ClassifierMixin, X: np.ndarray, C: int) -> np.ndarray:
    """Log-probabilities of all classes, -inf for those the model has not seen."""
    result = np.full((len(X), C), -np.inf)
    result[:, model.classes_] = log_probabilities(model.predict_proba(X))
    return result


def rules(metric: str, log_p: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Offsets by each rule."""
    best = best_offsets(metric, log_p, y)[0]
    rng = np.random.default_rng(0)
    drawn = []
    for _ in range(N_BOOTSTRAP):
        weight = np.zeros(len(y))
        for c in np.unique(y):
            members = np.flatnonzero(y == c)
            sample = rng.integers(len(members), size=len(members))
            weight[members] = np.bincount(sample, minlength=len(members))
        drawn.append(best_offsets(metric, log_p, y, weight, start=best)[0])
    zeros = np.zeros_like(best)
    resampled = np.array(drawn)
    return {
        "argmax": zeros,
        "maximum": best,
        "bootstrap median": np.median(resampled, axis=0),
        "bootstrap mean": resampled.mean(axis=0),
        "half of the maximum": best / 2,
        "half of the bootstrap mean": resampled.mean(axis=0) / 2,
    }


def run_dataset(path: Path, n_folds: int) -> list[dict[str, object]]:
    """Scores of all rules on the outer folds of one data set."""
    X, y = load(path)
    C = int(y.max()) + 1
    records: list[dict[str, object]] = []
    for train, test in outer_folds(X, y, n_folds):
        for name, model in MODELS.items():
            log_p = np.empty((len(train), C))
            for seen, left in inner_cv(5, 0).split(X[train], y[train]):
                fitted = clone(model).fit(X[train][seen], y[train][seen])
                log_p[left] = log_proba(fitted, X[train][left], C)
            fitted = clone(model).fit(X[train], y[train])
            scores = log_proba(fitted, X[test], C)
            for metric in METRICS:
                for rule, offsets in rules(metric, log_p, y[train]).items():
                    decided = np.argmax(scores + offsets, axis=1)
                    score = metric_score(
                        y[test], decided, metric=metric, labels=np.arange(C)
                    )
                    records.append(
                        {"set": path.stem, "model": name, "metric": metric,
                         "rule": rule, "score": score}
                    )  # fmt: skip
    return records


def main() -> None:
    """Run the data sets and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of .csv files")
    parser.add_argument("--folds", type=int, default=3, help="default: %(default)s")
    parser.add_argument("--max-samples", type=int, default=5500, metavar="N")
    options = parser.parse_args()
    records = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in tqdm(sorted(options.data.glob("*.csv")), unit="data set"):
            table = pd.read_csv(path)
            if "target" in table and len(table) <= options.max_samples:
                records += run_dataset(path, options.folds)
    with pd.option_context("display.float_format", "{:.4f}".format):
        print(summarise(pd.DataFrame(records)).to_string())


if __name__ == "__main__":
    main()
