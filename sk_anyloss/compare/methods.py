"""Registry of the methods that can be compared, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

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

#: ``build(metric, seed)`` makes a classifier for numbers without missing values.
Build: TypeAlias = Callable[[str | Metric, int], BaseEstimator]
#: Makes a classifier from its parameters.
MakeClassifier: TypeAlias = Callable[..., BaseEstimator]


@dataclass(frozen=True)
class Method:
    """A method to compare.

    Parameters
    ----------
    name : str
        Name by which it is selected.
    title : str
        Name in tables and figures.
    build : callable
        ``build(metric, seed)`` makes the classifier.
    optimizes_metric : bool, default=False
        Whether it is trained on the metric itself; verdicts compare such a method with
        the others.
    default : bool, default=False
        Whether it is compared by default.

    Examples
    --------
    >>> from sk_anyloss.compare import get_method
    >>> get_method("anyloss").optimizes_metric
    True
    """

    name: str
    title: str
    build: Build
    optimizes_metric: bool = False
    default: bool = False


_REGISTRY: dict[str, Method] = {}


def register_method(
    name: str,
    build: Build,
    title: str | None = None,
    *,
    optimizes_metric: bool = False,
    default: bool = False,
) -> Method:
    """Register a method, or replace the one of that name.

    Parameters
    ----------
    name : str
        Name by which it is selected.
    build : callable
        ``build(metric, seed)`` makes a classifier for numeric features without missing
        values.
    title : str, default=None
        Name in tables and figures; ``name`` by default.
    optimizes_metric : bool, default=False
        Whether it is trained on the metric itself.
    default : bool, default=False
        Whether it is compared by default.

    Returns
    -------
    method : Method
        The registered method.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sk_anyloss.compare import register_method, unregister_method
    >>> register_method("naive_bayes", lambda metric, seed: GaussianNB()).title
    'naive_bayes'
    >>> unregister_method("naive_bayes")
    """
    _REGISTRY[name] = Method(name, title or name, build, optimizes_metric, default)
    return _REGISTRY[name]


def unregister_method(name: str) -> None:
    """Remove a method from the registry.

    Parameters
    ----------
    name : str
        Name of a registered method.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sk_anyloss.compare import register_method, unregister_method
    >>> method = register_method("naive_bayes", lambda metric, seed: GaussianNB())
    >>> unregister_method("naive_bayes")
    """
    del _REGISTRY[name]


def method_names() -> list[str]:
    """Names of all methods, in the order of registration.

    Examples
    --------
    >>> from sk_anyloss.compare import method_names
    >>> method_names()[:3]
    ['anyloss_cv', 'anyloss', 'sol']
    """
    return list(_REGISTRY)


def default_methods() -> list[str]:
    """Names of the methods that are compared by default.

    Examples
    --------
    >>> from sk_anyloss.compare import default_methods
    >>> len(default_methods())
    12
    """
    return [name for name, method in _REGISTRY.items() if method.default]


def get_method(name: str) -> Method:
    """The method of a name.

    Parameters
    ----------
    name : str
        Name of a registered method.

    Returns
    -------
    method : Method
        The method.

    Examples
    --------
    >>> from sk_anyloss.compare import get_method
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
    def anyloss(name: str, title: str, default: bool = False, **params: Any) -> None:
        def build(metric: str | Metric, seed: int) -> BaseEstimator:
            return AnyLossClassifier(metric, random_state=seed, **params)

        register_method(name, build, title, optimizes_metric=True, default=default)

    def baseline(name: str, title: str, default: bool = False) -> None:
        def build(metric: str | Metric, seed: int) -> BaseEstimator:
            return get_baseline(name, metric, random_state=seed)

        register_method(name, build, title, default=default)

    register_method(
        "anyloss_cv",
        lambda metric, seed: AnyLossClassifierCV(metric, random_state=seed),
        "AnyLossCV",
        optimizes_metric=True,
        default=True,
    )
    anyloss("anyloss", "AnyLoss", default=True)
    anyloss("sol", "SOL (cosine step)", step="cosine")
    anyloss("soft_sets", "soft sets (linear step)", step="linear")
    anyloss("soft_f1", "soft counts (identity step)", step="identity")
    baseline("bce", "BCE")
    baseline("mse", "MSE")
    baseline("bce_class_weight", "BCE, class weights", default=True)
    register_method(
        "surrogate_fbeta",
        lambda metric, seed: AnyLossClassifier(
            metric, loss="surrogate_fbeta", lr=0.05, random_state=seed
        ),
        "surrogate F-beta",
    )
    baseline("bce_smote", "BCE + SMOTE", default=True)
    baseline("bce_borderline_smote", "BCE + Borderline-SMOTE")
    baseline("bce_adasyn", "BCE + ADASYN")
    baseline("bce_over", "BCE + over-sampling")
    baseline("bce_under", "BCE + under-sampling", default=True)
    baseline("bce_smote_enn", "BCE + SMOTE-ENN")
    baseline("bce_threshold", "BCE, tuned threshold")
    families: dict[str, tuple[str, MakeClassifier, MakeClassifier]] = {
        "logistic": ("logistic", _logistic, _scaled),
        "histgb": ("HistGB", HistGB, make_pipeline),
    }
    for name, (title, make, make_pipe) in families.items():
        _register_family(name, title, make, make_pipe)
    for name, title, kind in (
        ("balanced_forest", "balanced forest", BalancedRandomForestClassifier),
        ("easy_ensemble", "EasyEnsemble", EasyEnsembleClassifier),
        ("rusboost", "RUSBoost", RUSBoostClassifier),
    ):
        build = partial(_build_with_seed, kind)
        register_method(name, build, title, default=name != "rusboost")


def _build_with_seed(
    make: MakeClassifier, metric: str | Metric, seed: int
) -> BaseEstimator:
    return make(random_state=seed)


def _register_family(
    name: str, title: str, make: MakeClassifier, make_pipe: MakeClassifier
) -> None:
    """Register a classifier as it is, balanced, with SMOTE and a tuned threshold."""
    register_method(
        name, lambda metric, seed: make_pipe(make(random_state=seed)), title
    )
    register_method(
        f"{name}_balanced",
        lambda metric, seed: make_pipe(
            make(class_weight="balanced", random_state=seed)
        ),
        f"{title}, balanced",
        default=True,
    )
    register_method(
        f"{name}_smote",
        # SMOTE uses distances, so the features must be on one scale.
        lambda metric, seed: _scaled(SMOTE(random_state=seed), make(random_state=seed)),
        f"{title} + SMOTE",
        default=name == "histgb",
    )
    register_method(
        f"{name}_threshold",
        lambda metric, seed: tuned_threshold(
            make_pipe(make(random_state=seed)), metric, random_state=seed
        ),
        f"{title}, tuned threshold",
        default=True,
    )


_register_all()
