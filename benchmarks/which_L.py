"""Which L, by learning rate, width, batch and dtype, on real data sets.

    python -m benchmarks.which_L --data FOLDER

FOLDER holds one ``.npz`` file a data set, with ``X`` and ``y`` (1 is the positive
class). For every set of more than ``--least`` and at most ``--most`` rows and every
configuration, all values of L and all folds are trained in one stack. Every finished
set is written to ``--output`` at once, and a run that is started again goes on where
it was. Prints, for every configuration, the mean score and rank of each L over the
sets, and the share of fits that ended with one class only.
"""

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from scipy.stats import rankdata
from sklearn.model_selection import StratifiedKFold
from tqdm import tqdm

from sk_anyloss import AnyLossClassifier, fit_stack

LS = (2, 5, 10, 20, 40, 73, 110, "auto")
CONFIGURATIONS = [
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


def name_of(configuration):
    """A configuration in a word."""
    return ", ".join(f"{key} {value}" for key, value in configuration.items())


def run_set(path, metric, folds, seed):
    """Mean score and number of collapsed fits of every L in every configuration."""
    warnings.simplefilter("ignore")
    data = np.load(path)
    X, y = data["X"].astype(float), data["y"]
    splits = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(X, y))
    rows = []
    for configuration in CONFIGURATIONS:
        params = dict(configuration)
        Xd = X.astype(params.pop("dtype", "float64"))
        models = [
            AnyLossClassifier(metric, L=L, random_state=seed, **params)
            for L in LS
            for _ in splits
        ]
        fit_stack(models, Xd, y, rows=[train for train, _ in splits] * len(LS))
        table = np.reshape(models, (len(LS), folds))
        for L, of_L in zip(LS, table, strict=True):
            pairs = list(zip(of_L, splits, strict=True))
            scores = [m.score(Xd[test], y[test]) for m, (_, test) in pairs]
            collapsed = sum(is_constant(m, Xd[train]) for m, (train, _) in pairs)
            row = [path.stem, name_of(configuration), L, np.mean(scores), collapsed]
            rows.append(row)
    return rows


def is_constant(model, X):
    """Whether a model decides alike on all rows."""
    return len(np.unique(model.predict(X))) < 2


def main():
    """Run what is missing, then print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, default=Path("results/which_L.csv"))
    parser.add_argument("--metric", default="f1")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--least", type=int, default=0, help="rows of a set")
    parser.add_argument("--most", type=int, default=1_200, help="rows of a set")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    done = set()
    if options.output.exists():
        with options.output.open(newline="") as file:
            done = {row[0] for row in csv.reader(file)}
    paths = [
        path
        for path in sorted(options.data.glob("*.npz"))
        if path.stem not in done
        and options.least < len(np.load(path)["y"]) <= options.most
    ]
    jobs = Parallel(n_jobs=options.jobs, return_as="generator_unordered")(
        delayed(run_set)(path, options.metric, options.folds, 0) for path in paths
    )
    for rows in tqdm(jobs, total=len(paths), unit="set"):
        with options.output.open("a", newline="") as file:
            csv.writer(file).writerows(rows)
    report(options.output, options.folds)


def report(path, folds):
    """Mean score, mean rank and collapsed fits of each L."""
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    sets = sorted({row[0] for row in rows})
    print(f"{len(sets)} sets; mean score (mean rank, 1 is best; % collapsed)")
    print(f"{'':<42}" + "".join(f"{f'L {L}':>18}" for L in LS))
    found = {(row[0], row[1], row[2]): row[3:] for row in rows}
    for name in map(name_of, CONFIGURATIONS):
        cells = [[found[s, name, str(L)] for L in LS] for s in sets]
        table = np.array(cells, dtype=float)
        ranks = rankdata(-table[..., 0].round(6), axis=1).mean(axis=0)
        cells = [
            f"{score:.3f} ({rank:.1f}; {100 * fits / folds:.0f})"
            for score, fits, rank in zip(*table.mean(axis=0).T, ranks, strict=True)
        ]
        print(f"{name:<42}" + "".join(f"{cell:>18}" for cell in cells))


if __name__ == "__main__":
    main()
