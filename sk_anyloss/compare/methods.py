"""The methods that can be compared, by name. One line adds another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from imblearn.ensemble import (
    BalancedRandomForestClassifier,
    EasyEnsembleClassifier,
    RUSBoostClassifier,
)
from imblearn.over_sampling import SMOTE
from imblearn.pipeline import make_pipeline
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from sk_anyloss._names import unknown
from sk_anyloss.baselines import get_baseline, tuned_threshold
from sk_anyloss.estimators.classifier import AnyLossClassifier
from sk_anyloss.metrics import Metric
from sk_anyloss.search.search import AnyLossClassifierCV

__all__ = [
    "Method",
    "default_methods",
    "get_method",
    "method_names",
    "register_method",
    "unregister_method",
]

#: ``build(metric, seed)`` makes an estimator for numbers without gaps.
Build = Callable[[Any, int], BaseEstimator]


@dataclass(frozen=True)
class Method:
    """A method to compare.

    Parameters
    ----------
    name : str
        What it is asked for by.
    title : str
        What tables and pictures call it.
    build : callable
        ``build(metric, seed)`` makes the estimator.
    ours : bool
        Whether it trains on the metric.
    usual : bool
        Whether it is among those that are compared by default.
    """

    name: str
    title: str
    build: Build
    ours: bool = False
    usual: bool = False


_REGISTRY: dict[str, Method] = {}


def register_method(
    name: str, build: Build, title: str | None = None, **flags: bool
) -> Method:
    """Add a method.

    Parameters
    ----------
    name : str
        What it is asked for by.
    build : callable
        ``build(metric, seed)`` makes an estimator for numbers without gaps.
    title : str, default=None
        What tables and pictures call it; the name by default.
    **flags
        ``ours`` and ``usual``, as in :class:`Method`.

    Returns
    -------
    method : Method
        As it is now known.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sk_anyloss.compare.methods import register_method, unregister_method
    >>> register_method("naive_bayes", lambda metric, seed: GaussianNB()).title
    'naive_bayes'
    >>> unregister_method("naive_bayes")
    """
    _REGISTRY[name] = Method(name, title or name, build, **flags)
    return _REGISTRY[name]


def unregister_method(name: str) -> None:
    """Take a method out again."""
    del _REGISTRY[name]


def method_names() -> list[str]:
    """Names of all methods, in the order of their kinds.

    Examples
    --------
    >>> from sk_anyloss.compare.methods import method_names
    >>> method_names()[:3]
    ['anyloss_cv', 'anyloss', 'sol']
    """
    return list(_REGISTRY)


def default_methods() -> list[str]:
    """Names of those that are compared unless one says otherwise.

    Examples
    --------
    >>> from sk_anyloss.compare.methods import default_methods
    >>> len(default_methods())
    12
    """
    return [name for name, method in _REGISTRY.items() if method.usual]


def get_method(name: str) -> Method:
    """The method of that name.

    Examples
    --------
    >>> from sk_anyloss.compare.methods import get_method
    >>> get_method("histgb_threshold").title
    'HistGB, tuned threshold'
    """
    if name not in _REGISTRY:
        raise ValueError(unknown("method", name, _REGISTRY, "or 'all' for all."))
    return _REGISTRY[name]


def _scaled(*steps: BaseEstimator) -> BaseEstimator:
    return make_pipeline(StandardScaler(), *steps)


def _logistic(**params: Any) -> LogisticRegression:
    return LogisticRegression(max_iter=2000, **params)


HistGB = HistGradientBoostingClassifier


def _register_all() -> None:
    def ours(name: str, title: str, usual: bool = False, **params: Any) -> None:
        def build(metric: str | Metric, seed: int) -> BaseEstimator:
            return AnyLossClassifier(metric, random_state=seed, **params)

        register_method(name, build, title, ours=True, usual=usual)

    def network(name: str, title: str, usual: bool = False) -> None:
        def build(metric: str | Metric, seed: int) -> BaseEstimator:
            return get_baseline(name, metric, random_state=seed)

        register_method(name, build, title, usual=usual)

    register_method(
        "anyloss_cv",
        lambda metric, seed: AnyLossClassifierCV(metric, random_state=seed),
        "AnyLossCV",
        ours=True,
        usual=True,
    )
    ours("anyloss", "AnyLoss", usual=True)
    ours("sol", "SOL (cosine step)", step="cosine")
    ours("soft_sets", "soft sets (linear step)", step="linear")
    ours("soft_f1", "soft counts (identity step)", step="identity")
    network("bce", "BCE")
    network("mse", "MSE")
    network("bce_class_weight", "BCE, class weights", usual=True)
    register_method(
        "surrogate_fbeta",
        lambda metric, seed: AnyLossClassifier(
            metric, loss="surrogate_fbeta", lr=0.05, random_state=seed
        ),
        "surrogate F-beta",
    )
    network("bce_smote", "BCE + SMOTE", usual=True)
    network("bce_borderline_smote", "BCE + Borderline-SMOTE")
    network("bce_adasyn", "BCE + ADASYN")
    network("bce_over", "BCE + over-sampling")
    network("bce_under", "BCE + under-sampling", usual=True)
    network("bce_smote_enn", "BCE + SMOTE-ENN")
    network("bce_threshold", "BCE, tuned threshold")
    families: dict[str, tuple[str, Callable[..., BaseEstimator], Any]] = {
        "logistic": ("logistic", _logistic, _scaled),
        "histgb": ("HistGB", HistGB, make_pipeline),
    }
    for name, (title, make, pipeline) in families.items():
        _register_family(name, title, make, pipeline)
    for name, title, kind in (
        ("balanced_forest", "balanced forest", BalancedRandomForestClassifier),
        ("easy_ensemble", "EasyEnsemble", EasyEnsembleClassifier),
        ("rusboost", "RUSBoost", RUSBoostClassifier),
    ):
        build = partial(_seeded, kind)
        register_method(name, build, title, usual=name != "rusboost")


def _seeded(kind: Any, metric: str | Metric, seed: int) -> BaseEstimator:
    return kind(random_state=seed)


def _register_family(
    name: str, title: str, make: Callable[..., BaseEstimator], pipeline: Any
) -> None:
    """Plain, balanced, behind SMOTE, and with a tuned threshold."""
    register_method(name, lambda metric, seed: pipeline(make(random_state=seed)), title)
    register_method(
        f"{name}_balanced",
        lambda metric, seed: pipeline(make(class_weight="balanced", random_state=seed)),
        f"{title}, balanced",
        usual=True,
    )
    register_method(
        f"{name}_smote",
        # It looks for neighbours, so columns must be on one scale.
        lambda metric, seed: _scaled(SMOTE(random_state=seed), make(random_state=seed)),
        f"{title} + SMOTE",
        usual=name == "histgb",
    )
    register_method(
        f"{name}_threshold",
        lambda metric, seed: tuned_threshold(
            pipeline(make(random_state=seed)), metric, random_state=seed
        ),
        f"{title}, tuned threshold",
        usual=True,
    )


_register_all()
