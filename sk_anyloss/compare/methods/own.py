"""Estimators of the user as methods of a comparison."""

from __future__ import annotations

import hashlib
from functools import partial
from typing import TypeAlias

from sklearn.base import BaseEstimator, clone, is_classifier

from sk_anyloss.compare.methods.registry import register_method
from sk_anyloss.metrics import Metric

__all__ = ["OwnMethod", "register_estimator"]

#: An estimator, or a title and an estimator.
OwnMethod: TypeAlias = BaseEstimator | tuple[str, BaseEstimator]
#: Characters of an estimator in tables and figures.
MAX_TITLE = 40


def register_estimator(given: OwnMethod) -> str:
    """Register an estimator under a name of its own.

    Parameters
    ----------
    given : estimator or (str, estimator)
        A classifier for numbers without missing values, which is cloned for each fit
        and gets the seed of the comparison as ``random_state`` where it has none, and
        its title.

    Returns
    -------
    name : str
        The title, or the class, with a digest of the parameters: a stored fold belongs
        to the same estimator.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sk_anyloss.compare import unregister_method
    >>> from sk_anyloss.compare.methods.own import register_estimator
    >>> name = register_estimator(("naive Bayes", GaussianNB()))
    >>> name.rpartition("-")[0]
    'naive Bayes'
    >>> unregister_method(name)
    """
    title, estimator = given if isinstance(given, tuple) else ("", given)
    is_estimator = isinstance(estimator, BaseEstimator) or hasattr(estimator, "fit")
    if isinstance(estimator, type) or not (is_estimator and is_classifier(estimator)):
        raise ValueError(
            f"methods must hold names, classifiers or (title, classifier), got "
            f"{given!r}."
        )
    text = estimator.__repr__(N_CHAR_MAX=10**6)
    title = title or (text if len(text) <= MAX_TITLE else type(estimator).__name__)
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    name = f"{title.partition('(')[0]}-{digest}"
    register_method(name, partial(_build, estimator), title)
    return name


def _build(estimator: BaseEstimator, metric: str | Metric, seed: int) -> BaseEstimator:
    built = clone(estimator)
    if built.get_params().get("random_state", seed) is None:
        built.set_params(random_state=seed)
    return built
