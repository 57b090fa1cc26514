"""Checks of the options of a comparison, before any work is done."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sk_anyloss.compare.methods.own import OwnMethod, register_estimator
from sk_anyloss.compare.methods.registry import (
    default_methods,
    get_method,
    method_for_classes,
    method_names,
)
from sk_anyloss.metrics import Metric, get_metric
from sk_anyloss.metrics.curves import Curve
from sk_anyloss.metrics.multiclass.lookup import is_for_matrix
from sk_anyloss.metrics.multilabel import LabelAverage

if TYPE_CHECKING:
    from sk_anyloss.compare.tables.table import Table

__all__ = ["check_methods", "check_options", "check_targets"]

#: numpy's generators need seeds below this.
SEED_LIMIT = 2**32


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
    """Refuse invalid options, before any work is done.

    Parameters
    ----------
    metric, also, folds, repeats, seed, n_jobs, time_limit, rope
        As for :func:`compare_tables`.

    Examples
    --------
    >>> from sk_anyloss.compare.options import check_options
    >>> rest = {"repeats": 1, "seed": 0, "n_jobs": 1, "time_limit": None, "rope": 0.01}
    >>> check_options("f1", ["mcc"], folds=1, **rest)
    Traceback (most recent call last):
    ...
    ValueError: folds must be a whole number of at least 2, got 1.
    """
    # An average over labels has been checked when it was made.
    own = metric.metric if isinstance(metric, LabelAverage) else metric
    if not is_for_matrix(own) and isinstance(get_metric(own), Curve):
        raise ValueError(
            f"metric={metric!r} is a metric over all thresholds, and methods are "
            "compared by their predicted labels; use 'f1', 'gmean', 'mcc' or the like."
        )
    for other in also:
        if not isinstance(other, LabelAverage) and not is_for_matrix(other):
            get_metric(other)
    whole = (("folds", folds, 2), ("repeats", repeats, 1), ("seed", seed, 0))
    for option, value, least in whole:
        if not isinstance(value, numbers.Integral) or value < least:
            raise ValueError(
                f"{option} must be a whole number of at least {least}, got {value!r}."
            )
    if seed + repeats > SEED_LIMIT:
        raise ValueError(f"seed must be below {SEED_LIMIT - repeats}, got {seed!r}.")
    if n_jobs is not None and (
        not isinstance(n_jobs, numbers.Integral) or int(n_jobs) == 0
    ):
        raise ValueError(
            "jobs (n_jobs) must be a number of processes, or -1 for all cores, got "
            f"{n_jobs!r}."
        )
    if time_limit is not None and not _is_nonnegative(time_limit):
        raise ValueError(
            "time-limit (time_limit) must be a number of seconds of at least 0, got "
            f"{time_limit!r}."
        )
    # A custom metric may have any scale.
    most = 1.0 if isinstance(own, str) else math.inf
    if not _is_nonnegative(rope) or not rope <= most:
        raise ValueError(
            "rope, the region of practical equivalence, must be a number from 0 to "
            f"{most:g}, got {rope!r}."
        )


def check_targets(tables: Sequence[Table]) -> bool:
    """Whether the tables have several labels; refuse them beside tables of classes.

    Parameters
    ----------
    tables : sequence of Table
        The data sets.

    Returns
    -------
    has_labels : bool
        True if all of them do.
    """
    kinds = {table.has_labels for table in tables}
    if len(kinds) > 1:
        raise ValueError(
            "Targets of classes and of several labels have other metrics; compare on "
            "them one after the other."
        )
    return kinds == {True}


def _is_nonnegative(value: object) -> bool:
    return isinstance(value, numbers.Real) and float(value) >= 0


def check_methods(
    methods: Sequence[str | OwnMethod] | str | None, n_classes: int = 2
) -> list[str]:
    """Distinct names of registered methods for a number of classes.

    Parameters
    ----------
    methods : sequence of str or estimators, 'all' or None
        As for :func:`compare_tables`.
    n_classes : int, default=2
        Number of classes. With more than two, methods that tune a threshold are
        replaced by those that tune offsets; where there is no such method, they are
        left out of the default methods and of all methods, and refused by name.

    Returns
    -------
    names : list of str
        In the given order.

    Examples
    --------
    >>> from sk_anyloss.compare.options import check_methods
    >>> check_methods(["bce", "anyloss", "bce"])
    ['bce', 'anyloss']
    """
    if methods is None:
        return default_methods(n_classes)
    if methods == "all":
        every = method_names()
        return [name for name in every if method_for_classes(name, n_classes) == name]
    given = [methods] if isinstance(methods, str) else list(methods)
    names = [m if isinstance(m, str) else register_estimator(m) for m in given]
    if not names:
        raise ValueError("There is no method to compare; name at least one.")
    checked: dict[str, None] = {}
    for name in names:
        get_method(name)
        fitting = method_for_classes(name, n_classes)
        if fitting is None:
            few_or_many = "two" if n_classes > 2 else "more than two"
            raise ValueError(
                f"The method {name!r} is for {few_or_many} classes, and the target has "
                f"{n_classes}; leave it out."
            )
        checked[fitting] = None
    return list(checked)
