"""The paper's single-layer perceptron through our estimator, beside published scores.

    python -m benchmarks.paper_slp --data FOLDER

FOLDER holds ``catalog.csv``, ``paper_scores.csv`` and ``paper/*.npz``. The protocol is
the authors': columns standardised over the whole set before splitting, ten stratified
folds, weights started at zero, 1,000 full-batch steps of plain gradient descent.
"""

import argparse
import csv
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedKFold

from sk_anyloss import AnyLossClassifier, metric_score

LOSSES = {
    "BCE": {"loss": "bce", "lr": 0.1},
    "L_F1": {"metric": "f1", "lr": 0.01},
}


def ten_folds(X, y, params):
    """Mean F1 over the folds."""
    X = (X - X.mean(0)) / X.std(0, ddof=1)
    model = AnyLossClassifier(
        hidden=(),
        optimizer="sgd",
        max_epochs=1000,
        batch_size=1.0,
        output_bias=0,
        standardize=False,
        **params,
    )
    folds = StratifiedKFold(10, shuffle=True, random_state=2)
    scores = [
        metric_score(y[test], model.fit(X[train], y[train]).predict(X[test]))
        for train, test in folds.split(X, y)
    ]
    return np.mean(scores)


def main():
    """Print ours beside the published score, set by set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--sets", type=int, default=5)
    options = parser.parse_args()
    with (options.data / "paper_scores.csv").open(newline="") as file:
        published = {
            (row["paper_id"], row["loss"]): float(row["score"])
            for row in csv.DictReader(file)
            if row["structure"] == "SLP" and row["eval_metric"] == "F1"
        }
    with (options.data / "catalog.csv").open(newline="") as file:
        exact = [row for row in csv.DictReader(file) if row["match"] == "exact"]
    print(f"{'data set':<32}{'loss':<6}{'ours':>9}{'published':>11}{'difference':>12}")
    for row in exact[: options.sets]:
        data = np.load(options.data / "paper" / f"{row['name']}.npz")
        X, y = data["X"].astype(float), data["y"]
        for loss, params in LOSSES.items():
            ours = ten_folds(X, y, params)
            theirs = published[row["paper_id"], loss]
            line = f"{row['name']:<32}{loss:<6}{ours:>9.5f}{theirs:>11.5f}"
            print(f"{line}{ours - theirs:>12.5f}")


if __name__ == "__main__":
    main()
