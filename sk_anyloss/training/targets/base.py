"""What training has to know of a target: the interface of the kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, TypeAlias

import numpy as np
import torch
from torch import Tensor

from sk_anyloss.losses.precision import at_least_single
from sk_anyloss.metrics.class_weights import AnyWeights
from sk_anyloss.metrics.decision import Decision
from sk_anyloss.metrics.multiclass.lookup import (
    split_constraint,
)

#: A name, or a function of four counts or of a matrix, or an average over labels.
AnyMetric: TypeAlias = Any

__all__ = ["AnyMetric", "TargetType"]


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
