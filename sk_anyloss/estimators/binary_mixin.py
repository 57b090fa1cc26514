"""What estimators do with the outputs of their networks: labels, scores, the metric."""

from __future__ import annotations

import os
from collections.abc import Hashable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from scipy.special import expit, log_expit, log_softmax, softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import (
    check_consistent_length,
    check_is_fitted,
    validate_data,
)

from sk_anyloss.metrics import Metric, curve_names
from sk_anyloss.metrics.curves import Curve
from sk_anyloss.metrics.decision import Decision
from sk_anyloss.metrics.scoring import is_curve, metric_score

if TYPE_CHECKING:
    from sk_anyloss.training.data.source import Matrix, Source

__all__ = ["DecidesByLogOdds", "LinksToDocumentation"]


def _as_floats(X: Any) -> Any:
    """Samples in single precision as they are, others in double precision."""
    is_single = X.dtype == np.float32
    return X if is_single else X.astype(np.float64, copy=False)


class LinksToDocumentation:
    """Where the HTML representation of an estimator links to.

    The site that ``make docs`` builds, if it is there, or that of the environment
    variable SK_ANYLOSS_DOCS.
    """

    _doc_link_module = "sk_anyloss"

    def _get_doc_link(self) -> str:
        site = os.environ.get("SK_ANYLOSS_DOCS")
        page = f"api/generated/sk_anyloss.{type(self).__name__}.html"
        if site is None:
            built = Path(__file__).parents[2] / "docs" / "_build" / "html" / page
            return built.as_uri() if built.is_file() else ""
        return f"{site.rstrip('/')}/{page}"


class DecidesByLogOdds(LinksToDocumentation, ClassifierMixin):
    """Labels, scores and the metric, from ``_log_odds`` and ``decision_``."""

    metric: str | Metric
    metric_: str | Metric
    classes_: np.ndarray
    #: Of two classes, the positive one.
    pos_label_: Hashable | None
    feature_names_in_: np.ndarray
    #: Where the positive class, each class or each label is predicted.
    decision_: Decision
    #: ``'binary'``, ``'multiclass'`` or ``'multilabel-indicator'``.
    target_type_: str = "binary"

    def _log_odds(self, X: Matrix | Source) -> np.ndarray:
        """Outputs for samples that are validated.

        Of shape (n,), the log-odds of the positive class; (n, C), log-probabilities of
        C classes up to a constant; or (n, Q), the log-odds of Q labels.
        """
        raise NotImplementedError

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # A metric over thresholds is one of two classes.
        of_two = self.metric in curve_names() or isinstance(self.metric, Curve)
        tags.classifier_tags.multi_class = not of_two
        tags.classifier_tags.multi_label = not of_two
        tags.input_tags.sparse = True
        return tags

    @property
    def threshold_(self) -> float:
        """Probability above which the positive class or a label is predicted."""
        if self.target_type_ == "multiclass":
            raise AttributeError(
                "A model of several classes predicts the one with the largest score "
                "and has no threshold; see decision_."
            )
        return self.decision_.threshold

    def _validate(
        self,
        X: ArrayLike | Source,
        y: ArrayLike | None = "no_validation",
        *,
        reset: bool,
    ) -> Any:
        """Samples, and labels unless they are left out, as arrays."""
        if getattr(X, "is_source", False):
            return self._validate_source(cast("Source", X), y, reset)
        if isinstance(X, (str, os.PathLike)) or hasattr(X, "get_fragments"):
            raise TypeError(
                "Samples in Parquet files are given to AnyLossClassifier as "
                f"ParquetSource(..., target='y'); got {X!r}."
            )
        options = {}
        if not (y is None or isinstance(y, str)):
            y = y.toarray() if issparse(y) else y  # type: ignore[union-attr]
            shape = y.shape if hasattr(y, "shape") else np.asarray(y).shape
            options["multi_output"] = len(shape) > 1 and shape[1] > 1
        try:
            with np.errstate(over="ignore", invalid="ignore"):  # It adds all values up.
                # dtype='numeric' refuses numbers that are strings.
                allows_nan = get_tags(self).input_tags.allow_nan
                found = validate_data(
                    self,
                    X,
                    y,
                    accept_sparse="csr",
                    order="C",
                    ensure_all_finite="allow-nan" if allows_nan else True,
                    reset=reset,
                    **options,
                )
        except (ValueError, TypeError) as error:
            if not _needs_encoding(X):
                raise
            name = type(self).__name__
            # What follows in scikit-learn's own message advises other estimators.
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(
                f"{str(error).splitlines()[0].rstrip('.')}. {name} takes numbers "
                f"without missing values. skrub.tabular_pipeline({name}()) encodes "
                "categories, text and dates, and imputes missing values; if values are "
                f"missing only, make_pipeline(SimpleImputer(), {name}()) suffices."
            ) from error
        if isinstance(found, tuple):
            return _as_floats(found[0]), found[1]
        return _as_floats(found)

    def _validate_source(self, X: Source, y: ArrayLike | None, reset: bool) -> Any:
        """The same for samples that are read in blocks, which check themselves."""
        if reset:
            self.n_features_in_ = X.shape[1]
            if hasattr(self, "feature_names_in_"):
                del self.feature_names_in_
            if X.names is not None:
                self.feature_names_in_ = np.array(X.names, dtype=object)
        elif X.names is not None and hasattr(self, "feature_names_in_"):
            self._check_names(X.names)
        elif X.shape[1] != self.n_features_in_:
            raise ValueError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input."
            )
        if isinstance(y, str):
            return X
        labels = np.asarray(y)
        check_consistent_length(labels, np.empty(X.shape[0], dtype=bool))
        return X, labels

    def _check_names(self, names: list[str]) -> None:
        """Refuse other features than those of the fit, or another order of them."""
        expected = self.feature_names_in_.tolist()
        if names == expected:
            return
        missing = [name for name in expected if name not in names]
        further = [name for name in names if name not in expected]
        found = "another order"
        if missing or further:
            found = f"no column {missing[0]!r}" if missing else f"also {further[0]!r}"
        raise ValueError(
            f"The features of X are not those that {type(self).__name__} was fitted "
            f"on: X has {found}; choose them by columns=model.feature_names_in_."
        )

    @property
    def _favours_last(self) -> bool:
        """Whether the log-odds speak for ``classes_[1]``."""
        return bool(self.pos_label_ == self.classes_[1])

    def _decide(self, X: Matrix | Source) -> np.ndarray:
        """Margin in favour of ``classes_[1]``, of each class, or of each label."""
        margin = self.decision_.margin(self._log_odds(X))
        if self.target_type_ == "binary" and not self._favours_last:
            return -margin
        return margin

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Confidence in ``classes_[1]``, in each class, or in each label.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples to decide on.

        Returns
        -------
        decision : ndarray of shape (n_samples,), (n_samples, C) or (n_samples, Q)
            For two classes ``log(p / (1 - p)) - log(t / (1 - t))`` with the threshold
            t, above 0 where ``classes_[1]`` is predicted. For several classes a
            confidence in each, of which the largest one is predicted. For several
            labels as for two classes, a column for each.
        """
        check_is_fitted(self)
        return self._decide(self._validate(X, reset=False))

    def predict_proba(self, X: ArrayLike) -> np.ndarray:
        """Scores between 0 and 1 for the classes or labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples to score.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``, or of the labels. Not calibrated.
        """
        scores = self._log_scores(X)
        if self.target_type_ == "multiclass":
            return softmax(scores, axis=1)
        return expit(scores)

    def predict_log_proba(self, X: ArrayLike) -> np.ndarray:
        """Logarithms of the scores of :meth:`predict_proba`, also where these are 0.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples to score.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Columns in the order of ``classes_``, or of the labels.
        """
        scores = self._log_scores(X)
        if self.target_type_ == "multiclass":
            return log_softmax(scores, axis=1)
        return log_expit(scores)

    def _log_scores(self, X: ArrayLike) -> np.ndarray:
        """Log-odds of two classes or of labels, or logits of several classes."""
        decision = self.decision_function(X)
        offset = self.decision_.offset
        if self.target_type_ != "binary":
            return decision + offset
        favour = decision + (offset if self._favours_last else -offset)
        return np.stack((-favour, favour), axis=1)

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Labels.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples to label.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, Q)
            The positive class where its score is above the threshold; of several
            classes the one with the largest score; for several labels a matrix of 0
            and 1.
        """
        decision = self.decision_function(X)
        if self.target_type_ == "multiclass":
            return self.classes_[decision.argmax(axis=1)]
        if self.target_type_ != "binary":
            return (decision > 0).astype(int)
        return self.classes_[(decision > 0).astype(int)]

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """The metric that the model was trained for, of its predictions on X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,) or (n_samples, Q)
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
        if self.target_type_ != "binary":
            return metric_score(
                y,
                self.predict(X),
                metric=self.metric,
                labels=self.classes_ if self.target_type_ == "multiclass" else None,
                sample_weight=sample_weight,
            )
        if is_curve(self.metric):
            y_pred = self.decision_function(X)
            y_pred = y_pred if self._favours_last else -y_pred
        else:
            y_pred = self.predict(X)
        return metric_score(
            y,
            y_pred,
            metric=self.metric,
            pos_label=self.pos_label_,
            labels=self.classes_,
            sample_weight=sample_weight,
        )


def _needs_encoding(X: Any) -> bool:
    """Whether there are words, dates or missing values among the samples."""
    try:
        values = np.asarray(X)
    except (ValueError, TypeError):
        return hasattr(X, "dtypes")  # Columns have no type in common.
    if values.dtype.kind == "f":
        return bool(np.isnan(values).any())
    return values.ndim == 2 and values.dtype.kind in "OSUM"
