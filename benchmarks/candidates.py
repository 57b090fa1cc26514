"""Which candidates AnyLossClassifierCV should try, and how many of them to average.

    python -m benchmarks.candidates --data FOLDER [--variants]

Three outer folds of each data set with at most 1,200 samples, and five inner folds for
the search. All candidates are trained once, and then selected in several ways, so that
nothing but the selection differs. ``--variants`` also trains them with other
parameters. Means are printed separately for data sets with an odd number in their name
(``p001_...``), on which the defaults were chosen, and for those with an even one, which
were held out.
"""

import argparse
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from scipy.special import expit

from benchmarks.datasets import (
    Record,
    load_dataset,
    make_parser,
    outer_folds,
    run_all,
)
from sk_anyloss import AnyLossClassifier, CosineDecay
from sk_anyloss.estimators.folds import inner_cv
from sk_anyloss.estimators.labels import Labels
from sk_anyloss.estimators.tuning.out_of_fold import OutOfFold
from sk_anyloss.metrics.evaluation import evaluate_logits
from sk_anyloss.search.candidates import candidate_grid
from sk_anyloss.search.fold_fits import run_trials
from sk_anyloss.search.members import outputs_of
from sk_anyloss.search.trials import CrossValidationData, Trial

Params: TypeAlias = Mapping[str, Any]
#: X and y of the training samples, then of the test samples.
Split: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]

#: Parameters of the search's networks.
BASE = {"activation": "relu", "max_epochs": 50, "random_state": 0}
LOSSES = (["identity", "sigmoid"], [5, 20])
HIDDEN = [(), (32, 32)]
N_BINS = [None, 8]


def is_default(params: Params) -> bool:
    """Whether a candidate belongs to the default grid."""
    return params.get("L") == 5 or bool(params.get("loss"))


#: Which candidates take part, and how many of the best are averaged.
SELECTIONS: dict[str, tuple[Callable[[Params], bool], int]] = {
    "default: the best 5": (is_default, 5),
    "the best candidate": (is_default, 1),
    "the best 3": (is_default, 3),
    "all 8": (is_default, 8),
    "with identity step": (lambda p: p.get("L") != 20, 6),
    "with L=20": (lambda p: p.get("step") != "identity", 6),
    "with both": (lambda p: True, 8),
    "standardized features only": (lambda p: is_default(p) and not p.get("n_bins"), 3),
    "piecewise-linear encoding only": (
        lambda p: is_default(p) and bool(p.get("n_bins")),
        3,
    ),
    "no hidden layers only": (lambda p: is_default(p) and not p["hidden"], 3),
    "hidden layers only": (lambda p: is_default(p) and bool(p["hidden"]), 3),
    "metric losses only": (lambda p: is_default(p) and not p.get("loss"), 3),
    "cross-entropy only": (lambda p: bool(p.get("loss")), 3),
}
#: Other training parameters, for the default selection.
VARIANTS: dict[str, Params] = {
    "constant learning rate of 0.01": {"lr": 0.01},
    "weight decay of 0.01": {"optimizer": "adamw"},
    "early stopping, 100 epochs": {"early_stopping": True, "max_epochs": 100},
    "no batch norm": {"batch_norm": False},
    "silu": {"activation": "silu"},
    "30 epochs": {"max_epochs": 30},
    "batches of 128": {"batch_size": 128},
}


def run_dataset(path: Path, options: argparse.Namespace) -> list[Record]:
    """Scores of all selections on the outer folds of a data set."""
    X, y = load_dataset(path)
    metric = options.metric
    records: list[Record] = []
    for fold, (train, test) in enumerate(outer_folds(X, y, options.folds)):
        split = X[train], y[train], X[test], y[test]
        pool, trials = train_candidates(split, metric, {})
        for name, (selected, n_best) in SELECTIONS.items():
            score = ensemble_score(pool, trials, selected, n_best, split, metric)
            records.append({"fold": fold, "choice": name, "score": score})
        for name, params in VARIANTS.items() if options.variants else ():
            pool, trials = train_candidates(split, metric, params)
            score = ensemble_score(pool, trials, is_default, 5, split, metric)
            records.append({"fold": fold, "choice": name, "score": score})
    return records


def train_candidates(
    split: Split, metric: str, params: Params
) -> tuple[OutOfFold, list[Trial]]:
    """Train all candidates; tune the thresholds of those on cross-entropy."""
    X, y, *_ = split
    smallest_class = min(np.bincount(y))
    folds = list(inner_cv(min(5, smallest_class), random_state=0).split(X, y))
    data = CrossValidationData(X, y, folds)
    pool = data.out_of_fold(Labels.of(y), metric)
    base = AnyLossClassifier(metric, **{**BASE, **params})
    trials: list[Trial] = []
    for hidden in HIDDEN:
        for n_bins in N_BINS:
            lr = params.get("lr", CosineDecay(0.03))
            tried = candidate_grid([hidden], *LOSSES, [lr], [n_bins])
            tried = tried if not params else [p for p in tried if is_default(p)]
            trials += run_trials(base, tried, data)
    for trial in trials:
        if trial.params.get("loss"):
            trial.tune(pool)
    return pool, trials


def ensemble_score(
    pool: OutOfFold,
    trials: list[Trial],
    selected: Callable[[Params], bool],
    n_best: int,
    split: Split,
    metric: str,
) -> float:
    """Test score of the average of the best of some candidates."""
    trials = [trial for trial in trials if selected(trial.params)]
    order = np.argsort([-pool.score(trial.margin) for trial in trials])
    _, _, X, y = split
    proba = np.mean([_scores(trials[i], X) for i in order[:n_best]], axis=0)
    return evaluate_logits(metric, proba, y.astype(float), threshold=0.5)


def _scores(trial: Trial, X: np.ndarray) -> np.ndarray:
    """Mean scores of the fold networks of a candidate."""
    offset, labels = trial.decision.offset, Labels.of(np.array([0, 1]))
    return np.mean(
        [expit(outputs_of(model, X, labels) - offset) for model in trial.models], axis=0
    )


def report(table: pd.DataFrame) -> None:
    """Print a line for each selection."""
    table["odd"] = [int(re.findall(r"\d+", name)[0]) % 2 == 1 for name in table["set"]]
    means = table.groupby(["choice", "odd", "set"])["score"].mean()
    means = means.groupby(["choice", "odd"]).mean().unstack()
    sizes = table.groupby("odd")["set"].nunique()
    headings = "".join(f"{'odd' if odd else 'even':>10}" for odd in means.columns)
    print(f"{'':<34}{headings}")
    print(f"{'data sets':<34}" + "".join(f"{sizes[odd]:>10}" for odd in means.columns))
    for name in table["choice"].drop_duplicates():
        cells = "".join(f"{means.loc[name, odd]:>10.3f}" for odd in means.columns)
        print(f"{name:<34}{cells}")


if __name__ == "__main__":
    parser = make_parser(__doc__, "results/candidates.csv", folds=3, max_samples=1_200)
    parser.add_argument(
        "--variants", action="store_true", help="also other training parameters"
    )
    report(run_all(parser.parse_args(), run_dataset))
