"""Every loss on the same network: score, sign test, time of a fit.

    python -m benchmarks.losses --data FOLDER [--metric f1]

FOLDER holds one ``.npz`` file per data set, with ``X`` and ``y`` (1 is the positive
class). Every loss has the same network, folds, number of epochs and two learning rates;
the rate with the higher mean over the data sets is shown. The tuned thresholds are
scikit-learn's TunedThresholdClassifierCV on shuffled, seeded folds, around the same
network on cross-entropy (at the larger learning rate only) and around logistic
regression. The sign test is Bayesian, with a region of practical equivalence of 0.01.
The time is that of a single fit on the first fold, divided by that of cross-entropy on
the same samples, median over the data sets. An interrupted run resumes.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.datasets import (
    Fold,
    Record,
    format_probabilities,
    load_dataset,
    make_parser,
    outer_folds,
    run_all,
    summarize_folds,
)
from sk_anyloss import AnyLoss, AnyLossClassifier, fit_stack
from sk_anyloss.baselines import tuned_threshold
from sk_anyloss.compare.verdict import judge_many
from sk_anyloss.metrics import FBeta, curve_names, get_metric

NINE_THRESHOLDS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
LRS = (0.01, 0.05)
BCE, WEIGHTED = "cross-entropy", "cross-entropy, class-weighted"
TUNED, LOGISTIC = "cross-entropy, tuned threshold", "logistic, tuned threshold"


def loss_parameters(metric: str) -> dict[str, dict[str, Any]]:
    """Parameters of the estimator for each loss that supports the metric."""
    result: dict[str, dict[str, Any]] = {
        BCE: {"loss": "bce"},
        WEIGHTED: {"loss": "weighted_bce"},
        "squared error": {"loss": "mse"},
        "focal": {"loss": "focal"},
        "AnyLoss, L=73": {},
        "AnyLoss, L=10": {"L": 10},
        "AnyLoss, L='auto'": {"L": "auto"},
        "identity (soft F1, SOL uniform)": {"step": "identity"},
        "uniform, delta 0.25 (SOL)": {"step": "uniform"},
        "cosine, delta 0.1 (SOL)": {"step": "cosine"},
        "linear (soft sets)": {"step": "linear"},
        "logit (sigmoidF1)": {"step": "logit"},
        "hybrid": {"loss": "hybrid"},
    }
    if metric in curve_names():
        return {**result, "pairs": {"loss": "pairs"}}
    nine = partial(AnyLoss, threshold=NINE_THRESHOLDS)
    result["linear, nine thresholds"] = {"step": "linear", "loss": nine}
    result["AnyLoss, nine thresholds"] = {"loss": nine}
    result["AnyLoss, decay 0.9"] = {"loss": partial(AnyLoss, decay=0.9)}
    if isinstance(get_metric(metric), FBeta):
        result["surrogate F-beta"] = {"loss": "surrogate_fbeta"}
    return result


def run_dataset(path: Path, options: argparse.Namespace) -> list[Record]:
    """Score and time of every loss and learning rate on one data set."""
    X, y = load_dataset(path)
    folds = outer_folds(X, y, options.folds)
    settings = [
        (name, lr, AnyLossClassifier(options.metric, lr=lr, random_state=0, **params))
        for name, params in loss_parameters(options.metric).items()
        for lr in LRS
    ]
    models = [clone(model) for _, _, model in settings for _ in folds]
    fit_stack(models, X, y, rows=[train for train, _ in folds] * len(settings))
    fitted = iter(models)
    records: list[Record] = []
    for name, lr, model in settings:
        record = summarize_folds([next(fitted) for _ in folds], X, y, folds)
        record["seconds"] = fit_time(model, X, y, folds) if lr == LRS[0] else np.nan
        records.append({"loss": name, "lr": lr, **record})
    if options.metric not in curve_names():
        for name, lr, model in threshold_baselines(options.metric):
            record = run_tuned_threshold(model, X, y, folds, options.metric)
            records.append({"loss": name, "lr": lr, **record})
    return records


def threshold_baselines(metric: str) -> Iterator[tuple[str, float, BaseEstimator]]:
    """Name, learning rate and estimator of the methods with a tuned threshold."""
    lr = LRS[-1]  # At which cross-entropy is better.
    yield TUNED, lr, AnyLossClassifier(metric, loss="bce", lr=lr, random_state=0)
    yield LOGISTIC, lr, make_pipeline(StandardScaler(), LogisticRegression())


def run_tuned_threshold(
    model: BaseEstimator,
    X: np.ndarray,
    y: np.ndarray,
    folds: Sequence[Fold],
    metric: str,
) -> Record:
    """Score and time with a threshold that is tuned inside the training folds."""
    search = tuned_threshold(model, metric, random_state=0)
    start = time.perf_counter()
    fitted = [clone(search).fit(X[train], y[train]) for train, _ in folds]
    seconds = (time.perf_counter() - start) / len(folds)
    return {**summarize_folds(fitted, X, y, folds), "seconds": seconds}


def fit_time(
    model: BaseEstimator, X: np.ndarray, y: np.ndarray, folds: Sequence[Fold]
) -> float:
    """Seconds of a fit on the first fold."""
    train, _ = folds[0]
    start = time.perf_counter()
    clone(model).fit(X[train], y[train])
    return time.perf_counter() - start


def report(table: pd.DataFrame, options: argparse.Namespace) -> None:
    """Print a line for each loss."""
    scores = table.pivot(index="set", columns=["loss", "lr"], values="score")
    means = scores.mean()
    best_lr = {name: means[name].idxmax() for name in means.index.unique("loss")}
    best = {name: scores[name, lr] for name, lr in best_lr.items()}
    seconds = table.pivot(index="set", columns=["loss", "lr"], values="seconds")
    print(
        f"{options.metric}, {len(scores)} data sets, {options.folds} folds; "
        "probability to be better / equivalent / worse than\n"
    )
    baselines = {BCE: BCE, WEIGHTED: "class-weighted", TUNED: "tuned threshold"}
    baselines = {name: title for name, title in baselines.items() if name in best}
    header = f"{'loss':<34}{'mean':>6}{'lr':>6}{'one class':>11}"
    titles = "".join(f"{title:>20}" for title in baselines.values())
    print(f"{header}{titles}{'time':>7}")
    for name in sorted(best, key=lambda name: -best[name].mean()):
        lr = best_lr[name]
        own = table[(table["loss"] == name) & (table["lr"] == lr)]
        one_class = own["collapsed"].sum() / (len(own) * options.folds)
        line = f"{name:<34}{best[name].mean():>6.3f}{lr:>6}{one_class:>10.1%} "
        for baseline in baselines:
            text = ""
            if name != baseline:
                text = format_probabilities(judge_many(best[name], best[baseline]))
            line += f"{text:>20}"
        timed = seconds[name].max(axis=1)  # One of the learning rates was timed.
        ratio = (timed / seconds[BCE, LRS[0]]).median()
        print(f"{line}{ratio:>7.2f}")
    report_against_tuned(best)


def report_against_tuned(scores: dict[str, pd.Series]) -> None:
    """Print, by data set, training on the metric against tuning the threshold."""
    if TUNED not in scores:
        return
    names = [name for name in scores if name.startswith("AnyLoss, L=")]
    anyloss = scores[max(names, key=lambda name: scores[name].mean())]
    difference = (anyloss - scores[TUNED]).sort_values()
    wins, losses = (difference > 0.01).sum(), (difference < -0.01).sum()
    print(
        f"\n{anyloss.name[0]} against {TUNED}: better by more than 0.01 on {wins} data "
        f"sets, worse on {losses}, equivalent on {len(difference) - wins - losses}."
    )
    for side, part in (("worst", difference[:5]), ("best", difference[:-6:-1])):
        cells = ", ".join(f"{name} {value:+.3f}" for name, value in part.items())
        print(f"{side}: {cells}")


if __name__ == "__main__":
    arguments = make_parser(
        __doc__, "results/losses.csv", max_samples=2_000
    ).parse_args()
    report(run_all(arguments, run_dataset), arguments)
