"""How AnyLossClassifierCV should weigh networks and trees that decide together.

    python -m benchmarks.blends --data FOLDER [--max-samples 1500] [--every 5]

All candidates are trained once on the inner folds of each outer fold, and their
out-of-fold and test outputs are kept in ``--outputs`` (a run resumes from them, and
another rule is evaluated without training). Then they are blended in several ways, so
that nothing but the rule differs. ``--sample`` bounds the samples of a data set.
"""

import argparse
import re
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
from scipy.special import expit
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier

from benchmarks.datasets import (
    Record,
    load_dataset,
    make_parser,
    outer_folds,
    run_all,
)
from sk_anyloss import AnyLossClassifierCV
from sk_anyloss.estimators.folds import inner_cv
from sk_anyloss.estimators.labels import Labels
from sk_anyloss.estimators.tuning.out_of_fold import OutOfFold
from sk_anyloss.metrics.decision import log_odds
from sk_anyloss.metrics.evaluation import evaluate_logits
from sk_anyloss.search.candidates import candidate_grid
from sk_anyloss.search.fold_fits import run_trials
from sk_anyloss.search.members import outputs_of
from sk_anyloss.search.trials import CrossValidationData, Trial
from sk_anyloss.search.weights import SHARPNESS, trust

#: Estimators beside the networks.
TREES: dict[str, Any] = {
    "HistGB": HistGradientBoostingClassifier(),
    "small HistGB": HistGradientBoostingClassifier(
        max_leaf_nodes=8, class_weight="balanced"
    ),
    "extra trees": ExtraTreesClassifier(min_samples_leaf=2),
}
LABELS = Labels.of(np.array([0, 1]))
#: Out-of-fold outputs, test outputs of each fold model, and times, by candidate.
Outputs: TypeAlias = Mapping[str, np.ndarray]


def train_all(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> dict[str, Any]:
    """Outputs of all candidates for the samples left out, and for test samples."""
    search = AnyLossClassifierCV(random_state=0)
    folds = list(inner_cv(min(5, *np.bincount(y)), random_state=0).split(X, y))
    data = CrossValidationData(X, y, folds)
    base = search._base(len(y), 0)
    order = np.concatenate([test for _, test in folds])
    found: dict[str, Any] = {
        "target": y[order],
        "fold": np.repeat(np.arange(len(folds)), [len(test) for _, test in folds]),
    }
    bins = (None, 8) if 8 * X.shape[1] <= 1024 else (None,)
    groups = [
        candidate_grid([hidden], bins=[n]) for hidden in search.hidden for n in bins
    ]
    groups += [[{"estimator": tree}] for tree in TREES.values()]
    names = [
        f"net {g['hidden']} {g.get('n_bins')} {g.get('loss')}"
        for group in groups
        for g in group
        if "hidden" in g
    ] + list(TREES)
    trials = [trial for group in groups for trial in run_trials(base, group, data)]
    for name, trial in zip(names, trials, strict=True):
        if trial.error:
            raise ValueError(trial.error)
        start = time.perf_counter()
        test = np.array([outputs_of(m, X_test, LABELS) for m in trial.models])
        times = trial.seconds, time.perf_counter() - start
        found |= {f"oof|{name}": trial.log_odds, f"test|{name}": test}
        found[f"time|{name}"] = np.array(times)
    return found


def run_dataset(path: Path, options: argparse.Namespace) -> list[Record]:
    """Scores of all rules on the outer folds of a data set."""
    X, y = load_dataset(path)
    y = y.astype(int)
    if options.sample and len(y) > options.sample:
        kept = np.random.default_rng(0).permutation(len(y))[: options.sample]
        X, y = X[kept], y[kept]
    records: list[Record] = []
    for fold, (train, test) in enumerate(outer_folds(X, y, options.folds)):
        name = f"{path.stem}_{options.folds}_{fold}_{len(y)}.npz"
        file = options.outputs / name
        if not file.exists():
            file.parent.mkdir(parents=True, exist_ok=True)
            np.savez_compressed(file, **train_all(X[train], y[train], X[test]))
        if options.train_only:
            continue
        found = dict(np.load(file))
        for rule, score in evaluate_rules(found, y[test], options.metric).items():
            records.append({"fold": fold, "rule": rule, "score": score})
    return records


class Blend:
    """The candidates of one outer fold, with smoothed thresholds, ready to blend."""

    def __init__(self, found: Outputs, y: np.ndarray, metric: str) -> None:
        self.y, self.metric = y.astype(float), metric
        target, fold = found["target"].astype(float), found["fold"]
        sizes = np.bincount(fold).tolist()
        index = np.arange(len(target))
        self.pool = OutOfFold(index, target, None, sizes, metric)
        self.margins: dict[str, np.ndarray] = {}
        self.test: dict[str, np.ndarray] = {}
        for key in (key for key in found if key.startswith("oof|")):
            name = key.removeprefix("oof|")
            for kind, smooth in (("", True), ("sharp ", False)):
                trial = Trial({}, [], found[key], 0.0)
                if not (name.startswith("net") and name.endswith("None")):
                    trial.tune(self.pool, smooth=smooth)
                self.margins[kind + name] = trial.margin
                offset = trial.decision.offset
                scores = expit(found[f"test|{name}"] - offset).mean(axis=0)
                self.test[kind + name] = scores
        for kind in ("", "sharp "):
            self._add_networks(kind + "nets", kind + "net ")
        self._add_networks("deep nets", "net (32, 32)")
        self._add_networks("standardised nets", "net ", " None ")

    def _add_networks(self, name: str, prefix: str, within: str = "") -> None:
        """The mean of the best five networks, as a member."""
        own = [name for name in self.margins if name.startswith(prefix)]
        own = [name for name in own if within in name]
        own.sort(key=lambda other: -self.pool.score(self.margins[other]))
        own = own[:5]
        scores = np.mean([expit(self.margins[other]) for other in own], axis=0)
        self.margins[name] = log_odds(scores)
        self.test[name] = np.mean([self.test[other] for other in own], axis=0)

    def score(
        self, members: list[str], sharpness: float = SHARPNESS, first: float = 1.0
    ) -> float:
        """Test score of a blend."""
        prior = [first] + [1.0] * (len(members) - 1)
        margins = [self.margins[name] for name in members]
        found = trust(margins, self.pool, sharpness=sharpness, prior=prior)
        proba = found.weights @ np.array([self.test[name] for name in members])
        return evaluate_logits(self.metric, proba, self.y, threshold=0.5)

    def best(self, members: list[str]) -> float:
        """Test score of the member that is best out of fold."""
        scores = [self.pool.score(self.margins[name]) for name in members]
        return self.score([members[int(np.argmax(scores))]])


DEFAULT = ["standardised nets", "HistGB"]
ALL = ["nets", "HistGB", "extra trees", "small HistGB"]
#: Ways to blend, by name.
RULES: dict[str, Callable[[Blend], float]] = {
    "default: standardised + HistGB": lambda b: b.score(DEFAULT),
    "networks": lambda b: b.score(["nets"]),
    "networks, best thresholds": lambda b: b.score(["sharp nets"]),
    "standardised networks": lambda b: b.score(["standardised nets"]),
    "HistGB": lambda b: b.score(["HistGB"]),
    "HistGB, best threshold": lambda b: b.score(["sharp HistGB"]),
    "small HistGB, class weights": lambda b: b.score(["small HistGB"]),
    "extra trees": lambda b: b.score(["extra trees"]),
    "networks + HistGB": lambda b: b.score(ALL[:2]),
    "networks + extra trees": lambda b: b.score(["nets", "extra trees"]),
    "networks + both": lambda b: b.score(ALL[:3]),
    "networks + all three trees": lambda b: b.score(ALL),
    "HistGB + extra trees": lambda b: b.score(ALL[1:3]),
    "hidden layers only + HistGB": lambda b: b.score(["deep nets", "HistGB"]),
    "networks + HistGB, equal": lambda b: b.score(ALL[:2], 0),
    "networks + HistGB, c = 1": lambda b: b.score(ALL[:2], 1),
    "networks + HistGB, c = 2": lambda b: b.score(ALL[:2], 2),
    "networks twice + HistGB": lambda b: b.score(ALL[:2], first=2),
    "networks + both, equal": lambda b: b.score(ALL[:3], 0),
    "networks + both, c = 1": lambda b: b.score(ALL[:3], 1),
    "networks + both, c = 2": lambda b: b.score(ALL[:3], 2),
    "the best of networks and HistGB": lambda b: b.best(ALL[:2]),
}


def evaluate_rules(found: Outputs, y: np.ndarray, metric: str) -> dict[str, float]:
    """Test scores of all rules."""
    blend = Blend(found, y, metric)
    return {name: rule(blend) for name, rule in RULES.items()}


def report(table: pd.DataFrame) -> None:
    """Print mean score and mean rank of each rule, on even and odd data sets."""
    scores = table.pivot_table(index="set", columns="rule", values="score")
    numbers = [re.findall(r"\d+", name) for name in scores.index]
    odd = np.array([bool(found) and int(found[0]) % 2 == 1 for found in numbers])
    ranks = scores.rank(axis=1, ascending=False).mean()
    print(f"{'':<34}{'mean':>7}{'rank':>7}{'even':>7}{'odd':>7}")
    print(f"{'data sets':<34}{len(odd):>7}{'':>7}{(~odd).sum():>7}{odd.sum():>7}")
    for rule in table["rule"].drop_duplicates():
        own = scores[rule]
        cells = own.mean(), ranks[rule], own[~odd].mean(), own[odd].mean()
        formats = (".3f", ".2f", ".3f", ".3f")
        text = "".join(f"{x:>7{f}}" for x, f in zip(cells, formats, strict=True))
        print(f"{rule:<34}{text}")
    behind = (scores["HistGB"] - scores[next(iter(RULES))]).sort_values()
    cells = ", ".join(f"{name} {gap:+.3f}" for name, gap in behind[:-4:-1].items())
    print(f"HistGB less the default, the largest: {cells}")


if __name__ == "__main__":
    parser = make_parser(__doc__, "results/blends.csv", folds=3)
    parser.add_argument("--outputs", type=Path, default=Path("results/blends"))
    parser.add_argument("--sample", type=int, help="at most this many samples")
    parser.add_argument("--train-only", action="store_true")
    options = parser.parse_args()
    results = run_all(options, run_dataset)
    if not options.train_only:
        report(results)
