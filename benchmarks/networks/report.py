"""The tables of the studies, from their results."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

__all__ = ["print_report"]

#: What identifies a task rather than a size of the study.
CELLS = {"set", "digit", "seed", "trial", "split", "network", "metric", "imbalance"}


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
    minutes = table["seconds"].sum() / 60
    print(f"\n{name}: {n_tasks} tasks, {text}; {minutes:.0f} minutes of fits\n")
    print(TABLES[name](table).round(3).to_string())


def _collapse(table: pd.DataFrame) -> pd.DataFrame:
    found = table.groupby(["network", "set", "method"], sort=False).agg(
        fits=("score", "size"), collapsed=("collapsed", "sum"),
        mean_f1=("score", "mean"), lowest_f1=("score", "min"),
        seconds=("seconds", "median"),
    )  # fmt: skip
    return found


def _table10(table: pd.DataFrame) -> pd.DataFrame:
    found = table.pivot_table(
        "score", "metric", "method", aggfunc=["mean", "std"], sort=False
    )
    published = pd.DataFrame(
        {"MSE": [0.994, 0.965, 0.972], "cross-entropy": [0.994, 0.965, 0.970],
         "AnyLossNet": [0.998, 0.980, 0.980]},
        index=["accuracy", "f1", "balanced_accuracy"],
    )  # fmt: skip
    for method in published:
        found["published", method] = published[method]
    return found


def _soft_sets(table: pd.DataFrame) -> pd.DataFrame:
    scores = ["f1", "f1_logit", "f1_tuned", "f2", "f3", "accuracy", "auroc"]
    grouped = table.groupby(["split", "method"], sort=False)
    found = grouped[scores].mean()
    found.insert(1, "f1_std", grouped["f1"].std())
    found["trials"] = grouped.size()
    return found


def _surrogate(table: pd.DataFrame) -> pd.DataFrame:
    by = ["metric", "imbalance"]
    found = table.pivot_table("score", "method", by, sort=False)
    found["mean"] = table.groupby("method")["score"].mean()
    found["collapsed"] = table.groupby("method")["collapsed"].sum()
    keys = ["set", "digit", "metric", "imbalance"]
    wide = table.pivot_table("score", keys, "method", sort=False)
    found["rank"] = wide.rank(axis=1, ascending=False).mean()
    return found.sort_values("rank")


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
