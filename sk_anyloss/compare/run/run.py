"""Methods times folds, through joblib: here, on many cores, or on a Dask cluster."""

from __future__ import annotations

import signal
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

import numpy as np
import pandas as pd
from imblearn.pipeline import Pipeline
from joblib import Parallel, delayed, parallel_config
from sklearn.base import BaseEstimator
from sklearn.impute import SimpleImputer
from sklearn.metrics import confusion_matrix
from threadpoolctl import threadpool_limits

from sk_anyloss.compare.folds.inner import fit, hold, inner_groups
from sk_anyloss.compare.methods import get_method
from sk_anyloss.compare.run.stopping import Stopped, stopped_by
from sk_anyloss.compare.run.store import Fold, Store
from sk_anyloss.compare.tables.table import Table
from sk_anyloss.metrics import Metric

__all__ = ["fit_method", "make_model", "run"]

#: Why a fit failed that has ended its process twice, the second time alone.
DIED = "its process was killed twice, as happens when the memory is used up"
#: How often work is sent to a cluster that loses workers.
DASK_ATTEMPTS = 5


def make_model(method: str, metric: str | Metric, seed: int, X: Any) -> BaseEstimator:
    """A method behind what makes numbers without gaps of the columns.

    Parameters
    ----------
    method : str
        Its name.
    metric : str or callable
        What to aim at.
    seed : int
        Of everything that is drawn.
    X : DataFrame or array
        What it will be fitted on.

    Returns
    -------
    model : Pipeline
        Not fitted.
    """
    steps: list[tuple[str, BaseEstimator]] = []
    if isinstance(X, pd.DataFrame):
        from skrub import TableVectorizer

        steps.append(("columns", TableVectorizer()))
    steps.append(("gaps", SimpleImputer(strategy="median", keep_empty_features=True)))
    steps.append(("model", get_method(method).build(metric, seed)))
    return Pipeline(steps)


def fit_method(
    table: Table, method: str, metric: str | Metric, seed: int = 0
) -> BaseEstimator:
    """Fit a method on all samples of a table, as it was fitted on the folds.

    Parameters
    ----------
    table : Table
        The samples; what it tunes holds their groups, or their order in time.
    method : str
        Its name.
    metric : str or callable
        What to aim at.
    seed : int, default=0
        Of everything that is drawn.

    Returns
    -------
    model : Pipeline
        Fitted.

    Examples
    --------
    >>> from sk_anyloss.compare.run.run import fit_method
    >>> from sk_anyloss.compare.tables.table import built_in
    >>> table = built_in()
    >>> fit_method(table, "logistic", "f1").predict(table.X).shape
    (393,)
    """
    model = hold(make_model(method, metric, seed, table.X), table, seed)
    with threadpool_limits(1):
        return fit(model, table.X, table.y, inner_groups(table))


def run_fold(
    X: Any,
    y: np.ndarray,
    name: str,
    method: str,
    model: BaseEstimator,
    fold: int,
    train: np.ndarray,
    test: np.ndarray,
    groups: np.ndarray | None = None,
) -> Fold:
    """Fit on some rows and decide on others; what fails is told of, not raised."""
    rows = X.iloc if isinstance(X, pd.DataFrame) else X
    start = time.perf_counter()
    try:
        # One thread: the same result to the last bit, wherever it is computed.
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            within = None if groups is None else groups[train]
            fit(model, rows[train], y[train], within)
            seconds = time.perf_counter() - start
            decided = model.predict(rows[test])
            scores = _scores(model, rows[test])
    except Exception as error:
        lines = str(error).splitlines() or [""]
        why = f"{type(error).__name__}: {lines[0]}"[:300]
        return Fold(name, method, fold, time.perf_counter() - start, failed=why)
    counts = confusion_matrix(y[test], decided, labels=[0, 1]).ravel().tolist()
    return Fold(name, method, fold, seconds, counts, test, scores)


def _scores(model: BaseEstimator, X: Any) -> np.ndarray:
    """Scores that order the rows, the likely positive ones highest."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X)[:, 1], dtype=float)
    return np.asarray(model.decision_function(X), dtype=float)


def run(
    tables: Sequence[Table],
    methods: Sequence[str],
    metric: str | Metric,
    parts: dict[str, list[tuple[np.ndarray, np.ndarray]]],
    store: Store,
    *,
    seed: int = 0,
    n_jobs: int | None = None,
    dask: str | None = None,
    time_limit: float | None = None,
    progress: Callable[..., Any] | None = None,
) -> list[Fold]:
    """Every method on every fold of every table, except what the store has.

    Parameters
    ----------
    tables : sequence of Table
        The data sets.
    methods : sequence of str
        Names.
    metric : str or callable
        What the methods aim at.
    parts : dict of name to list of pairs of arrays
        The folds of each table.
    store : Store
        Where finished folds are kept.
    seed : int, default=0
        Of the methods.
    n_jobs : int, default=None
        Number of processes.
    dask : str, default=None
        Address of a Dask scheduler to send the work to.
    time_limit : float, default=None
        Seconds after which nothing more is begun.
    progress : callable, default=None
        ``tqdm`` or the like.

    Returns
    -------
    folds : list of Fold
        All that are finished, those that failed among them.
    """
    done: list[Fold] = []
    todo: dict[tuple[str, str, int], Table] = {}
    for table in tables:
        for k, (_, test) in enumerate(parts[table.name]):
            for method in methods:
                found = store.find(table.name, method, k, test)
                if found is None:
                    todo[table.name, method, k] = table
                else:
                    done.append(found)
    end = None if time_limit is None else time.monotonic() + time_limit
    groups = {table.name: inner_groups(table) for table in tables}
    begun: list[tuple[str, str, int]] = []

    def job(name: str, method: str, k: int) -> Any:
        table = todo[name, method, k]
        model = hold(make_model(method, metric, seed, table.X), table, seed)
        task = name, method, model, k, *parts[name][k], groups[name]
        return delayed(run_fold)(table.X, table.y, *task)

    def jobs() -> Iterator[Any]:
        for key in list(todo):
            if end is not None and time.monotonic() > end:
                return
            begun.append(key)
            yield job(*key)

    total = len(done) + len(todo)
    bar = progress(total=total, initial=len(done), unit="fit") if progress else None

    def finish(fold: Fold) -> None:
        store.keep(fold)
        done.append(fold)
        del todo[fold.data, fold.method, fold.fold]
        if bar is not None:
            bar.update()

    def finish_all() -> None:
        with _where(dask, tables):
            results = Parallel(
                n_jobs=-1 if dask else n_jobs,
                return_as="generator_unordered",
                pre_dispatch="all" if dask and end is None else "2*n_jobs",
                batch_size=1,
            )(jobs())
            with _closed(results):
                for fold in results:
                    finish(fold)

    def finish_begun() -> None:
        """One at a time, so that a fit that ends its process is known by that."""
        for key in [key for key in begun if key in todo]:
            if end is not None and time.monotonic() > end:
                return
            try:
                # One job for two processes: it runs in one of them, never in this.
                (fold,) = Parallel(n_jobs=2)([job(*key)])
            except BrokenProcessPool:
                fold = Fold(*key, failed=DIED)
            finish(fold)

    lost = 0
    try:
        with stopped_by(signal.SIGINT):
            while True:
                begun.clear()
                try:
                    finish_all()
                    return done
                except CancelledError:  # A Dask worker is gone with its results.
                    lost += 1
                    if lost == DASK_ATTEMPTS:
                        raise
                except BrokenProcessPool:  # A process was killed, and joblib's with it.
                    finish_begun()
    except Stopped as stopped:
        if stopped.number == signal.SIGINT:
            raise KeyboardInterrupt from None
        raise
    finally:
        if bar is not None:
            bar.close()


@contextmanager
def _closed(results: Any) -> Iterator[None]:
    """End the worker processes with the block, whichever way it ends."""
    try:
        yield
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # joblib tells of jobs that are given up.
            results.close()


@contextmanager
def _where(dask: str | None, tables: Sequence[Table]) -> Iterator[None]:
    if dask is None:
        yield
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise ValueError("--dask needs dask: pip install 'sk_anyloss[dask]'") from error
    try:
        client = Client(dask, timeout=20)
    except OSError as error:
        raise ValueError(f"There is no Dask scheduler at {dask!r}.") from error
    data = [part for table in tables for part in (table.X, table.y)]
    with client, parallel_config("dask", client=client, scatter=data):
        yield
