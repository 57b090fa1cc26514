"""Faster variants of AnyLossClassifierCV: what they cost, and what they lose.

    python -m benchmarks.variants --data FOLDER [--metric f1] [--variants NAME ...]

Every variant is fitted on the outer folds of each data set, on one thread, beside
HistGB with a tuned threshold. Trees are fitted once for all variants of a fold; the
processor time that this saves is added to that of each. Printed for each variant: its
mean score, the mean difference from the default and its standard error over the data
sets, both by data sets with an odd and with an even number, and the median of the time
of a fit as a multiple of that of HistGB with a tuned threshold, or of the first variant
with ``--scores-only``. ``--odd`` or ``--even`` takes only such data sets: variants are
chosen on the odd ones and confirmed on the even ones. Set ``OMP_NUM_THREADS=1``.
"""

import argparse
import hashlib
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier

from benchmarks.datasets import Record, make_parser, outer_folds, run_all
from benchmarks.quality.running import load_sample
from sk_anyloss import AnyLossClassifierCV, metric_score
from sk_anyloss.baselines import tuned_threshold
from sk_anyloss.search.candidates import TREE_SAMPLES, default_candidates
from sk_anyloss.search.effort.budget import passes, samples_in_batch

DEFAULT, TUNED = "default", "HistGB, tuned threshold"
#: Below it, variants with ``bins`` differ from the default.
FEW_SAMPLES = 500


class Remembered(ClassifierMixin, BaseEstimator):
    """A classifier that is fitted once on the same samples, and then looked up."""

    fits: ClassVar[dict[str, tuple[Any, float]]] = {}
    #: Seconds that looking up has saved.
    saved: ClassVar[float] = 0.0

    def __init__(self, estimator: Any = None) -> None:
        self.estimator = estimator

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Remembered":
        """Fit the classifier, unless it was fitted on these samples."""
        samples = np.ascontiguousarray(X).tobytes() + np.ascontiguousarray(y).tobytes()
        key = repr(self.estimator) + hashlib.sha256(samples).hexdigest()
        if key in self.fits:
            Remembered.saved += self.fits[key][1]
        else:
            start = time.process_time()
            self.estimator.fit(X, y)
            self.fits[key] = self.estimator, time.process_time() - start
        self.estimator = self.fits[key][0]
        self.classes_ = self.estimator.classes_
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Those of the classifier."""
        return self.estimator.predict_proba(X)


def build(metric: str, n: int, d: int, change: Any) -> AnyLossClassifierCV:
    """A search whose trees are remembered, changed in one way."""
    model = AnyLossClassifierCV(metric, random_state=0)
    if change.get("networks") is not False or n < TREE_SAMPLES:
        hidden = change.get("hidden", model.hidden)
    else:
        hidden = ()
    found = default_candidates(hidden or [()], d, n_samples=n)
    if "bins" in change and n < FEW_SAMPLES:
        trees = [candidate for candidate in found if "estimator" in candidate]
        found = default_candidates(hidden or [()], d, n_samples=0)
        found = trees + found if change["bins"] == "beside" else found
    candidates: list[Any] = []
    for candidate in found:
        if "estimator" in candidate:
            candidates.append(Remembered(HistGradientBoostingClassifier()))
        elif hidden and not (change.get("metric_only") and "loss" in candidate):
            candidates.append(candidate)
    epochs = passes(n)
    return model.set_params(
        candidates=candidates,
        max_epochs=max(1, round(epochs * change.get("epochs", 1))),
        batch_size=int(samples_in_batch(n) * change.get("batch", 1)),
        cv=change.get("cv", 5),
        drop_early=change.get("drop_early", True),
    )


#: What is changed, by name; ``epochs`` and ``batch`` are factors, and ``bins`` says
#: whether networks on bins of each feature are tried in place of gradient boosting, or
#: beside it, where samples are few.
VARIANTS: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    "twice the epochs": {"epochs": 2},
    "0.6 of the epochs": {"epochs": 0.6},
    "batches twice as large": {"batch": 2},
    "nothing dropped early": {"drop_early": False},
    "hidden layers only": {"hidden": [(32, 32)]},
    "linear networks only": {"hidden": [()]},
    "one hidden layer": {"hidden": [(), (32,)]},
    "half as wide": {"hidden": [(), (16, 16)]},
    "without cross-entropy": {"metric_only": True},
    "4 folds": {"cv": 4},
    "3 folds": {"cv": 3},
    "no networks": {"networks": False},
    f"bins instead of boosting below {FEW_SAMPLES} samples": {"bins": "instead"},
    f"boosting beside bins below {FEW_SAMPLES} samples": {"bins": "beside"},
}


def run_dataset(path: Path, options: argparse.Namespace) -> list[Record]:
    """Scores and times of all variants on the outer folds of a data set."""
    X, y = load_sample(path, options)
    records: list[Record] = []
    for fold, (train, test) in enumerate(outer_folds(X, y, options.folds)):
        Remembered.fits.clear()
        n, d = len(train), X.shape[1]
        trees = HistGradientBoostingClassifier(random_state=0)
        models: dict[str, Callable[[], Any]] = {}
        if not options.scores_only:
            models[TUNED] = lambda trees=trees: tuned_threshold(  # type: ignore[misc]
                trees, options.metric, random_state=0
            )
        for name in options.variants:
            models[name] = lambda change=VARIANTS[name], n=n, d=d: build(  # type: ignore[misc]
                options.metric, n, d, change
            )
        for name, make in models.items():
            Remembered.saved, start = 0.0, time.process_time()
            y_pred = make().fit(X[train], y[train]).predict(X[test])
            seconds = time.process_time() - start + Remembered.saved
            score = metric_score(y[test], y_pred, metric=options.metric)
            found = {"variant": name, "score": score, "seconds": seconds, "n": n}
            records.append({"fold": fold, **found})
    return records


def report(table: pd.DataFrame, chosen: list[str]) -> None:
    """Print a line for each variant."""
    scores = table.pivot_table(index="set", columns="variant", values="score")
    seconds = table.pivot_table(index="set", columns="variant", values="seconds")
    odd = np.array([is_odd(name) for name in scores.index])
    header = "".join(f"{part:>24}" for part in ("odd", "even"))
    print(f"{'':<43}{header}{'time':>7}")
    print(f"{'data sets':<43}{odd.sum():>24}{(~odd).sum():>24}")
    names = [TUNED, *chosen] if TUNED in scores else chosen
    for name in names:
        cells = ""
        for part in (odd, ~odd):
            if not part.any():
                cells += f"{'':>24}"
                continue
            step = (scores[name] - scores[chosen[0]])[part]
            error = step.std() / np.sqrt(max(1, part.sum()))
            cells += f"{scores[name][part].mean():>9.4f}{step.mean():>+8.4f}"
            cells += f" ±{error:.3f}"
        cells += f"{(seconds[name] / seconds[names[0]]).median():>7.2f}"
        print(f"{name:<43}{cells}")


def is_odd(name: str) -> bool:
    """Whether a data set has an odd number in its name; one without has not."""
    found = re.findall(r"\d+", name)
    return bool(found) and int(found[0]) % 2 == 1


def main() -> None:
    """Run and report the variants."""
    parser = make_parser(__doc__, "results/variants.csv", folds=2, max_samples=5_000)
    parser.add_argument("--sample", type=int, metavar="N", help="samples of a data set")
    parser.add_argument("--odd", action="store_true", help="odd data sets only")
    parser.add_argument("--even", action="store_true", help="even data sets only")
    parser.add_argument(
        "--variants",
        nargs="+",
        choices=VARIANTS,
        default=list(VARIANTS),
        metavar="NAME",
    )
    parser.add_argument(
        "--scores-only", action="store_true", help="without HistGB, tuned threshold"
    )
    options = parser.parse_args()
    files = sorted(options.data.glob("*.npz"))
    sizes = {path: len(np.load(path)["y"]) for path in files}
    if options.odd or options.even:
        sizes = {p: n for p, n in sizes.items() if is_odd(p.stem) == options.odd}
    report(run_all(options, run_dataset, sizes), options.variants)


if __name__ == "__main__":
    main()
