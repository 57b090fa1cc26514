"""Scores of any scikit-learn classifier, as log-probabilities or log-odds."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_expit, log_softmax
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

from sk_anyloss.metrics.decision import log_odds, log_probabilities

__all__ = ["check_response", "class_scores", "label_scores", "model_outputs"]


def check_response(estimator: BaseEstimator) -> None:
    """Refuse a classifier without probabilities or scores.

    Examples
    --------
    >>> from sklearn.neighbors import NearestCentroid
    >>> from sklearn.cluster import KMeans
    >>> from sk_anyloss.estimators.tuning.responses import check_response
    >>> check_response(KMeans())
    Traceback (most recent call last):
    ...
    TypeError: KMeans has neither predict_proba nor decision_function, so there is
    nothing to compare with a threshold; choose another estimator.
    """
    if not any(hasattr(estimator, name) for name in _METHODS):
        raise TypeError(
            f"{type(estimator).__name__} has neither predict_proba nor "
            "decision_function, so there is nothing to compare with a threshold; "
            "choose another estimator."
        )


_METHODS = ("predict_proba", "decision_function")
#: The largest score of a ``decision_function`` that counts, so that sums are finite.
LARGEST_SCORE = 1e100


def model_outputs(
    estimator: BaseEstimator,
    X: ArrayLike,
    target_type: str,
    classes: np.ndarray,
    favours_last: bool = True,
) -> np.ndarray:
    """Scores of a classifier in the form that networks of this package have.

    They are computed on one thread: threads of OpenMP that wait for each other can take
    a hundred times as long on busy cores.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier.
    X : array-like
        Samples, as the estimator takes them.
    target_type : {'binary', 'multiclass', 'multilabel-indicator'}
        Kind of target.
    classes : ndarray
        All classes, sorted; for several labels, their positions.
    favours_last : bool, default=True
        Of two classes, whether the last is the positive one.

    Returns
    -------
    outputs : ndarray of shape (n,), (n, C) or (n, Q)
        Log-odds of the positive class, log-probabilities of C classes, or log-odds of
        Q labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sk_anyloss.estimators.tuning.responses import model_outputs
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 0])
    >>> model = KNeighborsClassifier(4).fit(X, y)
    >>> model_outputs(model, X[:1], "binary", np.array([0, 1])).round(3)  # Of 0.25.
    array([-1.099])
    """
    with threadpool_limits(1, user_api="openmp"):
        if target_type == "multilabel-indicator":
            return label_scores(estimator, X, len(classes))
        log_p = class_scores(estimator, X, classes)
    if target_type == "multiclass":
        return log_p
    odds = log_p[:, 1] - log_p[:, 0]
    return odds if favours_last else -odds


def class_scores(
    estimator: BaseEstimator, X: ArrayLike, classes: np.ndarray
) -> np.ndarray:
    """Log-probabilities of all classes.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier. If it has no ``predict_proba``, its ``decision_function``
        is taken for the log-odds of two classes, or for the logits of more.
    X : array-like
        Samples, as the estimator takes them.
    classes : ndarray of shape (C,)
        All classes, sorted.

    Returns
    -------
    log_proba : ndarray of shape (n, C)
        ``-inf`` for a class that the estimator has not been trained on.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sk_anyloss.estimators.tuning.responses import class_scores
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), np.array([0, 2, 2])
    >>> log_p = class_scores(LogisticRegression().fit(X, y), X, np.array([0, 1, 2]))
    >>> np.exp(log_p).sum(axis=1).round(6), log_p[:, 1]
    (array([1., 1., 1.]), array([-inf, -inf, -inf]))
    """
    known = np.asarray(estimator.classes_)
    if hasattr(estimator, "predict_proba"):
        proba = np.asarray(estimator.predict_proba(X), dtype=float)
        found = log_probabilities(_numbers(estimator, proba))
    else:
        scores = _decision_scores(estimator, X)
        if scores.ndim == 1:
            found = np.stack((log_expit(-scores), log_expit(scores)), axis=1)
        else:
            found = log_softmax(scores, axis=1)
    if found.shape[1] != len(known):
        raise ValueError(
            f"{type(estimator).__name__} gives {found.shape[1]} scores for "
            f"{len(known)} classes; one score for each class is needed, as with "
            "decision_function_shape='ovr'."
        )
    log_proba = np.full((len(found), len(classes)), -np.inf)
    log_proba[:, np.searchsorted(classes, known)] = found
    return log_proba


def label_scores(estimator: BaseEstimator, X: ArrayLike, n_labels: int) -> np.ndarray:
    """Log-odds of all labels.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier of several labels, whose ``predict_proba`` returns an array
        of shape (n, Q), or a list of Q arrays of shape (n, 2).
    X : array-like
        Samples, as the estimator takes them.
    n_labels : int
        Number Q of labels.

    Returns
    -------
    log_odds : ndarray of shape (n, Q)
        Finite, also for a label that no training sample has.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sk_anyloss.estimators.tuning.responses import label_scores
    >>> X, y = np.array([[0.0], [1.0]]), np.array([[0, 0], [1, 0]])
    >>> label_scores(KNeighborsClassifier(2).fit(X, y), X, 2).round(1)
    array([[  0., -36.],
           [  0., -36.]])
    """
    if not hasattr(estimator, "predict_proba"):
        found = _decision_scores(estimator, X)
    else:
        proba = estimator.predict_proba(X)
        if isinstance(proba, list):
            classes = estimator.classes_
            pairs = zip(proba, classes, strict=True)
            proba = np.stack([_of_ones(p, known) for p, known in pairs], axis=1)
        found = log_odds(_numbers(estimator, np.asarray(proba, dtype=float)))
    if found.shape != (len(found), n_labels):
        raise ValueError(
            f"{type(estimator).__name__} gives scores of shape {found.shape} for "
            f"{n_labels} labels."
        )
    return found


def _decision_scores(estimator: BaseEstimator, X: ArrayLike) -> np.ndarray:
    """Scores of a ``decision_function``, finite also where it is sure of a class."""
    scores = _numbers(estimator, np.asarray(estimator.decision_function(X), float))
    return scores.clip(-LARGEST_SCORE, LARGEST_SCORE)


def _numbers(estimator: BaseEstimator, scores: np.ndarray) -> np.ndarray:
    """Scores as they are; an error where one is NaN, which no threshold decides."""
    wrong = np.isnan(scores)
    if wrong.any():
        raise ValueError(
            f"{type(estimator).__name__} gives scores that are NaN, first for sample "
            f"{int(np.argwhere(wrong)[0][0])} of {len(scores)}; choose another "
            "estimator, or other features."
        )
    return scores


def _of_ones(proba: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Probability of the label; one that is constant in training has one column."""
    place = np.flatnonzero(np.asarray(classes) == 1)
    return proba[:, place[0]] if len(place) else np.zeros(len(proba))
