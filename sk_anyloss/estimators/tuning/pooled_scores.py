"""Out-of-fold scores of any classifier, and decisions tuned on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sk_anyloss.estimators.tuning.rules import Rule
from sk_anyloss.metrics.tuning import Tuned, robust

__all__ = ["PooledScores", "fit_fold"]

#: The score of the decision tunes it once for each fold; fewer bootstrap samples are
#: enough for that.
N_BOOTSTRAP_NESTED = 10


class PooledScores:
    """Scores of the test samples of all folds; a sample may be in several, or none.

    Parameters
    ----------
    rule : Rule
        From scores to decisions.
    target : ndarray of shape (n,) or (n, Q)
        Classes or labels of all samples.
    weight : ndarray of shape (n,) or None
        Their weights.
    tests : sequence of ndarray of int
        The test samples of each fold.
    scores : sequence of ndarray
        Their scores.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.estimators.tuning.rules import ThresholdRule
    >>> from sk_anyloss.estimators.tuning.pooled_scores import PooledScores
    >>> rule = ThresholdRule("f1", np.array([0, 1]))
    >>> scores = np.array([-3.0, -1.2]), np.array([-2.0, -1.0])
    >>> tests = np.array([0, 2]), np.array([1, 3])
    >>> pool = PooledScores(rule, np.array([0, 0, 1, 1]), None, tests, scores)
    >>> float(pool.tune(0, 0)[0]), pool.nested_score(0, 0)
    (-1.6, 0.8)
    """

    def __init__(
        self,
        rule: Rule,
        target: np.ndarray,
        weight: np.ndarray | None,
        tests: Sequence[np.ndarray],
        scores: Sequence[np.ndarray],
    ) -> None:
        self.rule = rule
        index = np.concatenate(tests)
        self.target = target[index]
        self.weight = None if weight is None else weight[index]
        self.scores = np.concatenate(scores)
        self.fold = np.repeat(np.arange(len(tests)), [len(test) for test in tests])

    def tune(
        self, n_bootstrap: int, seed: int, used: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray | None]:
        """Tuned numbers, and their quantiles, on some of the samples."""
        rows = slice(None) if used is None else used
        scores, target = self.scores[rows], self.target[rows]
        weight = None if self.weight is None else self.weight[rows]
        best = self.rule.tune(scores, target, weight)
        if n_bootstrap == 0:
            return best, None
        found: Tuned = robust(
            lambda w: self.rule.retune(scores, target, w, best),
            self.rule.strata(target),
            weight,
            n_bootstrap=n_bootstrap,
            random_state=seed,
        )
        center = best if self.rule.is_constrained else found.center
        return center, np.stack((found.low, found.high))

    def nested_score(self, n_bootstrap: int, seed: int) -> float:
        """The metric, each fold with numbers that were tuned on the others."""
        n_folds = int(self.fold[-1]) + 1
        n_bootstrap = min(n_bootstrap, N_BOOTSTRAP_NESTED)
        if self.rule.is_constrained:
            n_bootstrap = 0
        decided = np.empty_like(self.target)
        for k in range(n_folds):
            own = self.fold == k
            # With a single split there are no others.
            used = own if n_folds == 1 else ~own
            tuned, _ = self.tune(n_bootstrap, seed, used)
            decided[own] = self.rule.decide(self.rule.margin(tuned, self.scores[own]))
        return self.rule.score(self.target, decided, self.weight)


def fit_fold(
    estimator: Any,
    X: Any,
    target: np.ndarray,
    rule: Rule,
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
    rule : Rule
        From the estimator to scores.
    fit_params : mapping of str to object
        For ``fit``; what has an entry for each sample is split.
    train, test : ndarray of int
        The samples to fit on, and to score.

    Returns
    -------
    estimator : estimator
        Fitted.
    scores : ndarray
        Of the test samples.
    """
    own = {
        name: _take(value, train) if _is_per_sample(value, len(target)) else value
        for name, value in fit_params.items()
    }
    estimator.fit(_take(X, train), target[train], **own)
    return estimator, rule.scores(estimator, _take(X, test))


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
