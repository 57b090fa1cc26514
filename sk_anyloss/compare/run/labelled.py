"""A fitted method that takes features by name and predicts labels, not codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from sk_anyloss.compare.errors import TableError
from sk_anyloss.compare.model_file.outputs import Calibration, apply_calibration
from sk_anyloss.compare.run.categories import named_categories
from sk_anyloss.compare.tables.labels import Label, as_labels
from sk_anyloss.compare.tables.table import to_numbers

__all__ = ["LabelledClassifier", "as_object"]


def as_object(labels: Sequence[Label]) -> np.ndarray:
    """An array of labels of any types, as they are."""
    array = np.empty(len(labels), dtype=object)
    array[:] = list(labels)
    return array


class LabelledClassifier(ClassifierMixin, BaseEstimator):
    """A pipeline of a comparison, for samples and labels as they were given to it.

    Parameters
    ----------
    model : estimator
        A pipeline from encoder to classifier, for classes 0, 1, ..., C - 1.
    classes : sequence of labels
        The classes in the order of these codes: the negative and the positive one, or
        more than two; or the names of several labels.
    columns : sequence of str, default=None
        Names of the features; the columns of a DataFrame are selected by them.
    is_fitted : bool, default=False
        Whether ``model`` is fitted.
    calibration : dict, default=None
        Scores of two classes and their calibrated probabilities, which
        ``predict_proba`` then gives.
    has_labels : bool, default=False
        Whether ``classes`` are the names of several labels.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted as scikit-learn needs them, in the order of the columns of
        ``predict_proba``; of several labels their names, in the given order.

    Examples
    --------
    >>> from sk_anyloss.compare import built_in, compare_tables
    >>> table = built_in()
    >>> found = compare_tables([table], methods=["logistic"], folds=2)
    >>> model = found.best_estimator()
    >>> model.predict(table.X)[:3].tolist(), model.classes_.tolist()
    (['malignant', 'malignant', 'malignant'], ['benign', 'malignant'])
    """

    def __init__(
        self,
        model: BaseEstimator,
        classes: Sequence[Label],
        columns: Sequence[str] | None = None,
        is_fitted: bool = False,
        calibration: Calibration | None = None,
        has_labels: bool = False,
    ) -> None:
        self.model = model
        self.classes = classes
        self.columns = columns
        self.is_fitted = is_fitted
        self.calibration = calibration
        self.has_labels = has_labels

    @property
    def classes_(self) -> np.ndarray:
        """The classes, in the order of the columns of ``predict_proba``."""
        return as_object(self.classes)[self._order()]

    def _order(self) -> np.ndarray:
        """Codes of the classes, sorted by their labels; of several labels as it is."""
        if self.has_labels:
            return np.arange(len(self.classes))
        return np.argsort(np.array(list(self.classes)), kind="stable")

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_fitted or hasattr(self, "model_")

    def fit(self, X: pd.DataFrame | ArrayLike, y: ArrayLike) -> LabelledClassifier:
        """Fit a copy of the model on other samples.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Features.
        y : array-like of shape (n_samples,)
            Labels, all of them in ``classes``.

        Returns
        -------
        self : LabelledClassifier
            Fitted.
        """
        codes = {label: code for code, label in enumerate(self.classes)}
        labels = as_labels(y).tolist()
        unknown = [label for label in labels if label not in codes]
        if unknown:
            raise ValueError(
                f"y holds {unknown[0]!r}, which is none of the classes "
                f"{list(self.classes)}."
            )
        target = np.array([codes[label] for label in labels])
        self.model_ = clone(self.model).fit(self._select(X), target)
        return self

    def predict(self, X: pd.DataFrame | ArrayLike) -> np.ndarray:
        """Predict labels.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        labels : ndarray of shape (n_samples,) or (n_samples, n_labels)
            Labels; 0 or 1 for each of several labels.
        """
        model, samples = self._fitted(), self._select(X)
        with named_categories(model, samples):
            codes = np.asarray(model.predict(samples), dtype=int)
        if codes.ndim == 2:
            return codes
        return np.array(as_object(self.classes)[codes].tolist())

    def predict_proba(self, X: pd.DataFrame | ArrayLike) -> np.ndarray:
        """Predict scores of the classes.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_features)
            Features.

        Returns
        -------
        scores : ndarray of shape (n_samples, C)
            A column for each of ``classes_``. They rank samples; they are probabilities
            only with a calibration.
        """
        model, samples = self._fitted(), self._select(X)
        with named_categories(model, samples):
            scores = np.asarray(model.predict_proba(samples), dtype=float)
        if scores.shape[1] < len(self.classes):  # A resampler has removed a class.
            known, found = np.asarray(model.classes_, dtype=int), scores
            scores = np.zeros((len(found), len(self.classes)))
            scores[:, known] = found
        if self.calibration:
            probability = apply_calibration(self.calibration, scores[:, 1])
            scores = np.stack([1 - probability, probability], axis=1)
        return scores[:, self._order()]

    def _fitted(self) -> BaseEstimator:
        if hasattr(self, "model_"):
            return self.model_
        if not self.is_fitted:
            raise ValueError("This model is not fitted yet; call fit first.")
        return self.model

    def _select(self, X: pd.DataFrame | ArrayLike) -> pd.DataFrame | np.ndarray:
        if not isinstance(X, pd.DataFrame) and hasattr(X, "to_pandas"):
            X = X.to_pandas()  # Of polars and pyarrow, with the names of the columns.
        elif issparse(X):
            X = X.toarray()
        needs_array = "encoder" not in self.model.named_steps
        if not isinstance(X, pd.DataFrame):
            array = np.asarray(X)
            if needs_array or self.columns is None:
                return array
            return pd.DataFrame(array, columns=list(self.columns))
        frame = X.rename(columns=str)
        if self.columns is not None:
            missing = [name for name in self.columns if name not in frame.columns]
            if missing:
                raise TableError(
                    f"X lacks columns that the model needs: {', '.join(missing[:5])}."
                )
            frame = frame[list(self.columns)]
        return to_numbers(frame) if needs_array else frame
