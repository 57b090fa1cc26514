"""Scores and times of the methods on the folds of data sets, run by run."""

import argparse
import re
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from benchmarks.datasets import Record, load_dataset, outer_folds, run_all
from benchmarks.quality.methods import (
    METRIC_FREE,
    METRICS,
    classifiers_to_tune,
    methods_for_metric,
)
from benchmarks.quality.shared_fits import decide, predict_once
from sk_anyloss import metric_score


def run_methods(options: argparse.Namespace) -> pd.DataFrame:
    """Results of all methods that were chosen, each from a file of its own."""
    tables = []
    for metric in options.metrics:
        for name in methods_for_metric(metric):
            if chosen(name, options):
                tables.append(run_method(name, [metric], options))
    for name in [*METRIC_FREE, *classifiers_to_tune()]:
        if chosen(name, options):
            table = run_method(name, METRICS, options)
            tables.append(table[table["metric"].isin(options.metrics)])
    return pd.concat(tables, ignore_index=True)


def read_stored(options: argparse.Namespace) -> pd.DataFrame:
    """Results of earlier runs with this number of folds, without any data."""
    pattern = f"{options.output.stem}_*_{options.folds}_folds.csv"
    tables = [pd.read_csv(path) for path in options.output.parent.glob(pattern)]
    if not tables:
        raise SystemExit(f"No results in {options.output.parent / pattern}.")
    table = pd.concat(tables, ignore_index=True)
    table = table[table["metric"].isin(options.metrics)]
    return table[[chosen(name, options) for name in table["method"]]]


def chosen(name: str, options: argparse.Namespace) -> bool:
    """Whether a method takes part."""
    return options.methods is None or name in options.methods


def run_method(
    name: str, metrics: Sequence[str], options: argparse.Namespace
) -> pd.DataFrame:
    """Results of one method, which is fitted once for all the metrics."""
    own = argparse.Namespace(**vars(options))
    own.metric = metrics[0] if len(metrics) == 1 else "all"
    if options.sample:
        own.metric += f"_{options.sample}_samples"
    own.output = options.output.with_stem(
        "_".join([options.output.stem, *re.findall(r"\w+", name.lower())])
    )
    return run_all(own, partial(run_dataset, name, metrics))


def run_dataset(
    name: str, metrics: Sequence[str], path: Path, options: argparse.Namespace
) -> list[Record]:
    """Scores and times of a method on the folds of one data set."""
    X, y = load_sample(path, options)
    to_tune = classifiers_to_tune()
    records: list[Record] = []
    for fold, (train, test) in enumerate(outer_folds(X, y, options.folds)):
        split = X[train], y[train], X[test], y[test]
        if name in to_tune:
            found = fit_and_tune(name, to_tune[name](), metrics, *split)
        else:
            build = METRIC_FREE.get(name)
            model = methods_for_metric(metrics[0])[name] if build is None else build()
            found = fit_and_score(name, model, metrics, *split)
        records += [{"fold": fold, **record} for record in found]
    return records


def load_sample(
    path: Path, options: argparse.Namespace
) -> tuple[np.ndarray, np.ndarray]:
    """A data set, or a random sample of it."""
    X, y = load_dataset(path)
    if getattr(options, "sample", None) and len(y) > options.sample:
        kept = np.random.default_rng(0).permutation(len(y))[: options.sample]
        X, y = X[kept], y[kept]
    return X, y


def fit_and_score(
    name: str,
    model: BaseEstimator,
    metrics: Sequence[str],
    X: np.ndarray,
    y: np.ndarray,
    X_test: np.ndarray,
    y_test: np.ndarray,
) -> list[Record]:
    """A record for each metric; the score is NaN if the fit failed."""
    y_pred, seconds, error = timed(lambda: model.fit(X, y).predict(X_test))
    return [record(name, m, y_test, y_pred, seconds, error) for m in metrics]


def fit_and_tune(
    name: str,
    model: BaseEstimator,
    metrics: Sequence[str],
    X: np.ndarray,
    y: np.ndarray,
    X_test: np.ndarray,
    y_test: np.ndarray,
) -> list[Record]:
    """A record for each metric, whose threshold is tuned on the same fits.

    The time of each is that of all fits and of its own tuning.
    """
    proba, seconds, error = timed(lambda: predict_once(model, X, y, X_test))
    records: list[Record] = []
    for metric in metrics:
        y_pred, tuning = None, 0.0
        if proba is not None:
            y_pred, tuning, error = timed(partial(decide, proba, y, metric))
        records.append(record(name, metric, y_test, y_pred, seconds + tuning, error))
    return records


def timed(call: Callable[[], np.ndarray]) -> tuple[np.ndarray | None, float, str]:
    """What a call returns, its seconds, and its error if it fails."""
    # Of the processor, which others that use the machine change little.
    start = time.process_time()
    try:
        result, error = call(), ""
    except ValueError as exception:
        result, error = None, str(exception).splitlines()[0][:80]
    return result, time.process_time() - start, error


def record(
    name: str,
    metric: str,
    y_test: np.ndarray,
    y_pred: np.ndarray | None,
    seconds: float,
    error: str,
) -> Record:
    """One result."""
    score = np.nan
    if y_pred is not None:
        score = round(float(metric_score(y_test, y_pred, metric=metric)), 5)
    return {
        "method": name,
        "metric": metric,
        "score": score,
        "seconds": round(seconds, 3),
        "failed": error,
    }
