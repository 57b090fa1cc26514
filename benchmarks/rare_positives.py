"""F1 of AnyLossClassifierCV on very rare positives, by how its ensemble decides.

    python -m benchmarks.rare_positives --data FOLDER [--seeds 8]

On synthetic data of a weak signal, 7,100 samples of which 0.75 % are positive, with
40,000 others to test on; and on halves of the data sets in FOLDER with at least 1,500
samples, whose positives are thinned to 0.76 %, but at least 12, and scored on the other
half with weights to the same share. An interrupted run resumes.
"""

import argparse
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score

from benchmarks.datasets import Record, load_dataset, make_parser, outer_folds, run_all
from sk_anyloss import AnyLossClassifierCV
from sk_anyloss.search import ensemble

SHARE, LEAST_POSITIVES, MAX_NEGATIVES = 0.0076, 12, 8000
DEFAULTS = {"NOISE": ensemble.NOISE, "VERY_RARE": ensemble.VERY_RARE}
#: Constants of the ensemble that differ.
RULES = {
    "mean of all, at 0.5": {"NOISE": np.inf, "VERY_RARE": 0.0},
    "the best alone if ahead": {"VERY_RARE": 0.0},
    "default: also as often as out of fold": {},
}


def score_rules(
    X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray, share: float
) -> list[Record]:
    """Test F1 of all rules, and the shares of samples predicted to be positive."""
    positive = y_test == 1
    weight = np.where(positive, share / (1 - share) * (~positive).sum(), 1.0)
    weight[positive] /= positive.sum()
    records: list[Record] = []
    for rule, constants in RULES.items():
        with patch.multiple(ensemble, **{**DEFAULTS, **constants}):
            model = AnyLossClassifierCV(random_state=0).fit(X, y)
        decided = model.predict(X_test)
        out_of_fold = model.oof_proba_ > model.threshold_
        records.append(
            {
                "rule": rule,
                "score": f1_score(y_test, decided, sample_weight=weight),
                "predicted": np.average(decided, weights=weight),
                "out_of_fold": out_of_fold.mean(),
            }
        )
    return records


def run_dataset(path: Path, options: argparse.Namespace) -> list[Record]:
    """Records of both halves of a data set."""
    X, y = load_dataset(path)
    records: list[Record] = []
    for fold, (train, test) in enumerate(outer_folds(X, y, options.folds)):
        rng = np.random.default_rng(fold)
        positive, negative = train[y[train] == 1], train[y[train] == 0]
        negative = rng.permutation(negative)[:MAX_NEGATIVES]
        n = max(LEAST_POSITIVES, int(SHARE * len(negative)))
        rows = np.sort(np.concatenate([rng.permutation(positive)[:n], negative]))
        found = score_rules(X[rows], y[rows], X[test], y[test], y[rows].mean())
        records += [{"fold": fold, **record} for record in found]
    return records


def run_synthetic(seed: int) -> list[Record]:
    """Records of one synthetic data set."""
    X, y = make_classification(
        47_100, 25, n_informative=6, n_redundant=4, weights=[0.9965],
        class_sep=0.15, flip_y=0.008, random_state=seed,
    )  # fmt: skip
    n = 7100
    return score_rules(X[:n], y[:n], X[n:], y[n:], y[n:].mean())


def report(title: str, table: pd.DataFrame) -> None:
    """Print the means of a table, and differences from its first rule."""
    by_rule = table.pivot_table(index=["set", "fold"], columns="rule", values="score")
    means = table.groupby("rule")[["predicted", "out_of_fold"]].mean() * 100
    print(f"\n{title}: {len(by_rule)} fits")
    header = f"{'rule':<40}{'F1':>7}{'difference':>17}{'F1 is 0':>9}"
    print(f"{header}{'predicted, out of fold':>24}")
    for rule in RULES:
        difference = by_rule[rule] - by_rule[next(iter(RULES))]
        shares = f"{means['predicted'][rule]:.2f} %, {means['out_of_fold'][rule]:.2f} %"
        print(
            f"{rule:<40}{by_rule[rule].mean():>7.4f}{difference.mean():>+9.4f} "
            f"±{difference.sem():.4f}{(by_rule[rule] == 0).sum():>9}{shares:>24}"
        )


if __name__ == "__main__":
    parser = make_parser(__doc__, "results/rare_positives.csv", folds=2)
    parser.set_defaults(min_samples=1499)
    parser.add_argument("--seeds", type=int, default=8, help="default: %(default)s")
    options = parser.parse_args()
    synthetic = [
        {"set": seed, "fold": 0, **record}
        for seed in range(options.seeds)
        for record in run_synthetic(seed)
    ]
    report("synthetic", pd.DataFrame(synthetic))
    report("thinned", run_all(options, run_dataset))
