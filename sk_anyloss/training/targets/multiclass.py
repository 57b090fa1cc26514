"""Three classes or more: a logit for each."""

from __future__ import annotations

import numpy as np
import torch
from scipy.special import log_softmax, softmax
from torch import Tensor

from sk_anyloss.losses.base import as_weight
from sk_anyloss.metrics.class_weights import AnyWeights, ClassWeights
from sk_anyloss.metrics.decision import Decision
from sk_anyloss.metrics.evaluation import evaluate_matrix
from sk_anyloss.metrics.multiclass.lookup import (
    matrix_metric_name,
    refuse_function_of_labels,
)
from sk_anyloss.metrics.tuning import (
    best_offsets,
)
from sk_anyloss.training.targets.base import AnyMetric, TargetType

__all__ = ["Multiclass"]


class Multiclass(TargetType):
    """Three classes or more: a logit for each.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.training.targets import Multiclass
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
        weight = as_weight(sample_weight, len(y), like)
        return ClassWeights.of_classes(y, self.n_outputs, like, weight)

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
