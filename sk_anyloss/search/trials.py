"""Candidates trained on folds: their networks, and their out-of-fold predictions."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from sk_anyloss._compat import is_out_of_memory
from sk_anyloss.estimators.classifier import AnyLossClassifier
from sk_anyloss.estimators.labels import Labels
from sk_anyloss.estimators.stack import fit_stack
from sk_anyloss.estimators.tuning.out_of_fold import N_BOOTSTRAP, OutOfFold
from sk_anyloss.metrics import Metric
from sk_anyloss.metrics.decision import Decision
from sk_anyloss.search.candidates import ESTIMATOR, describe
from sk_anyloss.search.effort.budget import Clock, OutOfTimeError
from sk_anyloss.search.members import fit_member, outputs_of
from sk_anyloss.training.data.source import Matrix, RoundedSource

__all__ = ["CrossValidationData", "Trial", "fit_on_all", "run_trials"]


@dataclass(frozen=True)
class CrossValidationData:
    """Samples and the folds of a cross-validation.

    Parameters
    ----------
    X : array or sparse matrix
        All samples.
    y : ndarray
        Their labels.
    folds : sequence of pairs of arrays
        Positions to train on, and positions to leave out.
    weight : ndarray, default=None
        Weights of the samples.
    numbers : sequence of int, default=None
        Numbers of the folds among all, if these are only some of them.
    n_folds : int, default=None
        Number of all folds then.
    in_single : bool, default=False
        Whether networks see the samples in single precision.
    """

    X: Matrix
    y: np.ndarray
    folds: Sequence[tuple[np.ndarray, np.ndarray]]
    weight: np.ndarray | None = None
    numbers: Sequence[int] | None = None
    n_folds: int | None = None
    in_single: bool = False

    @property
    def for_networks(self) -> Any:
        """The samples as networks are trained on them."""
        return RoundedSource(np.asarray(self.X)) if self.in_single else self.X

    def of_folds(self, numbers: Sequence[int]) -> CrossValidationData:
        """The same samples, with some of the folds."""
        folds = [self.folds[k] for k in numbers]
        return replace(self, folds=folds, numbers=numbers, n_folds=len(self.folds))

    def __sizeof__(self) -> int:
        """Bytes of the samples, by which joblib sends them once to a Dask cluster."""
        X: Any = self.X if isinstance(self.X, np.ndarray) else self.X.data
        return int(X.nbytes + self.y.nbytes)

    def out_of_fold(self, labels: Labels, metric: str | Metric) -> OutOfFold:
        """The samples that the folds leave out, to be scored by a metric."""
        tests = [test for _, test in self.folds]
        target = labels.encode(self.y, float)
        return OutOfFold.of_folds(tests, target, self.weight, metric, labels.target)


@dataclass
class Trial:
    """A candidate that was trained on all folds.

    Parameters
    ----------
    params : dict
        Its parameters; of a classifier of another kind, ``{'estimator': ...}``.
    models : list of estimators
        Its network, or other classifier, of each fold.
    log_odds : ndarray of shape (n_pooled,), (n_pooled, C) or (n_pooled, Q)
        Their margins on the samples left out, before any tuning of the threshold.
    seconds : float
        Its time, or its share of the time of its stack.
    decision : Decision
        Where it predicts the positive class, each class or each label.
    nested_margin : ndarray of the shape of log_odds or None
        Margins to a threshold that was tuned without the sample's fold, if it was.
    error : str, default=''
        Why it failed; it then has no models and no predictions.
    is_dropped : bool, default=False
        Whether it did not fail, but was given up.
    """

    params: dict[str, Any]
    models: list[Any]
    log_odds: np.ndarray
    seconds: float
    decision: Decision = field(default_factory=Decision)
    nested_margin: np.ndarray | None = None
    error: str = ""
    is_dropped: bool = False

    @classmethod
    def failed(
        cls, params: dict[str, Any], error: Exception, seconds: float = 0.0
    ) -> Trial:
        """A candidate that could not be trained or scored."""
        message = str(error)
        notes = getattr(error, "__notes__", [])
        if not isinstance(error, ValueError) or not message:
            message = f"{type(error).__name__}: {message}".removesuffix(": ")
        message = " ".join([message, *(f"({note})" for note in notes)])
        return cls(params, [], np.empty(0), seconds, error=message)

    @classmethod
    def dropped(cls, params: dict[str, Any], reason: str, seconds: float) -> Trial:
        """A candidate that was given up: time was over, or it was clearly behind."""
        error = f"Dropped: {reason}"
        return cls(params, [], np.empty(0), seconds, error=error, is_dropped=True)

    @classmethod
    def joined(cls, parts: Mapping[int, Trial]) -> Trial:
        """A candidate that was trained on each fold by itself.

        Parameters
        ----------
        parts : dict
            The candidate as it was trained on each fold, by the number of that.

        Returns
        -------
        trial : Trial
            With the models and outputs of all folds; as failed, if it failed on one.
        """
        folds = [parts[k] for k in sorted(parts)]
        seconds = sum(trial.seconds for trial in folds)
        for trial in folds:
            if trial.error:
                return replace(trial, seconds=seconds)
        models = [model for trial in folds for model in trial.models]
        outputs = np.concatenate([trial.log_odds for trial in folds])
        return cls(folds[0].params, models, outputs, seconds)

    def describe(self) -> str:
        """Its parameters in one line."""
        return describe(self.params)

    def tune(self, out_of_fold: OutOfFold, smooth: bool = True) -> None:
        """Tune the decision threshold, by default as a mean over bootstrap samples."""
        draws = out_of_fold.enough_draws(N_BOOTSTRAP) if smooth else 0
        self.decision, _ = out_of_fold.tune(self.log_odds, draws)
        self.nested_margin = out_of_fold.nested_margin(self.log_odds, draws)

    @property
    def is_network(self) -> bool:
        """Whether it is one of the networks of the search, trained in a stack."""
        return ESTIMATOR not in self.params

    @property
    def margin(self) -> np.ndarray:
        """Margins on the samples left out, to a threshold that has not seen them."""
        return self.log_odds if self.nested_margin is None else self.nested_margin


def run_trials(
    base: AnyLossClassifier,
    candidates: Sequence[dict[str, Any]],
    data: CrossValidationData,
    seconds: float | None = None,
    is_first: bool = False,
) -> list[Trial]:
    """Train candidates on folds, in one stack if they are of one shape.

    Parameters
    ----------
    base : AnyLossClassifier
        What the candidates have in common.
    candidates : sequence of dict
        What they do not; or ``{'estimator': ...}``, a classifier of another kind.
    data : CrossValidationData
        What they are trained on.
    seconds : float, default=None
        Time that is left. Networks that would take longer are trained in fewer epochs;
        classifiers of another kind are dropped as soon as their first folds say so.
    is_first : bool, default=False
        Whether there is nothing to fall back on: no candidate is dropped.

    Returns
    -------
    trials : list of Trial
        One for each candidate; if the stack fails, its candidates are trained one by
        one, and those that fail have an error.
    """
    clock = Clock(seconds, is_first)
    try:
        if any(ESTIMATOR in candidate for candidate in candidates):
            trials = [
                _run_estimator(base, params, data, clock) for params in candidates
            ]
        else:
            trials = _run_stack(base, candidates, data, clock)
    except OutOfTimeError as error:
        share = clock.spent / len(candidates)
        return [Trial.dropped(params, str(error), share) for params in candidates]
    except Exception as error:
        if len(candidates) == 1:
            return [Trial.failed(candidates[0], error, clock.spent)]
        # One failure ends the training of the whole stack.
        return [
            trial
            for candidate in candidates
            for trial in run_trials(base, [candidate], data, clock.left, is_first)
        ]
    for trial in trials:
        trial.seconds = clock.spent / len(candidates)
    return trials


def fit_on_all(
    trial: Trial,
    data: CrossValidationData,
    labels: Labels,
    class_weight: Mapping[Any, float] | str | None,
) -> Any:
    """A candidate, trained on all samples.

    Parameters
    ----------
    trial : Trial
        The candidate, trained on folds.
    data : CrossValidationData
        The samples.
    labels : Labels
        All classes or labels.
    class_weight : dict or 'balanced' or None
        For a classifier of another kind; networks have it as a parameter.

    Returns
    -------
    model : estimator
        The fitted model.
    """
    model = trial.models[0]
    if trial.is_network:
        return clone(model).fit(data.for_networks, data.y, data.weight)
    return fit_member(
        model,
        data.X,
        data.y,
        labels,
        sample_weight=data.weight,
        class_weight=class_weight,
    )


def _run_stack(
    base: AnyLossClassifier,
    candidates: Sequence[dict[str, Any]],
    data: CrossValidationData,
    clock: Clock,
) -> list[Trial]:
    """What :func:`run_trials` does, unless a candidate fails."""
    folds = data.folds
    if clock.left is not None:
        epochs = {
            int(params.get("max_epochs", base.max_epochs)) for params in candidates
        }
        first = Clock()
        once = [{**params, "max_epochs": 1} for params in candidates]
        _fit_stack(base, once, data)
        allowed = clock.epochs(max(epochs), first.spent)
        candidates = [
            {**p, "max_epochs": min(allowed, int(p.get("max_epochs", base.max_epochs)))}
            if allowed < max(epochs)
            else p
            for p in candidates
        ]
    models = _fit_stack(base, candidates, data)
    trials = []
    for i, params in enumerate(candidates):
        own = models[i * len(folds) : (i + 1) * len(folds)]
        trials.append(Trial(params, own, _pooled_outputs(base, own, data), 0.0))
    return trials


def _fit_stack(
    base: AnyLossClassifier,
    candidates: Sequence[dict[str, Any]],
    data: CrossValidationData,
) -> list[AnyLossClassifier]:
    """The networks of each candidate, one for each fold."""
    folds = data.folds
    models = [clone(base).set_params(**params) for params in candidates for _ in folds]
    rows = [train for train, _ in folds] * len(candidates)
    with warnings.catch_warnings():
        # A candidate that collapses is not chosen, so its warning is of no use.
        warnings.simplefilter("ignore")
        # All networks have an output for each class, also for one that a fold lacks.
        classes = np.unique(data.y) if data.y.ndim == 1 else None
        _fit_in_memory(models, rows, data, classes)
    if any(model.net_.interrupted_ for model in models):
        raise KeyboardInterrupt  # A net that trains alone keeps what it has learned.
    return models


def _fit_in_memory(
    models: Sequence[AnyLossClassifier],
    rows: Sequence[np.ndarray],
    data: CrossValidationData,
    classes: np.ndarray | None,
) -> None:
    """Train networks in a stack, or in smaller ones if the memory does not suffice."""
    try:
        fit_stack(
            models,
            data.for_networks,
            data.y,
            rows=rows,
            sample_weight=data.weight,
            classes=classes,
        )
    except (MemoryError, RuntimeError) as error:
        if len(models) == 1 or not is_out_of_memory(error):
            raise
        half = len(models) // 2
        _fit_in_memory(models[:half], rows[:half], data, classes)
        _fit_in_memory(models[half:], rows[half:], data, classes)


def _run_estimator(
    base: AnyLossClassifier,
    params: dict[str, Any],
    data: CrossValidationData,
    clock: Clock,
) -> Trial:
    """A classifier of another kind, fitted on each fold by itself."""
    labels = Labels.of(data.y, base.pos_label)
    models = []
    for k, (train, _) in enumerate(data.folds):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = fit_member(
                    params[ESTIMATOR],
                    data.X[train],
                    data.y[train],
                    labels,
                    sample_weight=None if data.weight is None else data.weight[train],
                    class_weight=base.class_weight,
                    seed=base.random_state,
                )
        except Exception as error:
            number = k if data.numbers is None else data.numbers[k]
            n_folds = data.n_folds or len(data.folds)
            error.add_note(f"in fold {number} of {n_folds}")
            raise
        models.append(model)
        clock.check(k + 1, len(data.folds))
    return Trial(params, models, _pooled_outputs(base, models, data), 0.0)


def _pooled_outputs(
    base: AnyLossClassifier, models: Sequence[Any], data: CrossValidationData
) -> np.ndarray:
    """Outputs for the samples that each fold leaves out, by its own model."""
    labels = Labels.of(data.y, base.pos_label)
    pairs = zip(models, data.folds, strict=True)
    return np.concatenate(
        [outputs_of(model, data.X[test], labels) for model, (_, test) in pairs]
    )
