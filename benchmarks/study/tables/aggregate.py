"""From confusion matrices of folds to scores of data sets."""

from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
import pandas as pd

from benchmarks.study.published import LEARNING_RATES
from benchmarks.study.scores import METRICS, score
from sk_anyloss.compare.verdict import judge_many

#: Ties go to the first of those that are best.
MAIN_LOSSES = ["AnyLoss", "BCE", "MSE"]
#: By network and metric: scores by data set (index) and method (columns), and the
#: paper's numbers of the data sets.
Scores: TypeAlias = dict[str, dict[str, tuple[pd.DataFrame, set[str]]]]


def published_protocol_scores(
    table: pd.DataFrame, metrics: Iterable[str] = tuple(METRICS)
) -> pd.DataFrame:
    """Ten-fold mean scores, with ``paper_id``, ``set``, ``metric`` and ``loss``."""
    own = table[table["method"].isin(LEARNING_RATES)]
    parts = []
    for metric in metrics:
        part = own[["paper_id", "set", "method"]].rename(columns={"method": "loss"})
        parts.append(part.assign(metric=metric, score=score(own["test"], metric)))
    keys = ["paper_id", "set", "metric", "loss"]
    return pd.concat(parts).groupby(keys, as_index=False)["score"].mean()


def select_inner_best(table: pd.DataFrame, metric: str) -> pd.DataFrame:
    """Test scores by data set (index) and method (columns).

    In each fold, a method has the setting with the best pooled score on the inner folds
    among those trained for the metric or for none.
    """
    own = table[table["aim"].isna() | (table["aim"] == metric)]
    own = own.assign(
        inner_score=score(own["inner"], metric).round(12),
        test_score=score(own["test"], metric),
    )
    best = own.groupby(["set", "fold", "method"], sort=False)["inner_score"].idxmax()
    selected = own.loc[best]
    return selected.pivot_table(index="set", columns="method", values="test_score")


def select_finished(table: pd.DataFrame) -> pd.DataFrame:
    """The data sets on which both networks have been run with both values of L."""
    anyloss = table[table["method"].str.startswith("AnyLoss")]
    n_kinds = anyloss.groupby("set")[["structure", "method"]].apply(
        lambda kinds: len(kinds.drop_duplicates())
    )
    return table[table["set"].map(n_kinds) == n_kinds.max()]


def majority_proportions(table: pd.DataFrame) -> pd.Series:
    """Proportion of the larger class by data set."""
    one = table.drop_duplicates(["set", "fold"])
    counts = np.array(one["test"].tolist()).reshape(-1, 4)
    sums = pd.DataFrame(counts, index=one["set"]).groupby(level=0).sum()
    negative = (sums[0] + sums[1]) / sums.sum(axis=1)
    return np.maximum(negative, 1 - negative)


def imbalance_group(proportion: np.ndarray | pd.Series) -> np.ndarray:
    """Number of the paper's four groups of imbalance."""
    return np.searchsorted([0.7, 0.8, 0.9], np.round(proportion, 4), side="left")


def count_wins(scores: pd.DataFrame) -> tuple[list[int], int]:
    """How often MSE, BCE and AnyLoss are best, and the number of ties among these."""
    main = scores[MAIN_LOSSES].round(9)
    wins = main.idxmax(axis=1).value_counts()
    ties = int(((main.eq(main.max(axis=1), axis=0)).sum(axis=1) > 1).sum())
    return [int(wins.get(name, 0)) for name in ("MSE", "BCE", "AnyLoss")], ties


def main_losses(
    scores: pd.DataFrame, metric: str, index: str = "paper_id"
) -> pd.DataFrame:
    """Scores of MSE, BCE and the AnyLoss for the metric, as columns."""
    columns = {"MSE": "MSE", "BCE": "BCE", f"L_{metric}": "AnyLoss"}
    own = scores[(scores["metric"] == metric) & scores["loss"].isin(columns)]
    wide = own.pivot_table(index=index, columns="loss", values="score")
    return wide.rename(columns=columns)


def sign_test(
    scores: pd.DataFrame, name: str, rope: float = 0.01
) -> tuple[float, float, float]:
    """Sign test of AnyLoss against a method, on the data sets that have both."""
    own = scores[[name, "AnyLoss"]].dropna()
    return judge_many(own["AnyLoss"], own[name], rope)
