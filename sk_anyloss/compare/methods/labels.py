"""Methods for two classes, on targets of several labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from sk_anyloss.compare.methods.registry import get_method
from sk_anyloss.estimators.classifier import AnyLossClassifier
from sk_anyloss.metrics import Metric, metric_name
from sk_anyloss.metrics.multilabel import LabelAverage
from sk_anyloss.search.search import AnyLossClassifierCV

__all__ = ["EachLabel", "build_method"]


class EachLabel(ClassifierMixin, BaseEstimator):
    """A classifier of two classes, fitted for each label by itself.

    It decides as the classifier does, so that tuned thresholds hold, unlike
    ``OneVsRestClassifier``; and a label that no training sample has, or all of them,
    is predicted as it is, unlike ``MultiOutputClassifier``.

    Parameters
    ----------
    estimator : estimator
        The classifier, which is cloned.

    Attributes
    ----------
    estimators_ : list
        A fitted clone for each label; the label itself, 0 or 1, where it is constant.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sk_anyloss.compare.methods.labels import EachLabel
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [[0, 1], [0, 1], [1, 1], [1, 1]]
    >>> EachLabel(LogisticRegression()).fit(X, y).predict([[0.0], [3.0]])
    array([[0, 1],
           [1, 1]])
    """

    def __init__(self, estimator: BaseEstimator) -> None:
        self.estimator = estimator

    def fit(self, X: ArrayLike, y: ArrayLike) -> EachLabel:
        """Fit a clone for each label.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples, n_labels)
            Labels, 0 or 1.

        Returns
        -------
        self : EachLabel
            Fitted.
        """
        target = np.asarray(y)
        self.estimators_ = [
            clone(self.estimator).fit(X, label) if np.ptp(label) else int(label[0])
            for label in target.T
        ]
        self.classes_ = [np.array([0, 1])] * target.shape[1]
        return self

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Predict the labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : ndarray of shape (n_samples, n_labels)
            0 or 1.
        """
        n = len(np.asarray(X))
        return np.column_stack(
            [
                np.full(n, one) if isinstance(one, int) else one.predict(X)
                for one in self.estimators_
            ]
        )

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Predict scores of the labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_labels)
            As the classifiers give them.
        """
        n = len(np.asarray(X))
        return np.column_stack(
            [
                np.full(n, float(one))
                if isinstance(one, int)
                else one.predict_proba(X)[:, 1]
                for one in self.estimators_
            ]
        )


def build_method(name: str, metric: str | Metric, seed: int) -> BaseEstimator:
    """The classifier of a method, for two or more classes or for several labels.

    Parameters
    ----------
    name : str
        Name of a registered method.
    metric : str or callable
        The metric that it is trained or tuned for. With an average over labels the
        networks of this package learn all labels together; of other classifiers there
        is one for each label, trained or tuned for the metric of that label.
    seed : int
        Seed of the method.

    Returns
    -------
    estimator : estimator
        Not fitted.

    Examples
    --------
    >>> from sk_anyloss.compare.methods.labels import build_method
    >>> from sk_anyloss.metrics.multilabel import LabelAverage
    >>> type(build_method("histgb", LabelAverage("f1"), 0)).__name__
    'EachLabel'
    """
    build = get_method(name).build
    if not isinstance(metric, LabelAverage):
        return build(metric, seed)
    together = (AnyLossClassifier, AnyLossClassifierCV)
    one = build(metric.metric, seed)
    # A function of four counts has no name to which an average can be appended.
    named = isinstance(metric.metric, str)
    if isinstance(one, together) and (named or metric.average == "macro"):
        return one.set_params(metric=metric_name(metric) if named else metric.metric)
    return EachLabel(one)
