"""Which L, by learning rate, width, batch size and dtype, on real data sets.

    python -m benchmarks.which_L --data FOLDER

FOLDER holds one ``.npz`` file per data set, with ``X`` and ``y`` (1 is the positive
class). For each data set and configuration, all values of L and all folds are trained
in one stack. Each data set is written to ``--output`` as soon as it has finished, and
an interrupted run resumes. Prints, for every configuration, the mean score and the mean
rank of each L over the data sets, and the percentage of fits that predict a single
class.
"""

import argparse
from pathlib import Path
from typing import Any

import pandas as pd
from scipy.stats import rankdata

from benchmarks.datasets import (
    Record,
    describe,
    load_dataset,
    make_parser,
    outer_folds,
    run_all,
    summarize_folds,
)
from sk_anyloss import AnyLossClassifier, fit_stack

LS = (2, 5, 10, 20, 40, 73, 110, "auto")
CONFIGURATIONS: list[dict[str, Any]] = [
    {"hidden": hidden, "lr": lr, "batch_size": "auto"}
    for hidden in ((2,), (32,))
    for lr in (0.001, 0.01, 0.1)
]
CONFIGURATIONS += [
    {"hidden": hidden, "lr": 0.01, "batch_size": 1.0} for hidden in ((2,), (32,))
]
CONFIGURATIONS += [
    {"hidden": (2,), "lr": 0.01, "batch_size": "auto", "dtype": "float32"}
]


def run_dataset(path: Path, options: argparse.Namespace) -> list[Record]:
    """Mean score and number of collapsed fits of every L in every configuration."""
    X, y = load_dataset(path)
    folds = outer_folds(X, y, options.folds)
    records: list[Record] = []
    for configuration in CONFIGURATIONS:
        params = dict(configuration)
        X_cast = X.astype(params.pop("dtype", "float64"))
        models = [
            AnyLossClassifier(options.metric, L=L, random_state=0, **params)
            for L in LS
            for _ in folds
        ]
        fit_stack(models, X_cast, y, rows=[train for train, _ in folds] * len(LS))
        fitted = iter(models)
        for L in LS:
            with_L = [next(fitted) for _ in folds]
            record = {"configuration": describe(configuration), "L": str(L)}
            records.append({**record, **summarize_folds(with_L, X_cast, y, folds)})
    return records


def report(table: pd.DataFrame, options: argparse.Namespace) -> None:
    """Print mean score, mean rank and collapsed fits of each L."""
    n_sets = table["set"].nunique()
    print(f"{n_sets} data sets; mean score (mean rank, 1 is best; % collapsed)")
    print(f"{'':<42}" + "".join(f"{f'L {L}':>18}" for L in LS))
    columns = [str(L) for L in LS]
    for name in map(describe, CONFIGURATIONS):
        own = table[table["configuration"] == name]
        scores = own.pivot(index="set", columns="L", values="score")[columns]
        collapsed = own.groupby("L")["collapsed"].mean()[columns] / options.folds
        ranks = rankdata(-scores.round(6), axis=1).mean(axis=0)
        cells = [
            f"{score:.3f} ({rank:.1f}; {100 * fraction:.0f})"
            for score, rank, fraction in zip(
                scores.mean(), ranks, collapsed, strict=True
            )
        ]
        print(f"{name:<42}" + "".join(f"{cell:>18}" for cell in cells))


if __name__ == "__main__":
    parser = make_parser(__doc__, "results/which_L.csv", folds=5, max_samples=1_200)
    arguments = parser.parse_args()
    report(run_all(arguments, run_dataset), arguments)
