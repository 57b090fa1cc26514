"""Which L suits a network for three classes or more, and how long a warm-up it wants.

    python -m benchmarks.which_L_multiclass --data FOLDER

FOLDER holds CSV files as for ``benchmarks.multiclass``; at most 3,000 samples of each
are used. All settings of a fold are trained in one stack. Printed for each network:
mean score over the data sets and mean rank of each setting.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold

from benchmarks.datasets import Record, make_parser, run_all
from benchmarks.multiclass import encode, load_table, sizes_of
from sk_anyloss import AnyLossClassifier, fit_stack, metric_score

MAX_SAMPLES = 3000
NETWORKS: dict[str, dict[str, object]] = {
    "(2,)": {},
    "(32,), relu": {"hidden": (32,), "activation": "relu"},
}
SETTINGS: dict[str, dict[str, object]] = {
    "cross-entropy": {"loss": "cross_entropy"},
    "cross-entropy, balanced": {"loss": "cross_entropy", "class_weight": "balanced"},
    "hybrid, L 10": {"loss": "hybrid", "L": 10, "warm_up": 0},
    "warm-up 0.5, identity": {"step": "identity", "warm_up": 0.5},
    **{
        f"warm-up {warm_up}, L {L}": {"L": L, "warm_up": warm_up}
        for warm_up in (0, 0.25, 0.5, 0.75)
        for L in (5, 10, 20, 40, 73)
    },
}


def run_dataset(path: Path, options: argparse.Namespace) -> list[Record]:
    """Scores of all settings on the folds of one data set."""
    table, y = load_table(path)
    if len(y) > MAX_SAMPLES:
        rng = np.random.default_rng(0)
        chosen = rng.choice(len(y), MAX_SAMPLES, replace=False)
        chosen = chosen[np.bincount(y[chosen])[y[chosen]] >= options.folds]
        table, y = table.iloc[chosen], np.unique(y[chosen], return_inverse=True)[1]
    records: list[Record] = []
    folds = StratifiedKFold(options.folds, shuffle=True, random_state=0)
    for fold, (train, test) in enumerate(folds.split(table, y)):
        X, X_test = encode(table.iloc[train], table.iloc[test])
        for name, network in NETWORKS.items():
            models = [
                AnyLossClassifier(options.metric, random_state=0, **network, **setting)
                for setting in SETTINGS.values()
            ]
            fit_stack(models, X, y[train])
            for setting, model in zip(SETTINGS, models, strict=True):
                score = metric_score(
                    y[test],
                    model.predict(X_test),
                    metric=options.metric,
                    labels=np.unique(y),
                )
                records.append(
                    {"fold": fold, "network": name, "setting": setting, "score": score}
                )
    return records


def report(table: pd.DataFrame) -> None:
    """Print a line for each setting of each network, the best mean first."""
    for name, own in table.groupby("network"):
        scores = own.pivot_table(index="set", columns="setting", values="score")
        ranks = scores.rank(axis=1, ascending=False).mean()
        print(
            f"\nhidden {name}, {len(scores)} data sets\n{'':<26}{'mean':>7}{'rank':>7}"
        )
        for setting, mean in scores.mean().sort_values(ascending=False).items():
            print(f"{setting:<26}{mean:>7.3f}{ranks[setting]:>7.2f}")


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    parser = make_parser(__doc__, "results/which_L_multiclass.csv", folds=3)
    parser.set_defaults(metric="f1_macro")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    options = parse_options()
    report(run_all(options, run_dataset, sizes_of(options.data)))
