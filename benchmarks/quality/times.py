"""Time of a fit relative to other searches."""

import argparse
from pathlib import Path

import pandas as pd

from benchmarks.datasets import Record, outer_folds
from benchmarks.quality.methods import (
    ANYLOSS_CV,
    GRID_SEARCH,
    TUNED_HISTGB,
    HistGB,
    grid_search_over_L,
    methods_for_metric,
)
from benchmarks.quality.report import print_ratio
from benchmarks.quality.running import chosen, fit_and_score, load_sample
from sk_anyloss.baselines import tuned_threshold


def time_dataset(path: Path, options: argparse.Namespace) -> list[Record]:
    """Times of the three searches on the first fold of a data set."""
    X, y = load_sample(path, options)
    train, test = outer_folds(X, y, options.folds)[0]
    split = X[train], y[train], X[test], y[test]
    models = {
        ANYLOSS_CV: methods_for_metric("f1")[ANYLOSS_CV],
        TUNED_HISTGB: tuned_threshold(HistGB(), "f1", random_state=0),
        GRID_SEARCH: grid_search_over_L(),
    }
    return [
        {"fold": 0, **record}
        for name, model in models.items()
        if chosen(name, options)
        for record in fit_and_score(name, model, ["f1"], *split)
    ]


def report_times(table: pd.DataFrame) -> None:
    """Print the time of a fit relative to two other searches, on the same samples."""
    seconds = table[(table["metric"] == "f1") & (table["fold"] == 0)]
    seconds = seconds.pivot(index="set", columns="method", values="seconds")
    print(seconds.round(2).to_string())
    for other in seconds.columns.drop(ANYLOSS_CV):
        print_ratio(seconds, other)
