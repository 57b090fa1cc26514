"""Run the candidates of a search: in processes, within a time budget, interruptibly."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from sk_anyloss.estimators.classifier import AnyLossClassifier
from sk_anyloss.estimators.tuning.out_of_fold import OutOfFold
from sk_anyloss.losses.registry import trains_on_metric
from sk_anyloss.metrics import metric_name
from sk_anyloss.search.budget import Clock
from sk_anyloss.search.candidates import ESTIMATOR
from sk_anyloss.search.results import failure_message
from sk_anyloss.search.trials import CrossValidationData, Trial, run_trials

__all__ = ["Runner"]


@dataclass
class Runner:
    """How the candidates of a search are run and scored.

    Parameters
    ----------
    out_of_fold : OutOfFold
        The samples to score on.
    base : AnyLossClassifier
        What the candidates have in common.
    tune_threshold : bool or 'auto'
        Whether decision thresholds are tuned.
    n_jobs : int or None
        Number of processes.
    time_budget : float or None
        Seconds that all candidates may take.
    verbose : int
        If 1, prints a line for each candidate.
    """

    out_of_fold: OutOfFold
    base: AnyLossClassifier
    tune_threshold: bool | str
    n_jobs: int | None
    time_budget: float | None
    verbose: int
    #: The candidates in the order in which they are run.
    order: list[dict[str, Any]] = field(default_factory=list, init=False)

    def run(
        self, candidates: Sequence[dict[str, Any]], data: CrossValidationData
    ) -> list[Trial]:
        """Train and score the candidates, those of one shape together.

        Parameters
        ----------
        candidates, data
            As :func:`sk_anyloss.search.trials.run_trials` takes them.

        Returns
        -------
        trials : list of Trial
            The candidates that were begun, of which one at least did not fail.
        """
        by_shape: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for candidate in candidates:
            shape = [candidate.get(name) for name in ("hidden", "n_bins")]
            if ESTIMATOR in candidate:  # Each is fitted by itself.
                shape = [ESTIMATOR, len(by_shape)]
            by_shape[repr(shape)].append(candidate)  # A list cannot be a key.
        self.order = [params for group in by_shape.values() for params in group]
        clock, n_begun = Clock(self.time_budget), 0

        def jobs() -> Iterator[Any]:
            nonlocal n_begun
            for group in by_shape.values():
                left, is_first = clock.left, n_begun == 0
                if not is_first and left is not None and left <= 0:
                    return
                n_begun += len(group)
                yield delayed(run_trials)(self.base, group, data, left, is_first)

        trials: list[Trial] = []
        parallel = Parallel(self.n_jobs, return_as="generator", pre_dispatch="n_jobs")
        interrupted = False
        try:
            for done in parallel(jobs()):
                trials.extend(self._score(trial) for trial in done)
        except KeyboardInterrupt:
            if all(trial.error for trial in trials):
                raise
            interrupted = True
        n_trained = sum(not trial.is_dropped for trial in trials)
        if interrupted:
            _warn(
                f"The search was interrupted after {len(trials)} of {len(candidates)} "
                "candidates; the best of these are kept."
            )
        elif n_trained < len(candidates):
            _warn(
                f"time_budget={self.time_budget} was over after {n_trained} of "
                f"{len(candidates)} candidates and {clock.spent:.1f} s; the best of "
                "these are kept."
            )
        message = failure_message(trials)
        if all(trial.error for trial in trials):
            raise ValueError(message)
        if message:
            _warn(message)
        return trials

    def _score(self, trial: Trial) -> Trial:
        """A candidate with its threshold tuned, or as failed if it has no score."""
        try:
            if not trial.error and self.tunes_threshold(trial):
                trial.tune(self.out_of_fold)
            if not trial.error:
                self.out_of_fold.score(trial.margin)
        except Exception as error:  # A metric of one's own may raise anything.
            trial = Trial.failed(trial.params, error, trial.seconds)
        if self.verbose:
            self._print(trial)
        return trial

    def tunes_threshold(self, trial: Trial | None = None) -> bool:
        """Whether the threshold of a candidate, or of the ensemble, is tuned."""
        metric, target = self.out_of_fold.metric, self.out_of_fold.target_type
        if target.is_curve(metric) or self.tune_threshold is False:
            return False
        if self.tune_threshold is True or target.has_constraint(metric):
            return True
        if trial is None or trial.params.get("class_weight", self.base.class_weight):
            return False  # Class weights already move the threshold.
        if not trial.is_network:
            model = trial.params[ESTIMATOR]
            is_ours = isinstance(model, AnyLossClassifier)
            return not (is_ours and trains_on_metric(model.loss))
        return not trains_on_metric(trial.params.get("loss"))

    def _print(self, trial: Trial) -> None:
        if trial.is_dropped:
            print(f"dropped {trial.seconds:6.2f} s  {trial.describe()}: {trial.error}")
            return
        if trial.error:
            print(f"failed  {trial.seconds:6.2f} s  {trial.describe()}: {trial.error}")
            return
        folds = self.out_of_fold.score_folds(trial.margin)
        print(
            f"{metric_name(self.out_of_fold.metric)} "
            f"{self.out_of_fold.score(trial.margin):.4f} "
            f"(folds {np.nanmean(folds):.3f} +/- {np.nanstd(folds):.3f})  "
            f"{trial.seconds:6.2f} s  {trial.describe()}"
        )


def _warn(message: str) -> None:
    # Of the caller of the estimator's fit.
    warnings.warn(message, UserWarning, stacklevel=6)
