"""Labels of an estimator: which kind of target they are, and as numbers."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, indexable
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from sk_anyloss.estimators.tuning.responses import model_outputs
from sk_anyloss.metrics.scoring import check_classes, check_indicator
from sk_anyloss.training.targets import Binary, Multiclass, Multilabel, TargetType

__all__ = ["Labels", "check_same", "check_samples"]

#: The most classes that a network is built for. The soft confusion matrix of a batch
#: and its gradient have the square of this many entries.
MAX_CLASSES = 5000


@dataclass(frozen=True)
class Labels:
    """The labels that an estimator has learned of.

    Parameters
    ----------
    target : TargetType
        Two classes, several classes or several labels.
    classes : ndarray
        The classes, sorted; for several labels, their positions.
    pos_label : label or None
        Of two classes, the positive one.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.estimators.labels import Labels
    >>> labels = Labels.of(np.array(["no", "yes", "no"]))
    >>> labels.target.name, str(labels.pos_label)
    ('binary', 'yes')
    >>> labels.encode(np.array(["yes", "no"]), float)
    array([1., 0.])
    >>> Labels.of(np.array(["a", "b", "c"])).encode(np.array(["c", "a"]), float)
    array([2., 0.])
    >>> labels.decode(np.array([0.3, -0.2])).tolist()
    ['yes', 'no']
    """

    target: TargetType
    classes: np.ndarray
    pos_label: Hashable | None = None

    @classmethod
    def of(
        cls,
        y: np.ndarray,
        pos_label: Hashable | None = None,
        classes: ArrayLike | None = None,
    ) -> Labels:
        """Find out what kind of target labels are, or say what is wrong with them.

        Parameters
        ----------
        y : ndarray of shape (n,) or (n, Q)
            Labels.
        pos_label : label, default=None
            Of two classes, the positive one; None for the greater.
        classes : array-like, default=None
            All classes, if y may lack some.

        Returns
        -------
        labels : Labels
            What an estimator keeps of them.
        """
        check_types(y)
        check_classification_targets(y)
        if y.ndim == 2:
            labels = cls._of_indicator(y, pos_label)
            if classes is not None:
                check_same(classes, labels.classes)
            return labels
        found = np.unique(y)
        if classes is not None:
            found = np.sort(check_classes(classes, found, "classes"))
        if len(found) > 2:
            return cls._of_classes(found, pos_label, len(y))
        found, positive = _two_classes(found, pos_label)
        index = int(positive == found[1])
        return cls(Binary(found.tolist(), index), found, positive)

    @classmethod
    def _of_classes(
        cls, found: np.ndarray, pos_label: Hashable | None, n: int
    ) -> Labels:
        if pos_label is not None:
            raise ValueError(
                f"pos_label={pos_label!r} names the positive one of two classes, but y "
                f"has {len(found)}; leave it out, or train for one class against the "
                f"rest by a metric such as 'f1[{pos_label}]'."
            )
        if len(found) > MAX_CLASSES:
            raise ValueError(
                f"y has {len(found)} classes among {n} samples; at most {MAX_CLASSES} "
                f"are supported, since a confusion matrix of {len(found)} x "
                f"{len(found)} numbers is computed for every batch. If y is a number "
                "to predict, it needs a regressor; else group rare classes."
            )
        return cls(Multiclass(len(found), found.tolist()), found)

    @classmethod
    def _of_indicator(cls, y: np.ndarray, pos_label: Hashable | None) -> Labels:
        # scikit-learn takes any two numbers for an indicator.
        is_indicator = type_of_target(y) == "multilabel-indicator"
        if not is_indicator or not np.isin(y, (0, 1)).all():
            raise ValueError(
                "y has two dimensions, so it must be a matrix of 0 and 1 with a column "
                f"for each label; got the values {np.unique(y)[:5].tolist()} among "
                "them. For several classes, give a single column."
            )
        if pos_label not in (None, 1):
            raise ValueError(
                f"pos_label={pos_label!r} has no meaning for a matrix of 0 and 1; "
                "leave it out."
            )
        return cls(Multilabel(y.shape[1]), np.arange(y.shape[1]))

    def encode(self, y: np.ndarray, dtype: np.dtype | type) -> np.ndarray:
        """Labels as numbers: 0 and 1, or the positions of the classes."""
        if self.target.name == "binary":
            return (y == self.pos_label).astype(dtype)
        if self.target.name == "multiclass":
            return np.searchsorted(self.classes, y).astype(dtype)
        return y.astype(dtype)

    def outputs_of(self, estimator: BaseEstimator, X: ArrayLike) -> np.ndarray:
        """Scores by any fitted classifier, as our networks give them.

        Parameters
        ----------
        estimator : estimator
            A classifier with ``predict_proba`` or ``decision_function``.
        X : array-like
            Samples, as the estimator takes them.

        Returns
        -------
        outputs : ndarray of shape (n,), (n, C) or (n, Q)
            Log-odds of the positive class, log-probabilities of the classes, or
            log-odds of the labels.
        """
        is_last = self.pos_label is not None and self.pos_label == self.classes[-1]
        return model_outputs(
            estimator, X, self.target.name, self.classes, bool(is_last)
        )

    def decode(self, margin: np.ndarray) -> np.ndarray:
        """Labels of margins, as :meth:`TargetType.best_decision` leaves them."""
        if self.target.name == "multiclass":
            return self.classes[margin.argmax(axis=1)]
        if self.target.name != "binary":
            return (margin > 0).astype(int)
        is_last = (margin > 0) == (self.pos_label == self.classes[1])
        return self.classes[is_last.astype(int)]


def _two_classes(
    found: np.ndarray, pos_label: Hashable | None
) -> tuple[np.ndarray, Hashable]:
    """The two classes, and the positive one."""
    if not len(found):
        raise ValueError("y is empty; a classifier needs samples of two classes.")
    if len(found) < 2:
        raise ValueError(
            "y has only one class among the samples of positive weight, "
            f"{found.tolist()}, and a classifier needs two classes. Only "
            "AnyLossClassifier.partial_fit can begin with one, if it is given all of "
            "them as classes=."
        )
    if pos_label is not None and pos_label not in found:
        raise ValueError(
            f"pos_label={pos_label!r} is not one of the classes {found.tolist()}."
        )
    return found, found[1] if pos_label is None else pos_label


def check_same(classes: ArrayLike, known: np.ndarray) -> None:
    """Refuse other classes than those that an estimator has."""
    if set(check_classes(classes, known, "classes").tolist()) != set(known.tolist()):
        raise ValueError(
            f"classes={np.asarray(classes).tolist()} is not the same as the classes of "
            f"the model, {known.tolist()}; leave it out, or fit a new model."
        )


def check_types(y: np.ndarray) -> None:
    """Refuse objects that are not all strings, before they are sorted.

    Parameters
    ----------
    y : ndarray of shape (n,) or (n, Q)
        Labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.estimators.labels import check_types
    >>> check_types(np.array(["no", "yes"], dtype=object))
    >>> check_types(np.array(["no", None], dtype=object))
    Traceback (most recent call last):
    ...
    TypeError: y has labels of several types, NoneType and str, which have no order;
    make them one type, by y.astype(str) say.
    """
    if y.dtype.kind == "S":
        types = {"bytes"}
    elif y.dtype == object:
        types = {type(label).__name__ for label in y.ravel()} - {"str_"}
    else:
        return
    if len(types) > 1:
        raise TypeError(
            f"y has labels of several types, {' and '.join(sorted(types))}, which have "
            "no order; make them one type, by y.astype(str) say."
        )
    if not types <= {"str"}:
        (kind,) = types
        other = kind if kind in ("bool", "int", "float") else "str"
        raise TypeError(
            f"Unknown label type: y has the dtype {y.dtype} and labels of the type "
            f"{kind}; convert them by y.astype({other})."
        )


def check_samples(
    model: BaseEstimator, X: ArrayLike, y: ArrayLike
) -> tuple[Any, np.ndarray]:
    """Labels as an array, and samples as the estimator that gets them takes them.

    Parameters
    ----------
    model : estimator
        Who asks for them.
    X : array-like
        Samples, of any kind.
    y : array-like of shape (n,) or (n, Q)
        Their classes, or an indicator matrix of several labels.

    Returns
    -------
    X : array-like
        The samples, which can be indexed.
    y : ndarray
        The labels.
    """
    if y is None:
        raise ValueError(
            f"{type(model).__name__} requires y to be passed, but the target y is None."
        )
    X, y = indexable(X, y)
    shape = y.shape if hasattr(y, "shape") else np.shape(y)
    if len(shape) == 2 and shape[1] > 1:
        return X, check_indicator(y)
    target: np.ndarray = column_or_1d(y, warn=True)
    assert_all_finite(target, input_name="y")
    return X, target
