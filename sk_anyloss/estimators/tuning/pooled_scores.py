"""Out-of-fold scores of any classifier, and decisions tuned on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sk_anyloss.estimators.labels import Labels
from sk_anyloss.metrics.decision import Decision
from sk_anyloss.metrics.tuning import Tuned, robust
from sk_anyloss.training.target_types import AnyMetric, TargetType

__all__ = ["PooledScores", "fit_fold"]

#: The score of the decision tunes it once for each fold; fewer bootstrap samples are
#: enough for that.
N_BOOTSTRAP_NESTED = 10


class PooledScores:
    """Scores of the test samples of all folds; a sample may be in several, or none.

    Parameters
    ----------
    target_type : TargetType
        Two classes, several classes or several labels.
    metric : str or callable
        What decisions are tuned for.
    target : ndarray of shape (n,) or (n, Q)
        Classes as numbers, or labels, of all samples.
    weight : ndarray of shape (n,) or None
        Their weights.
    tests : sequence of ndarray of int
        The test samples of each fold.
    outputs : sequence of ndarray
        Their scores, as :meth:`sk_anyloss.estimators.labels.Labels.outputs_of` gives
        them.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.estimators.tuning.pooled_scores import PooledScores
    >>> from sk_anyloss.training.target_types import Binary
    >>> outputs = np.array([-3.0, -1.2]), np.array([-2.0, -1.0])
    >>> tests = np.array([0, 2]), np.array([1, 3])
    >>> target = np.array([0, 0, 1, 1])
    >>> pool = PooledScores(Binary(), "f1", target, None, tests, outputs)
    >>> pool.tune(0, 0)[0].offset, pool.nested_score(0, 0)
    (-1.6, 0.8)
    """

    def __init__(
        self,
        target_type: TargetType,
        metric: AnyMetric,
        target: np.ndarray,
        weight: np.ndarray | None,
        tests: Sequence[np.ndarray],
        outputs: Sequence[np.ndarray],
    ) -> None:
        self.target_type, self.metric = target_type, metric
        index = np.concatenate(tests)
        self.target = target[index]
        self.weight = None if weight is None else weight[index]
        self.outputs = np.concatenate(outputs)
        self.fold = np.repeat(np.arange(len(tests)), [len(test) for test in tests])
        #: A mean of several tuned thresholds may miss a constraint that each of them
        #: meets.
        self.is_constrained = target_type.has_constraint(metric)

    def tune(
        self, n_bootstrap: int, seed: int, used: np.ndarray | None = None
    ) -> tuple[Decision, np.ndarray | None]:
        """The tuned decision, and quantiles of its offsets, on some of the samples."""
        rows = slice(None) if used is None else used
        outputs, target = self.outputs[rows], self.target[rows]
        weight = None if self.weight is None else self.weight[rows]
        tune = self.target_type.best_decision
        best, _ = tune(self.metric, outputs, target, weight)
        if n_bootstrap == 0:
            return best, None
        found: Tuned = robust(
            lambda w: tune(self.metric, outputs, target, w, best)[0].offset,
            target,
            weight,
            n_bootstrap=n_bootstrap,
            random_state=seed,
        )
        decision = best if self.is_constrained else Decision(found.center)
        return decision, np.stack((found.low, found.high))

    def nested_score(self, n_bootstrap: int, seed: int) -> float:
        """The metric, each fold with a decision that was tuned on the others."""
        n_folds = int(self.fold[-1]) + 1
        n_bootstrap = min(n_bootstrap, N_BOOTSTRAP_NESTED)
        if self.is_constrained:
            n_bootstrap = 0
        margin = np.empty_like(self.outputs)
        for k in range(n_folds):
            own = self.fold == k
            # With a single split there are no others.
            used = own if n_folds == 1 else ~own
            decision, _ = self.tune(n_bootstrap, seed, used)
            margin[own] = decision.margin(self.outputs[own])
        return self.target_type.evaluate(self.metric, margin, self.target, self.weight)


def fit_fold(
    estimator: Any,
    X: Any,
    target: np.ndarray,
    labels: Labels,
    fit_params: Mapping[str, Any],
    train: np.ndarray,
    test: np.ndarray,
) -> tuple[Any, np.ndarray]:
    """The estimator fitted on one fold, and its scores of the samples left out.

    Parameters
    ----------
    estimator : estimator
        Not fitted.
    X : array-like
        All samples.
    target : ndarray
        Their classes or labels.
    labels : Labels
        All classes or labels.
    fit_params : mapping of str to object
        For ``fit``; what has an entry for each sample is split.
    train, test : ndarray of int
        The samples to fit on, and to score.

    Returns
    -------
    estimator : estimator
        Fitted.
    outputs : ndarray
        Scores of the test samples.
    """
    own = {
        name: _take(value, train) if _is_per_sample(value, len(target)) else value
        for name, value in fit_params.items()
    }
    estimator.fit(_take(X, train), target[train], **own)
    return estimator, labels.outputs_of(estimator, _take(X, test))


def _take(X: Any, index: np.ndarray) -> Any:
    """Some of the samples, of an array, a sparse matrix, a table or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[index]
    if hasattr(X, "shape"):
        return X[index]
    return [X[i] for i in index]


def _is_per_sample(value: Any, n: int) -> bool:
    if isinstance(value, (str, bytes, Mapping)):
        return False
    if hasattr(value, "shape"):
        return len(value.shape) > 0 and value.shape[0] == n
    return hasattr(value, "__len__") and len(value) == n
