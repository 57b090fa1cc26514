"""What estimators for two classes do with the log-odds of the positive one."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from sk_anyloss.metrics import Metric, get_metric
from sk_anyloss.metrics.curves import Curve
from sk_anyloss.metrics.decision import Decision
from sk_anyloss.metrics.scoring import metric_score

if TYPE_CHECKING:
    from sk_anyloss.training.data.source import Matrix

__all__ = ["DecidesByLogOdds"]


class DecidesByLogOdds(ClassifierMixin):
    """Labels, scores and the metric, from ``_log_odds`` and ``decision_``."""

    metric: str | Metric
    classes_: np.ndarray
    pos_label_: Hashable
    #: Where the positive class is predicted.
    decision_: Decision

    def _log_odds(self, X: Matrix) -> np.ndarray:
        """Of the positive class, for samples that are validated."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = True
        return tags

    @property
    def threshold_(self) -> float:
        """Probability above which the positive class is predicted."""
        return self.decision_.threshold

    def _validate(
        self, X: ArrayLike, y: ArrayLike = "no_validation", *, reset: bool
    ) -> Any:
        """Samples, and labels unless they are left out, as arrays."""
        with np.errstate(over="ignore", invalid="ignore"):  # It adds all values up.
            return validate_data(
                self,
                X,
                y,
                accept_sparse="csr",
                dtype=(np.float64, np.float32),
                order="C",
                reset=reset,
            )

    @property
    def _favours_last(self) -> bool:
        """Whether the log-odds speak for ``classes_[1]``."""
        return bool(self.pos_label_ == self.classes_[1])

    def _decide(self, X: Matrix) -> np.ndarray:
        """Margin in favour of ``classes_[1]``."""
        margin = self.decision_.margin(self._log_odds(X))
        return margin if self._favours_last else -margin

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Confidence in ``classes_[1]``: above 0 where it is predicted.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples to decide on.

        Returns
        -------
        decision : ndarray of shape (n_samples,)
            ``log(p / (1 - p)) - log(t / (1 - t))`` with the threshold t.
        """
        check_is_fitted(self)
        return self._decide(self._validate(X, reset=False))

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Scores between 0 and 1 for both classes.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples to score.

        Returns
        -------
        proba : ndarray of shape (n_samples, 2)
            Columns in the order of ``classes_``. Not calibrated.
        """
        decision = self.decision_function(X)
        offset = self.decision_.offset
        favour = decision + (offset if self._favours_last else -offset)
        return expit(np.stack((-favour, favour), axis=1))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples to label.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            The positive class where its score is above the threshold.
        """
        decision = self.decision_function(X)
        return self.classes_[(decision > 0).astype(int)]

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """The metric that the model was trained for, of its predictions on X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their true labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        score : float
            The metric; accuracy only if ``metric='accuracy'``. So ``cross_val_score``
            and ``GridSearchCV`` report the metric unasked; a search over ``metric``
            itself needs ``scoring``, since each candidate is scored by its own.
        """
        if isinstance(get_metric(self.metric), Curve):
            y_pred = self.decision_function(X)
            y_pred = y_pred if self._favours_last else -y_pred
        else:
            y_pred = self.predict(X)
        return metric_score(
            y,
            y_pred,
            metric=self.metric,
            pos_label=self.pos_label_,
            sample_weight=sample_weight,
        )
