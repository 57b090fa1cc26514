"""What is tuned for two classes, for more, and for several labels."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sk_anyloss.estimators.tuning.responses import class_scores, label_scores
from sk_anyloss.metrics.constraints import AtLeast
from sk_anyloss.metrics.curves import Curve
from sk_anyloss.metrics.decision import ClassOffsets, Decision, LabelDecision
from sk_anyloss.metrics.multiclass.averages import Average
from sk_anyloss.metrics.multiclass.lookup import (
    MatrixAtLeast,
    is_for_matrix,
    matrix_metric,
)
from sk_anyloss.metrics.multilabel import label_metric
from sk_anyloss.metrics.registry import get_metric, metric_name
from sk_anyloss.metrics.scoring import (
    best_threshold,
    matrix_values,
    metric_score,
    metric_values,
)
from sk_anyloss.metrics.tuning import best_label_thresholds, best_offsets

__all__ = ["ClassRule", "LabelRule", "Rule", "ThresholdRule"]


class Rule(ABC):
    """From scores to decisions, with numbers to tune.

    Parameters
    ----------
    metric : str or callable
        What the decisions are tuned for.
    classes : ndarray
        The classes, sorted; for several labels, their numbers.
    """

    #: Whether the metric has a constraint, which a mean of several tuned numbers may
    #: miss though each of them meets it.
    is_constrained: bool

    def __init__(self, metric: str | Callable[..., Any], classes: np.ndarray) -> None:
        self.metric = metric
        self.classes = classes

    @abstractmethod
    def scores(self, estimator: Any, X: Any) -> np.ndarray:
        """Scores of the samples by a fitted estimator."""

    def strata(self, y: np.ndarray) -> np.ndarray:
        """What bootstrap samples keep the frequencies of."""
        return y

    @abstractmethod
    def tune(
        self, scores: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None
    ) -> np.ndarray:
        """The numbers that are best for the metric."""

    def retune(
        self,
        scores: np.ndarray,
        y: np.ndarray,
        sample_weight: np.ndarray | None,
        numbers: np.ndarray,
    ) -> np.ndarray:
        """The same for other weights, given the numbers that are best without them."""
        return self.tune(scores, y, sample_weight)

    @abstractmethod
    def margin(self, numbers: np.ndarray, scores: np.ndarray) -> np.ndarray:
        """Scores whose sign, or largest column, is the decision."""

    @abstractmethod
    def decide(self, margin: np.ndarray) -> np.ndarray:
        """Labels."""

    def score(
        self, y: ArrayLike, y_pred: np.ndarray, sample_weight: ArrayLike | None = None
    ) -> float:
        """The metric of decisions."""
        return metric_score(
            y,
            y_pred,
            metric=self.metric,
            labels=self.classes,
            sample_weight=sample_weight,
        )


class ThresholdRule(Rule):
    """Two classes: a threshold on the log-odds of the positive one.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.estimators.tuning.rules import ThresholdRule
    >>> rule = ThresholdRule("f1", np.array([0, 1]))
    >>> float(rule.tune(np.array([-3.0, -1.0, -2.0]), np.array([0, 1, 0]), None))
    -1.5
    """

    def __init__(
        self,
        metric: str | Callable[..., Any],
        classes: np.ndarray,
        pos_label: Hashable = None,
    ) -> None:
        super().__init__(metric, classes)
        if pos_label is not None and pos_label not in classes:
            raise ValueError(
                f"pos_label={pos_label!r} is not one of the classes {classes.tolist()}."
            )
        self.pos_label = classes[1] if pos_label is None else pos_label
        self.favours_last = bool(self.pos_label == classes[1])
        self.of_matrix = is_for_matrix(metric)
        if self.of_matrix:
            function = matrix_metric(metric, classes.tolist())
            self.is_constrained = isinstance(function, MatrixAtLeast)
            matrix_values(function, np.eye(2)[None])  # Refuses a wrong shape.
        else:
            binary = get_metric(metric)
            self.is_constrained = isinstance(binary, AtLeast)
            if isinstance(binary, Curve):
                raise ValueError(
                    f"metric={metric_name(metric)!r} is a metric over all thresholds, "
                    "so no threshold is better for it than another; choose a metric of "
                    "the confusion matrix, such as 'f1'."
                )
            metric_values(metric, *np.ones((4, 1)))

    def strata(self, y: np.ndarray) -> np.ndarray:
        # The same draws, whatever the classes are called.
        return y == self.pos_label

    def scores(self, estimator: Any, X: Any) -> np.ndarray:
        log_p = class_scores(estimator, X, self.classes)
        odds = log_p[:, 1] - log_p[:, 0]
        return odds if self.favours_last else -odds

    def tune(
        self, scores: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None
    ) -> np.ndarray:
        if not self.of_matrix:
            target = y == self.pos_label
            return np.array(
                best_threshold(self.metric, scores, target, sample_weight)[0]
            )
        odds = scores if self.favours_last else -scores
        log_p = np.stack((np.zeros(len(odds)), odds), axis=1)
        codes = np.searchsorted(self.classes, y)
        b, _ = best_offsets(self.metric, log_p, codes, sample_weight, self.classes)
        threshold = b[0] - b[1]
        return np.array(threshold if self.favours_last else -threshold)

    def margin(self, numbers: np.ndarray, scores: np.ndarray) -> np.ndarray:
        margin = Decision(float(numbers)).margin(scores)
        return margin if self.favours_last else -margin

    def decide(self, margin: np.ndarray) -> np.ndarray:
        return self.classes[(margin > 0).astype(int)]

    def score(
        self, y: ArrayLike, y_pred: np.ndarray, sample_weight: ArrayLike | None = None
    ) -> float:
        return metric_score(
            y,
            y_pred,
            metric=self.metric,
            pos_label=self.pos_label,
            labels=self.classes,
            sample_weight=sample_weight,
        )


class ClassRule(Rule):
    """More than two classes: offsets of their log-probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.estimators.tuning.rules import ClassRule
    >>> rule = ClassRule("f1", np.array(["a", "b", "c"]))
    >>> rule.decide(rule.margin(np.array([0, 1, 0]), np.log([[0.5, 0.3, 0.2]])))
    array(['b'], dtype='<U1')
    """

    def __init__(self, metric: str | Callable[..., Any], classes: np.ndarray) -> None:
        super().__init__(metric, classes)
        function = matrix_metric(metric, classes.tolist())
        self.is_constrained = isinstance(function, MatrixAtLeast)
        try:
            matrix_values(function, np.eye(len(classes))[None])
        except TypeError as error:
            raise ValueError(
                f"metric={metric_name(metric)} is not a function of the confusion "
                f"matrix of {len(classes)} classes: {error}. A metric of two classes "
                "needs an average, such as Average(metric, 'macro')."
            ) from error

    def scores(self, estimator: Any, X: Any) -> np.ndarray:
        return class_scores(estimator, X, self.classes)

    def tune(
        self, scores: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None
    ) -> np.ndarray:
        codes = np.searchsorted(self.classes, y)
        return best_offsets(self.metric, scores, codes, sample_weight, self.classes)[0]

    def retune(
        self,
        scores: np.ndarray,
        y: np.ndarray,
        sample_weight: np.ndarray | None,
        numbers: np.ndarray,
    ) -> np.ndarray:
        codes = np.searchsorted(self.classes, y)
        return best_offsets(
            self.metric, scores, codes, sample_weight, self.classes, start=numbers
        )[0]

    def margin(self, numbers: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return ClassOffsets(numbers).margin(scores)

    def decide(self, margin: np.ndarray) -> np.ndarray:
        return self.classes[np.argmax(margin, axis=1)]


class LabelRule(Rule):
    """Several labels: a threshold on the log-odds of each.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.estimators.tuning.rules import LabelRule
    >>> rule = LabelRule("f1_micro", np.arange(2))
    >>> rule.decide(rule.margin(np.array([0.0, -2.0]), np.array([[-1.0, -1.0]])))
    array([[0, 1]])
    """

    def __init__(self, metric: str | Callable[..., Any], classes: np.ndarray) -> None:
        super().__init__(metric, classes)
        if not isinstance(metric, (str, Average)) and is_for_matrix(metric):
            raise ValueError(
                f"metric={metric!r} is a metric of classes that exclude each other and "
                "has no meaning for several labels; choose an average such as "
                "'f1_macro'."
            )
        average = label_metric(metric)
        self.is_constrained = isinstance(get_metric(average.metric), AtLeast)

    def scores(self, estimator: Any, X: Any) -> np.ndarray:
        return label_scores(estimator, X, len(self.classes))

    def tune(
        self, scores: np.ndarray, y: np.ndarray, sample_weight: np.ndarray | None
    ) -> np.ndarray:
        return best_label_thresholds(self.metric, scores, y, sample_weight)[0]

    def margin(self, numbers: np.ndarray, scores: np.ndarray) -> np.ndarray:
        return LabelDecision(numbers).margin(scores)

    def decide(self, margin: np.ndarray) -> np.ndarray:
        return (margin > 0).astype(int)
