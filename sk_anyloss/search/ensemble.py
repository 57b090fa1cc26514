"""Networks that decide together, by the weighted mean of their scores."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning

from sk_anyloss.estimators.binary_mixin import DecidesByLogOdds
from sk_anyloss.estimators.classifier import AnyLossClassifier
from sk_anyloss.metrics.decision import Decision, log_odds
from sk_anyloss.search.out_of_fold import OutOfFold
from sk_anyloss.search.trials import Trial, positive_margin
from sk_anyloss.training.data.source import Matrix

__all__ = ["DecidesByEnsemble"]


class DecidesByEnsemble(DecidesByLogOdds):
    """Labels, scores and the metric, from the fold networks of some candidates."""

    estimators_: list[AnyLossClassifier]
    estimator_offsets_: np.ndarray
    estimator_weights_: np.ndarray
    oof_proba_: np.ndarray

    def _combine(
        self, chosen: Sequence[Trial], out_of_fold: OutOfFold, tunes_threshold: bool
    ) -> None:
        """Take the networks of candidates, and tune their common threshold."""
        members = [(model, trial) for trial in chosen for model in trial.models]
        self.estimators_ = [model for model, _ in members]
        self.estimator_offsets_ = np.array([t.decision.offset for _, t in members])
        weights = np.array([1 / len(trial.models) for _, trial in members])
        self.estimator_weights_ = weights / weights.sum()
        self.oof_rows_, self.oof_target_ = out_of_fold.index, out_of_fold.target
        self.oof_weight_ = out_of_fold.weight
        self.oof_proba_ = np.mean([expit(trial.margin) for trial in chosen], axis=0)
        self.decision_ = Decision()
        if tunes_threshold:
            self.decision_ = out_of_fold.best_decision(log_odds(self.oof_proba_))

    def _use_only(self, model: AnyLossClassifier) -> None:
        """Replace the fold networks of one candidate by a network of its own."""
        self.estimators_ = [model]
        self.estimator_offsets_ = self.estimator_offsets_[:1]
        self.estimator_weights_ = np.ones(1)

    def _warn_if_constant(self) -> None:
        decided = self.oof_proba_ > self.threshold_
        if decided.all() or not decided.any():
            label = self.pos_label_ if decided.all() else "the other class"
            warnings.warn(
                f"The best candidates predict {label!r} for every sample that was left "
                "out; try other candidates, or more informative features.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _log_odds(self, X: Matrix) -> np.ndarray:
        """Of the weighted mean score of the networks."""
        members = zip(
            self.estimators_,
            self.estimator_offsets_,
            self.estimator_weights_,
            strict=True,
        )
        return log_odds(
            np.sum(
                [
                    weight * expit(positive_margin(model, X) - offset)
                    for model, offset, weight in members
                ],
                axis=0,
            )
        )
