"""Candidates tried on folds: fold networks, and what they say of rows left out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit
from sklearn.base import clone

from sk_anyloss.estimators.classifier import AnyLossClassifier
from sk_anyloss.estimators.stack import fit_stack
from sk_anyloss.metrics import Metric
from sk_anyloss.metrics.scoring import best_cut, evaluate_logits
from sk_anyloss.search.candidates import describe

__all__ = ["Pool", "Trial", "run_trials"]


@dataclass
class Pool:
    """The rows that are left out, fold by fold.

    Parameters
    ----------
    rows : ndarray of int of shape (n_pooled,)
        Their positions; a splitter may leave a row out several times, or never.
    target : ndarray of shape (n_pooled,)
        Their labels, 0 or 1.
    weight : ndarray of shape (n_pooled,) or None
        Their weights.
    sizes : list of int
        How many of them each fold has.
    metric : str or callable
        What to score by.
    """

    rows: np.ndarray
    target: np.ndarray
    weight: np.ndarray | None
    sizes: list[int]
    metric: str | Metric

    def best_cut(self, logits: np.ndarray) -> float:
        """Where the metric is best on all of them."""
        return best_cut(self.metric, logits, self.target, self.weight)[0]

    def cut_by_others(self, logits: np.ndarray) -> np.ndarray:
        """For each row the cut that is best on the rows of all other folds.

        A cut that is scored on the rows that it was tuned on looks better than it is.
        """
        cuts = np.empty_like(logits, dtype=float)
        stop = 0
        for size in self.sizes:
            start, stop = stop, stop + size
            others = np.ones(len(logits), dtype=bool)
            others[start:stop] = len(self.sizes) == 1
            weight = None if self.weight is None else self.weight[others]
            cuts[start:stop] = best_cut(
                self.metric, logits[others], self.target[others], weight
            )[0]
        return cuts

    def score(self, logits: np.ndarray, cut: float = 0.0) -> float:
        """The metric of all of them together."""
        return evaluate_logits(self.metric, logits, self.target, self.weight, cut)

    def score_of_folds(self, logits: np.ndarray, cut: float = 0.0) -> np.ndarray:
        """The metric of each fold; NaN where it is not defined."""
        ends = np.cumsum(self.sizes)[:-1]
        weights: Any = [None] * len(self.sizes)
        if self.weight is not None:
            weights = np.split(self.weight, ends)
        folds = zip(
            np.split(logits, ends), np.split(self.target, ends), weights, strict=True
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return np.array(
                [
                    evaluate_logits(self.metric, z, y, weight, cut)
                    for z, y, weight in folds
                ]
            )


@dataclass
class Trial:
    """What became of a candidate.

    Parameters
    ----------
    params : dict
        Its parameters.
    models : list of AnyLossClassifier
        Its network of each fold.
    logits : ndarray of shape (n_pooled,)
        Their logits on the rows left out.
    seconds : float
        Its share of the time of its stack.
    cut : float, default=0
        Logit above which the positive class is predicted.
    placed : ndarray of shape (n_pooled,) or None
        The logits less a cut that was tuned without the row's fold.
    error : str, default=''
        Why it failed; it then has no models and no logits.
    """

    params: dict[str, Any]
    models: list[AnyLossClassifier]
    logits: np.ndarray
    seconds: float
    cut: float = 0.0
    placed: np.ndarray | None = None
    error: str = ""

    @classmethod
    def failed(
        cls, params: dict[str, Any], error: Exception, seconds: float = 0.0
    ) -> Trial:
        """A candidate that could not be trained or scored."""
        message = str(error)
        if not isinstance(error, ValueError) or not message:
            message = f"{type(error).__name__}: {message}".removesuffix(": ")
        return cls(params, [], np.empty(0), seconds, error=message)

    def describe(self) -> str:
        """Its parameters in a word."""
        return describe(self.params)

    def tune(self, pool: Pool) -> None:
        """Put the cut where the metric is best."""
        self.cut = pool.best_cut(self.logits)
        self.placed = self.logits - pool.cut_by_others(self.logits)

    def decisions(self) -> np.ndarray:
        """Logits on the rows left out, less a cut that has not seen them either."""
        return self.logits if self.placed is None else self.placed

    def proba_of(self, X: Any) -> np.ndarray:
        """Mean scores of the fold networks on other rows, moved in the same way."""
        return np.mean(
            [expit(positive_logits(m, X) - self.cut) for m in self.models], axis=0
        )


def positive_logits(model: AnyLossClassifier, X: Any) -> np.ndarray:
    """Logits in favour of the positive class, less that of the model's threshold."""
    favours_last = model.pos_label_ == model.classes_[1]
    decision = model.decision_function(X)
    return decision if favours_last else -decision


def run_trials(
    base: AnyLossClassifier,
    candidates: Sequence[dict[str, Any]],
    X: Any,
    y: np.ndarray,
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
    sample_weight: np.ndarray | None,
) -> list[Trial]:
    """Train candidates on folds, in one stack if they are of one shape.

    Parameters
    ----------
    base : AnyLossClassifier
        What the candidates have in common.
    candidates : sequence of dict
        What they do not.
    X : array or sparse matrix
        All rows.
    y : ndarray
        Their labels.
    folds : sequence of pairs of arrays
        Rows to train on, and rows to leave out.
    sample_weight : ndarray or None
        Weights of the rows.

    Returns
    -------
    trials : list of Trial
        One for each candidate; if the stack fails, its candidates are trained one by
        one, and those that fail say why.
    """
    start = time.perf_counter()
    try:
        trials = _run_stack(base, candidates, X, y, folds, sample_weight)
    except Exception as error:
        if len(candidates) == 1:
            seconds = time.perf_counter() - start
            return [Trial.failed(candidates[0], error, seconds)]
        # One failure ends the training of the whole stack.
        return [
            trial
            for candidate in candidates
            for trial in run_trials(base, [candidate], X, y, folds, sample_weight)
        ]
    for trial in trials:
        trial.seconds = (time.perf_counter() - start) / len(candidates)
    return trials


def _run_stack(
    base: AnyLossClassifier,
    candidates: Sequence[dict[str, Any]],
    X: Any,
    y: np.ndarray,
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
    sample_weight: np.ndarray | None,
) -> list[Trial]:
    """What :func:`run_trials` does, unless a candidate fails."""
    models = [clone(base).set_params(**params) for params in candidates for _ in folds]
    rows = [train for train, _ in folds] * len(candidates)
    with warnings.catch_warnings():
        # A candidate that goes astray is not chosen; nobody has to be told.
        warnings.simplefilter("ignore")
        fit_stack(models, X, y, rows=rows, sample_weight=sample_weight)
    if any(model.net_.interrupted_ for model in models):
        raise KeyboardInterrupt  # A net that trains alone keeps what it has learned.
    trials = []
    for i, params in enumerate(candidates):
        own = models[i * len(folds) : (i + 1) * len(folds)]
        pairs = zip(own, folds, strict=True)
        logits = [positive_logits(model, X[test]) for model, (_, test) in pairs]
        trials.append(Trial(params, own, np.concatenate(logits), 0.0))
    return trials
