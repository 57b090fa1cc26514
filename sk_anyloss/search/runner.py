"""Run the candidates of a search: in processes, within a time budget, interruptibly."""

from __future__ import annotations

import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from sk_anyloss.boosting import MetricBoostingClassifier
from sk_anyloss.estimators.classifier import AnyLossClassifier
from sk_anyloss.estimators.tuning.out_of_fold import OutOfFold
from sk_anyloss.losses.registry import trains_on_metric
from sk_anyloss.metrics import metric_name
from sk_anyloss.search.candidates import ESTIMATOR
from sk_anyloss.search.effort.budget import Clock
from sk_anyloss.search.effort.cluster import results_of
from sk_anyloss.search.effort.halving import clearly_behind, first_fold, tried
from sk_anyloss.search.fold_fits import run_trials
from sk_anyloss.search.results import failure_message
from sk_anyloss.search.trials import CrossValidationData, Trial
from sk_anyloss.training.data.source import Matrix

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
    drop_early : bool, default=True
        Whether candidates that are clearly behind on one fold are dropped.
    ended : callable, default=None
        Called with every candidate that is finished; the search ends if it returns
        True.
    """

    out_of_fold: OutOfFold
    base: AnyLossClassifier
    tune_threshold: bool | str
    n_jobs: int | None
    time_budget: float | None
    verbose: int
    drop_early: bool = True
    ended: Callable[[Trial], bool] | None = None
    #: The candidates in the order in which they are run.
    order: list[dict[str, Any]] = field(default_factory=list, init=False)

    def run(
        self, candidates: Sequence[dict[str, Any]], data: CrossValidationData
    ) -> list[Trial]:
        """Train and score the candidates, those of one shape together.

        Parameters
        ----------
        candidates, data
            As :func:`sk_anyloss.search.fold_fits.run_trials` takes them.

        Returns
        -------
        trials : list of Trial
            The candidates that were begun, of which one at least did not fail.
        """
        groups = _of_one_shape(candidates)
        self.order = [params for group in groups for params in group]
        clock = Clock(self.time_budget)
        fold = None
        if self.drop_early and self.time_budget is None and len(groups) > 1:
            fold = first_fold(data)
        if fold is None:
            finished = self._run_all(groups, data, clock)
        else:
            finished = self._run_in_two_steps(groups, data, fold)
        trials: list[Trial] = []
        interrupted = stopped = False
        try:
            for trial in chain.from_iterable(finished):
                trials.append(self._score(trial))
                if self.ended is not None and self.ended(trials[-1]):
                    stopped = True
                    break
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
        elif stopped:
            with warnings.catch_warnings():
                # joblib warns of tasks that it cancels.
                warnings.simplefilter("ignore")
                finished.close()
        elif self.time_budget is not None and n_trained < len(candidates):
            _warn(
                f"time_budget={self.time_budget} was over after {n_trained} of "
                f"{len(candidates)} candidates and {clock.spent:.1f} s; the best of "
                "these are kept."
            )
        message = failure_message(trials)
        if fold is not None and not interrupted and all(t.error for t in trials):
            # Those that were ahead failed on later folds.
            return replace(self, drop_early=False).run(candidates, data)
        if all(trial.error for trial in trials):
            raise ValueError(message)
        if message:
            _warn(message)
        return trials

    def _run_all(
        self,
        groups: Sequence[Sequence[dict[str, Any]]],
        data: CrossValidationData,
        clock: Clock,
    ) -> Generator[list[Trial]]:
        """Train all candidates of each group, as long as time is left."""

        def jobs() -> Iterator[Any]:
            for number, group in enumerate(groups):
                left, is_first = clock.left, number == 0
                if not is_first and left is not None and left <= 0:
                    return
                # A process that has yet to start begins later than it is asked to.
                deadline = None if left is None else time.time() + left
                yield _job(self.base, group, data, deadline, is_first)

        yield from self._in_order(jobs())

    def _run_in_two_steps(
        self,
        groups: Sequence[Sequence[dict[str, Any]]],
        data: CrossValidationData,
        fold: int,
    ) -> Generator[list[Trial]]:
        """Try all candidates on one fold, and train the promising ones on the others.

        Networks are tried in fewer epochs, and then trained on all folds in one stack;
        other classifiers are fitted on each of the other folds, in processes of theirs.
        What is dropped is decided between the steps, so that it does not depend on
        the number of processes.
        """

        def run(
            jobs: Sequence[tuple[Sequence[dict[str, Any]], CrossValidationData]],
        ) -> Iterator[list[Trial]]:
            return self._in_order(_job(self.base, *one) for one in jobs)

        one = data.of_folds([fold])
        shortened = [[tried(p, self.base.max_epochs) for p in own] for own in groups]
        found = run([(own, one) for own in shortened])
        first = [trial for trials in found for trial in trials]
        pool = self.out_of_fold.of_fold(fold)
        behind = clearly_behind(first, pool, len(data.folds))
        others = [k for k in range(len(data.folds)) if k != fold]
        start, kept, jobs = 0, [], []
        for group in groups:
            own = range(start, start + len(group))
            kept.append([i for i in own if not first[i].error and i not in behind])
            left = [group[i - start] for i in kept[-1]]
            if left and ESTIMATOR in left[0]:
                # A job for each fold, so that no process is idle.
                jobs += [(left, data.of_folds([k])) for k in others]
            elif left:
                jobs.append((left, data))
            start += len(group)
        later = run(jobs)
        reason = f"after fold {fold} of {len(data.folds)} it was clearly behind."
        start = 0
        for group, going_on in zip(groups, kept, strict=True):
            is_network = ESTIMATOR not in group[0]
            trained = iter(next(later) if going_on and is_network else [])
            done = []
            for i, params in enumerate(group, start):
                trial = first[i]
                if i in going_on and is_network:
                    again = next(trained)
                    trial = replace(again, seconds=trial.seconds + again.seconds)
                elif i in going_on:
                    parts = {k: next(later)[0] for k in others}
                    trial = Trial.joined({fold: trial, **parts})
                elif i in behind:
                    trial = Trial.dropped(params, reason, trial.seconds)
                else:
                    trial = replace(trial, params=params)
                done.append(trial)
            start += len(group)
            yield done

    def _in_order(self, jobs: Iterable[Any]) -> Generator[list[Trial]]:
        parallel = Parallel(self.n_jobs, return_as="generator", pre_dispatch="n_jobs")
        return results_of(parallel, jobs)

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
            if isinstance(model, AnyLossClassifier):
                return not trains_on_metric(model.loss)
            return not isinstance(model, MetricBoostingClassifier)
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


def _job(
    base: AnyLossClassifier,
    candidates: Sequence[dict[str, Any]],
    data: CrossValidationData,
    *options: Any,
) -> Any:
    """A job for joblib, which sends an array to a Dask cluster once for all jobs."""
    samples = data.X, data.y, data.weight
    return delayed(_run)(*samples, data.without_samples, base, candidates, *options)


def _run(
    X: Matrix,
    y: np.ndarray,
    weight: np.ndarray | None,
    folds: CrossValidationData,
    base: AnyLossClassifier,
    candidates: Sequence[dict[str, Any]],
    *options: Any,
) -> list[Trial]:
    data = replace(folds, X=X, y=y, weight=weight)
    return run_trials(base, candidates, data, *options)


def _of_one_shape(
    candidates: Sequence[dict[str, Any]],
) -> list[list[dict[str, Any]]]:
    """Networks of one shape together, and every other classifier by itself."""
    by_shape: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for candidate in candidates:
        shape = [candidate.get(name) for name in ("hidden", "n_bins")]
        if ESTIMATOR in candidate:
            shape = [ESTIMATOR, len(by_shape)]
        by_shape[repr(shape)].append(candidate)  # A list cannot be a key.
    return list(by_shape.values())


def _warn(message: str) -> None:
    # Of the caller of the estimator's fit.
    warnings.warn(message, UserWarning, stacklevel=6)
