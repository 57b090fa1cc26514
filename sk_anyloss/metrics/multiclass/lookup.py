"""Look up the metric of a C x C confusion matrix by name."""

from __future__ import annotations

import inspect
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from sk_anyloss.metrics.arithmetic import Array, Metric, values_of
from sk_anyloss.metrics.constraints import NUMBER, AtLeast
from sk_anyloss.metrics.multiclass.averages import Average, one_against_rest
from sk_anyloss.metrics.multiclass.matrix import (
    CohenKappa,
    CostMatrix,
    MatrixMetric,
    accuracy,
    balanced_accuracy,
    gmean,
    mcc,
)
from sk_anyloss.metrics.registry import (
    get_metric,
    is_registered_curve,
    metric_name,
    registered_spelling,
)

__all__ = [
    "MatrixAtLeast",
    "OfClass",
    "is_for_matrix",
    "is_for_several",
    "matrix_metric",
    "matrix_metric_name",
    "matrix_metric_names",
    "needs_matrix",
    "refuse_function_of_labels",
    "split_constraint",
    "takes_counts",
]

#: Metrics of the whole matrix. Where a binary metric has the same name, this one is
#: its generalisation, and equal to it for two classes.
_MATRIX_METRICS: dict[str, MatrixMetric] = {
    "accuracy": accuracy,
    "balanced_accuracy": balanced_accuracy,
    "cohen_kappa": CohenKappa(),
    "gmean": gmean,
    "kappa_linear": CohenKappa(power=1),
    "kappa_quadratic": CohenKappa(power=2),
    "mcc": mcc,
}

#: ``'recall[fraud]'``: a binary metric of one class against the rest.
_OF_CLASS = re.compile(r"([\w.]+)\[(.+)\]")
#: The floor under a metric, as in ``'f1_macro@recall[fraud]>=0.8'``.
_FLOOR = re.compile(NUMBER)


@dataclass(frozen=True)
class OfClass:
    """A binary metric of one class against the rest.

    Parameters
    ----------
    metric : str or callable
        A metric of one binary confusion matrix.
    index : int
        Which class, by its place in ``classes_``.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.multiclass.lookup import OfClass
    >>> M = np.array([[5.0, 1.0, 0.0], [2.0, 3.0, 1.0], [0.0, 0.0, 4.0]])
    >>> float(OfClass("recall", 1)(M))
    0.5
    """

    metric: str | Metric
    index: int

    def __call__(self, M: Array) -> Array:
        counts = (count[..., self.index] for count in one_against_rest(M))
        return values_of(get_metric(self.metric), *counts)


@dataclass(frozen=True)
class MatrixAtLeast:
    """The best of one metric of the matrix subject to a floor under another.

    The value is that of the goal where the constraint is met, and else the negative
    size of the violation, as for :class:`sk_anyloss.metrics.AtLeast`.

    Parameters
    ----------
    goal, constraint : callable
        Functions of the matrix.
    floor : float
        What the constraint has to reach, in (0, 1).

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.multiclass.lookup import matrix_metric
    >>> metric = matrix_metric("accuracy@recall[fraud]>=0.8", ["fine", "fraud", "late"])
    >>> M = np.array([[5.0, 1.0, 0.0], [2.0, 3.0, 1.0], [0.0, 0.0, 4.0]])
    >>> round(float(metric(M)), 3)
    -0.3
    """

    goal: MatrixMetric
    constraint: MatrixMetric
    floor: float

    def __call__(self, M: Array) -> Array:
        combine = AtLeast(floor=self.floor).combine
        return combine(self.goal(M), self.constraint(M))


def matrix_metric_names() -> list[str]:
    """Names of the metrics of a whole confusion matrix, beside averages of binary ones.

    Returns
    -------
    names : list of str
        Sorted.

    Examples
    --------
    >>> from sk_anyloss.metrics.multiclass.lookup import matrix_metric_names
    >>> matrix_metric_names()[:4]
    ['accuracy', 'balanced_accuracy', 'cohen_kappa', 'gmean']
    """
    return sorted(_MATRIX_METRICS)


def matrix_metric(
    metric: str | Metric | MatrixMetric, classes: Sequence[object]
) -> MatrixMetric:
    """The metric of a C x C confusion matrix.

    Parameters
    ----------
    metric : str or callable
        A name of :func:`matrix_metric_names`; ``'<metric>_macro'``, ``'_weighted'`` or
        ``'_micro'`` for an average of a binary metric; a binary metric alone, which
        means its macro average; ``'<metric>[<class>]'`` for one class against the rest;
        ``'<goal>@<metric>>=<floor>'`` of any of these; or a callable ``f(M)``.
    classes : sequence
        The labels, in the order of rows and columns.

    Returns
    -------
    metric : callable
        ``f(M)`` for arrays of shape (..., C, C), true classes in rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.multiclass.lookup import matrix_metric
    >>> M = np.array([[5.0, 1.0, 0.0], [2.0, 3.0, 1.0], [0.0, 0.0, 4.0]])
    >>> classes = ["fine", "fraud", "late"]
    >>> for name in ("f1", "f1_micro", "precision[late]"):
    ...     print(name, round(float(matrix_metric(name, classes)(M)), 3))
    f1 0.753
    f1_micro 0.75
    precision[late] 0.8
    """
    if isinstance(metric, Average):
        return metric.of_matrix
    if not isinstance(metric, str):
        if takes_counts(metric):
            return Average(metric).of_matrix
        return metric  # type: ignore[return-value]
    if parts := split_constraint(metric):
        goal, constraint = (matrix_metric(part, classes) for part in parts[:2])
        return MatrixAtLeast(goal, constraint, parts[2])
    if match := _OF_CLASS.fullmatch(metric):
        _check_binary(match[1], metric)
        return OfClass(match[1], _position(match[2], classes, metric))
    name = registered_spelling(metric)
    name = next((n for n in _MATRIX_METRICS if n == name.lower()), name)
    if name in _MATRIX_METRICS:
        return _MATRIX_METRICS[name]
    found = get_metric(name)
    if not isinstance(found, Average):
        _check_binary(name, metric)
        found = Average(name, "macro")
    return found.of_matrix


def matrix_metric_name(
    metric: str | Metric | MatrixMetric,
) -> str | Metric | MatrixMetric:
    """What :func:`matrix_metric` makes of a metric, by name where it has one.

    Parameters
    ----------
    metric : str or callable
        As :func:`matrix_metric` takes it.

    Returns
    -------
    metric : str or callable
        ``'f1_macro'`` for ``'f1'``; names that say what they mean in their registered
        spelling; a callable as it is.

    Examples
    --------
    >>> from sk_anyloss.metrics.multiclass.lookup import matrix_metric_name
    >>> [matrix_metric_name(name) for name in ("F1", "MCC", "precision_micro")]
    ['f1_macro', 'mcc', 'precision_micro']
    """
    if not isinstance(metric, str):
        if not takes_counts(metric):
            return metric
        average = metric if isinstance(metric, Average) else Average(metric)
        return metric_name(average) if isinstance(average.metric, str) else average
    if parts := split_constraint(metric):
        goal, constraint = (matrix_metric_name(part) for part in parts[:2])
        return f"{goal}@{constraint}>={parts[2]:g}"
    if "[" in metric:
        return metric
    if metric.lower() in _MATRIX_METRICS:
        return metric.lower()
    name = registered_spelling(metric)
    if name in _MATRIX_METRICS or isinstance(get_metric(name), Average):
        return name
    return f"{name}_macro"


def is_for_matrix(metric: str | Metric | MatrixMetric) -> bool:
    """Whether a metric is one of the classes together, also if there are only two.

    Parameters
    ----------
    metric : str or callable
        A metric of four counts or of a matrix.

    Examples
    --------
    >>> from sk_anyloss.metrics.multiclass.lookup import is_for_matrix
    >>> [is_for_matrix(name) for name in ("f1", "f1_macro", "recall[fraud]", "mcc")]
    [False, True, True, False]
    """
    if isinstance(metric, Average) or needs_matrix(metric):
        return True
    has_name = isinstance(metric, str) and "@" not in metric
    return has_name and isinstance(get_metric(metric), Average)  # type: ignore[arg-type]


def needs_matrix(metric: str | Metric | MatrixMetric) -> bool:
    """Whether a metric is written for a matrix, and cannot take four counts.

    Parameters
    ----------
    metric : str or callable
        A metric of four counts or of a matrix.

    Examples
    --------
    >>> from sk_anyloss.metrics.multiclass.lookup import needs_matrix
    >>> names = ("f1_macro", "recall[fraud]", "f1@recall[fraud]>=0.8", "kappa_linear")
    >>> [needs_matrix(name) for name in names]
    [False, True, True, True]
    """
    if not isinstance(metric, str):
        return not takes_counts(metric)
    if parts := split_constraint(metric):
        return any(needs_matrix(part) for part in parts[:2])
    return "[" in metric or metric.lower() in ("kappa_linear", "kappa_quadratic")


def split_constraint(metric: object) -> tuple[str, str, float] | None:
    """Goal, constraint and floor of a name ``'<goal>@<metric>>=<floor>'``; else None.

    Examples
    --------
    >>> from sk_anyloss.metrics.multiclass.lookup import split_constraint
    >>> split_constraint("f1_macro@recall[fraud]>=0.8")
    ('f1_macro', 'recall[fraud]', 0.8)
    """
    if not isinstance(metric, str):
        return None
    goal, _, rest = metric.partition("@")
    constraint, _, floor = (part.strip() for part in rest.rpartition(">="))
    # A class may be called 'a@b' or '>=50', but a constraint has none of its own.
    is_nested = "@" in constraint and ">=" in constraint
    if is_nested or not (goal and constraint and _FLOOR.fullmatch(floor)):
        return None
    return goal.rstrip(), constraint, float(floor)


def is_for_several(metric: str | Metric | MatrixMetric) -> bool:
    """Whether a metric may be one of several classes or labels only.

    Parameters
    ----------
    metric : str or callable
        A metric of four counts, of a matrix, or an average over labels.

    Examples
    --------
    >>> from sk_anyloss.metrics.multiclass.lookup import is_for_several
    >>> names = ("f1", "kappa_quadratic", "recall[fraud]", "f1_samples")
    >>> [is_for_several(name) for name in names]
    [False, True, True, True]
    """
    of_labels = isinstance(metric, str) and metric.lower().endswith("_samples")
    return of_labels or needs_matrix(metric)


def takes_counts(metric: Metric | MatrixMetric) -> TypeGuard[Metric]:
    """Whether a callable is one of the four counts rather than of a matrix.

    Examples
    --------
    >>> from sk_anyloss.metrics import FBeta
    >>> from sk_anyloss.metrics.multiclass.lookup import takes_counts
    >>> takes_counts(FBeta(2)), takes_counts(lambda M: M.trace())
    (True, False)
    """
    if isinstance(metric, (Average, CohenKappa, CostMatrix)):
        return isinstance(metric, Average)
    try:
        parameters = inspect.signature(metric).parameters.values()
    except (TypeError, ValueError):
        return True
    return not (
        sum(p.default is p.empty and p.kind is not p.VAR_KEYWORD for p in parameters)
        == 1
        and not any(p.kind is p.VAR_POSITIONAL for p in parameters)
    )


def refuse_function_of_labels(metric: object) -> None:
    """Refuse scikit-learn's functions, which take labels.

    Examples
    --------
    >>> from sklearn.metrics import f1_score
    >>> from sk_anyloss.metrics.multiclass.lookup import refuse_function_of_labels
    >>> refuse_function_of_labels(f1_score)
    Traceback (most recent call last):
    ...
    ValueError: metric=f1_score compares labels, but a metric to train or to tune for
    is a function of the confusion matrix: give its name, such as 'f1', or a callable
    f(tn, fp, fn, tp) or f(M).
    """
    try:
        parameters = inspect.signature(metric).parameters  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return
    if "y_true" in parameters:
        name = getattr(metric, "__name__", repr(metric))
        raise ValueError(
            f"metric={name} compares labels, but a metric to train or to tune for is a "
            "function of the confusion matrix: give its name, such as 'f1', or a "
            "callable f(tn, fp, fn, tp) or f(M)."
        )


def _check_binary(name: str, metric: str) -> None:
    if is_registered_curve(get_metric(name)):
        raise ValueError(
            f"Only binary classification is supported by metric={metric!r}, a metric "
            "over thresholds of two classes; choose a metric of the confusion matrix, "
            "such as "
            f"'f1_macro', or one of {', '.join(matrix_metric_names())}."
        )
    if isinstance(get_metric(name), Average):
        raise ValueError(
            f"metric={metric!r} asks one class for {metric_name(name)!r}, which is an "
            "average over classes; write the metric without the average."
        )


def _position(label: str, classes: Sequence[object], metric: str) -> int:
    """Position of the class that a metric's name contains."""
    texts, text = [str(known) for known in classes], label.strip("'\"")
    if text in texts:
        return texts.index(text)
    try:  # 2 is also 2.0.
        return list(classes).index(float(text))
    except ValueError:
        pass
    raise ValueError(
        f"metric={metric!r} names the class {label!r}, but the classes are "
        f"{', '.join(texts[:20])}."
    )
