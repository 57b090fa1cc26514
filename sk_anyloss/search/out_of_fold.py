"""Scores of predictions for samples that the models have not seen."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np

from sk_anyloss.metrics import Metric
from sk_anyloss.metrics.decision import Decision
from sk_anyloss.metrics.tuning import robust
from sk_anyloss.training.target_types import Binary, TargetType

__all__ = ["OutOfFold"]

#: Bootstrap samples over which thresholds are averaged, and within each fold.
N_BOOTSTRAP, N_BOOTSTRAP_NESTED = 40, 10
#: With more samples than this of each class, the best threshold needs no smoothing.
MANY = 2000


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

    def best_decision(
        self,
        outputs: np.ndarray,
        *,
        smooth: bool = False,
        used: np.ndarray | None = None,
        n_bootstrap: int = N_BOOTSTRAP,
    ) -> Decision:
        """The decision that is best for the metric.

        Parameters
        ----------
        outputs : ndarray of shape (n_pooled,), (n_pooled, C) or (n_pooled, Q)
            Log-odds, or log-probabilities.
        smooth : bool, default=False
            Whether to take the mean of the best thresholds of bootstrap samples, which
            depends less on single samples. Not for metrics with a constraint, which a
            mean may miss, and not for more than two classes, whose offsets take long
            to tune.
        used : ndarray of bool of shape (n_pooled,), default=None
            The samples to tune on; by default all.
        n_bootstrap : int, default=40
            Number of bootstrap samples; fewer are drawn where no class is rare.

        Returns
        -------
        decision : Decision
            The threshold or thresholds, or the offsets of classes.
        """
        used = np.ones(len(outputs), dtype=bool) if used is None else used
        if self.weight is not None:  # A sample without weight is not drawn either.
            weighed = used & (self.weight > 0)
            used = weighed if weighed.any() else used
        outputs, target = outputs[used], self.target[used]
        weight = None if self.weight is None else self.weight[used]
        kind, metric = self.target_type, self.metric
        best, _ = kind.best_decision(metric, outputs, target, weight)
        if not smooth or kind.name == "multiclass" or kind.has_constraint(metric):
            return best
        rarest = min(target.sum(axis=0).min(), (1 - target).sum(axis=0).min())
        if rarest > MANY:
            return best
        tuned = robust(
            lambda w: kind.best_decision(metric, outputs, target, w)[0].offset,
            target,
            weight,
            n_bootstrap=n_bootstrap,
        )
        offset = tuned.center
        return Decision(offset if offset.ndim else float(offset))

    def nested_margin(self, outputs: np.ndarray, *, smooth: bool = False) -> np.ndarray:
        """Margins to a decision that was tuned on the samples of all other folds.

        A threshold that is scored on the samples that it was tuned on looks better
        than it is.

        Parameters
        ----------
        outputs, smooth
            As for :meth:`best_decision`.

        Returns
        -------
        margin : ndarray of the shape of outputs
            Outputs less the offset of their fold.
        """
        offsets = np.empty_like(outputs, dtype=float)
        stop = 0
        for size in self.sizes:
            start, stop = stop, stop + size
            others = np.ones(len(outputs), dtype=bool)
            others[start:stop] = len(self.sizes) == 1
            decision = self.best_decision(
                outputs, smooth=smooth, used=others, n_bootstrap=N_BOOTSTRAP_NESTED
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
