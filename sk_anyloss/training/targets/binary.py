"""Two classes: one logit for each sample."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor

from sk_anyloss.losses.base import align, check_binary
from sk_anyloss.losses.precision import at_least_single
from sk_anyloss.metrics import get_metric
from sk_anyloss.metrics.class_weights import AnyWeights, ClassWeights
from sk_anyloss.metrics.constraints import AtLeast
from sk_anyloss.metrics.curves import Curve
from sk_anyloss.metrics.decision import Decision
from sk_anyloss.metrics.evaluation import evaluate_logits
from sk_anyloss.metrics.multiclass.lookup import (
    refuse_function_of_labels,
)
from sk_anyloss.metrics.multiclass.two_classes import binary_metric
from sk_anyloss.metrics.tuning import (
    best_threshold,
)
from sk_anyloss.training.targets.base import AnyMetric, TargetType

__all__ = ["Binary"]


class Binary(TargetType):
    """Two classes: one logit, the log-odds of the positive class.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.training.targets import Binary
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
