"""Work in pieces: what is finished is a file, what is missing is run."""

import json
import time
import warnings
from dataclasses import dataclass, field

import pandas as pd
import torch
from joblib import Parallel, delayed
from tqdm import tqdm

from benchmarks.study.data import Source
from sk_anyloss.compare.run.files import write


@dataclass(frozen=True)
class Task:
    """Folds of a set that are trained in one stack.

    Parameters
    ----------
    part : str
        Part of the study.
    source : Source
        The data set.
    folds : tuple of int
        Which of its folds.
    options : dict
        What else the part has to know.
    """

    part: str
    source: Source
    folds: tuple
    options: dict = field(default_factory=dict)

    def files(self, folder):
        """Where the results of each fold go."""
        stem = "-".join([self.source.name, *map(str, self.options.values())])
        return {fold: folder / self.part / f"{stem}.{fold}.json" for fold in self.folds}


def run(tasks, work, folder, jobs=2):
    """Run the tasks that are not finished and read the results of all.

    Parameters
    ----------
    tasks : list of Task
        In the order in which to run them.
    work : callable
        ``work(source, folds, **options)`` gives, for each fold, a list of dicts.
    folder : path
        Each finished fold is a file in it, which is whole whenever the run ends.
    jobs : int, default=2
        Number of processes, of one thread each.

    Returns
    -------
    table : DataFrame
        All rows there are of the tasks, with ``file``, ``set``, ``paper_id`` and
        ``fold``, and the ``seconds`` of the file.
    """
    todo = [
        task
        for task in tasks
        if not all(file.exists() for file in task.files(folder).values())
    ]
    results = Parallel(n_jobs=jobs, return_as="generator_unordered", batch_size=1)(
        delayed(_run_one)(task, work) for task in todo
    )
    done, name = len(tasks) - len(todo), tasks[0].part if tasks else ""
    bar = tqdm(results, name, initial=done, total=len(tasks), unit="stack")
    for task, rows_of, seconds in bar:
        bar.set_postfix_str(task.source.name)
        for fold, file in task.files(folder).items():
            found = {"seconds": seconds / len(rows_of), "rows": rows_of[fold]}
            file.parent.mkdir(parents=True, exist_ok=True)
            write(file, json.dumps(found).encode())
    return read(tasks, folder)


def read(tasks, folder):
    """The results of all tasks that are finished."""
    rows = []
    for task in tasks:
        for fold, file in task.files(folder).items():
            if file.exists():
                found = json.loads(file.read_text(encoding="utf-8"))
                same = {
                    "file": file.stem,
                    "set": task.source.name,
                    "paper_id": task.source.paper_id,
                    "fold": fold,
                    "seconds": found["seconds"],
                }
                rows += [{**same, **row} for row in found["rows"]]
    return pd.DataFrame(rows)


def _run_one(task, work):
    torch.set_num_threads(1)
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Of fits that decide for one class: counted.
        rows_of = work(task.source, task.folds, **task.options)
    return task, rows_of, time.perf_counter() - start
