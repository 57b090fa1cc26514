"""Candidates of any kind: classifiers of scikit-learn's interface.

They are fitted and applied on one thread, as networks are: threads of OpenMP that wait
for each other can take a hundred times as long on busy cores, and a fit in a worker
process must round as the fit in the main one does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_limits

from sk_anyloss._compat import routing_enabled
from sk_anyloss.estimators.classifier import AnyLossClassifier
from sk_anyloss.estimators.labels import Labels
from sk_anyloss.estimators.preparation import class_weights
from sk_anyloss.estimators.tuning.responses import check_response
from sk_anyloss.estimators.tuning.routing import weight_parameter
from sk_anyloss.training.data.source import Matrix

__all__ = ["fit_member", "outputs_of", "seeded"]


def outputs_of(model: BaseEstimator, X: Matrix, labels: Labels) -> np.ndarray:
    """What an ensemble takes the mean of, from a fitted classifier of any kind.

    Parameters
    ----------
    model : AnyLossClassifier or any other classifier
        Fitted. A network of this package gives its margins, any other classifier what
        :mod:`sk_anyloss.estimators.tuning.responses` makes of its probabilities or
        scores.
    X : array or sparse matrix
        Samples.
    labels : Labels
        All classes or labels, of which a fold may lack some.

    Returns
    -------
    outputs : ndarray of shape (n,), (n, C) or (n, Q)
        Log-odds of the positive class, log-probabilities of C classes (``-inf`` for
        one that the model has not seen), or log-odds of Q labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sk_anyloss.estimators.labels import Labels
    >>> from sk_anyloss.search.members import outputs_of
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 0])
    >>> model = KNeighborsClassifier(4).fit(X, y)
    >>> outputs_of(model, X[:1], Labels.of(y)).round(3)  # Of 0.25.
    array([-1.099])
    >>> outputs_of(model, X[:1], Labels.of(y, pos_label=0)).round(3)
    array([1.099])
    """
    if not isinstance(model, AnyLossClassifier):
        return labels.outputs_of(model, X)
    margin = model.decision_function(X)
    is_binary = labels.target.name == "binary"
    return -margin if is_binary and labels.pos_label != labels.classes[1] else margin


def fit_member(
    estimator: BaseEstimator,
    X: Matrix,
    y: np.ndarray,
    labels: Labels,
    *,
    sample_weight: np.ndarray | None = None,
    class_weight: Mapping[Any, float] | str | None = None,
    seed: int | np.random.RandomState | None = 0,
) -> BaseEstimator:
    """A clone of a classifier, fitted.

    Parameters
    ----------
    estimator : estimator
        A classifier, or a pipeline that ends in one.
    X : array or sparse matrix
        Samples to learn from.
    y : ndarray
        Their labels.
    labels : Labels
        All classes or labels.
    sample_weight : ndarray, default=None
        Weights of the samples; those of weight 0 are left out. If ``fit`` does not
        take weights, or resamples, the others count alike.
    class_weight : dict or 'balanced', default=None
        Weights of the classes, multiplied with those of the samples.
    seed : int, default=0
        For every ``random_state`` of the estimator that is None.

    Returns
    -------
    model : estimator
        The fitted clone.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sk_anyloss.estimators.labels import Labels
    >>> from sk_anyloss.search.members import fit_member
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 1, 1])
    >>> weight = np.array([1.0, 0.0, 1.0])
    >>> model = LogisticRegression()
    >>> model = fit_member(model, X, y, Labels.of(y), sample_weight=weight)
    >>> round(float(model.predict_proba([[1.0]])[0, 1]), 3)  # Halfway.
    0.5
    """
    check_response(estimator)
    model = seeded(estimator, seed)
    dtype = np.dtype(np.float64)
    weight = class_weights(class_weight, labels.classes, y, sample_weight, dtype)
    params: dict[str, np.ndarray] = {}
    if weight is not None:
        kept = np.flatnonzero(weight)
        X, y = X[kept], y[kept]
        name = weight_parameter(model)
        if name is not None and routing_enabled():
            name = "sample_weight" if _request_weights(model) else None
        params = {} if name is None else {name: weight[kept]}
    with threadpool_limits(1, user_api="openmp"):
        return model.fit(X, y, **params)


def seeded(
    estimator: BaseEstimator, seed: int | np.random.RandomState | None
) -> BaseEstimator:
    """A clone in which every ``random_state`` that is None is a seed.

    Examples
    --------
    >>> from sklearn.ensemble import ExtraTreesClassifier
    >>> from sk_anyloss.search.members import seeded
    >>> seeded(ExtraTreesClassifier(), 7).random_state
    7
    """
    model = clone(estimator)
    unset = {
        name: seed
        for name, value in model.get_params(deep=True).items()
        if value is None and (name == "random_state" or name.endswith("__random_state"))
    }
    model.set_params(**unset)
    return model  # Not what set_params returns: FrozenEstimator returns None.


def _request_weights(estimator: BaseEstimator) -> bool:
    """Ask for the weights in the last step of a pipeline; whether it takes them.

    A search does not: what its scorer makes of weights is for its user to say.
    """
    if isinstance(estimator, Pipeline):
        *steps, (_, last) = estimator.steps
        for _, step in steps:
            # One that takes weights and does not say whether it wants them is an error.
            _request(step, False)
        return _request_weights(last)
    return _request(estimator, True)


def _request(estimator: BaseEstimator, value: bool) -> bool:
    """Set the request for weights of an estimator; whether its fit takes them."""
    takes_weights = has_fit_parameter(estimator, "sample_weight")
    if takes_weights and hasattr(estimator, "set_fit_request"):
        estimator.set_fit_request(sample_weight=value)
    return takes_weights
