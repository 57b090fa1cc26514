"""Passing groups and the order in time to every tuning inside a model."""

from __future__ import annotations

import numpy as np
from imblearn.base import SamplerMixin
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.metrics import get_scorer
from sklearn.model_selection import TimeSeriesSplit
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from sk_anyloss.compare.folds.inner import ForwardFolds, GroupFolds, InnerFolds
from sk_anyloss.compare.folds.splits import encode_groups
from sk_anyloss.compare.tables.table import Features, Table

__all__ = ["fit_with_groups", "inner_groups", "set_inner_folds"]

#: What ``make_scorer`` makes.
SCORER = type(get_scorer("f1"))


def inner_groups(table: Table) -> np.ndarray | None:
    """What inner folds split by: ranks of points in time, or groups.

    Parameters
    ----------
    table : Table
        The samples.

    Returns
    -------
    groups : ndarray of int of shape (n_samples,) or None
        For :func:`fit_with_groups`; None for a table with neither.
    """
    return table.time if table.time is not None else encode_groups(table)


def set_inner_folds(model: BaseEstimator, table: Table, seed: int) -> BaseEstimator:
    """Set every parameter ``cv`` of a model to folds that respect groups or time.

    It becomes :class:`GroupFolds` for a table with groups and :class:`ForwardFolds` for
    one that is ordered in time, with the number of folds that the model asked for. A
    splitter that uses groups itself is kept where there are groups, ``TimeSeriesSplit``
    where there is time, and so is ``'prefit'``.

    Parameters
    ----------
    model : estimator
        Not fitted; its parameters are changed.
    table : Table
        The samples that it will be fitted on.
    seed : int
        Seed of the inner folds.

    Returns
    -------
    model : estimator
        The same object.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV
    >>> from sk_anyloss.compare import make_table
    >>> from sk_anyloss.compare.folds.tuning import set_inner_folds
    >>> table = make_table([[0.5], [1.5], [2.5], [3.5]], [0, 1] * 2, time=[1, 2, 3, 4])
    >>> model = GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=3)
    >>> set_inner_folds(model, table, seed=0).cv.n_splits
    3
    """
    if table.time is None and table.groups is None:
        return model
    for name, cv in model.get_params(deep=True).items():
        if name.split("__")[-1] != "cv" or isinstance(cv, str):
            continue
        if table.time is None:
            if not _splits_by_groups(cv):
                model.set_params(**{name: GroupFolds(_n_folds(cv), seed)})
        elif not isinstance(cv, TimeSeriesSplit):
            model.set_params(**{name: ForwardFolds(_n_folds(cv))})
    return model


def _splits_by_groups(cv: object) -> bool:
    if not hasattr(cv, "split") or not hasattr(cv, "get_metadata_routing"):
        return False
    return bool(get_routing_for_object(cv).consumes("split", ["groups"]))


def _n_folds(cv: object) -> int:
    """Number of folds that a model asked for; 5, as in scikit-learn, by default."""
    number = getattr(cv, "n_splits", cv)
    return int(number) if isinstance(number, (int, np.integer)) and number > 1 else 5


def fit_with_groups(
    model: BaseEstimator,
    X: Features,
    y: np.ndarray,
    groups: np.ndarray | None = None,
    weight: np.ndarray | None = None,
) -> BaseEstimator:
    """Fit a model, and pass groups to the folds that it is tuned on, and weights.

    Parameters
    ----------
    model : estimator
        From :func:`set_inner_folds`.
    X : DataFrame or ndarray of shape (n_samples, n_features)
        Samples.
    y : ndarray of shape (n_samples,)
        Their labels.
    groups : ndarray of shape (n_samples,), default=None
        From :func:`inner_groups`. A model without a tuning ignores them.
    weight : ndarray of shape (n_samples,), default=None
        Weights of the samples, for every step and every tuning that takes them. A model
        that resamples ignores them.

    Returns
    -------
    model : estimator
        The same object, fitted.
    """
    given: dict[str, np.ndarray] = {}
    inner: list[InnerFolds] = []
    with config_context(enable_metadata_routing=True):
        if weight is not None and _request_weights(model):
            given["sample_weight"] = weight
        if groups is not None and _routes(model, "groups"):
            given["groups"] = groups
        elif groups is not None:
            parts = model.get_params().values()
            inner = [part for part in parts if isinstance(part, InnerFolds)]
    for cv in inner:
        cv.groups = groups
    try:
        if not given:
            return model.fit(X, y)
        with config_context(enable_metadata_routing=True):
            return model.fit(X, y, **given)
    finally:
        for cv in inner:  # A fitted model should not hold them.
            cv.groups = None


def _request_weights(model: BaseEstimator) -> bool:
    """Let every part of a model that takes weights get them; whether one does."""
    parts = [model, *model.get_params().values()]
    if any(isinstance(part, SamplerMixin) for part in parts):
        return False  # The weights would not be resampled.
    for part in parts:
        if hasattr(part, "set_fit_request") and has_fit_parameter(
            part, "sample_weight"
        ):
            part.set_fit_request(sample_weight=True)
        elif isinstance(part, SCORER):
            part.set_score_request(sample_weight=True)
    return _routes(model, "sample_weight")


def _routes(model: BaseEstimator, name: str) -> bool:
    """Whether a model passes an argument of ``fit`` on to one of its parts."""
    try:
        return bool(get_routing_for_object(model).consumes("fit", [name]))
    except NotImplementedError:  # Raised by some steps, such as AdaBoostClassifier.
        return False
