"""Every loss of the family on the same network: score, sign test, time of a fit.

    python -m benchmarks.losses --data FOLDER [--metric f1]

FOLDER holds one ``.npz`` file a data set, with ``X`` and ``y`` (1 is the positive
class). Every loss has the same network, the same folds, the same number of epochs and
the same two learning rates; of these the one with the better mean over the sets is
shown. The tuned thresholds are scikit-learn's TunedThresholdClassifierCV on shuffled,
seeded folds, around the
same network on cross-entropy (at the larger learning rate only) and around logistic
regression. The sign test is Bayesian, with 0.01 as the region of practical
equivalence. The time is that of a single fit on the first fold divided by that of
cross-entropy on the same rows, median over the sets. A run that is started again goes
on where it was.
"""

import time

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.sets import load, parser, run, score, splits
from sk_anyloss import AnyLossClassifier, fit_stack
from sk_anyloss.baselines import tuned_threshold
from sk_anyloss.compare.verdict import judge_many
from sk_anyloss.metrics import FBeta, curve_names, get_metric

TENTHS = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]
LRS = (0.01, 0.05)
BCE, WEIGHTED = "cross-entropy", "cross-entropy, class-weighted"
TUNED, LOGISTIC = "cross-entropy, tuned threshold", "logistic, tuned threshold"


def losses(metric):
    """Parameters of the estimator for each loss that the metric has."""
    result = {
        BCE: {"loss": "bce"},
        WEIGHTED: {"loss": "weighted_bce"},
        "squared error": {"loss": "mse"},
        "focal": {"loss": "focal"},
        "AnyLoss, L=73": {},
        "AnyLoss, L=10": {"L": 10},
        "AnyLoss, L='auto'": {"L": "auto"},
        "identity (soft F1, SOL uniform)": {"step": "identity"},
        "uniform, delta 0.25 (SOL)": {"step": "uniform"},
        "cosine, delta 0.1 (SOL)": {"step": "cosine"},
        "linear (soft sets)": {"step": "linear"},
        "logit (sigmoidF1)": {"step": "logit"},
        "hybrid": {"loss": "hybrid"},
    }
    if metric in curve_names():
        return {**result, "pairs": {"loss": "pairs"}}
    result["linear, nine thresholds"] = {"step": "linear", "threshold": TENTHS}
    result["AnyLoss, nine thresholds"] = {"threshold": TENTHS}
    result["AnyLoss, memory 0.9"] = {"memory": 0.9}
    if isinstance(get_metric(metric), FBeta):
        result["surrogate F-beta"] = {"loss": "surrogate_fbeta"}
    return result


def run_set(path, options):
    """Score and time of every loss and learning rate on one data set."""
    X, y = load(path)
    folds = splits(X, y, options.folds)
    settings = [
        (name, lr, AnyLossClassifier(options.metric, lr=lr, random_state=0, **params))
        for name, params in losses(options.metric).items()
        for lr in LRS
    ]
    models = [clone(model) for _, _, model in settings for _ in folds]
    fit_stack(models, X, y, rows=[train for train, _ in folds] * len(settings))
    fitted = iter(models)
    rows = []
    for name, lr, model in settings:
        own = [next(fitted) for _ in folds]
        row = score(own, X, y, folds)
        row["seconds"] = seconds(model, X, y, folds) if lr == LRS[0] else np.nan
        rows.append({"loss": name, "lr": lr, **row})
    if options.metric not in curve_names():
        rows += [tuned(*each, X, y, folds, options) for each in classical(options)]
    return rows


def classical(options):
    """Estimators whose threshold is to be tuned."""
    lr = LRS[-1]  # At which cross-entropy is better.
    model = AnyLossClassifier(options.metric, loss="bce", lr=lr, random_state=0)
    yield TUNED, lr, model
    yield LOGISTIC, lr, make_pipeline(StandardScaler(), LogisticRegression())


def tuned(name, lr, model, X, y, folds, options):
    """Score and time with a threshold that is tuned inside the training folds."""
    search = tuned_threshold(model, options.metric, random_state=0)
    start = time.perf_counter()
    own = [clone(search).fit(X[train], y[train]) for train, _ in folds]
    took = (time.perf_counter() - start) / len(folds)
    return {"loss": name, "lr": lr, **score(own, X, y, folds), "seconds": took}


def seconds(model, X, y, folds):
    """Time of one fit."""
    train, _ = folds[0]
    start = time.perf_counter()
    clone(model).fit(X[train], y[train])
    return time.perf_counter() - start


def report(table, options):
    """A line a loss."""
    scores = table.pivot(index="set", columns=["loss", "lr"], values="score")
    means = scores.mean()
    best = {name: means[name].idxmax() for name in means.index.unique("loss")}
    own = {name: scores[name, lr] for name, lr in best.items()}
    fits = table.pivot(index="set", columns=["loss", "lr"], values="seconds")
    print(
        f"{options.metric}, {len(scores)} sets, {options.folds} folds; probability to "
        "be better / alike / worse than\n"
    )
    others = {BCE: BCE, WEIGHTED: "class-weighted", TUNED: "tuned threshold"}
    others = {name: short for name, short in others.items() if name in own}
    header = f"{'loss':<34}{'mean':>6}{'lr':>6}{'one class':>11}"
    print(header + "".join(f"{name:>20}" for name in others.values()) + f"{'time':>7}")
    for name in sorted(own, key=lambda name: -own[name].mean()):
        lr = best[name]
        rows = table[(table["loss"] == name) & (table["lr"] == lr)]
        share = rows["collapsed"].sum() / (len(rows) * options.folds)
        line = f"{name:<34}{own[name].mean():>6.3f}{lr:>6}{share:>10.1%} "
        for other in others:
            text = ""
            if name != other:
                win, alike, lose = judge_many(own[name], own[other])
                text = f"{win:.2f} / {alike:.2f} / {lose:.2f}"
            line += f"{text:>20}"
        seconds = fits[name].max(axis=1)  # One of the learning rates was timed.
        ratio = (seconds / fits[BCE, LRS[0]]).median()
        print(f"{line}{ratio:>7.2f}")
    versus_tuned(own)


def versus_tuned(own):
    """By set: training on the metric against tuning the threshold."""
    if TUNED not in own:
        return
    names = [name for name in own if name.startswith("AnyLoss, L=")]
    ours = own[max(names, key=lambda name: own[name].mean())]
    difference = (ours - own[TUNED]).sort_values()
    won, lost = (difference > 0.01).sum(), (difference < -0.01).sum()
    print(
        f"\n{ours.name[0]} against {TUNED}: better by more than 0.01 on {won} sets, "
        f"worse on {lost}, alike on {len(difference) - won - lost}."
    )
    for side, part in (("worst", difference[:5]), ("best", difference[:-6:-1])):
        cells = ", ".join(f"{name} {value:+.3f}" for name, value in part.items())
        print(f"{side}: {cells}")


if __name__ == "__main__":
    arguments = parser(__doc__, "results/losses.csv", most=2_000).parse_args()
    report(run(arguments, run_set), arguments)
