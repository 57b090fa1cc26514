"""AnyLossClassifierCV beside what people use, on real sets, for four metrics.

    python -m benchmarks.quality --data FOLDER [--metrics f1] [--picture quality.png]

FOLDER holds one ``.npz`` file a data set, with ``X`` and ``y`` (1 is the positive
class). Every method is fitted with its defaults on three outer folds of each set with
at most 5,000 rows; F1 and balanced accuracy are scored on all of them, G-mean and MCC
on every third; ``--metrics`` chooses among them. All tuning inside a fit, ours and that
of thresholds, is done on shuffled, stratified folds with a fixed seed. Methods that
do not look at the metric are fitted once for all metrics.
For each metric: mean score, mean rank, the Bayesian sign test of AnyLossClassifierCV
against each (region of practical equivalence 0.01), the time of a fit, and the sets on
which it loses most. A run that is started again goes on where it was. ``--times``
measures nothing but the time of our search and of two others, one fit at a time.
"""

import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
from imblearn.ensemble import BalancedRandomForestClassifier, EasyEnsembleClassifier
from imblearn.over_sampling import SMOTE
from imblearn.pipeline import make_pipeline
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler

from benchmarks.sets import load, parser, run, splits
from sk_anyloss import AnyLossClassifier, AnyLossClassifierCV, metric_score
from sk_anyloss.baselines import get_baseline, tuned_threshold
from sk_anyloss.compare.verdict import judge_many
from sk_anyloss.estimators.folds import inner_cv

OURS = "AnyLossClassifierCV"
SEARCH, TUNED_HISTGB = "GridSearchCV over L", "HistGB, tuned threshold"
EVERYWHERE, SOMETIMES = ("f1", "balanced_accuracy"), ("gmean", "mcc")
HistGB = partial(HistGradientBoostingClassifier, random_state=0)
Forest = partial(RandomForestClassifier, random_state=0)


def logistic(**params):
    """Logistic regression on standardised columns."""
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000, **params))


#: Methods that do not look at the metric.
PLAIN = {
    "BCE": lambda: get_baseline("bce", random_state=0),
    "BCE, class weights": lambda: get_baseline("bce_class_weight", random_state=0),
    "BCE + SMOTE": lambda: get_baseline("bce_smote", random_state=0),
    "BCE + under-sampling": lambda: get_baseline("bce_under", random_state=0),
    "logistic": logistic,
    "logistic, balanced": lambda: logistic(class_weight="balanced"),
    "HistGB": HistGB,
    "HistGB, balanced": lambda: HistGB(class_weight="balanced"),
    "HistGB + SMOTE": lambda: make_pipeline(SMOTE(random_state=0), HistGB()),
    "balanced forest": lambda: BalancedRandomForestClassifier(random_state=0),
    "EasyEnsemble": lambda: EasyEnsembleClassifier(random_state=0),
    "forest, class weights": lambda: Forest(class_weight="balanced"),
}


def aimed(metric):
    """Methods that are told of the metric."""
    return {
        OURS: AnyLossClassifierCV(metric, random_state=0),
        "AnyLossClassifier": AnyLossClassifier(metric, random_state=0),
        "logistic, tuned threshold": tuned_threshold(
            logistic(), metric, random_state=0
        ),
        TUNED_HISTGB: tuned_threshold(HistGB(), metric, random_state=0),
    }


def run_set(path, options):
    """Scores and times of all methods on the folds of one set."""
    X, y = load(path)
    number = sorted(options.data.glob("*.npz")).index(path)
    metrics = EVERYWHERE + (SOMETIMES if number % 3 == 0 else ())
    metrics = [metric for metric in metrics if metric in options.metrics]
    rows = []
    for fold, (train, test) in enumerate(splits(X, y, options.folds)):
        data = X[train], y[train], X[test], y[test]
        for name, make in PLAIN.items():
            rows += [{"fold": fold, **row} for row in fit(name, make(), metrics, *data)]
        for metric in metrics:
            for name, model in aimed(metric).items():
                found = fit(name, model, [metric], *data)
                rows += [{"fold": fold, **row} for row in found]
        if fold == 0 and "f1" in metrics:  # For its time only.
            found = fit(SEARCH, search_over_L(), ["f1"], *data)
            rows += [{"fold": fold, **row} for row in found]
    return rows


def search_over_L():
    """The search over the paper's five values of L, as one would write it."""
    model = AnyLossClassifier("f1", random_state=0)
    folds = inner_cv(random_state=0)
    return GridSearchCV(model, {"L": [10, 25, 50, 73, 100]}, cv=folds)


def time_set(path, options):
    """Times of our search and of two others on the first fold of a set, in turns."""
    X, y = load(path)
    train, test = splits(X, y, options.folds)[0]
    data = X[train], y[train], X[test], y[test]
    models = aimed("f1")
    models = {name: models[name] for name in (OURS, TUNED_HISTGB)}
    models[SEARCH] = search_over_L()
    rows = []
    for name, model in models.items():
        rows += [{"fold": 0, **row} for row in fit(name, model, ["f1"], *data)]
    return rows


def fit(name, model, metrics, X, y, X_test, y_test):
    """A row a metric; a method that fails on a fold has no score there."""
    start = time.perf_counter()
    try:
        decided, why = model.fit(X, y).predict(X_test), ""
    except ValueError as error:
        decided, why = None, str(error).splitlines()[0][:80]
    seconds = time.perf_counter() - start
    return [
        {
            "method": name,
            "metric": metric,
            "score": np.nan
            if decided is None
            else metric_score(y_test, decided, metric=metric),
            "seconds": seconds,
            "failed": why,
        }
        for metric in metrics
    ]


def by_set(table, metric):
    """Mean over the folds: a row a set, a column a method.

    A fold on which a method failed counts as if it had decided for one class.
    """
    rows = table[(table["metric"] == metric) & (table["method"] != SEARCH)]
    constant = 0.5 if metric == "balanced_accuracy" else 0.0
    rows = rows.assign(score=rows["score"].fillna(constant))
    return rows.pivot_table(index="set", columns="method", values="score")


def report(table, options):
    """A table a metric."""
    for metric in EVERYWHERE + SOMETIMES:
        scores = by_set(table, metric)
        if scores.empty:
            continue
        ranks = scores.rank(axis=1, ascending=False).mean()
        seconds = table[table["metric"] == metric].groupby("method")["seconds"].median()
        print(f"\n{metric}, {len(scores)} sets, {options.folds} folds")
        header = f"{'method':<27}{'mean':>7}{'rank':>7}{'better / alike / worse':>24}"
        print(header + f"{'seconds':>9}   ({OURS} against each)")
        for name in ranks.sort_values().index:
            text = ""
            if name != OURS:
                chances = judge_many(scores[OURS], scores[name])
                text = " / ".join(f"{chance:.2f}" for chance in chances)
            line = f"{name:<27}{scores[name].mean():>7.3f}{ranks[name]:>7.2f}{text:>24}"
            print(f"{line}{seconds[name]:>9.2f}")
        best = scores.drop(columns=OURS).max(axis=1) - scores[OURS]
        worst = best.sort_values(ascending=False)[:5]
        cells = ", ".join(
            f"{name} -{gap:.3f} ({scores.loc[name].idxmax()})"
            for name, gap in worst.items()
        )
        print(f"furthest behind the best: {cells}")
    failed = table[table["failed"].notna() & (table["failed"] != "")]
    for (name, why), rows in failed.groupby(["method", "failed"]):
        print(f"{name} failed on {rows['set'].nunique()} sets: {why}")
    times(table)


def times(table):
    """Our time as a ratio to two searches, on the same rows in the same run."""
    seconds = table[(table["metric"] == "f1") & (table["fold"] == 0)]
    seconds = seconds.pivot(index="set", columns="method", values="seconds")
    for other in (SEARCH, TUNED_HISTGB):
        ratio = seconds[OURS] / seconds[other]
        low, middle, high = ratio.quantile([0.1, 0.5, 0.9])
        print(
            f"time of a default fit / {other}: median {middle:.2f} "
            f"({low:.2f} to {high:.2f})"
        )


def picture(table, path):
    """Mean ranks, a panel a metric."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found = {metric: by_set(table, metric) for metric in EVERYWHERE + SOMETIMES}
    found = {metric: scores for metric, scores in found.items() if not scores.empty}
    columns = min(2, len(found))
    rows = -(-len(found) // columns)
    figure, panels = plt.subplots(
        rows, columns, figsize=(6 * columns, 4.5 * rows), layout="constrained",
        squeeze=False,
    )  # fmt: skip
    for panel in panels.ravel()[len(found) :]:
        panel.axis("off")
    for panel, (metric, scores) in zip(panels.ravel(), found.items(), strict=False):
        ranks = scores.rank(axis=1, ascending=False)
        order = ranks.mean().sort_values(ascending=False).index
        colours = [
            "#c1440e" if name.startswith("AnyLoss") else "0.45" for name in order
        ]
        error = ranks[order].std() / np.sqrt(len(ranks))
        panel.hlines(order, 1, ranks[order].mean(), color="0.88", linewidth=1)
        for name, colour in zip(order, colours, strict=True):
            mean = ranks[name].mean()
            panel.errorbar(mean, name, xerr=error[name], fmt="o", color=colour)
            panel.annotate(
                f"{scores[name].mean():.3f}", (mean, name), xytext=(0, 6),
                textcoords="offset points", ha="center", fontsize=7, color=colour,
            )  # fmt: skip
        panel.set_title(f"{metric}, {len(scores)} sets")
        panel.set_xlabel("mean rank and its error; the number is the mean score")
        panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=100)


def options(words=None):
    """What was asked for."""
    result = parser(__doc__, "results/quality.csv", folds=3, most=5_000)
    result.add_argument(
        "--metrics", nargs="+", choices=EVERYWHERE + SOMETIMES,
        default=EVERYWHERE + SOMETIMES, help="which of the four (all)",
    )  # fmt: skip
    result.add_argument("--picture", type=Path, default=None)
    result.add_argument("--times", action="store_true", help="nothing but times")
    result = result.parse_args(words)
    result.metric = "_".join(result.metrics)  # Each choice has a file of its own.
    return result


if __name__ == "__main__":
    arguments = options()
    if arguments.times:
        arguments.jobs = 1
        arguments.output = arguments.output.with_stem("times")
        times(run(arguments, time_set))
        sys.exit()
    results = run(arguments, run_set)
    report(results, arguments)
    if arguments.picture:
        picture(results, arguments.picture)
