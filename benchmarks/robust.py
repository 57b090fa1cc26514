"""Which training options make training on a metric robust, each beside the default.

    python -m benchmarks.robust --data FOLDER

FOLDER holds one ``.npz`` file per data set, with ``X`` and ``y`` (1 is the positive
class). Compared are batches without stratification, a moving average of the confusion
matrix (``memory``), a warm-up on cross-entropy and several initialisations, for two
widths of the network and two choices of L; then the same on a generated data set of
200,000 samples with one positive in a thousand, trained on one half and scored on the
other. An interrupted run resumes.
"""

import argparse
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from tqdm import tqdm

import sk_anyloss.training.data.stacked_batches
from benchmarks.datasets import (
    Record,
    describe,
    format_probabilities,
    load_dataset,
    make_parser,
    outer_folds,
    run_all,
    summarize_folds,
)
from sk_anyloss import AnyLoss, AnyLossClassifier, fit_stack
from sk_anyloss.compare.verdict import judge_many

DEFAULT, NOT_STRATIFIED = "default", "not stratified"
VARIANTS: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    NOT_STRATIFIED: {},
    "decay 0.9": {"loss": partial(AnyLoss, decay=0.9)},
    "warm-up, 5 of 100 epochs": {},
    "warm-up, 20 of 100 epochs": {},
    "warm-up, 50 of 100 epochs": {},
    "best of 2 starts": {"n_init": 2},
    "best of 5 starts": {"n_init": 5},
}
#: Percentage of the epochs that are trained on cross-entropy first.
WARM_UPS = {name: int(name.split()[1]) for name in VARIANTS if "warm-up" in name}
SETTINGS: list[dict[str, Any]] = [
    {"hidden": hidden, "L": L} for hidden in ((2,), (32,)) for L in (73, "auto")
]


@contextmanager
def batch_order(variant: str) -> Iterator[None]:
    """Shuffle without stratification, if that is the variant."""
    if variant != NOT_STRATIFIED:
        yield
        return
    with mock.patch.object(
        sk_anyloss.training.data.stacked_batches,
        "stratified_order",
        lambda y, rng: rng.permutation(len(y)),
    ):
        yield


def fit_warmed_up(
    model: AnyLossClassifier, X: np.ndarray, y: np.ndarray, percentage: int
) -> None:
    """Train on cross-entropy first, then continue on the metric."""
    epochs = model.max_epochs
    warm_up = round(epochs * percentage / 100)
    model.set_params(loss="bce", max_epochs=warm_up, warm_start=True).fit(X, y)
    model.set_params(loss=None, max_epochs=epochs - warm_up).fit(X, y)


def run_dataset(path: Path, options: argparse.Namespace) -> list[Record]:
    """Mean score of every variant and setting on one data set."""
    X, y = load_dataset(path)
    folds = outer_folds(X, y, options.folds)
    records: list[Record] = []
    for setting in SETTINGS:
        for variant, params in VARIANTS.items():
            models = [
                AnyLossClassifier(options.metric, random_state=0, **setting, **params)
                for _ in folds
            ]
            with batch_order(variant):
                if variant in WARM_UPS:
                    for model, (train, _) in zip(models, folds, strict=True):
                        fit_warmed_up(model, X[train], y[train], WARM_UPS[variant])
                else:
                    fit_stack(models, X, y, rows=[train for train, _ in folds])
            record = {"setting": describe(setting), "variant": variant}
            records.append({**record, **summarize_folds(models, X, y, folds)})
    return records


def report(table: pd.DataFrame, options: argparse.Namespace) -> None:
    """Print a table for each setting, with a line for each variant."""
    n_sets = table["set"].nunique()
    print(f"{options.metric}, {n_sets} data sets, {options.folds} folds")
    for setting in map(describe, SETTINGS):
        own = table[table["setting"] == setting]
        scores = own.pivot(index="set", columns="variant", values="score")
        collapsed = own.groupby("variant")["collapsed"].sum() / (n_sets * options.folds)
        header = f"{setting:<28}{'mean':>7}{'one class':>11}"
        print(f"\n{header}{'better / equivalent / worse':>31}")
        for variant in VARIANTS:
            mean, one_class = scores[variant].mean(), collapsed[variant]
            line = f"{variant:<28}{mean:>7.3f}{one_class:>11.1%}"
            if variant != DEFAULT:
                probabilities = judge_many(scores[variant], scores[DEFAULT])
                line += f"{format_probabilities(probabilities):>31}"
            print(line)


def run_rare_class(metric: str, n_seeds: int = 3, n_samples: int = 200_000) -> None:
    """One positive in a thousand: every variant, with three batch sizes."""
    rng = np.random.default_rng(0)
    y = (rng.random(n_samples) < 0.001).astype(int)
    X = rng.normal(size=(n_samples, 10))
    X[y == 1, :3] += 2.0
    train = np.arange(n_samples) % 2 == 0
    print(
        f"\n{metric}, {n_samples:,} samples, {y.sum()} positives, mean and range of "
        f"{n_seeds} seeds"
    )
    print(f"{'':<28}{'batch 100':>22}{'batch 500':>22}{'batch 5000':>22}")
    for variant, params in tqdm(VARIANTS.items(), unit="variant"):
        if WARM_UPS.get(variant, 10) < 10:  # Less than one of ten epochs.
            continue
        cells = []
        for batch_size in (100, 500, 5_000):
            scores = []
            for seed in range(n_seeds):
                model = AnyLossClassifier(
                    metric, L="auto", batch_size=batch_size, max_epochs=10,
                    random_state=seed, **params,
                )  # fmt: skip
                with batch_order(variant), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    if variant in WARM_UPS:
                        fit_warmed_up(model, X[train], y[train], WARM_UPS[variant])
                    else:
                        model.fit(X[train], y[train])
                scores.append(model.score(X[~train], y[~train]))
            low, high = min(scores), max(scores)
            cells.append(f"{np.mean(scores):.3f} ({low:.3f}-{high:.3f})")
        tqdm.write(f"{variant:<28}" + "".join(f"{cell:>22}" for cell in cells))


if __name__ == "__main__":
    parser = make_parser(__doc__, "results/robust.csv", folds=5, max_samples=1_200)
    parser.add_argument(
        "--rare-only", action="store_true", help="only the generated data set"
    )
    arguments = parser.parse_args()
    if not arguments.rare_only:
        report(run_all(arguments, run_dataset), arguments)
    run_rare_class(arguments.metric)
