"""LightGBM, XGBoost and CatBoost as methods to compare, where they are installed."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.preprocessing import LabelEncoder
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_is_fitted

__all__ = [
    "EncodedLabels",
    "check_installed",
    "installed_boosting",
    "make_boosting",
]

#: By name: title, class, and parameters that keep it to one thread and silent, and
#: keep it from writing files.
LIBRARIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "lightgbm": ("LightGBM", "LGBMClassifier", {"n_jobs": 1, "verbosity": -1}),
    "xgboost": ("XGBoost", "XGBClassifier", {"n_jobs": 1, "verbosity": 0}),
    "catboost": (
        "CatBoost",
        "CatBoostClassifier",
        {"thread_count": 1, "verbose": False, "allow_writing_files": False},
    ),
}


class EncodedLabels(ClassifierMixin, BaseEstimator):
    """A classifier for labels of any type, from one for 0, 1, 2 and so on.

    Parameters
    ----------
    estimator : estimator
        A classifier whose ``fit`` takes ``sample_weight``.
    balanced : bool, default=False
        Whether all classes have the same weight in all.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    estimator_ : estimator
        Fitted.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sk_anyloss.compare.methods.boosting import EncodedLabels
    >>> X, y = np.array([[0.0], [1.0], [5.0]]), np.array(["no", "no", "yes"])
    >>> model = EncodedLabels(LogisticRegression(), balanced=True).fit(X, y)
    >>> model.predict([[0.0], [6.0]]).tolist(), model.estimator_.classes_
    (['no', 'yes'], array([0, 1]))
    """

    def __init__(self, estimator: BaseEstimator, balanced: bool = False) -> None:
        self.estimator = estimator
        self.balanced = balanced

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> EncodedLabels:
        """Fit the classifier.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Their weights.

        Returns
        -------
        self : EncodedLabels
            Itself.
        """
        encoder = LabelEncoder()
        codes = encoder.fit_transform(y)
        self.classes_ = encoder.classes_
        weight = None if sample_weight is None else np.asarray(sample_weight)
        if self.balanced:
            of_classes = compute_sample_weight("balanced", codes)
            weight = of_classes if weight is None else weight * of_classes
        self.estimator_ = clone(self.estimator)
        self.estimator_.fit(X, codes, sample_weight=weight)
        return self

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        return np.asarray(self.estimator_.predict_proba(X))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """The most probable classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Labels.
        """
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def installed_boosting() -> dict[str, str]:
    """Names and titles of the boosting libraries that are installed.

    Examples
    --------
    >>> from sk_anyloss.compare.methods.boosting import installed_boosting
    >>> set(installed_boosting()) <= {"lightgbm", "xgboost", "catboost"}
    True
    """
    return {
        name: title
        for name, (title, _, _) in LIBRARIES.items()
        if find_spec(name) is not None
    }


def check_installed(method: str) -> None:
    """Refuse a method of a boosting library that is not installed.

    Parameters
    ----------
    method : str
        The name of any method.

    Examples
    --------
    >>> from sk_anyloss.compare.methods.boosting import check_installed
    >>> check_installed("logistic_threshold")
    """
    library = method.split("_")[0]
    if library in LIBRARIES and library not in installed_boosting():
        raise ValueError(
            f"The method {method!r} needs {LIBRARIES[library][0]}, which is not "
            f"installed: pip install {library}."
        )


def make_boosting(name: str, seed: int = 0, balanced: bool = False) -> EncodedLabels:
    """A classifier of a boosting library with its defaults.

    Parameters
    ----------
    name : {'lightgbm', 'xgboost', 'catboost'}
        The library.
    seed : int, default=0
        Its seed.
    balanced : bool, default=False
        Whether classes are weighted to the same total.

    Returns
    -------
    model : EncodedLabels
        Not fitted.

    Examples
    --------
    >>> from sk_anyloss.compare.methods.boosting import make_boosting
    >>> make_boosting("lightboost")
    Traceback (most recent call last):
    ...
    ValueError: name must be one of lightgbm, xgboost, catboost, got 'lightboost'.
    """
    if name not in LIBRARIES:
        raise ValueError(f"name must be one of {', '.join(LIBRARIES)}, got {name!r}.")
    _, kind, params = LIBRARIES[name]
    make = getattr(import_module(name), kind)
    return EncodedLabels(make(random_state=seed, **params), balanced)
