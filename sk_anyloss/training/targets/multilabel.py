"""Several labels, of which a sample may have any: a logit for each."""

from __future__ import annotations

import numpy as np
import torch
from scipy.special import expit
from torch import Tensor

from sk_anyloss.losses.base import as_weight
from sk_anyloss.metrics import get_metric
from sk_anyloss.metrics.arithmetic import values_of
from sk_anyloss.metrics.class_weights import AnyWeights, LabelWeights
from sk_anyloss.metrics.confusion import confusion
from sk_anyloss.metrics.decision import Decision
from sk_anyloss.metrics.multiclass.lookup import (
    refuse_function_of_labels,
)
from sk_anyloss.metrics.multilabel import label_metric
from sk_anyloss.metrics.tuning import (
    best_label_thresholds,
)
from sk_anyloss.training.targets.base import AnyMetric, TargetType

__all__ = ["Multilabel"]


class Multilabel(TargetType):
    """Several labels, of which a sample may have any: a logit for each.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.training.targets import Multilabel
    >>> logits, y = np.array([[1.0, -1.0], [1.0, 1.0]]), np.array([[1, 0], [0, 1]])
    >>> Multilabel(2).evaluate("precision_micro", logits, y)
    0.666...
    """

    name = "multilabel-indicator"

    def samples(
        self, y: Tensor, like: Tensor, sample_weight: Tensor | None = None
    ) -> AnyWeights:
        """Weights with and without each label."""
        weight = as_weight(sample_weight, len(y), like)
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
            values = values_of(get_metric(average.metric), *parts)
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
