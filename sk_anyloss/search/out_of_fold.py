"""Scores of predictions for samples that the models have not seen."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from sk_anyloss.metrics import Metric
from sk_anyloss.metrics.decision import Decision
from sk_anyloss.metrics.scoring import best_threshold, evaluate_logits

__all__ = ["OutOfFold"]


@dataclass
class OutOfFold:
    """The test samples of all folds, pooled.

    Parameters
    ----------
    index : ndarray of int of shape (n_pooled,)
        Their positions; a splitter may test a sample several times, or never.
    target : ndarray of shape (n_pooled,)
        Their labels, 0 or 1.
    weight : ndarray of shape (n_pooled,) or None
        Their weights.
    sizes : list of int
        How many of them each fold has.
    metric : str or callable
        What to score by.
    """

    index: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None
    sizes: list[int]
    metric: str | Metric

    def best_decision(self, log_odds: np.ndarray) -> Decision:
        """The decision that is best for the metric on all of them."""
        found = best_threshold(self.metric, log_odds, self.target, self.weight)
        return Decision(found[0])

    def nested_margin(self, log_odds: np.ndarray) -> np.ndarray:
        """Margins to a threshold that was tuned on the samples of all other folds.

        A threshold that is scored on the samples that it was tuned on looks better
        than it is.
        """
        offsets = np.empty_like(log_odds, dtype=float)
        stop = 0
        for size in self.sizes:
            start, stop = stop, stop + size
            others = np.ones(len(log_odds), dtype=bool)
            others[start:stop] = len(self.sizes) == 1
            weight = None if self.weight is None else self.weight[others]
            offsets[start:stop] = best_threshold(
                self.metric, log_odds[others], self.target[others], weight
            )[0]
        return log_odds - offsets

    def score(self, margin: np.ndarray) -> float:
        """The metric of all of them together."""
        return evaluate_logits(self.metric, margin, self.target, self.weight, 0.0)

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
                    evaluate_logits(self.metric, z, y, weight, 0.0)
                    for z, y, weight in zip(margins, targets, weights, strict=True)
                ]
            )
