"""Scores of predictions for samples that the models have not seen."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sk_anyloss.metrics.decision import Decision
from sk_anyloss.metrics.tuning import robust
from sk_anyloss.training.targets import AnyMetric, Binary, TargetType

__all__ = ["N_BOOTSTRAP", "OutOfFold"]

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
    metric: AnyMetric
    target_type: TargetType = field(default_factory=Binary)

    @classmethod
    def of_folds(
        cls,
        tests: Sequence[np.ndarray],
        target: np.ndarray,
        weight: np.ndarray | None,
        metric: AnyMetric,
        target_type: TargetType,
    ) -> OutOfFold:
        """Pool the test samples of folds.

        Parameters
        ----------
        tests : sequence of ndarray of int
            The test samples of each fold.
        target : ndarray of shape (n,) or (n, Q)
            Classes as numbers, or labels, of all samples.
        weight : ndarray of shape (n,) or None
            Their weights.
        metric, target_type
            As for the class.

        Returns
        -------
        out_of_fold : OutOfFold
            In the order of the folds.

        Examples
        --------
        >>> import numpy as np
        >>> from sk_anyloss.estimators.tuning.out_of_fold import OutOfFold
        >>> from sk_anyloss.training.targets import Binary
        >>> tests = [np.array([0, 2]), np.array([1, 3])]
        >>> target = np.array([0, 0, 1, 1])
        >>> pool = OutOfFold.of_folds(tests, target, None, "f1", Binary())
        >>> outputs = np.array([-3.0, -1.2, -2.0, -1.0])
        >>> pool.tune(outputs)[0].offset, pool.score(pool.nested_margin(outputs))
        (-1.6, 0.8)
        """
        index = np.concatenate(tests)
        return cls(
            index,
            target[index],
            None if weight is None else weight[index],
            [len(test) for test in tests],
            metric,
            target_type,
        )

    def of_fold(self, fold: int) -> OutOfFold:
        """The test samples of a single fold.

        Parameters
        ----------
        fold : int
            Its number.

        Returns
        -------
        out_of_fold : OutOfFold
            In the same order.
        """
        start = sum(self.sizes[:fold])
        own = slice(start, start + self.sizes[fold])
        return replace(
            self,
            index=self.index[own],
            target=self.target[own],
            weight=None if self.weight is None else self.weight[own],
            sizes=[self.sizes[fold]],
        )

    def tune(
        self,
        outputs: np.ndarray,
        n_bootstrap: int = 0,
        seed: int = 0,
        used: np.ndarray | None = None,
    ) -> tuple[Decision, np.ndarray | None]:
        """The decision that is best for the metric, and its spread.

        Parameters
        ----------
        outputs : ndarray of shape (n_pooled,), (n_pooled, C) or (n_pooled, Q)
            Log-odds, or log-probabilities.
        n_bootstrap : int, default=0
            Number of bootstrap samples over which the best offsets are averaged. With a
            constraint, which a mean may miss, they only tell the spread.
        seed : int, default=0
            Seed of the bootstrap samples.
        used : ndarray of bool of shape (n_pooled,), default=None
            The samples to tune on; by default all.

        Returns
        -------
        decision : Decision
            The threshold or thresholds, or the offsets of classes.
        spread : ndarray of shape (2, ...) or None
            Quantiles 0.1 and 0.9 of the offsets over the bootstrap samples.
        """
        used = np.ones(len(outputs), dtype=bool) if used is None else used
        if self.weight is not None:  # A sample without weight is not drawn either.
            weighed = used & (self.weight > 0)
            used = weighed if weighed.any() else used
        outputs, target = outputs[used], self.target[used]
        weight = None if self.weight is None else self.weight[used]
        tune = self.target_type.best_decision
        best, _ = tune(self.metric, outputs, target, weight)
        if n_bootstrap == 0:
            return best, None
        found = robust(
            lambda w: tune(self.metric, outputs, target, w, best)[0].offset,
            target,
            weight,
            n_bootstrap=n_bootstrap,
            random_state=seed,
        )
        spread = np.stack((found.low, found.high))
        if self.target_type.has_constraint(self.metric):
            return best, spread
        offset = found.center
        return Decision(offset if offset.ndim else float(offset)), spread

    def enough_draws(self, n_bootstrap: int) -> int:
        """How many bootstrap samples a threshold is worth.

        Parameters
        ----------
        n_bootstrap : int
            Number that is wanted.

        Returns
        -------
        n_bootstrap : int
            0 where no class is rare; for metrics with a constraint, which a mean may
            miss; and for more than two classes, whose offsets take long to tune.
        """
        kind = self.target_type
        if kind.name == "multiclass" or kind.has_constraint(self.metric):
            return 0
        target = self.target
        rarest = min(target.sum(axis=0).min(), (1 - target).sum(axis=0).min())
        return 0 if rarest > MANY else n_bootstrap

    def nested_margin(
        self, outputs: np.ndarray, n_bootstrap: int = 0, seed: int = 0
    ) -> np.ndarray:
        """Margins to a decision that was tuned on the samples of all other folds.

        A threshold that is scored on the samples that it was tuned on looks better
        than it is.

        Parameters
        ----------
        outputs, n_bootstrap, seed
            As for :meth:`tune`; at most ten bootstrap samples are drawn in each fold.

        Returns
        -------
        margin : ndarray of the shape of outputs
            Outputs less the offset of their fold.
        """
        n_bootstrap = min(n_bootstrap, N_BOOTSTRAP_NESTED)
        if self.target_type.has_constraint(self.metric):
            n_bootstrap = 0
        offsets = np.empty_like(outputs, dtype=float)
        stop = 0
        for size in self.sizes:
            start, stop = stop, stop + size
            others = np.ones(len(outputs), dtype=bool)
            # With a single split there are no others.
            others[start:stop] = len(self.sizes) == 1
            decision, _ = self.tune(outputs, n_bootstrap, seed, others)
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
