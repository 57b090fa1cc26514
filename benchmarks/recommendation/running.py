"""Comparisons on a part of data sets, and the scores of all methods on the rest."""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from benchmarks.datasets import Record
from sk_anyloss import metric_score
from sk_anyloss.compare import Comparison, compare_tables, make_table

#: Share of the samples that the comparison does not see.
HELD_OUT = 0.3
#: Name of predictions without a model, in the place of a method.
DUMMY = "always positive"


def load(path: Path, sample: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Samples and labels, 1 for positive, at most ``sample`` of them.

    The last column of a CSV file is the target: its most frequent class that has no
    more than half of the samples is the positive one.
    """
    if path.suffix == ".csv":
        frame = pd.read_csv(path, low_memory=False)
        target = frame.pop(str(frame.columns[-1])).astype(str)
        shares = target.value_counts(normalize=True)
        y = (target == shares[shares <= 0.5].index[0]).to_numpy(int)
    else:
        data = np.load(path)
        frame, y = pd.DataFrame(data["X"].astype(float)).add_prefix("x"), data["y"]
    if len(y) > sample:
        frame, _, y, _ = train_test_split(
            frame, y, train_size=sample, stratify=y, random_state=0
        )
    # Types of columns are found once, before the samples are split.
    table = make_table(frame.reset_index(drop=True), y, positive=1)
    return pd.DataFrame(table.X), table.y


def run_dataset(path: Path, options: argparse.Namespace) -> list[Record]:
    """Scores of all methods on the folds and held out, once for every seed."""
    X, y = load(path, options.sample)
    records: list[Record] = []
    for seed in range(options.seeds):
        train, test = train_test_split(
            np.arange(len(y)), test_size=HELD_OUT, stratify=y, random_state=seed
        )
        found = compare_tables(
            [make_table(X.iloc[train].reset_index(drop=True), y[train], positive=1)],
            options.metric, methods=options.methods, folds=options.folds, seed=seed,
        )  # fmt: skip
        always = np.ones_like(y[test])
        held_out = metric_score(y[test], always, metric=options.metric)
        rows = [_row(DUMMY, _always_positive(found), 0.0, held_out)]
        for name, scores in found.scores("data").items():
            predicted = found.best_estimator(str(name)).predict(X.iloc[test])
            held_out = metric_score(y[test], predicted, metric=options.metric)
            seconds = found.table["seconds"][name]
            rows.append(_row(str(name), scores.to_numpy(), seconds, held_out))
        records += [{"seed": seed, "samples": len(train), **row} for row in rows]
    return records


def _row(method: str, scores: np.ndarray, seconds: float, held_out: float) -> Record:
    folds = " ".join(f"{score:.4f}" for score in scores)
    return {
        "method": method, "folds": folds, "seconds": round(seconds, 3),
        "held_out": round(held_out, 4),
    }  # fmt: skip


def _always_positive(found: Comparison) -> np.ndarray:
    """Scores on the folds, from their class sizes."""
    folds = [fold for fold in found.folds if fold.method == found.methods[0]]
    (metric,) = {found.metric}
    return np.array(
        [
            metric_score(
                found.tables[0].y[fold.rows], np.ones(len(fold.rows)), metric=metric
            )
            for fold in folds
        ]
    )
