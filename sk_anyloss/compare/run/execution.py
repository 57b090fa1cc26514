"""Fits of all methods on all folds, by joblib: on local cores or on a Dask cluster."""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Protocol, TypeAlias

from joblib import Parallel, delayed, parallel_config

from sk_anyloss.compare.errors import TableError
from sk_anyloss.compare.folds.splits import Splits
from sk_anyloss.compare.folds.tuning import inner_groups
from sk_anyloss.compare.run.encoded import forget_encoded
from sk_anyloss.compare.run.models import fit_fold, make_tuned_model
from sk_anyloss.compare.run.stopping import Stopped, stopped_by
from sk_anyloss.compare.run.store import Fold, Store
from sk_anyloss.compare.tables.table import Table
from sk_anyloss.metrics import Metric
from sk_anyloss.search.effort.cluster import LostWorkersError, results_of

__all__ = ["Progress", "ProgressBar", "run_folds"]

#: Reason for the failure of a fit that killed its process twice, the second time alone.
KILLED = "its process was killed twice, as happens when the memory is exhausted"
#: Number of times that work is submitted to a cluster that loses workers.
DASK_ATTEMPTS = 5

#: Name of the data set, name of the method, number of the fold.
Key: TypeAlias = tuple[str, str, int]
#: What ``joblib.delayed`` makes of a call: function, arguments and keywords.
Job: TypeAlias = tuple[Callable[..., Fold], tuple[object, ...], Mapping[str, object]]


class ProgressBar(Protocol):
    """The part of a tqdm bar that is used here."""

    def update(self) -> object:
        """Count one fit as finished."""

    def close(self) -> object:
        """Remove the bar or leave it as it is."""


#: ``tqdm``, or another function of ``total``, ``initial`` and ``unit``.
Progress: TypeAlias = Callable[..., ProgressBar]


def run_folds(
    tables: Sequence[Table],
    methods: Sequence[str],
    metric: str | Metric,
    splits: Mapping[str, Splits],
    store: Store,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
    dask: str | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> list[Fold]:
    """Fit every method on every fold of every table, except for stored folds.

    Parameters
    ----------
    tables : sequence of Table
        The data sets.
    methods : sequence of str
        Names of the methods.
    metric : str or callable
        The metric that methods are trained or tuned for.
    splits : dict of str to list of pairs of ndarray
        The folds of each table.
    store : Store
        Where finished folds are stored.
    seed : int, default=0
        Seed of the methods.
    n_jobs : int, default=None
        Number of processes.
    dask : str, default=None
        Address of a Dask scheduler to submit the fits to.
    time_limit : float, default=None
        Seconds after which no further fit is started.
    progress : callable, default=None
        ``tqdm``, or a function that makes a similar progress bar.

    Returns
    -------
    folds : list of Fold
        All finished folds, including failed ones.
    """
    done: list[Fold] = []
    pending: dict[Key, Table] = {}
    for table in tables:
        for k, (_, test) in enumerate(splits[table.name]):
            for method in methods:
                stored = store.find(table.name, method, k, test)
                if stored is None:
                    pending[table.name, method, k] = table
                else:
                    done.append(stored)
    deadline = None if time_limit is None else time.monotonic() + time_limit
    groups = {table.name: inner_groups(table) for table in tables}
    digests = {table.name: f"{table.fingerprint()}-{seed}" for table in tables}
    started: list[Key] = []

    def make_job(name: str, method: str, k: int) -> Job:
        table = pending[name, method, k]
        model = make_tuned_model(table, method, metric, seed)
        arguments = (
            name,
            method,
            model,
            k,
            *splits[name][k],
            groups[name],
            digests[name],
            table.weight,
        )
        return delayed(fit_fold)(table.X, table.y, *arguments)

    def jobs() -> Iterator[Job]:
        for key in list(pending):
            if deadline is not None and time.monotonic() > deadline:
                return
            started.append(key)
            yield make_job(*key)

    total = len(done) + len(pending)
    bar = progress(total=total, initial=len(done), unit="fit") if progress else None

    def finish(fold: Fold) -> None:
        store.save(fold)
        done.append(fold)
        del pending[fold.data, fold.method, fold.fold]
        if bar is not None:
            bar.update()

    pre_dispatch = "all" if dask else "2*n_jobs"
    if deadline is not None:
        pre_dispatch = "n_jobs"  # Others would wait for their turn beyond it.

    def run_all() -> None:
        with _backend(dask, tables):
            parallel = Parallel(
                n_jobs=-1 if dask else n_jobs,
                return_as="generator_unordered",
                pre_dispatch=pre_dispatch,
                batch_size=1,
            )
            results = results_of(parallel, jobs())
            with _closing(results):
                for fold in results:
                    finish(fold)

    def rerun_started() -> None:
        """Run interrupted fits one by one, to find the one that kills its process."""
        for key in [key for key in started if key in pending]:
            if deadline is not None and time.monotonic() > deadline:
                return
            try:
                # With two processes, the one job runs in a worker, never in this one.
                (fold,) = Parallel(n_jobs=2)([make_job(*key)])
            except BrokenProcessPool:
                fold = Fold(*key, failed=KILLED)
            finish(fold)

    attempts = 0
    try:
        with stopped_by(signal.SIGINT):
            while True:
                started.clear()
                try:
                    run_all()
                    return done
                except LostWorkersError as error:
                    attempts += 1
                    if attempts == DASK_ATTEMPTS:
                        raise TableError(
                            f"The Dask cluster has lost workers {attempts} times; "
                            "finished fits are kept, and the same call resumes."
                        ) from error
                except BrokenProcessPool:  # One killed worker breaks joblib's pool.
                    rerun_started()
    except Stopped as stopped:
        if stopped.number == signal.SIGINT:
            raise KeyboardInterrupt from None
        raise
    finally:
        forget_encoded()
        if bar is not None:
            bar.close()


@contextmanager
def _closing(results: Generator[Fold, None, None]) -> Iterator[None]:
    """End the worker processes when the block ends, also by an exception."""
    try:
        yield
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joblib warns of cancelled jobs.
            results.close()


@contextmanager
def _backend(dask: str | None, tables: Sequence[Table]) -> Iterator[None]:
    """Let joblib use a Dask cluster, if there is one, in this block."""
    if dask is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise ValueError(
            "--dask needs dask: pip install 'dask[distributed]'"
        ) from error
    try:
        client = Client(dask, timeout=20)
    except OSError as error:
        raise ValueError(f"There is no Dask scheduler at {dask!r}.") from error
    data = [part for table in tables for part in (table.X, table.y)]
    with client, parallel_config("dask", client=client, scatter=data):
        yield
