"""Metrics of one confusion matrix, as functions of TN, FP, FN and TP.

Every metric is a plain function ``f(tn, fp, fn, tp)``, larger is better. It is written
with ordinary arithmetic only, so the same function takes Python numbers, numpy arrays
and torch tensors, with any leading axes, and can be differentiated. No smoothing
constant is added to the counts; where a denominator is 0,
:func:`sk_anyloss.metrics.ratio` gives the value 0 with gradient 0.

Equations are numbered as in Han, Moniz and Chawla, "AnyLoss: Transforming
Classification Metrics into Loss Functions", KDD 2024.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sk_anyloss.metrics.arithmetic import Count, Metric, ratio, root
from sk_anyloss.metrics.registry import (
    curve_names,
    get_metric,
    register_family,
    register_metric,
    registered_spelling,
)

__all__ = [
    "FBeta",
    "Savings",
    "accuracy",
    "balanced_accuracy",
    "cohen_kappa",
    "depends_on_prevalence",
    "fowlkes_mallows",
    "gmean",
    "jaccard",
    "mcc",
    "precision",
    "recall",
    "specificity",
    "youden_j",
]


@register_metric("accuracy")
def accuracy(tn: Count, fp: Count, fn: Count, tp: Count) -> Count:
    """Fraction of correct decisions, ``(TP + TN) / (TN + FP + FN + TP)``.

    Equation 10 of the paper on AnyLoss.

    Examples
    --------
    >>> from sk_anyloss.metrics import accuracy
    >>> accuracy(90, 2, 3, 5)
    0.95
    """
    return ratio(tp + tn, tn + fp + fn + tp)


@register_metric("recall")
def recall(tn: Count, fp: Count, fn: Count, tp: Count) -> Count:
    """True positive rate or sensitivity, ``TP / (TP + FN)``.

    Examples
    --------
    >>> from sk_anyloss.metrics import recall
    >>> recall(90, 2, 3, 5)
    0.625
    """
    return ratio(tp, tp + fn)


@register_metric("specificity")
def specificity(tn: Count, fp: Count, fn: Count, tp: Count) -> Count:
    """True negative rate, ``TN / (TN + FP)``.

    Examples
    --------
    >>> from sk_anyloss.metrics import specificity
    >>> specificity(90, 10, 3, 5)
    0.9
    """
    return ratio(tn, tn + fp)


@register_metric("precision")
def precision(tn: Count, fp: Count, fn: Count, tp: Count) -> Count:
    """Positive predictive value, ``TP / (TP + FP)``.

    Examples
    --------
    >>> from sk_anyloss.metrics import precision
    >>> precision(90, 5, 3, 5)
    0.5
    """
    return ratio(tp, tp + fp)


@register_metric("balanced_accuracy")
def balanced_accuracy(tn: Count, fp: Count, fn: Count, tp: Count) -> Count:
    """Mean of recall and specificity, ``(TPR + TNR) / 2``.

    Equation 10 of the paper on AnyLoss.

    As in scikit-learn, a class without samples is left out of the mean.

    Examples
    --------
    >>> from sk_anyloss.metrics import balanced_accuracy
    >>> balanced_accuracy(90, 10, 3, 5)
    0.7625
    """
    classes = ((tp + fn) != 0) * 1.0 + ((tn + fp) != 0) * 1.0
    return ratio(recall(tn, fp, fn, tp) + specificity(tn, fp, fn, tp), classes)


@register_metric("gmean")
def gmean(tn: Count, fp: Count, fn: Count, tp: Count) -> Count:
    """Geometric mean of recall and specificity, ``sqrt(TPR * TNR)``.

    Equation 10 of the paper on AnyLoss.

    Examples
    --------
    >>> from sk_anyloss.metrics import gmean
    >>> gmean(64, 36, 1, 1)
    0.565...
    """
    return root(recall(tn, fp, fn, tp) * specificity(tn, fp, fn, tp))


@register_metric("youden_j")
def youden_j(tn: Count, fp: Count, fn: Count, tp: Count) -> Count:
    """Youden's J or true skill statistic, ``TPR + TNR - 1``.

    Examples
    --------
    >>> from sk_anyloss.metrics import youden_j
    >>> youden_j(75, 25, 1, 3)
    0.5
    """
    return recall(tn, fp, fn, tp) + specificity(tn, fp, fn, tp) - 1


@register_metric("jaccard")
def jaccard(tn: Count, fp: Count, fn: Count, tp: Count) -> Count:
    """Jaccard index or critical success index, ``TP / (TP + FP + FN)``.

    Examples
    --------
    >>> from sk_anyloss.metrics import jaccard
    >>> jaccard(90, 2, 3, 5)
    0.5
    """
    return ratio(tp, tp + fp + fn)


@register_metric("fowlkes_mallows")
def fowlkes_mallows(tn: Count, fp: Count, fn: Count, tp: Count) -> Count:
    """Geometric mean of precision and recall, ``TP / sqrt((TP + FP)(TP + FN))``.

    Examples
    --------
    >>> from sk_anyloss.metrics import fowlkes_mallows
    >>> fowlkes_mallows(90, 5, 5, 5)
    0.5
    """
    return root(precision(tn, fp, fn, tp) * recall(tn, fp, fn, tp))


@register_metric("mcc")
def mcc(tn: Count, fp: Count, fn: Count, tp: Count) -> Count:
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
def cohen_kappa(tn: Count, fp: Count, fn: Count, tp: Count) -> Count:
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


def _fractions(
    tn: Count, fp: Count, fn: Count, tp: Count
) -> tuple[Count, Count, Count, Count]:
    # Products of counts overflow where products of fractions do not.
    n = tn + fp + fn + tp
    return ratio(tn, n), ratio(fp, n), ratio(fn, n), ratio(tp, n)


@dataclass(frozen=True)
class FBeta:
    """F-beta score, ``(1 + b^2) TP / ((1 + b^2) TP + FP + b^2 FN)``.

    Equation 10 of the paper on AnyLoss.

    Parameters
    ----------
    beta : float, default=1
        How many times as important recall is as precision; at least 0.

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

    @property
    def __name__(self) -> str:
        return f"f{self.beta:g}"

    def __call__(self, tn: Count, fp: Count, fn: Count, tp: Count) -> Count:
        beta2 = self.beta**2
        numerator = (1 + beta2) * tp
        return ratio(numerator, numerator + fp + beta2 * fn)

    def value_and_derivatives(
        self, tn: Count, fp: Count, fn: Count, tp: Count
    ) -> tuple[Count, Count, Count]:
        """Closed form of :func:`sk_anyloss.metrics.derivatives.value_and_derivatives`.

        It is faster than dual numbers, and F1 is the most common training objective.

        Parameters
        ----------
        tn, fp, fn, tp : float or ndarray
            The counts.

        Returns
        -------
        value, positives, negatives : float or ndarray
            The score, ``f_TP - f_FN`` and ``f_FP - f_TN``.
        """
        beta2 = self.beta**2
        numerator = (1 + beta2) * tp
        denominator = numerator + fp + beta2 * fn
        is_defined = denominator != 0
        denominator = denominator + (denominator == 0)
        value = numerator / denominator
        positives = (1 + beta2 - value) / denominator * is_defined
        return value, positives, -value / denominator


# Before the family, which reserves these names.
for _beta in (0.5, 1.0, 2.0):
    register_metric(f"f{_beta:g}")(FBeta(_beta))

register_family(
    r"f(\d+(?:\.\d*)?|\.\d+)",
    build=lambda match: FBeta(float(match[1])),
    spelling=lambda match: match[0].lower(),
    reserved_for="the F-beta score",
)


@dataclass(frozen=True)
class Savings:
    """Cost that is saved, as a fraction of the cost that can be saved.

    ``(C_max - C) / (C_max - C_min)`` with the cost C of the decisions. The value is 1
    if every sample gets its cheaper decision, and 0 if every sample gets the other.

    Parameters
    ----------
    fp, fn : float, default=1
        Cost of a false positive and of a false negative.
    tn, tp : float, default=0
        Cost of a correct decision; a negative cost is a gain.

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
                "positives or to false negatives."
            )

    def __call__(self, tn: Count, fp: Count, fn: Count, tp: Count) -> Count:
        # In each class, the samples with the cheaper decision save the difference.
        negatives, positives = self.fp - self.tn, self.fn - self.tp
        saved = abs(negatives) * (tn if negatives > 0 else fp)
        saved = saved + abs(positives) * (tp if positives > 0 else fn)
        most = abs(negatives) * (tn + fp) + abs(positives) * (fn + tp)
        return ratio(saved, most)


def depends_on_prevalence(metric: str | Metric) -> bool:
    """Whether a metric changes with the prevalence while TPR and TNR stay the same.

    Recall, specificity and functions of these two alone, such as G-mean, balanced
    accuracy and Youden's J, do not, so that class weights cannot change their value.

    Parameters
    ----------
    metric : str or callable
        As :func:`sk_anyloss.metrics.get_metric` takes it.

    Returns
    -------
    depends : bool
        Also True for what cannot be evaluated on numbers.

    Examples
    --------
    >>> from sk_anyloss.metrics import depends_on_prevalence
    >>> depends_on_prevalence("f1"), depends_on_prevalence("gmean")
    (True, False)
    """
    function = get_metric(metric)
    if isinstance(metric, str) and registered_spelling(metric) in curve_names():
        return True  # The decision threshold is tuned with the class weights.
    for tn, fp, fn, tp in ((50.0, 4.0, 3.0, 6.0), (9.0, 5.0, 1.0, 8.0)):
        try:
            before = float(function(tn, fp, fn, tp))
            after = float(function(7 * tn, 7 * fp, fn, tp))
        except Exception:  # It takes tensors only.
            return True
        if not math.isclose(before, after, rel_tol=1e-9, abs_tol=1e-12):
            return True
    return False
