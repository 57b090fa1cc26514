"""Confusion-matrix metrics: functions of TN, FP, FN, TP, and their registry.

Every metric is a plain function ``f(tn, fp, fn, tp)``, larger is better. It is
written with ordinary arithmetic only, so the same function takes Python numbers,
numpy arrays and torch tensors, with any leading axes, and can be differentiated.
Nothing is added to the counts. Where a denominator is zero, :func:`ratio` gives
the value 0 with gradient 0.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sk_anyloss._names import spelled, unknown

#: ``f(tn, fp, fn, tp)``; the arguments and the result may be numbers, numpy
#: arrays or tensors, hence ``Any``.
Metric = Callable[[Any, Any, Any, Any], Any]

__all__ = [
    "AtLeast",
    "FBeta",
    "Metric",
    "Savings",
    "accuracy",
    "balanced_accuracy",
    "cohen_kappa",
    "curve_names",
    "depends_on_prevalence",
    "fowlkes_mallows",
    "get_metric",
    "gmean",
    "jaccard",
    "mcc",
    "metric_name",
    "metric_names",
    "precision",
    "ratio",
    "recall",
    "register_curve",
    "register_metric",
    "root",
    "specificity",
    "unregister_metric",
    "youden_j",
]

_REGISTRY: dict[str, Metric] = {}
_CURVES: dict[str, Metric] = {}
_F_BETA = re.compile(r"f(\d+\.?\d*|\.\d+)", re.IGNORECASE)
_AT_LEAST = re.compile(r"([\w.]+) *@ *([\w.]+) *>= *(\d*\.?\d+)")


def ratio(numerator: Any, denominator: Any) -> Any:
    """Divide; where the denominator is 0 the value and the gradient are 0.

    Use it in a metric of your own wherever a sum of counts may be 0.

    Examples
    --------
    >>> from sk_anyloss.metrics import ratio
    >>> ratio(3.0, 4.0), ratio(0.0, 0.0)
    (0.75, 0.0)
    """
    defined = denominator != 0
    return numerator / (denominator + (denominator == 0)) * defined


def root(x: Any) -> Any:
    """Square root whose derivative at exactly 0 is 0 instead of infinity.

    Examples
    --------
    >>> from sk_anyloss.metrics import root
    >>> root(9.0), root(0.0)
    (3.0, 0.0)
    """
    return (x + (x == 0)) ** 0.5 * (x != 0)


def register_metric(
    name: str, *, overwrite: bool = False
) -> Callable[[Metric], Metric]:
    """Decorator that makes a metric known by a name.

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
    if name in _REGISTRY and not overwrite:
        raise ValueError(
            f"The metric name {name!r} is taken; choose another, or pass "
            "overwrite=True to replace it."
        )
    if name not in _REGISTRY and _F_BETA.fullmatch(name):
        raise ValueError(f"The name {name!r} is reserved for the F-beta score.")

    def register(metric: Metric) -> Metric:
        if not callable(metric):
            raise TypeError(f"The metric {name!r} must be callable, got {metric!r}.")
        _REGISTRY[name] = metric
        return metric

    return register


def unregister_metric(name: str) -> None:
    """Forget a registered metric.

    Examples
    --------
    >>> from sk_anyloss.metrics import register_metric, unregister_metric
    >>> _ = register_metric("constant")(lambda tn, fp, fn, tp: 0.0 * tp)
    >>> unregister_metric("constant")
    """
    if name not in _REGISTRY:
        raise ValueError(_unknown(name))
    del _REGISTRY[name]


def metric_names() -> list[str]:
    """Names that :func:`get_metric` knows, besides any other ``'f<beta>'``.

    Examples
    --------
    >>> from sk_anyloss.metrics import metric_names
    >>> metric_names()[:4]
    ['accuracy', 'balanced_accuracy', 'cohen_kappa', 'f0.5']
    """
    return sorted(_REGISTRY)


def register_curve(name: str, curve: Metric) -> None:
    """Make a metric over thresholds, a :class:`sk_anyloss.metrics.curves.Curve`, known.

    Examples
    --------
    >>> from sk_anyloss.metrics.curves import RocAuc
    >>> from sk_anyloss.metrics import register_curve
    >>> register_curve("roc_auc", RocAuc())
    """
    _CURVES[name] = curve


def curve_names() -> list[str]:
    """Names of the metrics over thresholds, which :func:`get_metric` knows too.

    Examples
    --------
    >>> from sk_anyloss.metrics import curve_names
    >>> curve_names()
    ['average_precision', 'roc_auc']
    """
    return sorted(_CURVES)


def get_metric(metric: str | Metric) -> Metric:
    """Look a metric up by name; a callable is handed back as it is.

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
        metric = _spelled(metric)
        if metric in _REGISTRY:
            return _REGISTRY[metric]
        if match := _F_BETA.fullmatch(metric):
            return FBeta(float(match[1]))
        if match := _AT_LEAST.fullmatch(metric):
            return AtLeast(match[1], match[2], float(match[3]))
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
    """Name to show for a metric: its registered name, or what it calls itself.

    Examples
    --------
    >>> from sk_anyloss.metrics import FBeta, gmean, metric_name
    >>> metric_name(gmean), metric_name(FBeta(3)), metric_name("mcc")
    ('gmean', 'f3', 'mcc')
    """
    if isinstance(metric, str):
        return _spelled(metric)
    for name, registered in (*_REGISTRY.items(), *_CURVES.items()):
        if registered == metric:
            return name
    if isinstance(metric, FBeta):
        return f"f{metric.beta:g}"
    if isinstance(metric, AtLeast):
        goal, constraint = metric_name(metric.goal), metric_name(metric.constraint)
        return f"{goal}@{constraint}>={metric.floor:g}"
    return getattr(metric, "__name__", None) or repr(metric)


def depends_on_prevalence(metric: str | Metric) -> bool:
    """Whether a metric changes with the weight of one class, its own rates being equal.

    Recall, specificity and what is made of these two alone, such as G-mean, balanced
    accuracy and Youden's J, do not: no weight of a class can move them.

    Examples
    --------
    >>> from sk_anyloss.metrics import depends_on_prevalence
    >>> depends_on_prevalence("f1"), depends_on_prevalence("gmean")
    (True, False)
    """
    function = get_metric(metric)
    if isinstance(metric, str) and _spelled(metric) in _CURVES:
        return True  # Where to decide is found from the weights of the classes.
    for tn, fp, fn, tp in ((50.0, 4.0, 3.0, 6.0), (9.0, 5.0, 1.0, 8.0)):
        try:
            before = float(function(tn, fp, fn, tp))
            after = float(function(7 * tn, 7 * fp, fn, tp))
        except Exception:  # It is for tensors only.
            return True
        if not math.isclose(before, after, rel_tol=1e-9, abs_tol=1e-12):
            return True
    return False


def _spelled(name: str) -> str:
    """The name as it is registered, whatever the case it is written in."""
    if match := _AT_LEAST.fullmatch(name):
        parts = {match[i]: _spelled(match[i]) for i in (1, 2)}
        return re.sub(r"[\w.]+", lambda part: parts.get(part[0], part[0]), name)
    found = spelled(name, [*_REGISTRY, *_CURVES])
    return found.lower() if _F_BETA.fullmatch(found) else found


def _unknown(name: str) -> str:
    otherwise = (
        "or 'f<beta>' for any beta, or '<goal>@<metric>>=<floor>' such as "
        "'precision@recall>=0.8', or a callable f(tn, fp, fn, tp)."
    )
    return unknown("metric", name, [*_REGISTRY, *_CURVES], otherwise)


def _fractions(tn: Any, fp: Any, fn: Any, tp: Any) -> tuple[Any, Any, Any, Any]:
    # Products of counts overflow where products of fractions do not.
    n = tn + fp + fn + tp
    return ratio(tn, n), ratio(fp, n), ratio(fn, n), ratio(tp, n)


@register_metric("accuracy")
def accuracy(tn: Any, fp: Any, fn: Any, tp: Any) -> Any:
    """Share of right decisions, ``(TP + TN) / (TN + FP + FN + TP)`` (eq. 10).

    Examples
    --------
    >>> from sk_anyloss.metrics import accuracy
    >>> accuracy(90, 2, 3, 5)
    0.95
    """
    return ratio(tp + tn, tn + fp + fn + tp)


@register_metric("recall")
def recall(tn: Any, fp: Any, fn: Any, tp: Any) -> Any:
    """Share of the positives that are found, ``TP / (TP + FN)``.

    Examples
    --------
    >>> from sk_anyloss.metrics import recall
    >>> recall(90, 2, 3, 5)
    0.625
    """
    return ratio(tp, tp + fn)


@register_metric("specificity")
def specificity(tn: Any, fp: Any, fn: Any, tp: Any) -> Any:
    """Share of the negatives that are left alone, ``TN / (TN + FP)``.

    Examples
    --------
    >>> from sk_anyloss.metrics import specificity
    >>> specificity(90, 10, 3, 5)
    0.9
    """
    return ratio(tn, tn + fp)


@register_metric("precision")
def precision(tn: Any, fp: Any, fn: Any, tp: Any) -> Any:
    """Share of the alarms that are right, ``TP / (TP + FP)``.

    Examples
    --------
    >>> from sk_anyloss.metrics import precision
    >>> precision(90, 5, 3, 5)
    0.5
    """
    return ratio(tp, tp + fp)


@register_metric("balanced_accuracy")
def balanced_accuracy(tn: Any, fp: Any, fn: Any, tp: Any) -> Any:
    """Mean of recall and specificity, ``(TPR + TNR) / 2`` (eq. 10).

    As in scikit-learn, a class without rows is left out of the mean.

    Examples
    --------
    >>> from sk_anyloss.metrics import balanced_accuracy
    >>> balanced_accuracy(90, 10, 3, 5)
    0.7625
    """
    classes = ((tp + fn) != 0) * 1.0 + ((tn + fp) != 0) * 1.0
    return ratio(recall(tn, fp, fn, tp) + specificity(tn, fp, fn, tp), classes)


@dataclass(frozen=True)
class FBeta:
    """F-beta score, ``(1 + b^2) TP / ((1 + b^2) TP + FP + b^2 FN)`` (eq. 10).

    Parameters
    ----------
    beta : float, default=1
        How many times as much recall matters as precision; at least 0.

    Examples
    --------
    >>> from sk_anyloss.metrics import FBeta
    >>> FBeta(2)(90, 4, 0, 4)
    0.833...
    """

    beta: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.beta < float("inf"):
            raise ValueError(f"beta must be at least 0 and finite, got {self.beta!r}.")

    def __call__(self, tn: Any, fp: Any, fn: Any, tp: Any) -> Any:
        beta2 = self.beta**2
        hits = (1 + beta2) * tp
        return ratio(hits, hits + fp + beta2 * fn)

    def slopes(
        self, tn: float, fp: float, fn: float, tp: float
    ) -> tuple[float, float, float]:
        """What :func:`sk_anyloss.metrics.derivatives.value_and_slopes` finds, at once.

        Every step of a training asks for it, and F1 is what most are trained for.
        """
        beta2 = self.beta**2
        hits = (1 + beta2) * tp
        whole = hits + fp + beta2 * fn
        if whole == 0:
            return 0.0, 0.0, 0.0
        value = hits / whole
        return value, (1 + beta2 - value) / whole, -value / whole


@dataclass(frozen=True)
class AtLeast:
    """The best of one metric subject to a floor under another.

    Where the constraint is met, the value is that of the goal; where it is missed, it
    is below 0 by how much: ``AtLeast('precision', 'recall', 0.8)`` gives 0.62 for a
    precision of 0.62 at a recall of 0.8 or more, and -0.05 for a recall of 0.75. Also
    by name, as ``'precision@recall>=0.8'``.

    Parameters
    ----------
    goal : str or callable, default='precision'
        What to maximise; a metric that is never below 0.
    constraint : str or callable, default='recall'
        What has to reach the floor.
    floor : float, default=0.8
        The floor, in (0, 1).

    Examples
    --------
    >>> from sk_anyloss.metrics import AtLeast
    >>> goal = AtLeast("precision", "recall", 0.75)
    >>> goal(90, 2, 1, 6), round(goal(90, 2, 3, 5), 3)
    (0.75, -0.125)
    >>> goal.both(90, 2, 1, 6)  # Precision and recall.
    (0.75, 0.857...)
    """

    goal: str | Metric = "precision"
    constraint: str | Metric = "recall"
    floor: float = 0.8

    def __post_init__(self) -> None:
        if not 0 < self.floor < 1:
            raise ValueError(
                f"The floor under {self.constraint!r} must lie in (0, 1), got "
                f"{self.floor!r}."
            )
        for metric in (self.goal, self.constraint):
            if get_metric(metric) in _CURVES.values():
                raise ValueError(
                    f"{metric!r} is a metric over thresholds; a constraint and its "
                    "goal are metrics of one confusion matrix."
                )

    def both(self, tn: Any, fp: Any, fn: Any, tp: Any) -> tuple[Any, Any]:
        """The goal and the constrained metric."""
        goal, constraint = get_metric(self.goal), get_metric(self.constraint)
        return goal(tn, fp, fn, tp), constraint(tn, fp, fn, tp)

    def __call__(self, tn: Any, fp: Any, fn: Any, tp: Any) -> Any:
        return self.of(*self.both(tn, fp, fn, tp))

    def of(self, goal: Any, held: Any) -> Any:
        """The value that belongs to both numbers."""
        missed = held - self.floor
        met = missed >= -1e-9  # Sums of weights are rounded.
        return goal * met + missed * (missed < -1e-9)


@dataclass(frozen=True)
class Savings:
    """What decisions save of the highest cost, as a share of what can be saved.

    1 if every row has the decision that costs least, 0 if every row has the other.

    Parameters
    ----------
    fp, fn : float, default=1
        Cost of a false alarm and of a missed positive.
    tn, tp : float, default=0
        Cost of right decisions; a negative one is a gain.

    Examples
    --------
    >>> from sk_anyloss.metrics import Savings
    >>> Savings(fp=1, fn=20)(90, 4, 1, 5)
    0.887...
    """

    fp: float = 1.0
    fn: float = 1.0
    tn: float = 0.0
    tp: float = 0.0

    def __post_init__(self) -> None:
        costs = (self.fp, self.fn, self.tn, self.tp)
        if not all(-float("inf") < cost < float("inf") for cost in costs):
            raise ValueError(f"Costs must be finite numbers, got {self!r}.")
        if self.fp == self.tn and self.fn == self.tp:
            raise ValueError(
                f"{self!r} costs the same whatever is decided; give a cost to false "
                "alarms or to missed positives."
            )

    def __call__(self, tn: Any, fp: Any, fn: Any, tp: Any) -> Any:
        # Of each class, how many have the cheaper decision, and what that saves.
        negatives, positives = self.fp - self.tn, self.fn - self.tp
        saved = abs(negatives) * (tn if negatives > 0 else fp)
        saved = saved + abs(positives) * (tp if positives > 0 else fn)
        most = abs(negatives) * (tn + fp) + abs(positives) * (fn + tp)
        return ratio(saved, most)


for _beta in (0.5, 1.0, 2.0):
    _REGISTRY[f"f{_beta:g}"] = FBeta(_beta)


@register_metric("gmean")
def gmean(tn: Any, fp: Any, fn: Any, tp: Any) -> Any:
    """Geometric mean of recall and specificity, ``sqrt(TPR * TNR)`` (eq. 10).

    Examples
    --------
    >>> from sk_anyloss.metrics import gmean
    >>> gmean(64, 36, 1, 1)
    0.565...
    """
    return root(recall(tn, fp, fn, tp) * specificity(tn, fp, fn, tp))


@register_metric("jaccard")
def jaccard(tn: Any, fp: Any, fn: Any, tp: Any) -> Any:
    """Jaccard index or critical success index, ``TP / (TP + FP + FN)``.

    Examples
    --------
    >>> from sk_anyloss.metrics import jaccard
    >>> jaccard(90, 2, 3, 5)
    0.5
    """
    return ratio(tp, tp + fp + fn)


@register_metric("mcc")
def mcc(tn: Any, fp: Any, fn: Any, tp: Any) -> Any:
    """Matthews correlation coefficient, from -1 to 1.

    ``(TP TN - FP FN) / sqrt((TP + FP)(TP + FN)(TN + FP)(TN + FN))``

    Examples
    --------
    >>> from sk_anyloss.metrics import mcc
    >>> mcc(90, 2, 3, 5)
    0.641...
    """
    tn, fp, fn, tp = _fractions(tn, fp, fn, tp)
    predicted = (tp + fp) * (tn + fn)
    actual = (tp + fn) * (tn + fp)
    return ratio(tp * tn - fp * fn, root(predicted) * root(actual))


@register_metric("cohen_kappa")
def cohen_kappa(tn: Any, fp: Any, fn: Any, tp: Any) -> Any:
    """Cohen's kappa or Heidke skill score, agreement above chance.

    ``2 (TP TN - FP FN) / ((TP + FP)(FP + TN) + (TP + FN)(FN + TN))``

    Examples
    --------
    >>> from sk_anyloss.metrics import cohen_kappa
    >>> cohen_kappa(90, 2, 3, 5)
    0.639...
    """
    tn, fp, fn, tp = _fractions(tn, fp, fn, tp)
    chance = (tp + fp) * (fp + tn) + (tp + fn) * (fn + tn)
    return ratio(2 * (tp * tn - fp * fn), chance)


@register_metric("youden_j")
def youden_j(tn: Any, fp: Any, fn: Any, tp: Any) -> Any:
    """Youden's J or true skill statistic, ``TPR + TNR - 1``.

    Examples
    --------
    >>> from sk_anyloss.metrics import youden_j
    >>> youden_j(75, 25, 1, 3)
    0.5
    """
    return recall(tn, fp, fn, tp) + specificity(tn, fp, fn, tp) - 1


@register_metric("fowlkes_mallows")
def fowlkes_mallows(tn: Any, fp: Any, fn: Any, tp: Any) -> Any:
    """Geometric mean of precision and recall, ``TP / sqrt((TP + FP)(TP + FN))``.

    Examples
    --------
    >>> from sk_anyloss.metrics import fowlkes_mallows
    >>> fowlkes_mallows(90, 5, 5, 5)
    0.5
    """
    return root(precision(tn, fp, fn, tp) * recall(tn, fp, fn, tp))
