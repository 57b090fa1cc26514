"""AnyLossClassifierCV beside common alternatives, on tables with three classes or more.

    python -m benchmarks.multiclass --data FOLDER [--metrics f1_macro] [--picture FILE]
    python -m benchmarks.multiclass --data FOLDER --only trees --metrics f1_macro

FOLDER holds one CSV file per data set, whose last column is the target, as people have
them: with words and missing values, which are encoded and imputed for all methods alike
within each training fold. Every method is fitted on three outer folds with its
defaults; for each metric are printed the mean score, the mean rank, the Bayesian sign
test of AnyLossClassifierCV against each method (region of practical equivalence 0.01)
and the time of a fit, and the same network on the metric and on cross-entropy side by
side. Quadratic weighted kappa is scored on the data sets whose classes have an order.
``--only trees`` compares the search with and without gradient boosting among its
candidates, gradient boosting and LightGBM. Seconds are those of the processor. An
interrupted run resumes.
"""

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from imblearn.ensemble import BalancedRandomForestClassifier, EasyEnsembleClassifier
from imblearn.over_sampling import SMOTE
from imblearn.pipeline import make_pipeline
from lightgbm import LGBMClassifier
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from skrub import TableVectorizer

from benchmarks.datasets import Record, format_probabilities, make_parser, run_all
from benchmarks.quality.methods import ANYLOSS_CV
from benchmarks.quality.picture import plot_ranks
from sk_anyloss import (
    AnyLossClassifier,
    AnyLossClassifierCV,
    TunedDecisionClassifier,
    metric_score,
)
from sk_anyloss.compare.verdict import judge_many
from sk_anyloss.search.candidates import default_candidates

ORDERED_METRIC = "kappa_quadratic"
METRICS = ("f1_macro", "balanced_accuracy", "mcc", ORDERED_METRIC)
#: Classes in their order, for quadratic weighted kappa.
ORDER: dict[str, list[object]] = {
    "car": ["unacc", "acc", "good", "vgood"],
    "nursery": ["not_recom", "recommend", "very_recom", "priority", "spec_prior"],
    "cmc": [1, 2, 3],
    "autos": [-2, -1, 0, 1, 2, 3],
}
#: The network of all methods that have one, beside the default of two hidden units.
NETWORK = {"hidden": (32,), "activation": "relu", "random_state": 0}
SMALL = {"random_state": 0}
ON_METRIC, ON_CE = "network on the metric", "network on cross-entropy"
SMALL_ON_METRIC, SMALL_ON_CE = "2 hidden units, metric", "2 hidden units, cross-entropy"
NETWORKS_ONLY, TUNED_HISTGB = f"{ANYLOSS_CV}, networks only", "HistGB, tuned offsets"
#: What ``--only trees`` compares.
WITH_TREES = (ANYLOSS_CV, NETWORKS_ONLY, "HistGB", TUNED_HISTGB, "LightGBM")
HistGB = partial(HistGradientBoostingClassifier, random_state=0)


def logistic(**params: object) -> BaseEstimator:
    """Logistic regression on standardised features."""
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000, **params))


def network(**params: object) -> AnyLossClassifier:
    """The network on cross-entropy."""
    return AnyLossClassifier(loss="cross_entropy", **{**NETWORK, **params})


def with_smote(model: BaseEstimator, y: np.ndarray) -> BaseEstimator:
    """A model on samples that SMOTE has balanced, as far as classes have neighbours."""
    least = np.unique(y, return_counts=True)[1].min()
    if least < 2:
        raise ValueError("SMOTE needs two samples of each class.")
    k = min(5, int(least) - 1)
    return make_pipeline(StandardScaler(), SMOTE(k_neighbors=k, random_state=0), model)


#: Methods that do not depend on the metric, from the labels of the training fold.
METRIC_FREE: dict[str, Callable[[np.ndarray], BaseEstimator]] = {
    "logistic": lambda y: logistic(),
    "logistic, balanced": lambda y: logistic(class_weight="balanced"),
    "HistGB": lambda y: HistGB(),
    "HistGB, balanced": lambda y: HistGB(class_weight="balanced"),
    "LightGBM": lambda y: LGBMClassifier(random_state=0, n_jobs=1, verbosity=-1),
    "forest, balanced": lambda y: RandomForestClassifier(
        class_weight="balanced", random_state=0
    ),
    "balanced forest": lambda y: BalancedRandomForestClassifier(random_state=0),
    "EasyEnsemble": lambda y: EasyEnsembleClassifier(random_state=0),
    ON_CE: lambda y: network(),
    "network, class weights": lambda y: network(class_weight="balanced"),
    "network + SMOTE": lambda y: with_smote(network(), y),
    SMALL_ON_CE: lambda y: AnyLossClassifier(loss="cross_entropy", **SMALL),
}


def searches(metric: str, n_features: int) -> dict[str, BaseEstimator]:
    """The search with and without trees, and trees alone."""
    networks = default_candidates(((), (32, 32)), n_features, "multiclass")
    return {
        ANYLOSS_CV: AnyLossClassifierCV(metric, random_state=0),
        NETWORKS_ONLY: AnyLossClassifierCV(metric, candidates=networks, random_state=0),
        TUNED_HISTGB: TunedDecisionClassifier(HistGB(), metric, random_state=0),
    }


def methods_for_metric(metric: str, n_features: int) -> dict[str, BaseEstimator]:
    """Methods that are trained or tuned for the metric."""
    # One against the rest has two classes, for which the macro average is no goal.
    binary = metric.removesuffix("_macro")
    return {
        **searches(metric, n_features),
        ON_METRIC: AnyLossClassifier(metric, L="auto", **NETWORK),
        SMALL_ON_METRIC: AnyLossClassifier(metric, **SMALL),
        "AnyLoss, one against rest": OneVsRestClassifier(
            AnyLossClassifier(binary, L="auto", **NETWORK)
        ),
        "AnyLoss, one against one": OneVsOneClassifier(
            AnyLossClassifier(binary, L="auto", **NETWORK)
        ),
    }


def methods_for_order(metric: str, n_features: int) -> dict[str, BaseEstimator]:
    """What is compared on ordered classes."""
    return {
        "network on cross-entropy, argmax": network(),
        "network on cross-entropy, tuned offsets": TunedDecisionClassifier(
            network(), metric, random_state=0
        ),
        "network on kappa": AnyLossClassifier(metric, L="auto", **NETWORK),
        **searches(metric, n_features),
    }


def load_table(path: Path) -> tuple[pd.DataFrame, np.ndarray]:
    """Features as they are, and classes as numbers, in their order if they have one."""
    table = pd.read_csv(path)
    target = table.pop(table.columns[-1])
    if path.stem in ORDER:
        order = {str(label): i for i, label in enumerate(ORDER[path.stem])}
        return table, target.map(lambda label: order[str(label)]).to_numpy()
    return table, pd.factorize(target, sort=True)[0]


def encode(train: pd.DataFrame, test: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Numbers without missing values, by an encoder that has seen one part only."""
    encoder = make_pipeline(
        TableVectorizer(), SimpleImputer(strategy="median", keep_empty_features=True)
    )
    parts = encoder.fit_transform(train), encoder.transform(test)
    X, X_test = (np.asarray(part, dtype=float) for part in parts)
    return X, X_test


def run_dataset(path: Path, options: argparse.Namespace) -> list[Record]:
    """Scores and times of all methods on the folds of one data set."""
    table, y = load_table(path)
    records: list[Record] = []
    metrics = [metric for metric in options.metrics if metric != ORDERED_METRIC]
    folds = StratifiedKFold(options.folds, shuffle=True, random_state=0)
    for fold, (train, test) in enumerate(folds.split(table, y)):
        X, X_test = encode(table.iloc[train], table.iloc[test])
        split = X, y[train], X_test, y[test]
        wanted = [(name, build, metrics) for name, build in METRIC_FREE.items()]
        by_metric = [(metric, methods_for_metric) for metric in metrics]
        if path.stem in ORDER and ORDERED_METRIC in options.metrics:
            by_metric.append((ORDERED_METRIC, methods_for_order))
            if options.only:
                wanted = [(name, build, options.metrics) for name, build, _ in wanted]
        for metric, methods in by_metric:
            for name, model in methods(metric, X.shape[1]).items():
                wanted.append((name, lambda _, m=model: m, [metric]))
        found = []
        for name, build, scored in wanted:
            if scored and (not options.only or name in WITH_TREES):
                found += fit_and_score(name, build, scored, *split)
        records += [{"fold": fold, **record} for record in found]
    return records


def fit_and_score(
    name: str,
    build: Callable[[np.ndarray], BaseEstimator],
    metrics: Sequence[str],
    X: np.ndarray,
    y: np.ndarray,
    X_test: np.ndarray,
    y_test: np.ndarray,
) -> list[Record]:
    """A record for each metric; the score is NaN if the fit failed."""
    start = time.process_time()
    try:
        y_pred, error = build(y).fit(X, y).predict(X_test), ""
    except ValueError as exception:
        y_pred, error = None, str(exception).splitlines()[0][:80]
    seconds = time.process_time() - start
    classes = np.unique(np.concatenate((y, y_test)))
    return [
        {
            "method": name,
            "metric": metric,
            "score": np.nan
            if y_pred is None
            else metric_score(y_test, y_pred, metric=metric, labels=classes),
            "seconds": seconds,
            "failed": error,
        }
        for metric in metrics
    ]


def scores_by_dataset(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Mean scores over the folds, by data set and method; a failed fit scores 0."""
    own = table[table["metric"] == metric]
    own = own.assign(score=own["score"].fillna(0.0))
    return own.pivot_table(index="set", columns="method", values="score")


def report(table: pd.DataFrame, options: argparse.Namespace) -> None:
    """Print a table for each metric, the pairs of networks, and the ordered sets."""
    for metric in options.metrics:
        scores = scores_by_dataset(table, metric)
        if scores.empty:
            continue
        seconds = table[table["metric"] == metric].groupby("method")["seconds"].median()
        print(f"\n{metric}, {len(scores)} data sets, {options.folds} folds")
        ranks = scores.rank(axis=1, ascending=False).mean()
        header = f"{'method':<40}{'mean':>7}{'rank':>7}"
        print(f"{header}{'better / equivalent / worse':>29}{'seconds':>9}")
        for name in ranks.sort_values().index:
            text = ""
            if name != ANYLOSS_CV and len(scores) > 4:
                found = judge_many(scores[ANYLOSS_CV], scores[name])
                text = format_probabilities(found)
            line = f"{name:<40}{scores[name].mean():>7.3f}{ranks[name]:>7.2f}"
            print(f"{line}{text:>29}{seconds[name]:>9.2f}")
        for ours, theirs in ((ON_METRIC, ON_CE), (SMALL_ON_METRIC, SMALL_ON_CE)):
            if {ours, theirs} <= set(scores):
                print_pair(scores, ours, theirs)
    failures = table[table["failed"].notna() & (table["failed"] != "")]
    for (name, error), own in failures.groupby(["method", "failed"]):
        print(f"{name} failed on {own['set'].nunique()} data sets: {error}")


def print_pair(scores: pd.DataFrame, ours: str, theirs: str) -> None:
    """One network on two losses."""
    gain = (scores[ours] - scores[theirs]).mean()
    found = format_probabilities(judge_many(scores[ours], scores[theirs]))
    print(f"{ours} against {theirs}: {gain:+.4f}, {found}")


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    parser = make_parser(__doc__, "results/multiclass.csv", folds=3)
    parser.add_argument(
        "--metrics", nargs="+", choices=METRICS, default=METRICS, help="default: all"
    )
    parser.add_argument("--only", choices=["trees"], help="default: all methods")
    parser.add_argument("--picture", type=Path, help="file for a plot of the ranks")
    options = parser.parse_args(arguments)
    # Each selection has its own file.
    options.metric = "_".join([*options.metrics, *filter(None, [options.only])])
    return options


def sizes_of(folder: Path) -> dict[Path, int]:
    """Number of samples of each table in a folder."""
    files = sorted(path for path in folder.glob("*.csv") if path.stem != "catalog")
    return {path: len(pd.read_csv(path, usecols=[0])) for path in files}


if __name__ == "__main__":
    options = parse_options()
    sizes = sizes_of(options.data)
    if options.metrics == [ORDERED_METRIC]:
        sizes = {path: n for path, n in sizes.items() if path.stem in ORDER}
    results = run_all(options, run_dataset, sizes)
    report(results, options)
    if options.picture:
        plot_ranks(results, options.picture, options.metrics)
