"""The fits of a classifier whose threshold is tuned, shared between metrics.

A tuned threshold needs a fit on each inner fold and one on all samples, and none of
these depends on the metric. Their probabilities are kept, and the threshold is tuned on
them for each metric by the same estimator that would otherwise fit them again.
"""

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import cross_val_predict

from sk_anyloss.baselines import tuned_threshold
from sk_anyloss.estimators.folds import inner_cv
from sk_anyloss.metrics import get_metric


class KnownProbabilities(ClassifierMixin, BaseEstimator):
    """A classifier of positions, whose probabilities are known before the fit."""

    def __init__(self, proba: np.ndarray) -> None:
        self.proba = proba

    def fit(self, positions: np.ndarray, y: np.ndarray) -> "KnownProbabilities":
        """Learn nothing but the labels."""
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, positions: np.ndarray) -> np.ndarray:
        """The rows at these positions."""
        return self.proba[positions[:, 0]]


def predict_once(
    model: BaseEstimator, X: np.ndarray, y: np.ndarray, X_test: np.ndarray
) -> np.ndarray:
    """Out-of-fold probabilities of the training samples, then those of the others."""
    inside = cross_val_predict(
        model, X, y, cv=inner_cv(random_state=0), method="predict_proba"
    )
    return np.concatenate([inside, clone(model).fit(X, y).predict_proba(X_test)])


def score_of_counts(y: np.ndarray, y_pred: np.ndarray, metric: str) -> float:
    """A metric of labels 0 and 1, without the checks of ``metric_score``."""
    tp = np.count_nonzero(y & y_pred)
    fp, fn = np.count_nonzero(y_pred) - tp, np.count_nonzero(y) - tp
    counts = (float(n) for n in (len(y) - tp - fp - fn, fp, fn, tp))
    return float(get_metric(metric)(*counts))


def decide(proba: np.ndarray, y: np.ndarray, metric: str) -> np.ndarray:
    """Decisions for the samples after the training samples.

    They equal those of ``tuned_threshold(model, metric, random_state=0)``.
    """
    positions = np.arange(len(proba))[:, None]
    model = tuned_threshold(KnownProbabilities(proba), metric, random_state=0)
    model.set_params(scoring=make_scorer(score_of_counts, metric=metric))
    return model.fit(positions[: len(y)], y).predict(positions[len(y) :])
