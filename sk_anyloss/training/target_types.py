"""Kinds of targets: two classes, several classes, several labels.

What differs between them in training stands here: the shape of the logits, how labels
and weights are summed, what is decided, and how decisions are scored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
import torch
from scipy.special import expit, log_softmax, softmax
from torch import Tensor

from sk_anyloss.losses.base import align, check_binary
from sk_anyloss.losses.precision import at_least_single
from sk_anyloss.metrics import get_metric
from sk_anyloss.metrics.class_weights import AnyWeights, ClassWeights, LabelWeights
from sk_anyloss.metrics.confusion import Counts, confusion
from sk_anyloss.metrics.constraints import AtLeast
from sk_anyloss.metrics.curves import Curve
from sk_anyloss.metrics.decision import Decision
from sk_anyloss.metrics.evaluation import evaluate_logits, evaluate_matrix
from sk_anyloss.metrics.multiclass.lookup import (
    matrix_metric_name,
    refuse_function_of_labels,
    split_constraint,
)
from sk_anyloss.metrics.multiclass.two_classes import binary_metric
from sk_anyloss.metrics.multilabel import LabelAverage, label_metric
from sk_anyloss.metrics.tuning import (
    best_label_thresholds,
    best_offsets,
    best_threshold,
)

#: A name, or a function of four counts or of a matrix, or an average over labels.
AnyMetric: TypeAlias = Any

__all__ = ["Binary", "Multiclass", "Multilabel", "TargetType", "target_type_of"]


class TargetType:
    """What training has to know of a target.

    Parameters
    ----------
    n_outputs : int
        Number of logits for each sample.
    classes : sequence, default=None
        The labels, for a metric that names one; by default 0 to ``n_outputs - 1``.
    """

    #: As :func:`sklearn.utils.multiclass.type_of_target` has it.
    name: ClassVar[str]

    def __init__(self, n_outputs: int, classes: Sequence[object] | None = None) -> None:
        self.n_outputs = n_outputs
        self.classes = list(range(n_outputs) if classes is None else classes)

    @property
    def n_classes(self) -> int:
        """Number of rows in a table of weights by class."""
        return self.n_outputs

    def samples(
        self, y: Tensor, like: Tensor, sample_weight: Tensor | None = None
    ) -> AnyWeights:
        """Labels and weights of a batch, as losses take them.

        Parameters
        ----------
        y : tensor of shape (n,) or (n, Q)
            Classes or labels.
        like : tensor
            A tensor with the dtype and device to compute in.
        sample_weight : tensor of shape (n,), default=None
            Weights.

        Returns
        -------
        samples : ClassWeights or LabelWeights
            The weights by class or label.
        """
        raise NotImplementedError

    def align(self, logits: Tensor) -> Tensor:
        """Logits of a module as losses take them: (1, n), or (1, n_outputs, n)."""
        return at_least_single(logits).mT.unsqueeze(0)

    def counts(
        self,
        metric: AnyMetric,
        logits: Tensor,
        samples: AnyWeights,
        decision: Decision,
    ) -> Tensor:
        """What the metric of decisions is computed from, summed over the samples."""
        raise NotImplementedError

    def score(self, metric: AnyMetric, counts: Tensor) -> float:
        """The metric, from the sum of :meth:`counts`."""
        raise NotImplementedError

    def evaluate(
        self,
        metric: AnyMetric,
        outputs: np.ndarray,
        target: np.ndarray,
        sample_weight: np.ndarray | None = None,
        decision: Decision | None = None,
    ) -> float:
        """The metric of the decisions on some samples.

        Parameters
        ----------
        metric : str or callable
            The metric.
        outputs : ndarray of shape (n,) or (n, n_outputs)
            Logits.
        target : ndarray of shape (n,) or (n, Q)
            Classes, as indices, or labels.
        sample_weight : ndarray of shape (n,), default=None
            Weights.
        decision : Decision, default=None
            Where it is decided; by default at probability 0.5, or for the most
            probable class.

        Returns
        -------
        score : float
            The metric.
        """
        logits = torch.from_numpy(np.asarray(outputs, dtype=float))
        weight = None if sample_weight is None else torch.as_tensor(sample_weight)
        samples = self.samples(torch.from_numpy(np.asarray(target)), logits, weight)
        found = self.counts(metric, logits, samples, decision or Decision())
        return self.score(metric, found)

    def best_decision(
        self,
        metric: AnyMetric,
        outputs: np.ndarray,
        target: np.ndarray,
        sample_weight: np.ndarray | None = None,
        start: Decision | None = None,
    ) -> tuple[Decision, float]:
        """The decision that is best for a metric on some samples, and its value.

        Parameters
        ----------
        metric, outputs, target, sample_weight
            As for :meth:`evaluate`.
        start : Decision, default=None
            A good decision to start from, where the best one is searched for.

        Returns
        -------
        decision : Decision
            Offsets to be subtracted from the outputs.
        value : float
            The metric.
        """
        raise NotImplementedError

    def is_curve(self, metric: AnyMetric) -> bool:
        """Whether a metric looks at all thresholds."""
        return False

    def has_constraint(self, metric: AnyMetric) -> bool:
        """Whether a metric has a floor under another one."""
        return split_constraint(metric) is not None

    def goal(self, metric: AnyMetric) -> AnyMetric:
        """The metric as the loss takes it."""
        return metric

    def resolve(self, metric: AnyMetric) -> AnyMetric:
        """The metric as it is meant here: a binary one as its macro average."""
        return metric

    def probabilities(self, outputs: np.ndarray) -> np.ndarray:
        """Scores between 0 and 1 of each class or label."""
        raise NotImplementedError


class Binary(TargetType):
    """Two classes: one logit, the log-odds of the positive class.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.training.target_types import Binary
    >>> Binary().evaluate("recall", np.array([-1.0, 2.0]), np.array([1, 1]))
    0.5
    """

    name = "binary"

    def __init__(
        self, classes: Sequence[object] | None = None, positive: int = 1
    ) -> None:
        super().__init__(1, [0, 1] if classes is None else classes)
        #: Which of the classes is the positive one.
        self.positive = positive

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return 2

    def samples(
        self, y: Tensor, like: Tensor, sample_weight: Tensor | None = None
    ) -> AnyWeights:
        """Weights as negatives and as positives."""
        _, y, weight = align(like.new_empty(len(y)), y, sample_weight)
        check_binary(y)
        return ClassWeights.of(y, weight)

    def align(self, logits: Tensor) -> Tensor:
        """Logits of shape (1, n)."""
        return at_least_single(logits).reshape(1, -1)

    def counts(
        self,
        metric: AnyMetric,
        logits: Tensor,
        samples: AnyWeights,
        decision: Decision,
    ) -> Tensor:
        """The four counts of the decisions."""
        decided = decision.is_positive(self.align(logits)[0])
        negatives, positives = samples.table[0]
        return torch.stack(
            (
                negatives[~decided].sum(),
                negatives[decided].sum(),
                positives[~decided].sum(),
                positives[decided].sum(),
            )
        )

    def score(self, metric: AnyMetric, counts: Tensor) -> float:
        """The metric of the four counts."""
        return float(get_metric(self.goal(metric))(*counts))

    def evaluate(
        self,
        metric: AnyMetric,
        outputs: np.ndarray,
        target: np.ndarray,
        sample_weight: np.ndarray | None = None,
        decision: Decision | None = None,
    ) -> float:
        """The metric of decisions, or over all thresholds."""
        offset = 0.0 if decision is None else float(decision.offset)
        goal = self.goal(metric)
        return evaluate_logits(goal, outputs, target, sample_weight, offset)

    def best_decision(
        self,
        metric: AnyMetric,
        outputs: np.ndarray,
        target: np.ndarray,
        sample_weight: np.ndarray | None = None,
        start: Decision | None = None,
    ) -> tuple[Decision, float]:
        """The best threshold on the log-odds."""
        goal = self.goal(metric)
        offset, value = best_threshold(goal, outputs, target, sample_weight)
        return Decision(offset), value

    def is_curve(self, metric: AnyMetric) -> bool:
        """Whether a metric looks at all thresholds."""
        return isinstance(get_metric(self.goal(metric)), Curve)

    def has_constraint(self, metric: AnyMetric) -> bool:
        """Whether a metric has a floor under another one."""
        return isinstance(get_metric(self.goal(metric)), AtLeast)

    def goal(self, metric: AnyMetric) -> AnyMetric:
        """The metric as one of four counts."""
        return binary_metric(metric, self.classes, self.positive)

    def resolve(self, metric: AnyMetric) -> AnyMetric:
        """The metric, which must be one of two classes."""
        refuse_function_of_labels(metric)
        get_metric(self.goal(metric))
        return metric

    def probabilities(self, outputs: np.ndarray) -> np.ndarray:
        """Scores of shape (n, 2), of the negative and of the positive class."""
        return expit(np.stack((-outputs, outputs), axis=1))


class Multiclass(TargetType):
    """Three classes or more: a logit for each.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.training.target_types import Multiclass
    >>> Multiclass(3).evaluate("accuracy", np.eye(3), np.array([0, 1, 1]))
    0.666...
    >>> Multiclass(3).resolve("f1")
    'f1_macro'
    """

    name = "multiclass"

    def samples(
        self, y: Tensor, like: Tensor, sample_weight: Tensor | None = None
    ) -> AnyWeights:
        """Weights as members of each class."""
        return ClassWeights.of_classes(y, self.n_outputs, like, sample_weight)

    def counts(
        self,
        metric: AnyMetric,
        logits: Tensor,
        samples: AnyWeights,
        decision: Decision,
    ) -> Tensor:
        """The confusion matrix of the decisions for the largest logit."""
        table = samples.table[0]
        if np.ndim(decision.offset):
            logits = logits - logits.new_tensor(decision.offset)
        decided = logits.argmax(-1)
        M = table.new_zeros(self.n_outputs, self.n_outputs)
        return M.index_add_(1, decided, table)

    def score(self, metric: AnyMetric, counts: Tensor) -> float:
        """The metric of the confusion matrix."""
        M = counts.to("cpu", torch.float64).numpy()
        return evaluate_matrix(metric, M, self.classes)

    def best_decision(
        self,
        metric: AnyMetric,
        outputs: np.ndarray,
        target: np.ndarray,
        sample_weight: np.ndarray | None = None,
        start: Decision | None = None,
    ) -> tuple[Decision, float]:
        """The best offsets of the log-probabilities, by coordinate ascent."""
        offsets, value = best_offsets(
            metric,
            log_softmax(outputs, axis=1),
            target.astype(int),
            sample_weight,
            self.classes,
            start=None if start is None else -np.asarray(start.offset),
        )
        return Decision(-offsets), value

    def resolve(self, metric: AnyMetric) -> AnyMetric:
        """The metric of the matrix; the macro average of a binary one."""
        refuse_function_of_labels(metric)
        try:
            # Refuses an unknown class, or costs of another shape.
            evaluate_matrix(metric, np.eye(self.n_outputs), self.classes)
        except TypeError as error:
            raise ValueError(
                f"metric={metric!r} is not a function of the confusion matrix of "
                f"{self.n_outputs} classes: {error}. A metric of two classes needs an "
                "average, such as Average(metric, 'macro')."
            ) from error
        return matrix_metric_name(metric)

    def probabilities(self, outputs: np.ndarray) -> np.ndarray:
        """Scores of shape (n, C)."""
        return softmax(outputs, axis=1)


class Multilabel(TargetType):
    """Several labels, of which a sample may have any: a logit for each.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.training.target_types import Multilabel
    >>> logits, y = np.array([[1.0, -1.0], [1.0, 1.0]]), np.array([[1, 0], [0, 1]])
    >>> Multilabel(2).evaluate("precision_micro", logits, y)
    0.666...
    """

    name = "multilabel-indicator"

    def samples(
        self, y: Tensor, like: Tensor, sample_weight: Tensor | None = None
    ) -> AnyWeights:
        """Weights with and without each label."""
        weight = None if sample_weight is None else sample_weight.to(like)
        return LabelWeights.of(y.to(like), weight)

    def counts(
        self,
        metric: AnyMetric,
        logits: Tensor,
        samples: AnyWeights,
        decision: Decision,
    ) -> Tensor:
        """The four counts of each label; for an average over samples, its sum."""
        decided = decision.is_positive(logits).to(samples.target.dtype).T
        y = samples.target[0]
        average = label_metric(metric)
        assert isinstance(samples, LabelWeights)
        weight = samples.weight[0]
        if average.average == "samples":
            parts = confusion(decided.T, 1 - decided.T, y.T)
            values = evaluate_values(average, Counts(*parts))
            return torch.stack(((weight * values).sum(), weight.sum()))
        weights = weight.expand_as(y)
        return torch.stack(confusion(decided, 1 - decided, y, weights))

    def score(self, metric: AnyMetric, counts: Tensor) -> float:
        """The average over the labels or samples."""
        average = label_metric(metric)
        numbers = counts.to("cpu", torch.float64).numpy()
        if average.average == "samples":
            total, weight = numbers.tolist()
            return total / weight if weight else 0.0
        return float(average.of_counts(*numbers))

    def best_decision(
        self,
        metric: AnyMetric,
        outputs: np.ndarray,
        target: np.ndarray,
        sample_weight: np.ndarray | None = None,
        start: Decision | None = None,
    ) -> tuple[Decision, float]:
        """The best threshold of each label."""
        offsets, value = best_label_thresholds(metric, outputs, target, sample_weight)
        return Decision(offsets), value

    def resolve(self, metric: AnyMetric) -> AnyMetric:
        """The average over labels that the metric means."""
        refuse_function_of_labels(metric)
        average = label_metric(metric)
        return average if callable(average.metric) else average.__name__

    def probabilities(self, outputs: np.ndarray) -> np.ndarray:
        """Scores of shape (n, Q), each of one label."""
        return expit(outputs)


def evaluate_values(average: LabelAverage, counts: Counts[Tensor]) -> Tensor:
    """A binary metric of the counts of each sample."""
    values = get_metric(average.metric)(*counts)
    return torch.as_tensor(values, dtype=counts.tp.dtype).expand_as(counts.tp)


def target_type_of(
    name: str, n_outputs: int = 1, classes: Sequence[object] | None = None
) -> TargetType:
    """The kind of a target, by scikit-learn's name for it.

    Parameters
    ----------
    name : {'binary', 'multiclass', 'multilabel-indicator'}
        As :func:`sklearn.utils.multiclass.type_of_target` gives it.
    n_outputs : int, default=1
        Number of classes or labels, if there are more than two classes.
    classes : sequence, default=None
        The labels, for a metric that names one.

    Returns
    -------
    target_type : TargetType
        The kind.

    Examples
    --------
    >>> from sk_anyloss.training.target_types import target_type_of
    >>> type(target_type_of("multiclass", 3)).__name__
    'Multiclass'
    """
    if name == "binary":
        return Binary(classes)
    kinds = {kind.name: kind for kind in (Multiclass, Multilabel)}
    if name not in kinds:
        raise ValueError(
            "target_type must be 'binary', 'multiclass' or 'multilabel-indicator', got "
            f"{name!r}."
        )
    return kinds[name](n_outputs, classes)
