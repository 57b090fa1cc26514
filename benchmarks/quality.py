"""AnyLossClassifierCV beside common alternatives, on real data sets, for four metrics.

    python -m benchmarks.quality --data FOLDER [--metrics f1] [--picture quality.png]

FOLDER holds one ``.npz`` file per data set, with ``X`` and ``y`` (1 is the positive
class). Every method is fitted with its defaults on three outer folds of each data set
with at most 5,000 samples. ``--metrics`` selects metrics, ``--methods`` methods, by
their names in the table. All tuning inside a fit is done on shuffled, stratified folds
with a fixed seed. Methods that do not depend on the metric are fitted once for all
metrics, and so are those whose threshold is tuned for it. Printed for each metric: mean
score, mean rank, the Bayesian sign test of AnyLossClassifierCV against each method
(region of practical equivalence 0.01), the time of a fit, and the data sets with the
largest losses; ``--each`` prints the scores of all data sets. Each method has a file of
results of its own, so that a run resumes, and can be done method by method. ``--times``
measures only the time of a fit of AnyLossClassifierCV and of two other searches, one
fit at a time. Times are processor times: set ``OMP_NUM_THREADS=1``, and they are those
of one core. LightGBM, XGBoost and CatBoost take part, with tuned thresholds, where they
are installed (``pip install sk_anyloss[boosting]``). ``--sample`` takes that many
samples of a larger data set.
"""

import argparse
import re
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from imblearn.ensemble import BalancedRandomForestClassifier, EasyEnsembleClassifier
from imblearn.over_sampling import SMOTE
from imblearn.pipeline import make_pipeline
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import (
    Record,
    format_probabilities,
    load_dataset,
    make_parser,
    outer_folds,
    run_all,
)
from benchmarks.shared_fits import decide, predict_once
from sk_anyloss import AnyLossClassifier, AnyLossClassifierCV, metric_score
from sk_anyloss.baselines import get_baseline, tuned_threshold
from sk_anyloss.compare.methods.boosting import installed_boosting, make_boosting
from sk_anyloss.compare.verdict import judge_many
from sk_anyloss.estimators.folds import inner_cv

ANYLOSS_CV = "AnyLossClassifierCV"
GRID_SEARCH, TUNED_HISTGB = "GridSearchCV over L", "HistGB, tuned threshold"
METRICS = ("f1", "balanced_accuracy", "gmean", "mcc")
HistGB = partial(HistGradientBoostingClassifier, random_state=0)
Forest = partial(RandomForestClassifier, random_state=0)


def logistic(**params: object) -> BaseEstimator:
    """Logistic regression on standardized features."""
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000, **params))


#: Methods that do not depend on the metric.
METRIC_FREE: dict[str, Callable[[], BaseEstimator]] = {
    "BCE": lambda: get_baseline("bce", random_state=0),
    "BCE, class weights": lambda: get_baseline("bce_class_weight", random_state=0),
    "BCE + SMOTE": lambda: get_baseline("bce_smote", random_state=0),
    "BCE + under-sampling": lambda: get_baseline("bce_under", random_state=0),
    "logistic": logistic,
    "logistic, balanced": lambda: logistic(class_weight="balanced"),
    "HistGB": HistGB,
    "HistGB, balanced": lambda: HistGB(class_weight="balanced"),
    "HistGB + SMOTE": lambda: make_pipeline(SMOTE(random_state=0), HistGB()),
    "balanced forest": lambda: BalancedRandomForestClassifier(random_state=0),
    "EasyEnsemble": lambda: EasyEnsembleClassifier(random_state=0),
    "forest, class weights": lambda: Forest(class_weight="balanced"),
}


def classifiers_to_tune() -> dict[str, Callable[[], BaseEstimator]]:
    """Classifiers whose fit knows no metric, and whose threshold is tuned for one."""
    trees = {
        title: partial(make_boosting, name)
        for name, title in installed_boosting().items()
    }
    classifiers = {"logistic": logistic, "HistGB": HistGB, **trees}
    return {f"{name}, tuned threshold": make for name, make in classifiers.items()}


def methods_for_metric(metric: str) -> dict[str, BaseEstimator]:
    """Methods that are trained for the metric."""
    return {
        ANYLOSS_CV: AnyLossClassifierCV(metric, random_state=0),
        "AnyLossClassifier": AnyLossClassifier(metric, random_state=0),
    }


def grid_search_over_L() -> GridSearchCV:
    """The usual way to choose among the paper's five values of L."""
    model = AnyLossClassifier("f1", random_state=0)
    folds = inner_cv(random_state=0)
    return GridSearchCV(model, {"L": [10, 25, 50, 73, 100]}, cv=folds)


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


def chosen(name: str, options: argparse.Namespace) -> bool:
    """Whether a method takes part."""
    return options.methods is None or name in options.methods


def run_method(
    name: str, metrics: Sequence[str], options: argparse.Namespace
) -> pd.DataFrame:
    """Results of one method, which is fitted once for all the metrics."""
    own = argparse.Namespace(**vars(options))
    own.metric = "_".join(metrics)
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
        found = fit_and_score(name, model, ["f1"], *split)
        records += [{"fold": 0, **record} for record in found]
    return records


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


def scores_by_dataset(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Mean scores over the folds, by data set (index) and method (columns).

    A fold on which a method failed counts as if it had predicted a single class.
    """
    own = table[table["metric"] == metric]
    constant = 0.5 if metric == "balanced_accuracy" else 0.0
    own = own.assign(score=own["score"].fillna(constant))
    return own.pivot_table(index="set", columns="method", values="score")


def report(table: pd.DataFrame, options: argparse.Namespace) -> None:
    """Print a table for each metric, and the failures."""
    for metric in METRICS:
        scores = scores_by_dataset(table, metric)
        if not scores.empty:
            seconds = table[table["metric"] == metric].groupby("method")["seconds"]
            print(f"\n{metric}, {len(scores)} data sets, {options.folds} folds")
            report_metric(scores, seconds.median())
            if options.each:
                print(scores.rename_axis(None, axis=1).round(3).to_string())
    failures = table[table["failed"].notna() & (table["failed"] != "")]
    for (name, error), own in failures.groupby(["method", "failed"]):
        print(f"{name} failed on {own['set'].nunique()} data sets: {error}")


def report_metric(scores: pd.DataFrame, seconds: pd.Series) -> None:
    """Print a line for each method, from the lowest mean rank to the highest."""
    ranks = scores.rank(axis=1, ascending=False).mean()
    header = f"{'method':<27}{'mean':>7}{'rank':>7}{'better / equivalent / worse':>29}"
    print(header + f"{'seconds':>9}   ({ANYLOSS_CV} against each)")
    for name in ranks.sort_values().index:
        text = ""
        if name != ANYLOSS_CV and ANYLOSS_CV in scores:
            text = format_probabilities(judge_many(scores[ANYLOSS_CV], scores[name]))
        line = f"{name:<27}{scores[name].mean():>7.3f}{ranks[name]:>7.2f}{text:>29}"
        print(f"{line}{seconds[name]:>9.2f}")
    if ANYLOSS_CV not in scores:
        return
    gaps = scores.drop(columns=ANYLOSS_CV).max(axis=1) - scores[ANYLOSS_CV]
    largest = gaps.sort_values(ascending=False)[:5]
    cells = ", ".join(
        f"{name} -{gap:.3f} ({scores.loc[name].idxmax()})"
        for name, gap in largest.items()
        if gap > 0
    )
    print(f"furthest behind the best: {cells or 'nowhere'}")


def report_times(table: pd.DataFrame) -> None:
    """Print the time of a fit relative to two other searches, on the same samples."""
    seconds = table[(table["metric"] == "f1") & (table["fold"] == 0)]
    seconds = seconds.pivot(index="set", columns="method", values="seconds")
    for other in (GRID_SEARCH, TUNED_HISTGB):
        ratio = seconds[ANYLOSS_CV] / seconds[other]
        low, median, high = ratio.quantile([0.1, 0.5, 0.9])
        print(
            f"time of a default fit / {other}: median {median:.2f} "
            f"({low:.2f} to {high:.2f})"
        )


def plot_ranks(
    table: pd.DataFrame, path: Path, metrics: Sequence[str] = METRICS
) -> None:
    """Mean ranks with their standard errors, a panel for each metric."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found = {metric: scores_by_dataset(table, metric) for metric in metrics}
    found = {metric: scores for metric, scores in found.items() if not scores.empty}
    n_columns = min(2, len(found))
    n_rows = -(-len(found) // n_columns)
    figure, panels = plt.subplots(
        n_rows, n_columns, figsize=(6 * n_columns, 4.5 * n_rows), layout="constrained",
        squeeze=False,
    )  # fmt: skip
    for panel in panels.ravel()[len(found) :]:
        panel.axis("off")
    for panel, (metric, scores) in zip(panels.ravel(), found.items(), strict=False):
        ranks = scores.rank(axis=1, ascending=False)
        order = ranks.mean().sort_values(ascending=False).index
        colours = [
            "#c1440e" if name.startswith("AnyLoss") else "0.45" for name in order
        ]
        error = ranks[order].std() / np.sqrt(len(ranks))
        panel.hlines(order, 1, ranks[order].mean(), color="0.88", linewidth=1)
        for name, colour in zip(order, colours, strict=True):
            mean = ranks[name].mean()
            panel.errorbar(mean, name, xerr=error[name], fmt="o", color=colour)
            panel.annotate(
                f"{scores[name].mean():.3f}", (mean, name), xytext=(0, 6),
                textcoords="offset points", ha="center", fontsize=7, color=colour,
            )  # fmt: skip
        panel.set_title(f"{metric}, {len(scores)} data sets")
        panel.set_xlabel("mean rank and its standard error; labels: mean score")
        panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=100)


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    parser = make_parser(__doc__, "results/quality.csv", folds=3, max_samples=5_000)
    parser.add_argument(
        "--metrics", nargs="+", choices=METRICS, default=METRICS, help="default: all"
    )
    parser.add_argument(
        "--methods", nargs="+", metavar="NAME", help="default: all that are installed"
    )
    parser.add_argument(
        "--each", action="store_true", help="print the scores of each data set"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="samples of a data set")
    parser.add_argument("--picture", type=Path, help="file for a plot of the ranks")
    parser.add_argument("--times", action="store_true", help="measure times only")
    options = parser.parse_args(arguments)
    known = [*methods_for_metric("f1"), *METRIC_FREE, *classifiers_to_tune()]
    for name in options.methods or []:
        if name not in known:
            parser.error(f"--methods {name!r} is none of {', '.join(known)}")
    return options


if __name__ == "__main__":
    options = parse_options()
    if options.times:
        options.jobs = 1
        options.output = options.output.with_stem("times")
        report_times(run_all(options, time_dataset))
        sys.exit()
    results = run_methods(options)
    report(results, options)
    if options.picture:
        plot_ranks(results, options.picture)
