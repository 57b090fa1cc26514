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
from imblearn.pipeline import make_pipeline
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from sk_anyloss._names import unknown
from sk_anyloss.baselines import SmallClassesSMOTE, get_baseline, tuned_threshold
from sk_anyloss.compare.methods import boosting
from sk_anyloss.estimators.classifier import AnyLossClassifier
from sk_anyloss.estimators.tuned_decision import TunedDecisionClassifier
from sk_anyloss.metrics import Metric
from sk_anyloss.search.search import AnyLossClassifierCV

__all__ = [
    "Method",
    "default_methods",
    "get_method",
    "method_for_classes",
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
    classes : {'any', 'two', 'more'}, default='any'
        Whether it is for any number of classes, for two, or for more than two.

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
    classes: str = "any"


_REGISTRY: dict[str, Method] = {}


def register_method(
    name: str,
    build: Build,
    title: str | None = None,
    *,
    optimizes_metric: bool = False,
    default: bool = False,
    classes: str = "any",
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
    classes : {'any', 'two', 'more'}, default='any'
        Whether it is for any number of classes, for two, or for more than two.

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
    if classes not in ("any", "two", "more"):
        raise ValueError(f"classes must be 'any', 'two' or 'more', got {classes!r}.")
    method = Method(name, title or name, build, optimizes_metric, default, classes)
    _REGISTRY[name] = method
    return method


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

    Returns
    -------
    names : list of str
        Those of the package, then those that were registered.

    Examples
    --------
    >>> from sk_anyloss.compare import method_names
    >>> method_names()[:3]
    ['anyloss_cv', 'anyloss', 'sol']
    """
    return list(_REGISTRY)


def default_methods(n_classes: int = 2) -> list[str]:
    """Names of the methods that are compared by default.

    Parameters
    ----------
    n_classes : int, default=2
        Number of classes.

    Returns
    -------
    names : list of str
        Some of :func:`method_names`.

    Examples
    --------
    >>> from sk_anyloss.compare import default_methods
    >>> len(default_methods())
    12
    """
    return [
        name
        for name, method in _REGISTRY.items()
        if method.default and method_for_classes(name, n_classes) == name
    ]


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
        boosting.check_installed(name)
        raise ValueError(unknown("method", name, _REGISTRY, "or 'all' for all."))
    return _REGISTRY[name]


def method_for_classes(name: str, n_classes: int) -> str | None:
    """The method to compare for a number of classes.

    Parameters
    ----------
    name : str
        Name of a registered method.
    n_classes : int
        Number of classes.

    Returns
    -------
    name : str or None
        The method itself; for more than two classes the method with tuned offsets in
        place of one with a tuned threshold; None if there is none.

    Examples
    --------
    >>> from sk_anyloss.compare.methods.registry import method_for_classes
    >>> method_for_classes("histgb", 3), method_for_classes("histgb_threshold", 3)
    ('histgb', 'histgb_offsets')
    """
    fitting = ("any", "two") if n_classes == 2 else ("any", "more")
    if get_method(name).classes in fitting:
        return name
    counterpart = f"{name.removesuffix('_threshold')}_offsets"
    if n_classes == 2 or counterpart not in _REGISTRY:
        return None
    return counterpart


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
        classes="two",
    )
    baseline("bce_smote", "BCE + SMOTE", default=True)
    baseline("bce_borderline_smote", "BCE + Borderline-SMOTE")
    baseline("bce_adasyn", "BCE + ADASYN")
    baseline("bce_over", "BCE + over-sampling")
    baseline("bce_under", "BCE + under-sampling", default=True)
    baseline("bce_smote_enn", "BCE + SMOTE-ENN")
    _register_tuned(
        "bce",
        "BCE",
        lambda metric, seed: get_baseline("bce", metric, random_state=seed),
    )
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
    for name, title in boosting.installed_boosting().items():
        _register_boosting(name, title)


def _register_boosting(name: str, title: str) -> None:
    """Register a boosting library as it is, balanced, and with a tuned threshold."""

    def build(metric: str | Metric, seed: int) -> BaseEstimator:
        return boosting.make_boosting(name, seed)

    register_method(name, build, title)
    register_method(
        f"{name}_balanced",
        lambda metric, seed: boosting.make_boosting(name, seed, balanced=True),
        f"{title}, balanced",
    )
    _register_tuned(name, title, build)


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
        lambda metric, seed: _scaled(
            SmallClassesSMOTE(random_state=seed), make(random_state=seed)
        ),
        f"{title} + SMOTE",
        default=name == "histgb",
    )
    _register_tuned(
        name, title, lambda metric, seed: make_pipe(make(random_state=seed)), True
    )


def _register_tuned(name: str, title: str, build: Build, default: bool = False) -> None:
    """Register a classifier with a tuned threshold, and with tuned offsets."""
    register_method(
        f"{name}_threshold",
        lambda metric, seed: tuned_threshold(
            build(metric, seed), metric, random_state=seed
        ),
        f"{title}, tuned threshold",
        default=default,
        classes="two",
    )
    register_method(
        f"{name}_offsets",
        lambda metric, seed: TunedDecisionClassifier(
            build(metric, seed), metric, random_state=seed
        ),
        f"{title}, tuned offsets",
        default=default,
        classes="more",
    )


_register_all()
