"""Which decision threshold to choose on few samples: the maximum, or a smoother choice.

    python -m benchmarks.thresholds --data FOLDER [--sets 40] [--skip 0] [--folds 3]

The data sets with the fewest positives among those of 300 to 5,500 samples. Two models,
outer folds of shuffled samples, and thresholds tuned on the out-of-fold log-odds of
five inner folds by each rule. Prints the mean test score of each rule, its mean rank,
and its mean difference to the plain maximum with the standard error over data sets.
"""

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tqdm import tqdm

from benchmarks.datasets import load_dataset, outer_folds
from sk_anyloss.estimators.folds import inner_cv
from sk_anyloss.metrics.decision import log_odds
from sk_anyloss.metrics.evaluation import evaluate_logits, metric_values
from sk_anyloss.metrics.tuning import best_threshold

METRICS = ("f1", "balanced_accuracy", "mcc")
MODELS = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)),
    "boosting": HistGradientBoostingClassifier(random_state=0),
}
N_BOOTSTRAP = 40


class Curves:
    """A metric at every threshold, on all samples and on bootstrap samples."""

    def __init__(self, metric: str, z: np.ndarray, y: np.ndarray, seed: int) -> None:
        self.metric, self.z, self.y = metric, z, y
        rng = np.random.default_rng(seed)
        drawn = np.ones((N_BOOTSTRAP + 1, len(z)))
        for label in (0, 1):
            members = np.flatnonzero(y == label)
            even = np.full(len(members), 1 / len(members))
            drawn[1:, members] = rng.multinomial(len(members), even, N_BOOTSTRAP)
        order = np.argsort(-z, kind="stable")
        falling = z[order]
        last = np.append(np.flatnonzero(falling[1:] != falling[:-1]), len(z) - 1)
        tp, fp = (
            np.pad(np.cumsum(part[:, order], axis=1)[:, last], ((0, 0), (1, 0)))
            for part in (drawn * y, drawn * (1 - y))
        )
        counts = fp[:, -1:] - fp, fp, tp[:, -1:] - tp, tp
        values = metric_values(metric, *counts)
        self.values, self.resampled = values[0], values[1:]
        known = falling[last]
        middle = (known[:-1] + known[1:]) / 2
        self.at = np.concatenate(([known[0] + 1], middle, [known[-1] - 1]))
        best = np.where(values == values.max(axis=1, keepdims=True), self.at, np.inf)
        self.best = self.at[np.argmin(np.abs(best), axis=1)]

    def plateau(self, n_errors: float) -> np.ndarray:
        """Thresholds around the best, within standard errors of its value."""
        best = int(np.flatnonzero(self.at == self.best[0])[0])
        error = self.resampled[:, best].std()
        near = self.values >= self.values[best] - n_errors * error
        outside = np.flatnonzero(~near)
        low = outside[outside < best].max(initial=-1) + 1
        high = outside[outside > best].min(initial=len(near))
        return self.at[low:high]

    def kernel(self, width: float) -> float:
        """The best threshold for soft counts, ``expit((z - t) / width)``."""
        grid = np.unique(np.quantile(self.at, np.linspace(0, 1, 300)))
        h = expit((self.z - grid[:, None]) / (width * self.z.std()))
        y = self.y.astype(float)
        tp, fp = h @ y, h @ (1 - y)
        counts = (1 - y).sum() - fp, fp, y.sum() - tp, tp
        return float(grid[np.argmax(metric_values(self.metric, *counts))])


RULES: dict[str, Callable[[Curves], float]] = {
    "0.5": lambda curves: 0.0,
    "maximum": lambda curves: curves.best[0],
    "bootstrap median": lambda curves: float(np.median(curves.best[1:])),
    "bootstrap mean": lambda curves: float(np.mean(curves.best[1:])),
    "maximum of the bootstrap mean": lambda curves: float(
        curves.at[np.argmax(curves.resampled.mean(axis=0))]
    ),
    "plateau, middle, 0.5 errors": lambda curves: float(np.median(curves.plateau(0.5))),
    "plateau, middle, 1 error": lambda curves: float(np.median(curves.plateau(1.0))),
    "plateau, nearest to 0.5": lambda curves: float(min(curves.plateau(0.5), key=abs)),
    "soft counts, width 0.1": lambda curves: curves.kernel(0.1),
    "soft counts, width 0.3": lambda curves: curves.kernel(0.3),
}


def run_dataset(path: Path, n_folds: int) -> list[dict[str, object]]:
    """Scores of all rules on the outer folds of one data set."""
    X, y = load_dataset(path)
    records: list[dict[str, object]] = []
    for fold, (train, test) in enumerate(outer_folds(X, y, n_folds)):
        for name, model in MODELS.items():
            proba = cross_val_predict(
                model, X[train], y[train], cv=inner_cv(5, 0), method="predict_proba"
            )
            z = log_odds(proba[:, 1])
            fitted = model.fit(X[train], y[train])
            z_test = log_odds(fitted.predict_proba(X[test])[:, 1])
            for metric in METRICS:
                curves = Curves(metric, z, y[train], fold)
                assert curves.best[0] == best_threshold(metric, z, y[train])[0]
                for rule, choose in RULES.items():
                    score = evaluate_logits(
                        metric, z_test, y[test], threshold=choose(curves)
                    )
                    records.append(
                        {"set": path.stem, "model": name, "metric": metric,
                         "rule": rule, "score": score}
                    )  # fmt: skip
    return records


def summarise(table: pd.DataFrame) -> pd.DataFrame:
    """Mean, rank and difference to the maximum, for each model and metric."""
    wide = table.pivot_table("score", ["metric", "model", "set"], "rule")
    wide = wide[table["rule"].unique()]
    ranks = wide.rank(axis=1, ascending=False)
    gain = wide.sub(wide["maximum"], axis=0)
    groups = ["metric", "model"]
    parts = {
        "mean": wide.groupby(groups).mean(),
        "rank": ranks.groupby(groups).mean(),
        "gain": gain.groupby(groups).mean(),
        "error": gain.groupby(groups).sem(),
    }
    return pd.concat({name: part.T for name, part in parts.items()})


def main() -> None:
    """Run the data sets and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", type=Path, required=True, help="folder of .npz files")
    parser.add_argument("--sets", type=int, default=40, help="default: %(default)s")
    parser.add_argument("--folds", type=int, default=3, help="default: %(default)s")
    parser.add_argument(
        "--skip", type=int, default=0, help="leave out that many sets with fewest"
    )
    options = parser.parse_args()
    labels = {path: np.load(path)["y"] for path in sorted(options.data.glob("*.npz"))}
    paths = [path for path, y in labels.items() if 300 <= len(y) <= 5500]
    paths.sort(key=lambda path: labels[path].sum())
    records = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for path in tqdm(paths[options.skip :][: options.sets], unit="data set"):
            records += run_dataset(path, options.folds)
    with pd.option_context("display.float_format", "{:.4f}".format):
        print(summarise(pd.DataFrame(records)).to_string())


if __name__ == "__main__":
    main()
