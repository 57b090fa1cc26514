"""Any classifier, with its decision tuned for a metric on out-of-fold scores."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.utils import Tags, get_tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
)
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from sk_anyloss._compat import check_sample_weight
from sk_anyloss.estimators.binary_mixin import LinksToDocumentation
from sk_anyloss.estimators.folds import CV, inner_cv, make_folds
from sk_anyloss.estimators.labels import Labels, check_samples
from sk_anyloss.estimators.parameters import (
    check_flags,
    check_random_state,
    restored_on_error,
)
from sk_anyloss.estimators.preparation import split_seed
from sk_anyloss.estimators.tuning.fold_fits import fit_fold
from sk_anyloss.estimators.tuning.out_of_fold import OutOfFold
from sk_anyloss.estimators.tuning.responses import check_response
from sk_anyloss.estimators.tuning.routing import routed_params
from sk_anyloss.metrics.decision import Decision
from sk_anyloss.metrics.scoring import metric_score

__all__ = ["TunedDecisionClassifier"]


def _has(method: str) -> Callable[[TunedDecisionClassifier], bool]:
    def check(self: TunedDecisionClassifier) -> bool:
        # Asks for the attribute, so that a missing one is reported in its own words.
        getattr(getattr(self, "estimator_", self._inner()), method)
        return True

    return check


class TunedDecisionClassifier(
    LinksToDocumentation, ClassifierMixin, MetaEstimatorMixin, BaseEstimator
):
    """Classifier whose decision is tuned for a metric, for classes or labels.

    The estimator is fitted on the folds of a cross-validation, and the decision is
    tuned on its scores for the samples left out: a threshold for two classes, an offset
    of the log-probability of each class for more, a threshold of each label for several
    labels. It is then fitted on all samples. With few samples of a class the best
    threshold is a noisy number; the mean over bootstrap samples is a better choice.

    Parameters
    ----------
    estimator : estimator, default=None
        Any classifier with ``predict_proba`` or ``decision_function``, also a pipeline
        or a search; ``LogisticRegression()`` if None. Put a fitted one into
        :class:`sklearn.frozen.FrozenEstimator`.
    metric : str or callable, default='f1'
        What to tune for: as :func:`sk_anyloss.metrics.get_metric` takes it for two
        classes, :func:`sk_anyloss.metrics.matrix_metric` for more, such as
        ``'f1_macro@recall[fraud]>=0.8'`` or a ``CostMatrix``, and
        :func:`sk_anyloss.metrics.multilabel.label_metric` for several labels.
    cv : int, splitter or iterable, default=5
        How to split the samples. An integer gives that many stratified folds of
        shuffled samples, seeded by ``random_state``.
    n_bootstrap : int, default=40
        Number of bootstrap samples of the out-of-fold scores over which the tuned
        thresholds or offsets are averaged; 0 for the ones that maximise the metric on
        all of them. With a constraint the latter are used in any case, since they meet
        it, and the bootstrap samples only tell the spread.
    refit : bool, default=True
        Whether to fit the estimator on all samples. False is for a ``cv`` with a single
        split, and keeps the estimator fitted on its training samples.
    n_jobs : int, default=None
        Number of processes for the folds.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and of the bootstrap samples. The estimator has its own.
    pos_label : label, default=None
        The positive one of two classes; by default ``classes_[1]``.

    Attributes
    ----------
    estimator_ : estimator
        The fitted estimator.
    classes_ : ndarray of shape (n_classes,), or list of ndarrays
        The labels, sorted; for several labels ``[array([0, 1]), ...]``.
    decision_ : Decision
        The tuned decision, on the scale of log-odds or log-probabilities.
    metric_ : str or callable
        The metric as it is meant for this target, such as ``'f1_macro'`` for ``'f1'``
        of three classes.
    threshold_ : float
        Two classes: the probability above which the positive one is predicted.
    offsets_ : ndarray of shape (n_classes,)
        More classes: what is added to the log-probabilities.
    thresholds_ : ndarray of shape (n_labels,)
        Several labels: the probability above which each is predicted.
    spread_ : ndarray of shape (2, ...) or None
        Quantiles 0.1 and 0.9 of the threshold, offsets or thresholds over the bootstrap
        samples.
    best_score_ : float
        The metric of the out-of-fold decisions, all together, each with a threshold
        that was tuned on the other folds.
    pos_label_ : label
        Two classes: the positive one.
    n_features_in_ : int
        Number of features seen in ``fit``, if the estimator tells it.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if the estimator tells them.

    See Also
    --------
    sklearn.model_selection.TunedThresholdClassifierCV : For two classes; averages the
        scores of the folds on a grid of thresholds.
    sk_anyloss.metrics.tuning.best_offsets : How the offsets are found.
    sk_anyloss.metrics.tuning.robust : The bootstrap samples, and what they bring.

    Notes
    -----
    Without ``predict_proba``, the ``decision_function`` is taken for log-odds, or for
    the logits of a softmax; ``threshold_`` is then the logistic function of a score.

    A class that is missing among the training samples of a fold has the probability 0
    there.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sk_anyloss import TunedDecisionClassifier
    >>> X, y = make_classification(
    ...     600, n_classes=3, n_informative=4, weights=[0.8, 0.15], random_state=0
    ... )
    >>> model = TunedDecisionClassifier(metric="f1_macro", random_state=0).fit(X, y)
    >>> model.offsets_.shape, model.score(X, y) > model.estimator_.score(X, y) - 0.5
    ((3,), True)
    """

    def __init__(
        self,
        estimator: BaseEstimator | None = None,
        metric: str | Callable[..., Any] = "f1",
        *,
        cv: CV = 5,
        n_bootstrap: int = 40,
        refit: bool = True,
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        pos_label: Hashable | None = None,
    ) -> None:
        self.estimator = estimator
        self.metric = metric
        self.cv = cv
        self.n_bootstrap = n_bootstrap
        self.refit = refit
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.pos_label = pos_label

    def _inner(self) -> Any:
        return LogisticRegression() if self.estimator is None else self.estimator

    def __sklearn_tags__(self) -> Tags:
        tags, inner = super().__sklearn_tags__(), get_tags(self._inner())
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
            tags.classifier_tags.multi_label = inner.classifier_tags.multi_label
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """What ``fit`` takes, and hands on to the estimator and to the splitter."""
        fit = MethodMapping().add(caller="fit", callee="fit")
        split = MethodMapping().add(caller="fit", callee="split")
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(estimator=self._inner(), method_mapping=fit)
            .add(splitter=inner_cv(self.cv), method_mapping=split)
        )

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **params: Any,
    ) -> TunedDecisionClassifier:
        """Tune the decision on samples that are left out, and fit on all of them.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, as the estimator takes them.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Their classes, or an indicator matrix of several labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights in the metric, and for the estimator if its ``fit`` takes them.
        **params
            For ``fit`` of the estimator; with metadata routing also for the splitter,
            ``groups`` say.

        Returns
        -------
        self : TunedDecisionClassifier
            The fitted estimator. If fit fails, it is left as it was before.
        """
        with restored_on_error(self):
            self._fit(X, y, sample_weight, params)
        return self

    def _fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        params: Mapping[str, Any],
    ) -> None:
        inner = self._inner()
        check_response(inner)
        self._check_n_bootstrap()
        check_flags(self, "refit")
        check_random_state(self.random_state)
        X, target = check_samples(self, X, y)
        weight = None
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, len(target))
        labels = Labels.of(target, self.pos_label)
        self._check_metric(labels)
        fit_params, split_params = routed_params(self, inner, weight, params)
        fold_seed, bootstrap_seed = split_seed(self.random_state, 2)
        folds = make_folds(self, X, target, weight, fold_seed, split_params)
        if not self.refit and len(folds) > 1:
            raise ValueError(
                f"refit=False keeps the estimator of a single split, but cv makes "
                f"{len(folds)}; pass refit=True, or a cv with one split."
            )
        fitted = Parallel(n_jobs=self.n_jobs)(
            delayed(fit_fold)(clone(inner), X, target, labels, fit_params, *fold)
            for fold in folds
        )
        tests = [test for _, test in folds]
        codes = labels.encode(target, float)
        pool = OutOfFold.of_folds(tests, codes, weight, self.metric, labels.target)
        outputs = np.concatenate([found for _, found in fitted])
        draws = self.n_bootstrap, bootstrap_seed
        decision, spread = pool.tune(outputs, *draws)
        if self.refit:
            self.estimator_ = clone(inner).fit(X, target, **fit_params)
        else:
            self.estimator_ = fitted[0][0]
        self._set_decision(labels, decision, spread)
        self.best_score_ = pool.score(pool.nested_margin(outputs, *draws))
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))

    def _check_n_bootstrap(self) -> None:
        n = self.n_bootstrap
        if not isinstance(n, numbers.Integral) or isinstance(n, bool) or n < 0:
            raise ValueError(f"n_bootstrap must be an integer from 0 on, got {n!r}.")

    def _check_metric(self, labels: Labels) -> None:
        self.metric_ = labels.target.resolve(self.metric)
        if labels.target.is_curve(self.metric):
            raise ValueError(
                f"metric={self.metric!r} is a metric over all thresholds, so no "
                "threshold is better for it than another; choose a metric of the "
                "confusion matrix, such as 'f1'."
            )

    def _set_decision(
        self, labels: Labels, decision: Decision, spread: np.ndarray | None
    ) -> None:
        for name in ("threshold_", "offsets_", "thresholds_", "pos_label_"):
            self.__dict__.pop(name, None)
        self._labels, self.decision_ = labels, decision
        self.classes_: np.ndarray | list[np.ndarray] = labels.classes
        kind = labels.target.name
        if kind == "multiclass":
            # What is added is the negative of what is subtracted.
            self.offsets_ = -np.asarray(decision.offset)
            self.spread_ = None if spread is None else -spread[::-1]
            return
        self.spread_ = None if spread is None else expit(spread)
        if kind == "binary":
            self.pos_label_ = labels.pos_label
            self.threshold_ = decision.threshold
        else:
            self.classes_ = [np.array([0, 1]) for _ in labels.classes]
            self.thresholds_ = decision.threshold

    def decision_function(self, X: ArrayLike) -> np.ndarray:
        """Margins of the tuned decision, not those of the estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples to decide on.

        Returns
        -------
        margin : ndarray of shape (n_samples,), (n_samples, n_classes) or \
                (n_samples, n_labels)
            Two classes: above 0 where ``classes_[1]`` is predicted. More classes:
            ``log p + offset``, largest for the class that is predicted. Several labels:
            above 0 where the label is predicted.
        """
        margin = self._margin(X)
        if self._labels.target.name != "binary":
            return margin
        return margin if self.pos_label_ == self._labels.classes[1] else -margin

    def _margin(self, X: ArrayLike) -> np.ndarray:
        """Margin in favour of the positive class, of each class or of each label."""
        check_is_fitted(self)
        return self.decision_.margin(self._labels.outputs_of(self.estimator_, X))

    def predict(self, X: ArrayLike) -> np.ndarray:
        """Labels by the tuned decision.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples to label.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_labels)
            Classes, or an indicator matrix.
        """
        margin = self._margin(X)
        return self._labels.decode(margin)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> np.ndarray | list[np.ndarray]:
        """Probabilities of the estimator, which the decision leaves as they are.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples to score.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes), or list of ndarrays
            What the estimator returns. The most probable class is not always the one
            that is predicted.
        """
        check_is_fitted(self)
        return self.estimator_.predict_proba(X)

    @available_if(_has("predict_log_proba"))
    def predict_log_proba(self, X: ArrayLike) -> np.ndarray | list[np.ndarray]:
        """Logarithms of the probabilities of the estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples to score.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes), or list of ndarrays
            What the estimator returns.
        """
        check_is_fitted(self)
        return self.estimator_.predict_log_proba(X)

    def score(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> float:
        """The metric that the decision is tuned for, of the predictions on X.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Their classes or labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        score : float
            The metric; accuracy only if ``metric='accuracy'``.
        """
        predicted = self.predict(X)
        kind = self._labels.target.name
        return metric_score(
            y,
            predicted,
            metric=self.metric,
            pos_label=self.pos_label_ if kind == "binary" else None,
            labels=None if kind == "multilabel-indicator" else self._labels.classes,
            sample_weight=sample_weight,
        )
