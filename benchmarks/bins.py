"""Bin edges at quantiles and at the splits of trees, for one network.

    python -m benchmarks.bins --data FOLDER [--every 4]

FOLDER holds one ``.npz`` file per data set, with ``X`` and ``y`` (1 is the positive
class). The same network (two hidden layers of 32 units, trained on the metric with
L = 5) is fitted on standardised features, on a piecewise-linear encoding with eight
quantile bins of each feature, and on one with edges at the splits of a decision tree of
at most eight leaves, grown on that feature alone with balanced classes (Gorishniy et
al. 2022 describe both). Gradient boosting without a tuned threshold is beside them.
Printed: the scores of each data set, their means, and for each way the number of data
sets on which it is better and worse than quantile bins by more than 0.01. An
interrupted run resumes.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier

from benchmarks.datasets import Record, make_parser, outer_folds, run_all
from benchmarks.quality.report import scores_by_dataset
from benchmarks.quality.running import fit_and_score, load_sample
from sk_anyloss import AnyLossClassifier, CosineDecay

QUANTILES = "quantile bins"


class TreeBins(TransformerMixin, BaseEstimator):
    """Piecewise-linear encoding with edges at the splits of a tree of each feature."""

    def __init__(self, n_bins: int = 8) -> None:
        self.n_bins = n_bins

    def fit(self, X: np.ndarray, y: np.ndarray) -> "TreeBins":
        """Grow a tree for each feature."""
        self.edges_ = []
        for column in X.T:
            tree = DecisionTreeClassifier(
                max_leaf_nodes=self.n_bins, class_weight="balanced", random_state=0
            ).fit(column[:, None], y)
            splits = tree.tree_.threshold[tree.tree_.feature >= 0]
            found = np.unique([column.min(), *splits, column.max()])
            if len(found) > 1:
                self.edges_.append(found)
            else:  # A constant feature.
                self.edges_.append(np.array([found[0], found[0] + 1]))
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        """Share of each bin that lies below the value."""
        parts = []
        for column, edges in zip(X.T, self.edges_, strict=True):
            share = (column[:, None] - edges[:-1]) / np.diff(edges)
            parts.append(share.clip(0, 1))
        return np.hstack(parts)


def methods(metric: str) -> dict[str, BaseEstimator]:
    """The network on three encodings, and gradient boosting."""

    def network(n_bins: int | None = None) -> AnyLossClassifier:
        return AnyLossClassifier(
            metric, hidden=(32, 32), activation="relu", L=5, lr=CosineDecay(0.03),
            max_epochs=50, n_bins=n_bins, random_state=0,
        )  # fmt: skip

    return {
        "standardised": network(),
        QUANTILES: network(8),
        "splits of trees": make_pipeline(TreeBins(), network()),
        "HistGB": HistGradientBoostingClassifier(random_state=0),
    }


def run_dataset(path: Path, options: argparse.Namespace) -> list[Record]:
    """Scores of all methods on the folds of one data set."""
    X, y = load_sample(path, options)
    records: list[Record] = []
    for fold, (train, test) in enumerate(outer_folds(X, y, options.folds)):
        split = X[train], y[train], X[test], y[test]
        for name, model in methods(options.metric).items():
            found = fit_and_score(name, model, [options.metric], *split)
            records += [{"fold": fold, **record} for record in found]
    return records


def report(table: pd.DataFrame, options: argparse.Namespace) -> None:
    """Print all scores, their means, and how often each way is better and worse."""
    scores = scores_by_dataset(table, options.metric)
    print(scores.rename_axis(None, axis=1).round(3).to_string())
    print(f"\n{options.metric}, {len(scores)} data sets: mean; better / worse")
    for name in scores.columns:
        gain = scores[name] - scores[QUANTILES]
        counts = f"{(gain > 0.01).sum()} / {(gain < -0.01).sum()}"
        print(f"{name:<17}{scores[name].mean():.3f}   {counts}")


if __name__ == "__main__":
    parser = make_parser(__doc__, "results/bins.csv", folds=3, max_samples=5_000)
    chosen = parser.parse_args()
    report(run_all(chosen, run_dataset), chosen)
