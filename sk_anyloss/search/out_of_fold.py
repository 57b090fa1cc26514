"""Scores of predictions for samples that the models have not seen."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np

from sk_anyloss.metrics import Metric
from sk_anyloss.metrics.decision import Decision
from sk_anyloss.training.target_types import Binary, TargetType

__all__ = ["OutOfFold"]


@dataclass
class OutOfFold:
    """The test samples of all folds, pooled.

    Parameters
    ----------
    index : ndarray of int of shape (n_pooled,)
        Their positions; a splitter may test a sample several times, or never.
    target : ndarray of shape (n_pooled,) or (n_pooled, Q)
        Their classes as numbers, or labels, 0 or 1.
    weight : ndarray of shape (n_pooled,) or None
        Their weights.
    sizes : list of int
        How many of them each fold has.
    metric : str or callable
        What to score by.
    target_type : TargetType, default=Binary()
        Two classes, several classes or several labels.
    """

    index: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None
    sizes: list[int]
    metric: str | Metric
    target_type: TargetType = field(default_factory=Binary)

    def best_decision(self, outputs: np.ndarray) -> Decision:
        """The decision that is best for the metric on all of them."""
        return self.target_type.best_decision(
            self.metric, outputs, self.target, self.weight
        )[0]

    def nested_margin(self, outputs: np.ndarray) -> np.ndarray:
        """Margins to a decision that was tuned on the samples of all other folds.

        A threshold that is scored on the samples that it was tuned on looks better
        than it is.
        """
        offsets = np.empty_like(outputs, dtype=float)
        stop = 0
        for size in self.sizes:
            start, stop = stop, stop + size
            others = np.ones(len(outputs), dtype=bool)
            others[start:stop] = len(self.sizes) == 1
            weight = None if self.weight is None else self.weight[others]
            decision, _ = self.target_type.best_decision(
                self.metric, outputs[others], self.target[others], weight
            )
            offsets[start:stop] = decision.offset
        return outputs - offsets

    def score(self, margin: np.ndarray) -> float:
        """The metric of all of them together."""
        return self.target_type.evaluate(self.metric, margin, self.target, self.weight)

    def score_folds(self, margin: np.ndarray) -> np.ndarray:
        """The metric of each fold; NaN where it is not defined."""
        ends = np.cumsum(self.sizes)[:-1]
        margins, targets = np.split(margin, ends), np.split(self.target, ends)
        weights: list[np.ndarray] | list[None] = [None] * len(self.sizes)
        if self.weight is not None:
            weights = np.split(self.weight, ends)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.array(
                [
                    self.target_type.evaluate(self.metric, z, y, weight)
                    for z, y, weight in zip(margins, targets, weights, strict=True)
                ]
            )
