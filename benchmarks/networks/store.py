"""Resumable runs: every finished task is appended to a CSV file of its study."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

import pandas as pd
from tqdm import tqdm

__all__ = ["Record", "Task", "run_tasks"]

#: What identifies a task, such as its data set, digit and seed; and its sizes.
Task: TypeAlias = dict[str, str | int | float]
#: One result: a task, a method and what was measured.
Record: TypeAlias = dict[str, str | int | float]


def run_tasks(
    tasks: Sequence[Task], run_task: Callable[[Task], list[Record]], path: Path
) -> pd.DataFrame:
    """Run the tasks whose results are not in the file yet, and append theirs.

    Parameters
    ----------
    tasks : list of dict
        In the order in which to run them, all with the same keys.
    run_task : callable
        Gives the records of a task, without its own keys.
    path : path
        The CSV file.

    Returns
    -------
    table : DataFrame
        All records of the file.
    """
    keys = list(tasks[0])
    done: set[tuple[str, ...]] = set()
    if path.exists():
        table = pd.read_csv(path, dtype=str)
        done = set(table[keys].itertuples(index=False, name=None))
    missing = [task for task in tasks if tuple(map(str, task.values())) not in done]
    bar = tqdm(missing, path.stem, initial=len(tasks) - len(missing), total=len(tasks))
    for task in bar:
        bar.set_postfix_str(" ".join(map(str, task.values())))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Collapsed fits are counted.
            found = pd.DataFrame([{**task, **record} for record in run_task(task)])
        path.parent.mkdir(parents=True, exist_ok=True)
        found.to_csv(path, mode="a", header=not path.exists(), index=False)
    return pd.read_csv(path)
