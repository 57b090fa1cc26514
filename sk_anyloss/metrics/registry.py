"""Registry of metrics: look one up by name, register one, list the names.

A name stands for one metric, as ``'mcc'`` does, or belongs to a family whose
parameters are part of the name, as ``'f1.5'`` does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from sk_anyloss._names import spelled, unknown
from sk_anyloss.metrics.arithmetic import Metric

__all__ = [
    "curve_names",
    "get_metric",
    "is_registered_curve",
    "metric_name",
    "metric_names",
    "register_curve",
    "register_family",
    "register_metric",
    "registered_spelling",
    "unregister_metric",
]


class _Family(NamedTuple):
    pattern: re.Pattern[str]
    build: Callable[[re.Match[str]], Metric]
    spelling: Callable[[re.Match[str]], str]
    reserved_for: str | None


_METRICS: dict[str, Metric] = {}
_CURVES: dict[str, Metric] = {}
_FAMILIES: list[_Family] = []


def register_metric(
    name: str, *, overwrite: bool = False
) -> Callable[[Metric], Metric]:
    """Decorator that registers a metric under a name.

    Parameters
    ----------
    name : str
        What users will write for it, as in ``AnyLossClassifier(metric=name)``.
    overwrite : bool, default=False
        Whether the name may replace one that is already registered.

    Returns
    -------
    decorator : callable
        Registers the function it is given, and returns it unchanged.

    Examples
    --------
    >>> from sk_anyloss.metrics import get_metric, ratio, register_metric
    >>> from sk_anyloss.metrics import unregister_metric
    >>> @register_metric("npv")
    ... def npv(tn, fp, fn, tp):
    ...     return ratio(tn, tn + fn)
    >>> get_metric("npv")(9, 0, 1, 5)
    0.9
    >>> unregister_metric("npv")
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"A metric's name must be a non-empty string, got {name!r}.")
    taken = spelled(name, [*_METRICS, *_CURVES])
    if taken in _CURVES:
        raise ValueError(
            f"The name {name!r} is taken by a metric over thresholds; choose another."
        )
    if taken in _METRICS and (taken != name or not overwrite):
        raise ValueError(
            f"The metric name {taken!r} is taken; choose another, or pass "
            f"overwrite=True to replace {taken!r}."
        )
    for family in _FAMILIES:
        reserved = family.reserved_for and family.pattern.fullmatch(name)
        if reserved and name not in _METRICS:
            raise ValueError(
                f"The name {name!r} is reserved for {family.reserved_for}."
            )

    def register(metric: Metric) -> Metric:
        if not callable(metric):
            raise TypeError(f"The metric {name!r} must be callable, got {metric!r}.")
        _METRICS[name] = metric
        return metric

    return register


def unregister_metric(name: str) -> None:
    """Remove a metric from the registry.

    Parameters
    ----------
    name : str
        A registered name.

    Examples
    --------
    >>> from sk_anyloss.metrics import register_metric, unregister_metric
    >>> _ = register_metric("constant")(lambda tn, fp, fn, tp: 0.0 * tp)
    >>> unregister_metric("constant")
    """
    if name not in _METRICS:
        raise ValueError(_unknown(name))
    del _METRICS[name]


def register_family(
    pattern: str,
    build: Callable[[re.Match[str]], Metric],
    spelling: Callable[[re.Match[str]], str],
    reserved_for: str | None = None,
) -> None:
    """Register metrics whose parameters are part of their name.

    Parameters
    ----------
    pattern : str
        Regular expression for the whole name, matched without regard to case.
    build : callable
        Makes the metric from the match.
    spelling : callable
        Makes the name in its registered spelling from the match.
    reserved_for : str, default=None
        What to name in the error if a user tries to register a name of the family;
        None permits it.

    Examples
    --------
    :class:`sk_anyloss.metrics.FBeta` is registered as such a family:

    >>> from sk_anyloss.metrics import get_metric, metric_name
    >>> get_metric("F1.5"), metric_name("F1.5")
    (FBeta(beta=1.5), 'f1.5')
    """
    compiled = re.compile(pattern, re.IGNORECASE)
    _FAMILIES.append(_Family(compiled, build, spelling, reserved_for))


def register_curve(name: str, curve: Metric) -> None:
    """Register a metric over thresholds, a :class:`sk_anyloss.metrics.curves.Curve`.

    Parameters
    ----------
    name : str
        What users will write for it.
    curve : Curve
        The metric.

    Examples
    --------
    >>> from sk_anyloss.metrics.curves import RocAuc
    >>> from sk_anyloss.metrics import register_curve
    >>> register_curve("roc_auc", RocAuc())
    """
    _CURVES[name] = curve


def metric_names() -> list[str]:
    """Registered names of the metrics of one confusion matrix.

    :func:`get_metric` also takes any other ``'f<beta>'``, metrics with a constraint,
    and the names of :func:`curve_names`.

    Returns
    -------
    names : list of str
        In alphabetical order.

    Examples
    --------
    >>> from sk_anyloss.metrics import metric_names
    >>> metric_names()[:4]
    ['accuracy', 'balanced_accuracy', 'cohen_kappa', 'f0.5']
    """
    return sorted(_METRICS)


def curve_names() -> list[str]:
    """Registered names of the metrics over thresholds.

    Returns
    -------
    names : list of str
        In alphabetical order.

    Examples
    --------
    >>> from sk_anyloss.metrics import curve_names
    >>> curve_names()
    ['average_precision', 'roc_auc']
    """
    return sorted(_CURVES)


def is_registered_curve(metric: Metric) -> bool:
    """Whether a function is one of the registered metrics over thresholds.

    Examples
    --------
    >>> from sk_anyloss.metrics import RocAuc, recall
    >>> from sk_anyloss.metrics.registry import is_registered_curve
    >>> is_registered_curve(RocAuc()), is_registered_curve(recall)
    (True, False)
    """
    return metric in _CURVES.values()


def get_metric(metric: str | Metric) -> Metric:
    """Look up a metric by name; a callable is returned unchanged.

    Parameters
    ----------
    metric : str or callable
        A registered name, in upper or lower case; ``'f<beta>'`` with any beta such as
        ``'f1.5'``; ``'<goal>@<metric>>=<floor>'`` such as ``'precision@recall>=0.8'``;
        a name of :func:`curve_names`; or a callable ``f(tn, fp, fn, tp)``.

    Returns
    -------
    metric : callable
        The function ``f(tn, fp, fn, tp)``.

    Examples
    --------
    >>> from sk_anyloss.metrics import get_metric
    >>> get_metric("f1")(90, 2, 3, 5)
    0.666...
    >>> get_metric("f1.5")
    FBeta(beta=1.5)
    >>> get_metric("precision@recall>=0.8")
    AtLeast(goal='precision', constraint='recall', floor=0.8)
    """
    if isinstance(metric, str):
        metric = registered_spelling(metric)
        if metric in _METRICS:
            return _METRICS[metric]
        for family in _FAMILIES:
            if match := family.pattern.fullmatch(metric):
                return family.build(match)
        if metric in _CURVES:
            return _CURVES[metric]
        raise ValueError(_unknown(metric))
    if callable(metric):
        return metric
    raise TypeError(
        "metric must be a name or a callable f(tn, fp, fn, tp), got "
        f"{metric!r} of type {type(metric).__name__}."
    )


def metric_name(metric: str | Metric) -> str:
    """Name to display for a metric: the registered one, else its ``__name__``.

    Parameters
    ----------
    metric : str or callable
        As :func:`get_metric` takes it.

    Returns
    -------
    name : str
        The name.

    Examples
    --------
    >>> from sk_anyloss.metrics import FBeta, gmean, metric_name
    >>> metric_name(gmean), metric_name(FBeta(3)), metric_name("mcc")
    ('gmean', 'f3', 'mcc')
    """
    if isinstance(metric, str):
        return registered_spelling(metric)
    for name, registered in (*_METRICS.items(), *_CURVES.items()):
        if registered == metric:
            return name
    return getattr(metric, "__name__", None) or repr(metric)


def registered_spelling(name: str) -> str:
    """The name as it is registered, in whatever case it is written.

    Parameters
    ----------
    name : str
        A name that a user wrote.

    Returns
    -------
    name : str
        Its registered spelling; the name itself if it is unknown.

    Examples
    --------
    >>> from sk_anyloss.metrics.registry import registered_spelling
    >>> registered_spelling("MCC"), registered_spelling("Precision@Recall>=0.8")
    ('mcc', 'precision@recall>=0.8')
    """
    for family in _FAMILIES:
        if match := family.pattern.fullmatch(name):
            return family.spelling(match)
    return spelled(name, [*_METRICS, *_CURVES])


def _unknown(name: str) -> str:
    metric, _, average = registered_spelling(name).rpartition("_")
    families = () if "_" in metric else _FAMILIES
    if metric in _METRICS or any(f.pattern.fullmatch(metric) for f in families):
        if average == "score":  # As functions of scikit-learn are called.
            return f"Unknown metric {name!r}. Did you mean {metric!r}?"
        samples = f"'{metric}_samples' is one of several labels only"
        return (
            f"Unknown metric {name!r}: {average!r} is no average over classes; they "
            f"are '{metric}_macro', '{metric}_weighted' and '{metric}_micro', and "
            f"{samples}."
        )
    otherwise = (
        "or 'f<beta>' for any beta, or an average over classes such as 'f1_macro', or "
        "'kappa_linear' or 'kappa_quadratic' for ordered ones, or "
        "'<goal>@<metric>>=<floor>' such as 'precision@recall>=0.8', or a callable "
        "f(tn, fp, fn, tp)."
    )
    return unknown("metric", name, [*_METRICS, *_CURVES], otherwise)
