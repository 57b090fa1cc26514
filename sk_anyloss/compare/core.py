"""The comparison, from Python."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import sk_anyloss
from sk_anyloss.compare.comparison import Comparison
from sk_anyloss.compare.folds.outer import describe_folds, splits
from sk_anyloss.compare.methods import default_methods, get_method, method_names
from sk_anyloss.compare.results import ALSO
from sk_anyloss.compare.run.run import run
from sk_anyloss.compare.run.store import Store
from sk_anyloss.compare.tables.table import Table, make_table
from sk_anyloss.metrics import Metric, get_metric, metric_name
from sk_anyloss.metrics.curves import Curve

__all__ = ["compare", "compare_tables"]

#: numpy's generators take no larger seed.
MOST_SEEDS = 2**32


def compare(
    X: Any,
    y: Any,
    metric: str | Metric = "f1",
    *,
    methods: Sequence[str] | str | None = None,
    positive: Any = None,
    groups: Any = None,
    time: Any = None,
    name: str = "data",
    drop: Sequence[str] | str = (),
    allow_missing_labels: bool = False,
    **options: Any,
) -> Comparison:
    """Compare methods on rows and labels.

    Parameters
    ----------
    X : DataFrame, array or sparse matrix of shape (n, d)
        The columns to predict from, of any kinds, with gaps or without.
    y : array-like of shape (n,)
        The labels.
    metric : str or callable, default='f1'
        What to compare by, and what the methods that can aim at.
    methods : sequence of str or 'all', default=None
        Names from :func:`sk_anyloss.compare.method_names`; by default a selection.
    positive : label, default=None
        The positive label; by default the rarer of two.
    groups : str or array-like of shape (n,), default=None
        Which samples belong together, as a column of X or by itself: they are never
        in two folds, nor in two of the folds that a method tunes itself on.
    time : str or array-like of shape (n,), default=None
        Numbers or dates, as a column of X or by itself, by which the samples are
        sorted: methods are then fitted on the past and compared on the block of time
        that follows, and tune themselves in the same way.
    name : str, default='data'
        What to call the data.
    drop : sequence of str, default=()
        Columns to leave out, such as IDs.
    allow_missing_labels : bool, default=False
        Whether samples without a label are left out even if they are more than one
        in a hundred.
    **options
        As for :func:`compare_tables`: ``folds``, ``repeats``, ``seed``, ``n_jobs``,
        ``output``, ``dask``, ``time_limit``, ``progress``, ``also`` and ``rope``.

    Returns
    -------
    comparison : Comparison
        With ``table``, ``results``, ``verdict()``, ``plot()`` and ``report(folder)``;
        shown as HTML in a notebook.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sk_anyloss.compare import compare
    >>> X, y = make_classification(300, weights=[0.8], random_state=0)
    >>> found = compare(X, y, "gmean", methods=["anyloss", "bce"], folds=3)
    >>> print(found.verdict())
    AnyLoss ... BCE on G-mean with probability ...
    """
    table = make_table(
        X, y, positive, groups, name,
        time=time, drop=drop, allow_missing_labels=allow_missing_labels,
    )  # fmt: skip
    return compare_tables([table], metric, methods=methods, **options)


def compare_tables(
    tables: Sequence[Table],
    metric: str | Metric = "f1",
    *,
    methods: Sequence[str] | str | None = None,
    folds: int = 10,
    repeats: int = 1,
    seed: int = 0,
    n_jobs: int | None = None,
    output: str | Path | None = None,
    dask: str | None = None,
    time_limit: float | None = None,
    progress: Callable[..., Any] | None = None,
    also: Sequence[str | Metric] = ALSO,
    rope: float = 0.01,
) -> Comparison:
    """Compare methods on one or more tables.

    Parameters
    ----------
    tables : sequence of Table
        From :func:`make_table` or :func:`read_table`.
    metric : str or callable, default='f1'
        What to compare by.
    methods : sequence of str or 'all', default=None
        Names; by default a selection.
    folds : int, default=10
        Number of stratified folds.
    repeats : int, default=1
        How often to split anew.
    seed : int, default=0
        Of the folds and of the methods.
    n_jobs : int, default=None
        Number of processes; None is one.
    output : path, default=None
        A folder to keep every finished fold in. The same call goes on where it was.
    dask : str, default=None
        Address of a Dask scheduler to send the work to.
    time_limit : float, default=None
        Seconds after which nothing more is begun.
    progress : callable, default=None
        ``tqdm`` or the like.
    also : sequence of str or callable
        Other metrics to tell of.
    rope : float, default=0.01
        Differences within it count as none.

    Returns
    -------
    comparison : Comparison
        What was found.
    """
    names = check_methods(methods)
    check_options(
        metric, also, folds=folds, repeats=repeats, seed=seed, n_jobs=n_jobs,
        time_limit=time_limit, rope=rope,
    )  # fmt: skip
    if len({table.name for table in tables}) < len(tables):
        raise ValueError("Two tables have the same name; give them different ones.")
    parts = {table.name: splits(table, folds, repeats, seed) for table in tables}
    settings = {
        "data": {table.name: table.fingerprint() for table in tables},
        "metric": metric_name(metric),
        "folds": folds,
        "split": {table.name: describe_folds(table) for table in tables},
        "repeats": repeats,
        "seed": seed,
        "sk_anyloss": sk_anyloss.__version__,
    }
    store = Store(None if output is None else Path(output), settings)
    done = run(
        tables,
        names,
        metric,
        parts,
        store,
        seed=seed,
        n_jobs=n_jobs,
        dask=dask,
        time_limit=time_limit,
        progress=progress,
    )
    shown = {**settings, "methods": ", ".join(names), "rope": rope}
    return Comparison(tables, done, names, metric, also, shown, rope)


def check_options(
    metric: str | Metric,
    also: Sequence[str | Metric],
    *,
    folds: int,
    repeats: int,
    seed: int,
    n_jobs: int | None,
    time_limit: float | None,
    rope: float,
) -> None:
    """Refuse options that cannot be used, before any work is done.

    Examples
    --------
    >>> from sk_anyloss.compare.core import check_options
    >>> usual = {"repeats": 1, "seed": 0, "n_jobs": 1, "time_limit": None, "rope": 0.01}
    >>> check_options("f1", ["mcc"], folds=1, **usual)
    Traceback (most recent call last):
    ...
    ValueError: folds must be a whole number of at least 2, got 1.
    """
    if isinstance(get_metric(metric), Curve):
        raise ValueError(
            f"metric={metric!r} is about all thresholds, and methods are compared by "
            "what they decide; take one such as 'f1', 'gmean' or 'mcc'."
        )
    for other in also:
        get_metric(other)
    whole = (("folds", folds, 2), ("repeats", repeats, 1), ("seed", seed, 0))
    for option, value, least in whole:
        if not isinstance(value, numbers.Integral) or value < least:
            raise ValueError(
                f"{option} must be a whole number of at least {least}, got {value!r}."
            )
    if seed + repeats > MOST_SEEDS:
        raise ValueError(f"seed must be below {MOST_SEEDS - repeats}, got {seed!r}.")
    if n_jobs is not None and (
        not isinstance(n_jobs, numbers.Integral) or int(n_jobs) == 0
    ):
        raise ValueError(
            "jobs (n_jobs) must be a number of processes, or -1 for all cores, got "
            f"{n_jobs!r}."
        )
    if time_limit is not None and not _at_least_0(time_limit):
        raise ValueError(
            "time-limit (time_limit) must be a number of seconds of at least 0, got "
            f"{time_limit!r}."
        )
    # A metric of one's own may have any scale.
    most = 1.0 if isinstance(metric, str) else math.inf
    if not _at_least_0(rope) or not rope <= most:
        raise ValueError(
            "rope, the differences that do not matter, must be a number from 0 to "
            f"{most:g}, got {rope!r}."
        )


def _at_least_0(value: object) -> bool:
    return isinstance(value, numbers.Real) and float(value) >= 0


def check_methods(methods: Sequence[str] | str | None) -> list[str]:
    """Names of methods, none of them twice.

    Examples
    --------
    >>> from sk_anyloss.compare.core import check_methods
    >>> check_methods(["bce", "anyloss", "bce"])
    ['bce', 'anyloss']
    """
    if methods is None:
        return default_methods()
    if isinstance(methods, str):
        methods = method_names() if methods == "all" else [methods]
    names = list(dict.fromkeys(methods))
    if not names:
        raise ValueError("There is no method to compare; name at least one.")
    for name in names:
        get_method(name)
    return names
