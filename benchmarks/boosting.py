"""Boosting on log-loss, with class weights, a tuned threshold, and on the metric.

    python -m benchmarks.boosting --data FOLDER [--library xgboost] [--metric mcc]

FOLDER holds one ``.npz`` file per data set, with ``X`` and ``y`` (1 is the positive
class). Every method is fitted with its defaults on three outer folds of each data set.
Printed for each: mean score, mean rank, the Bayesian sign test of the metric objective
against it (region of practical equivalence 0.01), the processor time of a fit (set
``OMP_NUM_THREADS=1``), and the mean scores of the data sets with an even and with an
odd number. An interrupted run resumes.
"""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from benchmarks.datasets import (
    Record,
    format_probabilities,
    make_parser,
    outer_folds,
    run_all,
)
from benchmarks.quality.report import scores_by_dataset
from benchmarks.quality.running import fit_and_score, load_sample
from sk_anyloss.baselines import tuned_threshold
from sk_anyloss.boosting import MetricBoostingClassifier
from sk_anyloss.compare.methods.boosting import make_boosting
from sk_anyloss.compare.verdict import judge_many

METRIC_OBJECTIVE = "metric objective"


def methods(library: str, metric: str) -> dict[str, BaseEstimator]:
    """The same trees, decided in several ways."""
    trees = make_boosting(library)
    on_metric = partial(MetricBoostingClassifier, trees.estimator, metric)
    return {
        "log-loss": trees,
        "class weights": make_boosting(library, balanced=True),
        "tuned threshold": tuned_threshold(trees, metric, random_state=0),
        METRIC_OBJECTIVE: on_metric(),
        "L = 5": on_metric(L=5),
        "identity step": on_metric(step="identity"),
        "no start on log-loss": on_metric(warm_up=0),
    }


def run_dataset(path: Path, options: argparse.Namespace) -> list[Record]:
    """Scores and times of all methods on the folds of one data set."""
    X, y = load_sample(path, options)
    records: list[Record] = []
    for fold, (train, test) in enumerate(outer_folds(X, y, options.folds)):
        split = X[train], y[train], X[test], y[test]
        for name, model in methods(options.library, options.metric).items():
            found = fit_and_score(name, model, [options.metric], *split)
            records += [{"fold": fold, **record} for record in found]
    return records


def report(table: pd.DataFrame, options: argparse.Namespace) -> None:
    """Print a line for each method, from the lowest mean rank to the highest."""
    scores = scores_by_dataset(table, options.metric)
    ranks = scores.rank(axis=1, ascending=False).mean()
    seconds = table.groupby("method")["seconds"].median()
    numbers = scores.index.str.extract(r"(\d+)", expand=False).fillna(0).astype(int)
    is_even = np.asarray(numbers) % 2 == 0
    print(f"{options.library}, {options.metric}, {len(scores)} data sets")
    print(
        f"{'method':<21}{'mean':>7}{'rank':>6}{'better / equivalent / worse':>29}"
        f"{'seconds':>9}{'even':>7}{'odd':>7}"
    )
    for name in ranks.sort_values().index:
        text = ""
        if name != METRIC_OBJECTIVE:
            judged = judge_many(scores[METRIC_OBJECTIVE], scores[name])
            text = format_probabilities(judged)
        own = scores[name]
        print(
            f"{name:<21}{own.mean():>7.3f}{ranks[name]:>6.2f}{text:>29}"
            f"{seconds[name]:>9.2f}{own[is_even].mean():>7.3f}{own[~is_even].mean():>7.3f}"
        )


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    parser = make_parser(__doc__, "results/boosting.csv", folds=3, max_samples=10_000)
    parser.add_argument("--library", choices=["lightgbm", "xgboost"])
    parser.add_argument("--sample", type=int, metavar="N", help="samples of a data set")
    parser.set_defaults(library="lightgbm")
    options = parser.parse_args(arguments)
    options.output = options.output.with_stem(
        f"{options.output.stem}_{options.library}"
    )
    return options


if __name__ == "__main__":
    chosen = parse_options()
    report(run_all(chosen, run_dataset), chosen)
