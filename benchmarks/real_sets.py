"""The default estimator beside cross-entropy in the same network, on real data sets.

    python -m benchmarks.real_sets --data FOLDER

FOLDER holds one ``.npz`` file per data set, with ``X`` and ``y`` (1 is the positive
class). Each data set is written to ``--output`` as soon as it has finished, and an
interrupted run resumes.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone

from benchmarks.datasets import (
    Record,
    load_dataset,
    make_parser,
    outer_folds,
    predicts_one_class,
    run_all,
)
from sk_anyloss import AnyLossClassifier, metric_score
from sk_anyloss.baselines import get_baseline


def make_methods(metric: str) -> dict[str, BaseEstimator]:
    """The default, and cross-entropy at the same and at its own learning rate."""
    return {
        "anyloss": AnyLossClassifier(metric, random_state=0),
        "bce, lr 0.01": AnyLossClassifier(metric, loss="bce", random_state=0),
        "bce, lr 0.05": get_baseline("bce", metric, random_state=0),
        "bce, class weights": get_baseline("bce_class_weight", metric, random_state=0),
    }


def run_dataset(path: Path, options: argparse.Namespace) -> list[Record]:
    """Mean score and number of collapsed fits of every method on one data set."""
    X, y = load_dataset(path)
    records: list[Record] = []
    for name, model in make_methods(options.metric).items():
        scores, collapsed = [], 0
        for train, test in outer_folds(X, y, options.folds):
            fitted = clone(model).fit(X[train], y[train])
            collapsed += predicts_one_class(fitted, X[train])
            y_pred = fitted.predict(X[test])
            scores.append(metric_score(y[test], y_pred, metric=options.metric))
        mean = np.mean(scores)
        records.append({"method": name, "score": mean, "collapsed": collapsed})
    return records


def report(table: pd.DataFrame, options: argparse.Namespace) -> None:
    """Print means, collapsed fits, wins and losses."""
    scores = table.pivot(index="set", columns="method", values="score")
    collapsed = table.groupby("method")["collapsed"].sum()
    print(f"{options.metric} on {len(scores)} data sets, {options.folds} folds\n")
    header = f"{'method':<20}{'mean':>7}{'collapsed fits':>16}"
    print(header + f"{'anyloss wins / ties / loses':>30}")
    for method in make_methods(options.metric):
        line = f"{method:<20}{scores[method].mean():>7.3f}{collapsed[method]:>16}"
        if method != "anyloss":
            difference = scores["anyloss"] - scores[method]
            wins, losses = (difference > 1e-9).sum(), (difference < -1e-9).sum()
            line += f"{wins:>16} / {len(difference) - wins - losses} / {losses}"
        print(line)


if __name__ == "__main__":
    arguments = make_parser(__doc__, "results/real_sets.csv", folds=5).parse_args()
    report(run_all(arguments, run_dataset), arguments)
