"""A classifier that predicts with stored networks, in numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator
from sklearn.utils import Tags

from sk_anyloss.estimators.binary_mixin import DecidesByLogOdds
from sk_anyloss.estimators.tuning.responses import model_outputs
from sk_anyloss.metrics import Metric
from sk_anyloss.metrics.decision import Decision, log_odds
from sk_anyloss.plain.network import Network, NetworkArrays, Samples

__all__ = ["PlainClassifier"]

#: Samples are predicted in chunks whose widest dense array has at most so many bytes.
CHUNK_BYTES = 2**26


class PlainClassifier(DecidesByLogOdds, BaseEstimator):
    """A fitted estimator of this package as numpy arrays.

    It is made by :func:`to_plain`, predicts, and cannot be fitted.

    Parameters
    ----------
    metric : str or callable, default='f1'
        The metric that ``score`` reports.

    Attributes
    ----------
    networks_ : list of dict
        The networks; several for an ensemble.
    target_type_ : {'binary', 'multiclass', 'multilabel-indicator'}
        Whether the networks have one output for two classes, or one for each class or
        label.
    logit_thresholds_ : ndarray of shape (n_networks,) or (n_networks, C)
        Threshold of each network, as a logit; for more than two classes, what is
        subtracted from the log-probability of each class.
    network_weights_ : ndarray of shape (n_networks,)
        Weights of the networks in the mean of their probabilities; they sum to 1.
    logit_threshold_ : float or ndarray of shape (C,)
        Decision threshold of the estimator, as a logit; for more than two classes, what
        is subtracted from the log-probability of each class before the largest one is
        predicted.
    others_ : list of estimators
        Members of an ensemble that are no networks, as they are; only if there are any.
    other_thresholds_ : ndarray of shape (n_others,) or (n_others, C)
        Their thresholds, as those of networks.
    other_weights_ : ndarray of shape (n_others,)
        Their weights, which sum to 1 with those of the networks.
    validates_samples_ : bool
        Whether samples become an array of floats; False for a tuned decision, whose
        estimator, the only member, takes them as they are.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sk_anyloss import AnyLossClassifier
    >>> from sk_anyloss.plain import to_plain
    >>> X, y = make_classification(200, random_state=0)
    >>> plain = to_plain(AnyLossClassifier(random_state=0).fit(X, y))
    >>> type(plain).__name__, plain.predict(X).shape
    ('PlainClassifier', (200,))
    """

    networks_: list[NetworkArrays]
    logit_thresholds_: np.ndarray
    network_weights_: np.ndarray
    logit_threshold_: float | np.ndarray
    target_type_: str = "binary"
    others_: list[BaseEstimator]
    other_thresholds_: np.ndarray
    other_weights_: np.ndarray
    validates_samples_: bool = True

    def __init__(self, metric: str | Metric = "f1") -> None:
        self.metric = metric

    def fit(self, X: ArrayLike, y: ArrayLike) -> PlainClassifier:
        """Raise an error, since only the original estimator can be fitted.

        Parameters
        ----------
        X, y : array-like
            Not used.

        Returns
        -------
        self : PlainClassifier
            Never.
        """
        raise ValueError(
            "PlainClassifier holds the parameters of another fitted estimator, and "
            "cannot be fitted; fit that estimator again."
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        others = getattr(self, "others_", [])
        tags.input_tags.allow_nan = bool(others) and not self.networks_
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "networks_")

    def _validate(self, X: Any, y: Any = "no_validation", *, reset: bool) -> Any:
        if not self.validates_samples_:
            return X
        return super()._validate(X, y, reset=reset)

    def _log_odds(self, X: Samples) -> np.ndarray:
        if not hasattr(self, "others_"):
            return self._of_networks(X)
        total = np.asarray(0.0)
        if self.networks_:
            share = self.network_weights_.sum()
            total = share * self._scores(self._of_networks(X, share))
        last = self.target_type_ != "binary" or self._favours_last
        for model, offset, weight in zip(
            self.others_, self.other_thresholds_, self.other_weights_, strict=True
        ):
            outputs = model_outputs(model, X, self.target_type_, self.classes_, last)
            if not self.validates_samples_:
                return outputs  # Of one member, exact where scores round to 0 or 1.
            total = total + weight * self._scores(outputs - offset)
        if self.target_type_ == "multiclass":
            return np.log(np.maximum(total, np.finfo(float).tiny))
        return log_odds(total)

    def _scores(self, outputs: np.ndarray) -> np.ndarray:
        """Scores between 0 and 1, of which the mean is taken."""
        if self.target_type_ == "multiclass":
            return softmax(outputs, axis=1)
        return expit(outputs)

    def _of_networks(self, X: Samples, share: float = 1.0) -> np.ndarray:
        """Log-odds of the mean over the networks, whose weights sum to a share."""
        networks = [Network.prepare(arrays, issparse(X)) for arrays in self.networks_]
        n = max(1, CHUNK_BYTES // max(network.sample_bytes for network in networks))
        chunks = (X[i : i + n] for i in range(0, X.shape[0], n))
        weights = self.network_weights_ / share
        return np.concatenate(
            [self._combine(networks, weights, chunk) for chunk in chunks]
        )

    def _combine(
        self, networks: list[Network], weights: np.ndarray, X: Samples
    ) -> np.ndarray:
        """Log-odds of a chunk of samples, over all networks."""
        logits = [network.logits(X) for network in networks]
        if len(logits) == 1:
            return logits[0] - self.logit_thresholds_[0]
        if self.target_type_ == "multiclass":
            return self._mean_log_proba(logits, weights)
        terms = zip(logits, self.logit_thresholds_, weights, strict=True)
        return log_odds(
            np.sum([expit(z - t) * weight for z, t, weight in terms], axis=0)
        )

    def _mean_log_proba(
        self, logits: list[np.ndarray], weights: np.ndarray
    ) -> np.ndarray:
        """Log of the weighted mean of ``softmax(log_softmax(z) - offset)``."""
        terms = zip(logits, self.logit_thresholds_, weights, strict=True)
        proba = np.sum(
            [softmax(z - offset, axis=1) * weight for z, offset, weight in terms],
            axis=0,
        )
        return np.log(np.maximum(proba, np.finfo(float).tiny))

    @property
    def decision_(self) -> Decision:  # type: ignore[override]
        """Where the positive class, each class or each label is predicted."""
        return Decision(self.logit_threshold_)
