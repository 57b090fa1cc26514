"""Common methods for imbalanced data as estimators, by name.

Each is the same network as :class:`~sk_anyloss.AnyLossClassifier`, trained on
cross-entropy or squared error, alone or after a resampler of imbalanced-learn, so that
a comparison with it varies the method only.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from imblearn.base import BaseSampler
from imblearn.combine import SMOTEENN
from imblearn.over_sampling import ADASYN, SMOTE, BorderlineSMOTE, RandomOverSampler
from imblearn.pipeline import Pipeline
from imblearn.under_sampling import RandomUnderSampler
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.model_selection import TunedThresholdClassifierCV
from sklearn.preprocessing import StandardScaler

from sk_anyloss._names import unknown
from sk_anyloss.estimators.classifier import AnyLossClassifier
from sk_anyloss.estimators.folds import inner_cv
from sk_anyloss.metrics import Metric
from sk_anyloss.metrics.scoring import metric_scorer

__all__ = ["SmallClassesSMOTE", "baseline_names", "get_baseline", "tuned_threshold"]


class TunedThreshold(TunedThresholdClassifierCV):
    """``TunedThresholdClassifierCV`` whose ``score`` is the metric it is tuned for."""

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """The metric of the predictions on X.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their true labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Sample weights.

        Returns
        -------
        score : float
            The metric.
        """
        return self.scoring(self, X, y, sample_weight=sample_weight)


def tuned_threshold(
    classifier: BaseEstimator,
    metric: str | Metric = "f1",
    *,
    pos_label: object = None,
    random_state: int | np.random.RandomState | None = None,
) -> TunedThreshold:
    """Tune the decision threshold of any classifier for a metric.

    Parameters
    ----------
    classifier : estimator
        A binary classifier.
    metric : str or callable, default='f1'
        The metric that the threshold is tuned for, and that ``score`` reports.
    pos_label : label, default=None
        The positive class; by default the label that sorts last.
    random_state : int, RandomState instance or None, default=None
        Seed of the five stratified, shuffled folds on which the threshold is tuned.

    Returns
    -------
    estimator : TunedThresholdClassifierCV
        Not fitted.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sk_anyloss.baselines import tuned_threshold
    >>> tuned_threshold(LogisticRegression(), random_state=0).cv
    StratifiedKFold(n_splits=5, random_state=0, shuffle=True)
    """
    return TunedThreshold(
        classifier,
        scoring=metric_scorer(metric, pos_label=pos_label),
        cv=inner_cv(random_state=random_state),
        random_state=random_state,
    )


class _SmallClasses:
    """A resampler that also works where some classes have few samples.

    A new sample lies between a sample and one of its k nearest neighbours of the same
    class, so that every class needs k + 1 samples. With more than two classes, k is
    lowered to what the smallest class allows, and a class of a single sample is not
    over-sampled. With two classes nothing is changed: too few samples of the minority
    class are an error of the resampler.
    """

    #: Name of the parameter k.
    _neighbors = "k_neighbors"

    def fit_resample(
        self, X: ArrayLike, y: ArrayLike, **params: Any
    ) -> tuple[Any, np.ndarray]:
        """Resample the samples.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their labels.
        **params
            As the resampler takes them.

        Returns
        -------
        X, y : ndarray or sparse matrix, and ndarray
            The samples and labels after resampling.
        """
        labels, counts = np.unique(np.asarray(y), return_counts=True)
        own = {
            name: getattr(self, name) for name in (self._neighbors, "sampling_strategy")
        }
        if len(labels) > 2 and own["sampling_strategy"] == "auto":
            several = counts > 1
            if not several.all():
                self.sampling_strategy = {
                    label: int(counts.max())
                    for label, count in zip(labels, counts, strict=True)
                    if 1 < count < counts.max()
                }
            k = int(counts[several].min(initial=counts.max())) - 1
            setattr(self, self._neighbors, max(1, min(own[self._neighbors], k)))
        try:
            return super().fit_resample(X, y, **params)  # type: ignore[misc]
        finally:
            for name, value in own.items():
                setattr(self, name, value)


class SmallClassesSMOTE(_SmallClasses, SMOTE):
    """``SMOTE`` with fewer neighbours where one of more than two classes is small.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.baselines import SmallClassesSMOTE
    >>> X, y = np.random.default_rng(0).normal(size=(40, 2)), np.repeat([0, 1], 20)
    >>> y[:3] = 2
    >>> _, resampled = SmallClassesSMOTE(random_state=0).fit_resample(X, y)
    >>> np.bincount(resampled)
    array([20, 20, 20])
    """


class _SmallClassesBorderlineSMOTE(_SmallClasses, BorderlineSMOTE):
    """``BorderlineSMOTE`` with fewer neighbours where a class is small."""


class _SmallClassesADASYN(_SmallClasses, ADASYN):
    """``ADASYN`` with fewer neighbours where a class is small."""

    _neighbors = "n_neighbors"


class _SmallClassesSMOTEENN(SMOTEENN):
    """``SMOTEENN`` with fewer neighbours where a class is small."""

    smote: SMOTE | None

    def fit_resample(
        self, X: ArrayLike, y: ArrayLike, **params: Any
    ) -> tuple[Any, np.ndarray]:
        own = self.smote
        if own is None:
            self.smote = SmallClassesSMOTE(
                sampling_strategy=self.sampling_strategy, random_state=self.random_state
            )
        try:
            return super().fit_resample(X, y, **params)
        finally:
            self.smote = own


#: Makes a baseline from a network.
Build: TypeAlias = Callable[[AnyLossClassifier], BaseEstimator]
_REGISTRY: dict[str, Build] = {}


def _register(name: str) -> Callable[[Build], Build]:
    def register(build: Build) -> Build:
        _REGISTRY[name] = build
        return build

    return register


@_register("bce")
def _bce(classifier: AnyLossClassifier) -> BaseEstimator:
    return classifier


@_register("mse")
def _mse(classifier: AnyLossClassifier) -> BaseEstimator:
    return classifier.set_params(loss="mse")


@_register("bce_class_weight")
def _class_weight(classifier: AnyLossClassifier) -> BaseEstimator:
    return classifier.set_params(class_weight="balanced")


def _resampled(
    sampler: type[BaseSampler],
    uses_distances: bool,
    classifier: AnyLossClassifier,
) -> BaseEstimator:
    resampler = sampler(random_state=classifier.random_state)
    steps = [("resample", resampler), ("classifier", classifier)]
    if uses_distances:
        # The features must be on one scale. Distances do not depend on their means,
        # which are not subtracted, so that sparse samples stay sparse.
        steps.insert(0, ("scale", StandardScaler(with_mean=False)))
    return Pipeline(steps)


for _name, _sampler, _uses_distances in (
    ("bce_smote", SmallClassesSMOTE, True),
    ("bce_borderline_smote", _SmallClassesBorderlineSMOTE, True),
    ("bce_adasyn", _SmallClassesADASYN, True),
    ("bce_smote_enn", _SmallClassesSMOTEENN, True),
    ("bce_over", RandomOverSampler, False),
    ("bce_under", RandomUnderSampler, False),
):
    _REGISTRY[_name] = partial(_resampled, _sampler, _uses_distances)


@_register("bce_threshold")
def _threshold(classifier: AnyLossClassifier) -> BaseEstimator:
    return tuned_threshold(
        classifier,
        classifier.metric,
        pos_label=classifier.pos_label,
        random_state=classifier.random_state,
    )


def baseline_names() -> list[str]:
    """Names of all baselines.

    Returns
    -------
    names : list of str
        For :func:`get_baseline`.

    Examples
    --------
    >>> from sk_anyloss.baselines import baseline_names
    >>> baseline_names()
    ['bce', 'bce_adasyn', 'bce_borderline_smote', 'bce_class_weight', 'bce_over',
     'bce_smote', 'bce_smote_enn', 'bce_threshold', 'bce_under', 'mse']
    """
    return sorted(_REGISTRY)


def get_baseline(
    name: str,
    metric: str | Metric = "f1",
    *,
    lr: float = 0.05,
    random_state: int | None = None,
    **params: Any,
) -> BaseEstimator:
    """Make a baseline by its name.

    Parameters
    ----------
    name : str
        ``'bce'`` and ``'mse'``: the network, trained on cross-entropy or squared error;
        ``'bce_class_weight'``: on cross-entropy with balanced class weights;
        ``'bce_smote'``, ``'bce_borderline_smote'``, ``'bce_adasyn'``,
        ``'bce_smote_enn'``, ``'bce_over'``, ``'bce_under'``: on cross-entropy, after
        SMOTE or one of its variants, random over-sampling or random under-sampling of
        the training samples;
        ``'bce_threshold'``: on cross-entropy, with a decision threshold that is tuned
        by cross-validation on shuffled folds of the training samples.
    metric : str or callable, default='f1'
        The metric that ``score`` reports, and that the threshold is tuned for.
    lr : float, default=0.05
        Learning rate. The default suits cross-entropy: at the default of
        ``AnyLossClassifier``, 0.01, the network is under-trained after 100 epochs.
    random_state : int or None, default=None
        Seed of the network and of the resampler.
    **params
        Further parameters of :class:`~sk_anyloss.AnyLossClassifier`.

    Returns
    -------
    estimator : estimator
        An ``AnyLossClassifier``; an imbalanced-learn ``Pipeline`` of the steps
        ``'resample'`` and ``'classifier'``; or a ``TunedThresholdClassifierCV`` whose
        score is the metric. All their parameters can be tuned, for example
        ``resample__sampling_strategy``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sk_anyloss.baselines import get_baseline
    >>> X, y = make_classification(300, weights=[0.9], class_sep=2, random_state=0)
    >>> model = get_baseline("bce_smote", random_state=0)
    >>> model.set_params(resample__sampling_strategy=0.5).fit(X, y).score(X, y) > 0.8
    True
    """
    if name not in _REGISTRY:
        raise ValueError(unknown("baseline", name, _REGISTRY, "see get_baseline."))
    params = {"loss": "bce", **params}
    classifier = AnyLossClassifier(metric, lr=lr, random_state=random_state, **params)
    return _REGISTRY[name](classifier)
