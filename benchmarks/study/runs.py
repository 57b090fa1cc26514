"""Resumable runs: each finished fold is a file, and only missing folds are run."""

import json
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import pandas as pd
import torch
from joblib import Parallel, delayed
from tqdm import tqdm

from benchmarks.study.data import Source
from sk_anyloss.compare.run.files import write

#: One result. Its keys and the methods' names are stored in files: changing them makes
#: results of earlier runs unreadable.
Record: TypeAlias = dict[str, object]
#: The records of each fold.
Records: TypeAlias = dict[int, list[Record]]


@dataclass(frozen=True)
class Task:
    """Folds of a data set that are trained in one stack.

    Parameters
    ----------
    part : str
        Part of the study, which is also the folder of its results.
    source : Source
        The data set.
    folds : tuple of int
        Numbers of the folds.
    options : dict
        Keyword arguments for the function that runs the part.
    """

    part: str
    source: Source
    folds: tuple[int, ...]
    options: dict[str, object] = field(default_factory=dict)

    def files(self, folder: Path) -> dict[int, Path]:
        """Result file of each fold."""
        stem = "-".join([self.source.name, *map(str, self.options.values())])
        return {fold: folder / self.part / f"{stem}.{fold}.json" for fold in self.folds}


def run(
    tasks: Sequence[Task],
    run_folds: Callable[..., Records],
    folder: Path,
    jobs: int = 2,
) -> pd.DataFrame:
    """Run the tasks that are not finished and read the results of all.

    Parameters
    ----------
    tasks : list of Task
        In the order in which to run them.
    run_folds : callable
        ``run_folds(source, folds, **options)`` returns the records of each fold.
    folder : path
        Where each finished fold is a file. Files are written atomically, so that an
        interrupted run leaves no partial ones.
    jobs : int, default=2
        Number of processes, of one thread each.

    Returns
    -------
    table : DataFrame
        All records of the tasks so far, with ``file``, ``set``, ``paper_id`` and
        ``fold``, and the ``seconds`` of the file.
    """
    missing = [
        task
        for task in tasks
        if not all(file.exists() for file in task.files(folder).values())
    ]
    results = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(
        delayed(_run_one)(task, run_folds) for task in missing
    )
    n_done, name = len(tasks) - len(missing), tasks[0].part if tasks else ""
    bar = tqdm(results, name, initial=n_done, total=len(tasks), unit="stack")
    for task, records, seconds in bar:
        bar.set_postfix_str(task.source.name)
        for fold, file in task.files(folder).items():
            content = {"seconds": seconds / len(records), "rows": records[fold]}
            file.parent.mkdir(parents=True, exist_ok=True)
            write(file, json.dumps(content).encode())
    return read(tasks, folder)


def read(tasks: Iterable[Task], folder: Path) -> pd.DataFrame:
    """The results of all tasks that are finished."""
    records: list[Record] = []
    for task in tasks:
        for fold, file in task.files(folder).items():
            if file.exists():
                content = json.loads(file.read_text(encoding="utf-8"))
                common = {
                    "file": file.stem,
                    "set": task.source.name,
                    "paper_id": task.source.paper_id,
                    "fold": fold,
                    "seconds": content["seconds"],
                }
                records += [{**common, **record} for record in content["rows"]]
    return pd.DataFrame(records)


def _run_one(
    task: Task, run_folds: Callable[..., Records]
) -> tuple[Task, Records, float]:
    torch.set_num_threads(1)
    start = time.perf_counter()
    with warnings.catch_warnings():
        # Fits that predict a single class warn; the tables count them.
        warnings.simplefilter("ignore")
        records = run_folds(task.source, task.folds, **task.options)
    return task, records, time.perf_counter() - start
