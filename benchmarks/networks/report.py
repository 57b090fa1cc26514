"""The tables of the studies, from their results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.networks.methods import METRIC_FREE
from sk_anyloss.compare.verdict import judge_many

__all__ = ["TABLES", "TUNED", "minutes", "print_report", "task_differences"]

#: What identifies a task rather than a size of the study.
CELLS = {"set", "digit", "seed", "trial", "split", "network", "metric", "imbalance"}
#: The strongest alternative, which is one more line after cross-entropy.
TUNED = "cross-entropy, tuned"
#: Differences of scores up to it are practically equivalent.
ROPE = 0.01


def print_report(name: str, path: Path) -> None:
    """Print the sizes and the table of a study, if there are results."""
    if not path.exists():
        print(f"\n{name}: no results yet")
        return
    table = pd.read_csv(path)
    before = list(table.columns[: table.columns.get_loc("method")])  # type: ignore[misc]
    sizes = {key: sorted(table[key].unique()) for key in before if key not in CELLS}
    text = ", ".join(f"{key} {'/'.join(map(str, own))}" for key, own in sizes.items())
    n_tasks = len(table[before].drop_duplicates())
    print(f"\n{name}: {n_tasks} tasks, {text}; {minutes(table):.0f} minutes of fits\n")
    shared = path.with_name("table10.csv")
    if name == "collapse" and shared.exists():
        print("With the F1 fits of table10, which are those of the ResNet on MNIST.\n")
        both = pd.concat([table, pd.read_csv(shared)])
        table = both[(both["metric"] == "f1") & (both["method"] != "MSE")]
    print(TABLES[name](table).round(3).to_string())


def minutes(table: pd.DataFrame) -> float:
    """Time of all fits: one serves a tuned threshold too, and often all metrics."""
    end = list(table.columns).index("method")
    keys = table.iloc[:, :end].copy()
    keys["method"] = table["method"].str.replace(", tuned.*", "", regex=True)
    if "metric" in table:
        is_free = keys["method"].isin(METRIC_FREE)
        keys["metric"] = table["metric"].mask(is_free, "")
    return float(table.loc[~keys.duplicated(), "seconds"].sum() / 60)


def task_differences(table: pd.DataFrame) -> pd.DataFrame:
    """Scores of the tasks (index) by method (columns), minus tuned cross-entropy's."""
    kinds = ["network", "set", "digit", "imbalance", "metric", "seed"]
    keys = [key for key in kinds if key in table and table[key].notna().all()]
    wide = table.pivot_table("score", keys, "method", sort=False)
    return wide.sub(wide[TUNED], axis=0)


def _collapse(table: pd.DataFrame) -> pd.DataFrame:
    """With the mean difference from tuned cross-entropy, and its standard error."""
    found = table.groupby(["network", "set", "method"], sort=False).agg(
        fits=("score", "size"), collapsed=("collapsed", "sum"),
        mean_f1=("score", "mean"), lowest_f1=("score", "min"),
        seconds=("seconds", "median"),
    )  # fmt: skip
    if TUNED in set(table["method"]):
        minus = task_differences(table).stack()
        minus = minus.groupby(["network", "set", "method"], sort=False)
        found["minus_tuned"] = minus.mean()
        found["std_error"] = minus.std() / np.sqrt(minus.size())
    return found


def _table10(table: pd.DataFrame) -> pd.DataFrame:
    """Means over digits and seeds, their standard deviation, and the paper's."""
    published = pd.DataFrame(
        {"MSE": [0.994, 0.965, 0.972], "cross-entropy": [0.994, 0.965, 0.970],
         "AnyLossNet": [0.998, 0.980, 0.980]},
        index=["accuracy", "f1", "balanced_accuracy"],
    )  # fmt: skip
    own = table[~table["method"].str.startswith("bare")]
    found = own.pivot_table(
        "score", "metric", "method", aggfunc=["mean", "std"], sort=False
    )
    for method in published:
        found["published", method] = published[method]
    return found


def _soft_sets(table: pd.DataFrame) -> pd.DataFrame:
    """Means over the trials, and the published ones: Table 1, F2 and F3 of Table 4.

    ``auroc_cut`` is that of decisions, the mean of sensitivity and specificity, which
    is what was published as AUROC.
    """
    published = pd.DataFrame(
        {"F1, linear": [0.63, 0.04, 0.98, 0.78, 0.57, 0.56],
         "F2, linear": [0.63, 0.04, np.nan, np.nan, 0.67, 0.69],
         "F3, linear": [0.57, 0.03, np.nan, np.nan, 0.69, 0.75],
         "accuracy, linear": [0, 0, 0.97, 0.5, np.nan, np.nan],
         "AUROC, linear": [0.11, 0.01, 0.18, 0.57, np.nan, np.nan],
         "WMW, right": [0, 0.01, 0.88, 0.5, np.nan, np.nan],
         "BCE": [0.56, 0.11, 0.99, 0.71, np.nan, np.nan]},
        index=["f1", "std", "accuracy", "auroc_cut", "f2", "f3"],
    ).T.add_prefix("published_")  # fmt: skip
    table = table.rename(columns={
        "balanced_accuracy": "auroc_cut", "balanced_accuracy_logit": "auroc_cut_logit",
    })  # fmt: skip
    scores = [
        "f1", "f2", "f3", "precision", "recall", "accuracy", "auroc_cut", "f1_logit",
        "auroc_cut_logit", "f1_tuned", "auroc", "epochs_used",
    ]  # fmt: skip
    grouped = table.groupby(["split", "method"], sort=False)
    found = grouped[scores].mean()
    for name in ("f1", "f1_logit", "f1_tuned"):
        column = list(found.columns).index(name) + 1
        found.insert(column, f"{name}_std", grouped[name].std())
    found["trials"] = grouped.size()
    return found.join(published, on="method")


def _surrogate(table: pd.DataFrame) -> pd.DataFrame:
    """Means, mean ranks, and sign tests over the tasks.

    Means are over all pairs of task and metric, those of each metric, of each imbalance
    and of both. The tests are the probabilities that a method is better than tuned
    cross-entropy by more than 0.01, practically equivalent, and worse, after the
    numbers of such pairs; then the same for plain cross-entropy.
    """
    keys = ["set", "digit", "metric", "imbalance"]
    wide = table.pivot_table("score", keys, "method", sort=False)
    found = wide.mean().to_frame("mean")
    found["rank"] = wide.rank(axis=1, ascending=False).mean()
    found["collapsed"] = table.groupby("method")["collapsed"].sum()
    for title, other in (("tuned", TUNED), ("plain", "cross-entropy")):
        if other in wide and len(wide) > 1:
            found[f"vs {title}"] = [
                _sign_test(wide[m], wide[other]) for m in found.index
            ]
    for own in (["metric"], ["imbalance"], ["metric", "imbalance"]):
        means = table.pivot_table("score", "method", own)
        names = means.columns.to_frame().astype(str)
        if "imbalance" in own:
            names["imbalance"] = "1:" + names["imbalance"].str.removesuffix(".0")
        means.columns = pd.Index(names.agg(" ".join, axis=1))
        found = found.join(means)
    return found.sort_values("rank")


def _sign_test(scores: pd.Series, other: pd.Series) -> str:
    """Numbers of tasks, and the probabilities of the Bayesian sign test over them."""
    if scores.name == other.name:
        return ""
    difference = (scores - other).to_numpy()
    better, worse = (difference > ROPE).sum(), (difference < -ROPE).sum()
    counts = f"{better} / {len(difference) - better - worse} / {worse}"
    probabilities = judge_many(scores, other, rope=ROPE)
    return f"{counts}: " + " / ".join(f"{p:.2f}" for p in probabilities)


def _long_tail(table: pd.DataFrame) -> pd.DataFrame:
    grouped = table.groupby("method", sort=False)
    found = grouped[
        ["f1_macro", "balanced_accuracy", "accuracy", "classes_predicted", "seconds"]
    ].mean()
    found.insert(1, "std", grouped["f1_macro"].std())
    return found.sort_values("f1_macro", ascending=False)


TABLES = {
    "collapse": _collapse,
    "table10": _table10,
    "soft_sets": _soft_sets,
    "surrogate": _surrogate,
    "long_tail": _long_tail,
}
