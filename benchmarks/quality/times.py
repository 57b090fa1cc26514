"""Time of a fit relative to other searches."""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

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
from sk_anyloss import AnyLossClassifierCV
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
    records: list[Record] = []
    for name, model in models.items():
        if chosen(name, options):
            (found,) = fit_and_score(name, model, ["f1"], *split)
            records.append({"fold": 0, **found, **seconds_of_parts(model)})
    return records


def seconds_of_parts(model: BaseEstimator) -> dict[str, float]:
    """Seconds of the trees and of the networks of a search; NaN for other models."""
    parts = {"trees": np.nan, "networks": np.nan}
    if isinstance(model, AnyLossClassifierCV):
        results = model.cv_results_
        is_tree = np.array(["estimator" in params for params in results["params"]])
        parts["trees"] = round(float(results["fit_time"][is_tree].sum()), 3)
        parts["networks"] = round(float(results["fit_time"][~is_tree].sum()), 3)
    return parts


def report_times(table: pd.DataFrame) -> None:
    """Print the time of a fit relative to two other searches, on the same samples.

    Beside it, what the trees and the networks of AnyLossClassifierCV take; these are
    seconds of the clock, so others must not use the machine.
    """
    seconds = table[(table["metric"] == "f1") & (table["fold"] == 0)]
    parts = seconds[seconds["method"] == ANYLOSS_CV].set_index("set")
    seconds = seconds.pivot(index="set", columns="method", values="seconds")
    print(seconds.join(parts[["trees", "networks"]]).round(2).to_string())
    for other in seconds.columns.drop(ANYLOSS_CV):
        print_ratio(seconds, other)
