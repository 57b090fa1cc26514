"""Models that decide together, by the weighted mean of their scores."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from scipy.special import expit, softmax
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from sk_anyloss.estimators.binary_mixin import DecidesByLogOdds
from sk_anyloss.estimators.labels import Labels
from sk_anyloss.estimators.tuning.out_of_fold import OutOfFold
from sk_anyloss.metrics.decision import Decision, log_odds
from sk_anyloss.search.members import outputs_of
from sk_anyloss.search.trials import Trial
from sk_anyloss.search.weights import LEAST_WEIGHT, trust
from sk_anyloss.training.data.source import Matrix

__all__ = ["DecidesByEnsemble"]

#: How many standard errors the best candidate is ahead if it decides alone. It is the
#: best of several, so one of them says little.
NOISE = 1.5
#: Below this share of positives, the threshold of the mean over folds is moved, by its
#: scores of at most this many negatives.
VERY_RARE, MAX_NEGATIVES = 0.02, 20_000


class DecidesByEnsemble(DecidesByLogOdds):
    """Labels, scores and the metric, from the fold models of some candidates."""

    estimators_: list[BaseEstimator]
    estimator_offsets_: np.ndarray
    estimator_weights_: np.ndarray
    oof_proba_: np.ndarray
    _labels: Labels
    ensemble: bool
    n_best: int

    def _choose(self, trials: Sequence[Trial], order: Sequence[int]) -> list[int]:
        """The best networks and all other candidates, or the best one; in order."""
        if not self.ensemble:
            return list(order[:1])
        networks = [i for i in order if trials[i].is_network][: self.n_best]
        return [i for i in order if i in networks or not trials[i].is_network]

    def _combine(
        self, chosen: Sequence[Trial], out_of_fold: OutOfFold, tunes: bool = False
    ) -> np.ndarray:
        """Take the models of candidates, with the weights that their scores earn.

        Networks are one member, which counts for all of them; every other classifier
        is one by itself. The ensemble decides at 0.5, since each member has its own
        threshold: tuning another one on few positives loses more than it gains.
        If its mean is worse than the best candidate by more than noise, as where
        members hardly agree on any positive, that one decides alone.

        Parameters
        ----------
        chosen : sequence of Trial
            The candidates, none of which failed, the best one first.
        out_of_fold : OutOfFold
            The samples that were left out.
        tunes : bool, default=False
            Whether the ensemble's own threshold will be tuned.

        Returns
        -------
        weights : ndarray of shape (n_chosen,)
            Weight of each candidate; they sum to 1. Members of little weight have 0
            and are left out.
        """
        scores = [self._scores(trial.margin) for trial in chosen]
        networks = [i for i, trial in enumerate(chosen) if trial.is_network]
        others = [[i] for i, trial in enumerate(chosen) if not trial.is_network]
        members = [networks, *others] if networks else others
        margins = [
            self._as_outputs(np.mean([scores[i] for i in member], axis=0))
            for member in members
        ]
        found = trust(margins, out_of_fold).weights
        found = np.where(found < LEAST_WEIGHT, 0.0, found)
        found /= found.sum()
        weights = np.zeros(len(chosen))
        for member, weight in zip(members, found, strict=True):
            weights[member] = weight / len(member)
        pair = [
            self._as_outputs(np.tensordot(w, np.array(scores), axes=1))
            for w in (weights, np.eye(len(chosen))[0])
        ]
        if tunes:
            pair = [out_of_fold.nested_margin(outputs) for outputs in pair]
        of_best = trust(pair, out_of_fold)
        if of_best.differences[1] > NOISE * of_best.errors[1]:
            weights = np.eye(len(chosen))[0]
        self._take(chosen, weights)
        self.oof_rows_, self.oof_target_ = out_of_fold.index, out_of_fold.target
        self.oof_weight_ = out_of_fold.weight
        self.oof_proba_ = np.tensordot(weights, np.array(scores), axes=1)
        self.decision_ = Decision()
        return weights

    def _take(self, chosen: Sequence[Trial], weights: np.ndarray) -> None:
        """Keep the models of all candidates that have a weight."""
        members = [
            (model, trial.decision.offset, weight / len(trial.models))
            for trial, weight in zip(chosen, weights, strict=True)
            for model in (trial.models if weight > 0 else ())
        ]
        n_outputs = self._labels.target.n_outputs
        shape = (n_outputs,) if n_outputs > 1 else ()
        self.estimators_ = [model for model, _, _ in members]
        self.estimator_offsets_ = np.array(
            [np.broadcast_to(offset, shape) for _, offset, _ in members]
        )
        self.estimator_weights_ = np.array([weight for _, _, weight in members])

    def _tune_ensemble(self, out_of_fold: OutOfFold) -> None:
        """Tune the common threshold, for a floor that the mean may not meet."""
        outputs = self._as_outputs(self.oof_proba_)
        self.decision_ = out_of_fold.tune(outputs)[0]

    def _has_few_positives(self, out_of_fold: OutOfFold) -> bool:
        """Whether there are two classes, of which the positive one is very rare."""
        kind = out_of_fold.target_type
        is_binary = kind.name == "binary" and not kind.is_curve(out_of_fold.metric)
        return is_binary and out_of_fold.target.mean() < VERY_RARE

    def _decide_as_often(self, X: Matrix, out_of_fold: OutOfFold) -> None:
        """Move the threshold of the mean over folds where positives are very rare.

        Thresholds are those of models of single folds. Their mean varies less, so it
        exceeds a high threshold more rarely than any of them: on very rare positives,
        hardly ever. It gets the threshold at which it decides on negatives as often
        as the models did out of fold. Models know the negatives of other folds, so
        their scores of these are given the distribution of those out of fold.
        """
        kept = out_of_fold.target == 0
        if out_of_fold.weight is not None:
            kept &= out_of_fold.weight > 0
        at = np.flatnonzero(kept)
        at = at[:: -(-len(at) // MAX_NEGATIVES)]
        n_folds = len(out_of_fold.sizes)
        fold = np.repeat(np.arange(n_folds), out_of_fold.sizes)[at]
        samples, unseen = X[out_of_fold.index[at]], self.oof_proba_[at]
        share = np.mean(unseen > 0.5)
        if not 0 < share < 1:
            return
        mean = np.zeros(len(at))
        for k in range(n_folds):
            scores = self._mean_scores(samples, slice(k, None, n_folds)) * n_folds
            known = fold != k
            ranks = rankdata(scores[known]) - 0.5
            scores[known] = np.quantile(unseen, ranks / max(known.sum(), 1))
            mean += scores / n_folds
        threshold = np.quantile(mean, 1 - share)
        self.decision_ = Decision(float(log_odds(threshold)))
        shifted = log_odds(self.oof_proba_) + self.decision_.offset
        self.oof_proba_ = expit(shifted)  # Decided as before, at the new threshold.

    def _use_only(self, model: BaseEstimator) -> None:
        """Replace the fold models of one candidate by one for all samples."""
        self.estimators_ = [model]
        self.estimator_offsets_ = self.estimator_offsets_[:1]
        self.estimator_weights_ = np.ones(1)

    def _scores(self, margin: np.ndarray) -> np.ndarray:
        """Scores between 0 and 1, of which the mean is taken."""
        if self.target_type_ == "multiclass":
            return softmax(margin, axis=1)
        return expit(margin)

    def _as_outputs(self, scores: np.ndarray) -> np.ndarray:
        """From mean scores back to log-odds, or log-probabilities of classes."""
        if self.target_type_ == "multiclass":
            return np.log(np.maximum(scores, np.finfo(float).tiny))
        return log_odds(scores)

    def _warn_if_constant(self) -> None:
        if self.target_type_ == "multilabel-indicator":
            return
        margin = self.decision_.margin(self._as_outputs(self.oof_proba_))
        labels = np.unique(self._labels.decode(margin)).tolist()
        if len(labels) > 1:
            return
        warnings.warn(
            f"The best candidates predict {labels[0]!r} for every sample that was left "
            "out; try other candidates, or more informative features.",
            ConvergenceWarning,
            stacklevel=5,
        )

    def _log_odds(self, X: Matrix) -> np.ndarray:
        """Outputs that belong to the weighted mean score of the models."""
        return self._as_outputs(self._mean_scores(X))

    def _mean_scores(self, X: Matrix, used: slice = slice(None)) -> np.ndarray:
        """Weighted sum of the scores of some models; of all, their mean."""
        members = zip(
            self.estimators_[used],
            self.estimator_offsets_[used],
            self.estimator_weights_[used],
            strict=True,
        )
        total: np.ndarray | float = 0.0
        for model, offset, weight in members:
            margin = outputs_of(model, X, self._labels) - offset
            total = total + weight * self._scores(margin)
        return np.asarray(total)
