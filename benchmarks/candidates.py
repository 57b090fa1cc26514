"""Which candidates AnyLossClassifierCV should try, and which of them should decide.

    python -m benchmarks.candidates --data FOLDER [--variants]

Three outer folds of each set with at most 1,200 rows; within them five folds of the
search. All candidates are trained once, and then chosen among in several ways, so that
the ways differ in nothing else. ``--variants`` also trains them in other ways. Means
over the sets are printed for sets with an odd number in their name (``p001_...``), on
which the defaults were chosen, and for those with an even one, on which they were not.
"""

import re

import numpy as np

from benchmarks.sets import load, parser, run, splits
from sk_anyloss import AnyLossClassifier
from sk_anyloss.estimators.folds import inner_cv
from sk_anyloss.metrics.scoring import evaluate_logits
from sk_anyloss.search.candidates import grid
from sk_anyloss.search.trials import Pool, run_trials

#: As the search trains them.
BASE = {"activation": "relu", "schedule": "cosine", "max_epochs": 50, "random_state": 0}
LOSSES = (["identity", "sigmoid"], [5, 20])
SHAPES = [(), (32, 32)]
BINS = [None, 8]


def usual(params):
    """What is tried by default."""
    return params.get("L") == 5 or bool(params.get("loss"))


#: Which candidates, and how many of the best decide.
CHOICES = {
    "default: the best 5": (usual, 5),
    "the best one alone": (usual, 1),
    "the best 3": (usual, 3),
    "all 8": (usual, 8),
    "soft counts as well": (lambda p: p.get("L") != 20, 6),
    "L=20 as well": (lambda p: p.get("step") != "identity", 6),
    "both as well": (lambda params: True, 8),
    "columns as they are": (lambda p: usual(p) and not p.get("n_bins"), 3),
    "columns in pieces": (lambda p: usual(p) and p.get("n_bins"), 3),
    "no hidden layers": (lambda p: usual(p) and not p["hidden"], 3),
    "hidden layers": (lambda p: usual(p) and p["hidden"], 3),
    "trained on the metric only": (lambda p: usual(p) and not p.get("loss"), 3),
    "cross-entropy only": (lambda p: bool(p.get("loss")), 3),
}
#: Other ways of training, for the default choice.
VARIANTS = {
    "constant learning rate of 0.01": {"schedule": None, "lr": 0.01},
    "weight decay of 0.01": {"optimizer": "adamw"},
    "early stopping, 100 epochs": {"early_stopping": True, "max_epochs": 100},
    "no batch norm": {"batch_norm": False},
    "silu": {"activation": "silu"},
    "30 epochs": {"max_epochs": 30},
    "batches of 128": {"batch_size": 128},
}


def run_set(path, options):
    """Scores of all choices on the outer folds of a set."""
    X, y = load(path)
    rows = []
    for fold, (train, test) in enumerate(splits(X, y, options.folds)):
        data = X[train], y[train], X[test], y[test]
        found = trials(data, options.metric, {})
        for name, (wanted, n_best) in CHOICES.items():
            score = decide(found, wanted, n_best, data, options.metric)
            rows.append({"fold": fold, "choice": name, "score": score})
        for name, change in VARIANTS.items() if options.variants else ():
            score = decide(
                trials(data, options.metric, change), usual, 5, data, options.metric
            )
            rows.append({"fold": fold, "choice": name, "score": score})
    return rows


def trials(data, metric, change):
    """All candidates, trained; those on cross-entropy have their cuts."""
    X, y, *_ = data
    least = min(np.bincount(y))
    folds = list(inner_cv(min(5, least), random_state=0).split(X, y))
    rows = np.concatenate([test for _, test in folds])
    sizes = [len(test) for _, test in folds]
    pool = Pool(rows, y[rows].astype(float), None, sizes, metric)
    base = AnyLossClassifier(metric, **{**BASE, **change})
    found = []
    for shape in SHAPES:
        for bins in BINS:
            tried = grid([shape], *LOSSES, [change.get("lr", 0.03)], [bins], True)
            tried = tried if not change else [p for p in tried if usual(p)]
            found += run_trials(base, tried, X, y, folds, None)
    for trial in found:
        if trial.params.get("loss"):
            trial.tune(pool)
    return pool, found


def decide(found, wanted, n_best, data, metric):
    """Score of the best of some candidates on new rows."""
    pool, tried = found
    tried = [trial for trial in tried if wanted(trial.params)]
    order = np.argsort([-pool.score(trial.decisions()) for trial in tried])
    X, y = data[2:]
    scores = np.mean([tried[i].proba_of(X) for i in order[:n_best]], axis=0)
    return evaluate_logits(metric, scores, y.astype(float), threshold=0.5)


def report(table):
    """A line a choice."""
    table["odd"] = [int(re.findall(r"\d+", name)[0]) % 2 == 1 for name in table["set"]]
    means = table.groupby(["choice", "odd", "set"])["score"].mean()
    means = means.groupby(["choice", "odd"]).mean().unstack()
    sizes = table.groupby("odd")["set"].nunique()
    print(f"{'':<34}" + "".join(f"{_half(odd):>10}" for odd in means.columns))
    print(f"{'sets':<34}" + "".join(f"{sizes[odd]:>10}" for odd in means.columns))
    for name in table["choice"].drop_duplicates():
        cells = "".join(f"{means.loc[name, odd]:>10.3f}" for odd in means.columns)
        print(f"{name:<34}{cells}")


def _half(odd):
    return "odd" if odd else "even"


if __name__ == "__main__":
    arguments = parser(__doc__, "results/candidates.csv", folds=3, most=1_200)
    arguments.add_argument("--variants", action="store_true")
    report(run(arguments.parse_args(), run_set))
