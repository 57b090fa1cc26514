"""How complex a method is, for a choice between those of about the same score."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection import TunedThresholdClassifierCV

from sk_anyloss.compare.methods.registry import get_method
from sk_anyloss.estimators.classifier import AnyLossClassifier
from sk_anyloss.estimators.tuned_decision import TunedDecisionClassifier
from sk_anyloss.search.search import AnyLossClassifierCV

__all__ = ["complexity"]

#: Models from the simplest one, by the modules of their classes and base classes.
MODULES: tuple[tuple[str, ...], ...] = (
    (
        "sklearn.dummy",
        "sklearn.linear_model",
        "sklearn.naive_bayes",
        "sklearn.discriminant_analysis",
    ),
    (
        "sklearn.neural_network",
        "sklearn.neighbors",
        "sklearn.svm",
        "sklearn.tree",
        "skorch",
    ),
    ("sklearn.ensemble", "imblearn.ensemble", "lightgbm", "xgboost", "catboost"),
)
NETWORK, SEARCH, UNKNOWN = 1, 3, 4
#: What a class weight, a tuned decision and a resampling add.
CLASS_WEIGHT, TUNED, RESAMPLED = 0.1, 0.2, 0.3
#: Seconds of a fit below which methods are equally fast.
SHORT = 0.1


def complexity(method: str, seconds: float = 0.0) -> float:
    """How complex a method is, from its estimator and the seconds of a fit.

    A linear model has 0, a network, a tree or neighbours 1, an ensemble of trees 2, a
    search with an ensemble 3, and a classifier that is not known 4. One that contains
    others is as complex as the most complex of them. Class weights, a tuned decision
    and a resampling add less than 1, and ten times the seconds add 1.

    Parameters
    ----------
    method : str
        Name of the method.
    seconds : float, default=0.0
        Seconds of a fit; all below a tenth of a second count as that.

    Returns
    -------
    complexity : float
        The lower, the simpler.

    Examples
    --------
    >>> from sk_anyloss.compare.methods.simplicity import complexity
    >>> sorted(["anyloss_cv", "histgb", "logistic_smote", "logistic"], key=complexity)
    ['logistic', 'logistic_smote', 'histgb', 'anyloss_cv']
    """
    parts = list(_parts(get_method(method).build("f1", 0)))
    models = [level for part in parts if (level := _level(part)) is not None]
    added = max(map(_added, parts))
    return max(models, default=UNKNOWN) + added + np.log10(max(seconds, SHORT) / SHORT)


def _parts(estimator: object) -> Iterator[BaseEstimator]:
    """An estimator and all that are in its parameters."""
    if isinstance(estimator, (list, tuple)):
        for part in estimator:
            yield from _parts(part)
    elif hasattr(estimator, "get_params") and not isinstance(estimator, type):
        yield estimator
        for value in estimator.get_params(deep=False).values():
            yield from _parts(value)


def _level(estimator: BaseEstimator) -> int | None:
    if isinstance(estimator, AnyLossClassifierCV):
        return SEARCH
    if isinstance(estimator, AnyLossClassifier):
        return NETWORK
    modules = [cls.__module__ for cls in type(estimator).__mro__]
    for level, names in enumerate(MODULES):
        if any(f"{module}.".startswith(f"{n}.") for module in modules for n in names):
            return level
    return None


def _added(estimator: BaseEstimator) -> float:
    if hasattr(estimator, "fit_resample"):
        return RESAMPLED
    if isinstance(estimator, (TunedThresholdClassifierCV, TunedDecisionClassifier)):
        return TUNED
    params = estimator.get_params(deep=False)
    return CLASS_WEIGHT if params.get("class_weight") or params.get("balanced") else 0.0
