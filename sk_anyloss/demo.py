"""The main job on built-in data: AnyLoss beside what people use against imbalance.

``python -m sk_anyloss`` runs ten folds of every method on two data sets, prints a
table and saves a picture. Resampling happens inside the training folds.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.decomposition import PCA
from sklearn.model_selection import StratifiedKFold, train_test_split
from tqdm import tqdm

from sk_anyloss.baselines import get_baseline
from sk_anyloss.classifier import AnyLossClassifier
from sk_anyloss.scoring import metric_score

__all__ = ["Cell", "Table", "breast_cancer_10_to_1", "compare", "format_table", "main"]

METRICS = {"f1": "F1", "gmean": "G-mean", "balanced_accuracy": "Balanced acc."}


class Cell(NamedTuple):
    """Mean and standard deviation of a score over the folds."""

    mean: float
    std: float


#: data set -> method -> metric -> scores of the folds
Table = dict[str, dict[str, dict[str, Cell]]]


def breast_cancer_10_to_1(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's breast cancer data with 36 of its malignant rows, positive.

    Examples
    --------
    >>> from sk_anyloss.demo import breast_cancer_10_to_1
    >>> X, y = breast_cancer_10_to_1()
    >>> X.shape, int(y.sum())
    ((393, 30), 36)
    """
    X, benign = load_breast_cancer(return_X_y=True)
    y = 1 - benign
    malignant = np.flatnonzero(y)
    kept = np.random.default_rng(seed).choice(malignant, 36, replace=False)
    rows = np.sort(np.concatenate((np.flatnonzero(y == 0), kept)))
    return X[rows], y[rows]


def generated_9_to_1(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """350 rows, drawn by class, of the 10,000 that the AnyLoss paper generates.

    Of five columns the first two principal components are kept, so that the classes
    overlap.

    Examples
    --------
    >>> from sk_anyloss.demo import generated_9_to_1
    >>> X, y = generated_9_to_1()
    >>> X.shape, int(y.sum())
    ((350, 2), 37)
    """
    X, y = make_classification(
        10_000,
        n_features=5,
        n_informative=3,
        n_redundant=1,
        n_clusters_per_class=1,
        weights=[0.9, 0.1],
        class_sep=1.2,
        random_state=0,
    )
    X = PCA(2).fit_transform(X)
    X, _, y, _ = train_test_split(X, y, train_size=350, stratify=y, random_state=seed)
    return X, y


def methods(seed: int = 0) -> dict[str, BaseEstimator]:
    """The methods that are compared, by the name to show.

    Examples
    --------
    >>> from sk_anyloss.demo import methods
    >>> len(methods())
    7
    """
    own = {
        f"AnyLoss for {shown}": AnyLossClassifier(metric, random_state=seed)
        for metric, shown in METRICS.items()
    }
    return {
        **own,
        "BCE": get_baseline("bce", random_state=seed),
        "BCE + SMOTE": get_baseline("bce_smote", random_state=seed),
        "BCE + under-sampling": get_baseline("bce_under", random_state=seed),
        "BCE, class weights": get_baseline("bce_class_weight", random_state=seed),
    }


def _fold(
    key: tuple[str, str], model: BaseEstimator, X: Any, y: Any, split: Any
) -> Any:
    train, test = split
    predicted = clone(model).fit(X[train], y[train]).predict(X[test])
    scores = {name: metric_score(y[test], predicted, metric=name) for name in METRICS}
    return key, scores


def compare(
    data: dict[str, tuple[np.ndarray, np.ndarray]],
    models: dict[str, BaseEstimator],
    *,
    n_splits: int = 10,
    n_jobs: int = 2,
    seed: int = 0,
    progress: bool = True,
) -> Table:
    """Cross-validate every model on every data set, on the same folds.

    Parameters
    ----------
    data : dict of name to (X, y)
        The data sets, positives labelled 1.
    models : dict of name to estimator
        The methods.
    n_splits : int, default=10
        Number of stratified folds.
    n_jobs : int, default=2
        Number of processes.
    seed : int, default=0
        Seed of the folds.
    progress : bool, default=True
        Whether to show a progress bar.

    Returns
    -------
    table : dict
        ``table[data set][model][metric]`` is a :class:`Cell`.

    Examples
    --------
    >>> from sk_anyloss.baselines import get_baseline
    >>> from sk_anyloss.demo import breast_cancer_10_to_1, compare
    >>> data = {"breast cancer": breast_cancer_10_to_1()}
    >>> models = {"BCE": get_baseline("bce", max_epochs=2, random_state=0)}
    >>> table = compare(data, models, n_splits=2, n_jobs=1, progress=False)
    >>> sorted(table["breast cancer"]["BCE"])
    ['balanced_accuracy', 'f1', 'gmean']
    """
    folds = StratifiedKFold(n_splits, shuffle=True, random_state=seed)
    jobs = [
        delayed(_fold)((name, method), model, X, y, split)
        for name, (X, y) in data.items()
        for method, model in models.items()
        for split in folds.split(X, y)
    ]
    scores: dict[tuple[str, str, str], list[float]] = {}
    run = Parallel(n_jobs=n_jobs, return_as="generator")(jobs)
    for (name, method), fold in tqdm(
        run, total=len(jobs), unit="fit", disable=not progress
    ):
        for metric, score in fold.items():
            scores.setdefault((name, method, metric), []).append(score)
    table: Table = {name: {method: {} for method in models} for name in data}
    for (name, method, metric), values in scores.items():
        cell = Cell(float(np.mean(values)), float(np.std(values)))
        table[name][method][metric] = cell
    return table


def _best(rows: dict[str, dict[str, Cell]], metric: str) -> float:
    return max(round(cells[metric].mean, 3) for cells in rows.values())


def format_table(table: Table) -> str:
    """The table as text, mean and deviation in each cell, a star at the best.

    Examples
    --------
    >>> from sk_anyloss.demo import METRICS, Cell, format_table
    >>> cells = {metric: Cell(0.5, 0.125) for metric in METRICS}
    >>> print(format_table({"some data": {"BCE": cells}}))
    some data   F1               G-mean           Balanced acc.
      BCE       0.500 ± 0.125 *  0.500 ± 0.125 *  0.500 ± 0.125 *
    """
    first = max(
        len(name)
        for rows in table.values()
        for name in (*table, *("  " + r for r in rows))
    )
    lines = []
    for name, rows in table.items():
        lines.append(_line(first, name, METRICS.values()))
        for method, cells in rows.items():
            shown = []
            for metric in METRICS:
                mean, std = cells[metric]
                star = " *" if round(mean, 3) == _best(rows, metric) else ""
                shown.append(f"{mean:.3f} ± {std:.3f}{star}")
            lines.append(_line(first, f"  {method}", shown))
        lines.append("")
    return "\n".join(lines).rstrip()


def _line(first: int, name: str, cells: Iterable[str]) -> str:
    return (name.ljust(first + 3) + "".join(cell.ljust(17) for cell in cells)).rstrip()


def plot_table(table: Table) -> Any:
    """Draw the table: a panel a data set and metric, a dot with deviation a method."""
    from matplotlib.figure import Figure  # An extra: sk_anyloss[compare].

    figure = Figure(figsize=(11, 2.9 * len(table)), layout="constrained")
    panels = figure.subplots(len(table), len(METRICS), sharey=True, squeeze=False)
    for panels_of_set, (name, rows) in zip(panels, table.items(), strict=True):
        places = np.arange(len(rows))[::-1]
        for panel, (metric, shown) in zip(panels_of_set, METRICS.items(), strict=True):
            for place, (method, cells) in zip(places, rows.items(), strict=True):
                mean, std = cells[metric]
                color = "#c1440e" if method.startswith("AnyLoss") else "#4a5a6a"
                panel.errorbar(mean, place, xerr=std, fmt="o", color=color, capsize=3)
                panel.annotate(
                    f"{mean:.3f}",
                    (mean, place),
                    xytext=(0, 6),
                    textcoords="offset points",
                    ha="center",
                    fontsize=8,
                    fontweight="bold"
                    if round(mean, 3) == _best(rows, metric)
                    else None,
                )
            panel.set_title(f"{name}: {shown}", fontsize=10)
            panel.set_yticks(places, list(rows))
            panel.set_ylim(-0.6, len(rows) - 0.4)
            panel.grid(axis="x", color="0.9")
            panel.spines[["top", "right"]].set_visible(False)
    figure.supxlabel("mean and deviation over the folds", fontsize=9)
    return figure


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the comparison, print the table and save the picture.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Words of the command line; by default those the program was started with.
    """
    parser = argparse.ArgumentParser(prog="python -m sk_anyloss", description=__doc__)
    parser.add_argument("--folds", type=int, default=10, help="number of folds (10)")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes (2)")
    parser.add_argument("--seed", type=int, default=0, help="seed of everything (0)")
    parser.add_argument(
        "--output", type=Path, default=Path("results"), help="folder for the picture"
    )
    options = parser.parse_args(arguments)
    data = {
        "Breast cancer, 10:1": breast_cancer_10_to_1(options.seed),
        "Generated, 9:1": generated_9_to_1(options.seed),
    }
    start = time.perf_counter()
    table = compare(
        data,
        methods(options.seed),
        n_splits=options.folds,
        n_jobs=options.jobs,
        seed=options.seed,
    )
    seconds = time.perf_counter() - start
    print(f"\n{options.folds} folds, mean ± deviation, * best; {seconds:.0f} s\n")
    print(format_table(table))
    try:
        figure = plot_table(table)
    except ImportError:
        print("\nNo picture without matplotlib: pip install 'sk_anyloss[compare]'")
        return
    options.output.mkdir(parents=True, exist_ok=True)
    picture = options.output / "demo.png"
    figure.savefig(picture, dpi=120)
    print(f"\nPicture: {picture}")
