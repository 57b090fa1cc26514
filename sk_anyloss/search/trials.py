"""Candidates on the folds of a search: their networks and out-of-fold predictions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from sk_anyloss.estimators.labels import Labels
from sk_anyloss.estimators.tuning.out_of_fold import N_BOOTSTRAP, OutOfFold
from sk_anyloss.metrics import Metric
from sk_anyloss.metrics.decision import Decision
from sk_anyloss.search.candidates import ESTIMATOR, describe
from sk_anyloss.training.data.source import Matrix, RoundedSource

__all__ = ["CrossValidationData", "Trial"]


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
    def for_networks(self) -> Matrix | RoundedSource:
        """The samples as networks are trained on them."""
        return RoundedSource(np.asarray(self.X)) if self.in_single else self.X

    def of_folds(self, numbers: Sequence[int]) -> CrossValidationData:
        """The same samples, with some of the folds."""
        folds = [self.folds[k] for k in numbers]
        return replace(self, folds=folds, numbers=numbers, n_folds=len(self.folds))

    @cached_property
    def without_samples(self) -> CrossValidationData:
        """The folds alone; processes are given the samples by themselves."""
        return replace(self, X=self.X[:0], y=self.y[:0], weight=None)

    def __sizeof__(self) -> int:
        """Bytes of the folds, by which joblib sends them once to a Dask cluster."""
        return sum(part.nbytes for fold in self.folds for part in fold)

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
    models: list[BaseEstimator]
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
