"""Tables of results."""

import argparse

import pandas as pd

from benchmarks.datasets import format_probabilities
from benchmarks.quality.methods import ANYLOSS_CV, METRICS
from sk_anyloss.compare.verdict import judge_many

#: The method to which the losses are told by data set.
REFERENCE = "LightGBM, tuned threshold"


def scores_by_dataset(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Mean scores over the folds, by data set (index) and method (columns).

    A fold on which a method failed counts as if it had predicted a single class.
    """
    own = table[table["metric"] == metric]
    constant = 0.5 if metric == "balanced_accuracy" else 0.0
    own = own.assign(score=own["score"].fillna(constant))
    return own.pivot_table(index="set", columns="method", values="score")


def keep_complete(scores: pd.DataFrame, common: bool = False) -> pd.DataFrame:
    """Scores of the methods that have one on every data set.

    With ``common``, those of the data sets that all methods have results on.
    """
    return scores.dropna() if common else scores.dropna(axis=1)


def report(table: pd.DataFrame, options: argparse.Namespace) -> None:
    """Print a table for each metric, and the failures."""
    for metric in METRICS:
        own = table[table["metric"] == metric]
        scores = scores_by_dataset(own, metric)
        if scores.empty:
            continue
        print(f"\n{metric}, {len(scores)} data sets, {options.folds} folds")
        found, scores = scores, keep_complete(scores, options.common)
        own = own[own["set"].isin(scores.index) & own["method"].isin(scores.columns)]
        if options.common:
            print(f"all methods have results on {len(scores)} of them")
        for name in found.columns.difference(scores.columns):
            n = found[name].notna().sum()
            print(f"left out: {name}, which has results on {n} of {len(found)} sets")
        report_metric(scores, own.groupby("method")["seconds"].median())
        if ANYLOSS_CV in scores:
            report_losses(scores)
        if options.each:
            print(scores.rename_axis(None, axis=1).round(3).to_string())
    failures = table[table["failed"].notna() & (table["failed"] != "")]
    for (name, error), own in failures.groupby(["method", "failed"]):
        print(f"{name} failed on {own['set'].nunique()} data sets: {error}")


def report_losses(scores: pd.DataFrame) -> None:
    """Print where AnyLossClassifierCV is behind, of the best and of LightGBM."""
    behind = scores.drop(columns=ANYLOSS_CV).sub(scores[ANYLOSS_CV], axis=0)
    gaps = behind.max(axis=1).nlargest(5)
    cells = [
        f"{name} -{gap:.3f} ({behind.loc[name].idxmax()})"
        for name, gap in gaps.items()
        if gap > 0
    ]
    print(f"furthest behind the best: {', '.join(cells) or 'nowhere'}")
    if REFERENCE in behind:
        gaps = behind[REFERENCE].sort_values(ascending=False)
        cells = [f"{name} -{gap:.3f}" for name, gap in gaps[gaps > 0.01].items()]
        print(f"more than 0.01 behind {REFERENCE}: {', '.join(cells) or 'nowhere'}")


def print_ratio(seconds: pd.DataFrame, other: str) -> None:
    """Print quantiles of the time of a fit relative to another method."""
    ratio = seconds[ANYLOSS_CV] / seconds[other]
    low, median, high = ratio.quantile([0.1, 0.5, 0.9])
    print(
        f"time of a default fit / {other}: median {median:.2f} "
        f"({low:.2f} to {high:.2f})"
    )


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
