"""F1 of the default estimator beside cross-entropy in the same network, on real sets.

    python -m benchmarks.real_sets --data FOLDER

FOLDER holds one ``.npz`` file a data set, with ``X`` and ``y`` (1 is the positive
class). Every finished data set is written to ``--output`` at once, and a run that is
started again goes on where it was.
"""

import argparse
import csv
import warnings
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from tqdm import tqdm

from sk_anyloss import AnyLossClassifier, metric_score
from sk_anyloss.baselines import get_baseline


def methods(metric, seed):
    """What is compared: our default, and cross-entropy at our lr and at its own."""
    return {
        "anyloss": AnyLossClassifier(metric, random_state=seed),
        "bce, lr 0.01": AnyLossClassifier(metric, loss="bce", random_state=seed),
        "bce, lr 0.05": get_baseline("bce", metric, random_state=seed),
        "bce, class weights": get_baseline(
            "bce_class_weight", metric, random_state=seed
        ),
    }


def run_set(path, metric, folds, seed):
    """Mean score and number of collapsed fits of every method on one data set."""
    data = np.load(path)
    X, y = data["X"], data["y"]
    splits = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(X, y))
    rows = []
    for name, model in methods(metric, seed).items():
        scores, collapsed = [], 0
        for train, test in splits:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConvergenceWarning)
                model.fit(X[train], y[train])
            collapsed += any(issubclass(w.category, ConvergenceWarning) for w in caught)
            scores.append(metric_score(y[test], model.predict(X[test]), metric=metric))
        rows.append([path.stem, name, float(np.mean(scores)), collapsed])
    return rows


def main():
    """Run what is missing, then print the comparison."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--metric", default="f1")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--output", type=Path, default=Path("results/real_sets.csv"))
    options = parser.parse_args()
    options.output.parent.mkdir(parents=True, exist_ok=True)
    done = []
    if options.output.exists():
        with options.output.open(newline="") as file:
            done = [(s, m, float(v), int(c)) for s, m, v, c in csv.reader(file)]
    paths = sorted(options.data.glob("*.npz"), key=lambda path: -path.stat().st_size)
    missing = [path for path in paths if path.stem not in {row[0] for row in done}]
    jobs = (
        delayed(run_set)(path, options.metric, options.folds, options.seed)
        for path in missing
    )
    results = Parallel(n_jobs=options.jobs, return_as="generator_unordered")(jobs)
    for rows in tqdm(results, total=len(missing), unit="set"):
        with options.output.open("a", newline="") as file:
            csv.writer(file).writerows(rows)
        done.extend(rows)
    report(done, options)


def report(rows, options):
    """Print means, wins and losses."""
    table = {}
    for name, method, score, collapsed in rows:
        table.setdefault(method, {})[name] = (score, collapsed)
    own = table["anyloss"]
    print(f"{options.metric} on {len(own)} sets, {options.folds} folds\n")
    header = f"{'method':<20}{'mean':>7}{'collapsed fits':>16}"
    print(header + f"{'anyloss wins / ties / loses':>30}")
    for method, cells in table.items():
        differences = np.array([own[name][0] - cells[name][0] for name in own])
        counts = (differences > 1e-9).sum(), (abs(differences) <= 1e-9).sum()
        line = f"{method:<20}{np.mean([cells[name][0] for name in own]):>7.3f}"
        line += f"{sum(cells[name][1] for name in own):>16}"
        if method != "anyloss":
            lost = len(own) - sum(counts)
            line += f"{counts[0]:>16} / {counts[1]} / {lost}"
        print(line)


if __name__ == "__main__":
    main()
