"""Comparison of methods from Python."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict, Unpack, cast

from numpy.typing import ArrayLike

import sk_anyloss
from sk_anyloss.compare.comparison import Comparison
from sk_anyloss.compare.errors import TableWarning, quote_some
from sk_anyloss.compare.folds.outer import describe_folds, make_splits
from sk_anyloss.compare.methods.own import OwnMethod
from sk_anyloss.compare.metrics import (
    check_metric,
    metric_for_classes,
    metric_for_labels,
)
from sk_anyloss.compare.options import check_methods, check_options, check_targets
from sk_anyloss.compare.results.scores import (
    ALSO,
    ALSO_LABELS,
    ALSO_MULTICLASS,
    CURVES,
)
from sk_anyloss.compare.run.execution import Progress, run_folds
from sk_anyloss.compare.run.store import Store
from sk_anyloss.compare.tables.build import make_table
from sk_anyloss.compare.tables.labels import Label, Order
from sk_anyloss.compare.tables.table import Table
from sk_anyloss.metrics import Metric, metric_name

__all__ = ["RunOptions", "compare", "compare_tables"]


class RunOptions(TypedDict, total=False):
    """Options of :func:`compare_tables` that :func:`compare` passes on."""

    folds: int
    repeats: int
    seed: int
    n_jobs: int | None
    output: str | Path | None
    dask: str | None
    time_limit: float | None
    progress: Progress | None
    also: Sequence[str | Metric] | None
    rope: float


def compare(
    X: ArrayLike,
    y: ArrayLike,
    metric: str | Metric = "f1",
    *,
    methods: Sequence[str | OwnMethod] | str | None = None,
    positive: Label | None = None,
    groups: str | ArrayLike | None = None,
    time: str | ArrayLike | None = None,
    weight: str | ArrayLike | None = None,
    name: str = "data",
    drop: Sequence[str] | str = (),
    keep: Sequence[str] | str = (),
    allow_missing_labels: bool = False,
    order: Order | None = None,
    **options: Unpack[RunOptions],
) -> Comparison:
    """Compare methods on samples and labels.

    Parameters
    ----------
    X : {DataFrame, array-like, sparse matrix} of shape (n_samples, n_features)
        The features, of any dtypes, with missing values or without.
    y : array-like of shape (n_samples,) or (n_samples, n_labels)
        The labels, of two or more classes; or a column of 0 and 1 for each of several
        labels.
    metric : str or callable, default='f1'
        The metric to compare by, for which methods are trained or tuned where they
        can be. With more than two classes, a metric of two means its macro average:
        ``'f1'`` means ``'f1_macro'``; so it does with several labels.
    methods : sequence of str or estimators, or 'all', default=None
        Names from :func:`sk_anyloss.compare.method_names`, classifiers of your own, or
        pairs of a title and a classifier; those of
        :func:`sk_anyloss.compare.default_methods` by default.
    positive : label, default=None
        Label of the positive class, against all others; by default the rarer of two,
        and none of more than two.
    groups : str or array-like of shape (n_samples,), default=None
        Group of each sample, or the column of X that holds it: no group is split
        between folds, nor between the inner folds on which a method is tuned.
    time : str or array-like of shape (n_samples,), default=None
        Numbers or dates by which to sort the samples, or the column of X that holds
        them: methods are then fitted on the past and tested on the next block of time,
        and tuned in the same way.
    weight : str or array-like of shape (n_samples,), default=None
        Weight of each sample, or the column of X that holds it, in fits and scores.
        Methods that resample use it in scores only.
    name : str, default='data'
        Name of the data set.
    drop : sequence of str, default=()
        Columns to drop.
    keep : sequence of str, default=()
        Columns that stay even if they look like IDs, which are left out otherwise.
    allow_missing_labels : bool, default=False
        Whether samples without a label are dropped even if they are more than 1 % of
        all samples.
    order : sequence of labels or 'ascending', default=None
        More than two classes in their order, which ``'kappa_linear'`` and
        ``'kappa_quadratic'`` need: by default that of an ordered categorical, else
        ascending. ``'ascending'`` also says of more than 20 distinct numbers that they
        are classes.
    **options
        As for :func:`compare_tables`: ``folds``, ``repeats``, ``seed``, ``n_jobs``,
        ``output``, ``dask``, ``time_limit``, ``progress``, ``also`` and ``rope``.

    Returns
    -------
    comparison : Comparison
        With ``table``, ``results``, ``verdict()``, ``plot()`` and ``report(folder)``;
        rendered as HTML in a notebook.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sk_anyloss.compare import compare
    >>> X, y = make_classification(300, weights=[0.8], random_state=0)
    >>> found = compare(X, y, "gmean", methods=["anyloss", "bce"], folds=3)
    >>> print(found.verdict())
    AnyLoss against BCE, on G-mean: inconclusive (better ...
    """
    table = make_table(
        X, y, positive, groups, name,
        time=time, weight=weight, drop=drop, keep=keep,
        allow_missing_labels=allow_missing_labels, order=order,
    )  # fmt: skip
    return compare_tables([table], metric, methods=methods, **options)


def compare_tables(
    tables: Sequence[Table],
    metric: str | Metric = "f1",
    *,
    methods: Sequence[str | OwnMethod] | str | None = None,
    folds: int = 10,
    repeats: int = 1,
    seed: int = 0,
    n_jobs: int | None = None,
    output: str | Path | None = None,
    dask: str | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
    also: Sequence[str | Metric] | None = None,
    rope: float = 0.01,
) -> Comparison:
    """Compare methods on one or more tables.

    Parameters
    ----------
    tables : sequence of Table
        From :func:`make_table` or :func:`read_table`.
    metric : str or callable, default='f1'
        The metric to compare by. If a table has more than two classes, a metric of two
        means its macro average, on all tables.
    methods : sequence of str or estimators, or 'all', default=None
        Names of methods or classifiers of your own; those of :func:`default_methods`
        by default.
    folds : int, default=10
        Number of stratified folds.
    repeats : int, default=1
        Number of repetitions of the cross-validation.
    seed : int, default=0
        Seed of the folds and of the methods.
    n_jobs : int, default=None
        Number of processes; None means 1, -1 all cores.
    output : path, default=None
        A folder in which every finished fold is stored, so that the same call resumes
        an interrupted run.
    dask : str, default=None
        Address of a Dask scheduler to submit the fits to.
    time_limit : float, default=None
        Seconds after which no further fit is started.
    progress : callable, default=None
        ``tqdm``, or a function that makes a similar progress bar.
    also : sequence of str or callable, default=None
        Other metrics to report, besides the common ones.
    rope : float, default=0.01
        Half-width of the region of practical equivalence: smaller differences count as
        none.

    Returns
    -------
    comparison : Comparison
        The results.

    Examples
    --------
    >>> from sk_anyloss.compare import built_in, compare_tables
    >>> found = compare_tables([built_in()], methods=["logistic"], folds=2)
    >>> found.winner
    'logistic'
    """
    has_labels = check_targets(tables)
    n_classes = max((table.n_classes for table in tables), default=2)
    if has_labels:
        n_classes = 2  # Each label has two: the methods are those of two classes.
    names = check_methods(methods, n_classes)
    common = (*ALSO, *CURVES) if n_classes == 2 else ALSO_MULTICLASS
    also = [*(ALSO_LABELS if has_labels else common), *(also or ())]
    if has_labels:
        # Scored by score_counts, as all metrics of a comparison.
        metric = cast("Metric", metric_for_labels(metric))
        also = [cast("Metric", metric_for_labels(other)) for other in also]
    check_options(
        metric, also, folds=folds, repeats=repeats, seed=seed, n_jobs=n_jobs,
        time_limit=time_limit, rope=rope,
    )  # fmt: skip
    if not has_labels:
        for table in tables:
            for one in (metric, *also):
                # Metrics of several classes are defined for two as well.
                if table.n_classes == n_classes:
                    check_metric(one, table.classes)
        metric = metric_for_classes(metric, n_classes)
        also = [metric_for_classes(other, n_classes) for other in also]
        _warn_of_order([metric, *also], tables)
    if len({table.name for table in tables}) < len(tables):
        raise ValueError("Two tables have the same name; give them different ones.")
    splits = {table.name: make_splits(table, folds, repeats, seed) for table in tables}
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
    done = run_folds(
        tables,
        names,
        metric,
        splits,
        store,
        seed=seed,
        n_jobs=n_jobs,
        dask=dask,
        time_limit=time_limit,
        progress=progress,
    )
    shown = {**settings, "methods": ", ".join(names), "rope": rope}
    found = Comparison(tables, done, names, metric, also, shown, rope)
    found.store = store
    return found


def _warn_of_order(metrics: Sequence[str | Metric], tables: Sequence[Table]) -> None:
    """Warn of words in alphabetical order where a metric needs the order of classes."""
    names = {"kappa_linear", "kappa_quadratic"} & {metric_name(one) for one in metrics}
    for table in tables:
        are_words = all(isinstance(label, str) for label in table.classes)
        if names and are_words and table.n_classes > 2 and not table.is_ordered:
            warnings.warn(
                f"{min(names)} takes the classes {quote_some(table.classes)}, in this "
                "order; give another one with --order (order=[...]).",
                TableWarning,
                stacklevel=3,
            )
