"""The estimator that tunes itself: settings and folds trained in stacks."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
)

from sk_anyloss._compat import (
    CallbackSupportMixin,
    begin_callbacks,
    check_sample_weight,
    with_callbacks,
)
from sk_anyloss.estimators.classifier import AnyLossClassifier
from sk_anyloss.estimators.folds import CV, inner_cv
from sk_anyloss.estimators.labels import Labels
from sk_anyloss.estimators.parameters import check_params, restored_on_error
from sk_anyloss.estimators.preparation import split_seed
from sk_anyloss.estimators.tuning.out_of_fold import OutOfFold
from sk_anyloss.metrics import Metric
from sk_anyloss.search.candidates import (
    accepts_nan,
    check_candidates,
    default_candidates,
)
from sk_anyloss.search.effort.budget import passes, samples_in_batch
from sk_anyloss.search.effort.precision import fits_in_single
from sk_anyloss.search.ensemble import DecidesByEnsemble
from sk_anyloss.search.fold_fits import fit_on_all
from sk_anyloss.search.parameters import check_search_params
from sk_anyloss.search.results import (
    best_first,
    dropped_candidates,
    print_weights,
    results_table,
    score_trials,
    standard_errors,
)
from sk_anyloss.search.runner import Runner
from sk_anyloss.search.splits import split_params, split_samples
from sk_anyloss.search.tasks import CandidateTasks
from sk_anyloss.search.trials import CrossValidationData, Trial
from sk_anyloss.training.schedules import CosineDecay

__all__ = ["AnyLossClassifierCV"]


class AnyLossClassifierCV(CallbackSupportMixin, DecidesByEnsemble, BaseEstimator):
    """Cross-validated search over networks and other classifiers for a metric.

    Candidates are trained on the folds of a cross-validation, networks of one shape in
    one stack. Their out-of-fold predictions are pooled, and the metric is computed once
    on all of them: the mean of the scores of folds is biased for ratios such as F1. The
    fold models of the best candidates are combined by a weighted mean.

    Parameters
    ----------
    metric : str or callable, default='f1'
        What to train for and to choose by, as for :class:`AnyLossClassifier`.
    cv : int, splitter or iterable, default=5
        How to split the samples. An integer gives that many stratified folds of
        shuffled samples, seeded by ``random_state``; one that is greater than the
        number of samples in the smaller of two classes is lowered to it, with a
        warning. For
        samples that are ordered in time pass ``TimeSeriesSplit``, for samples in
        groups ``StratifiedGroupKFold`` and ``groups`` by metadata routing.
    hidden : sequence of tuples of int, default=((), (32, 32))
        Widths of hidden layers to try, each on the metric and on cross-entropy;
        beside gradient boosting for two and more classes and 100 samples or more, and
        except for two classes also on a piecewise-linear encoding of the features: see
        :func:`sk_anyloss.search.candidates.default_candidates`.
    candidates : sequence of dicts and estimators, default=None
        What to try instead: parameters of :class:`AnyLossClassifier` (see
        :func:`sk_anyloss.search.candidates.candidate_grid`), or classifiers of any
        other kind, pipelines among them, with ``predict_proba`` or
        ``decision_function``. Parameters that a dict does not set are
        ``activation='relu'``, ``lr=CosineDecay(0.01)``, the parameters below, and the
        defaults of :class:`AnyLossClassifier`. Other classifiers are fitted one by
        one; weights of samples and classes are passed on where their ``fit`` takes
        them, and a ``random_state`` of None is set from that of the search. Samples may
        have missing values if all candidates accept them.
    ensemble : bool, default=True
        Whether the fold models of the best candidates are combined by the weighted
        mean of their scores: see :func:`sk_anyloss.search.weights.trust`. Those of the
        best candidate decide alone if the mean is worse out of fold by more than 1.5
        standard errors of the difference. If False, the best candidate is trained on
        all samples.
    n_best : int, default=5
        How many of the best networks are in the ensemble. They share one weight;
        every classifier of another kind has its own.
    tune_threshold : bool or 'auto', default='auto'
        Whether to tune the decision threshold for the metric on the pooled predictions:
        for several classes an offset for each, for several labels a threshold for each.
        A candidate is then scored fold by fold with the threshold of the others.
        ``'auto'`` does so for metrics with a constraint, and for networks trained on
        cross-entropy and classifiers of another kind without class weights; class
        weights already move the threshold, and networks trained on the metric have
        learned theirs.
    max_epochs : int or 'auto', default='auto'
        Number of passes over the samples. ``'auto'`` is 25 for up to 10,000 samples,
        fewer for more of them, and 20 from 12,500 on, so that time grows slowly; see
        :func:`sk_anyloss.search.effort.budget.passes`.
    batch_size : int, float or 'auto', default='auto'
        Number of samples in a batch, or their fraction. ``'auto'`` is a twelfth of the
        samples, no fewer than 64 and no more than 1,024 of them.
    class_weight, pos_label, device
        As for :class:`AnyLossClassifier`.
    n_jobs : int, default=None
        Number of processes; networks of one shape are trained in one.
    time_budget : float, default=None
        Seconds that the candidates may take. If it does not suffice, networks are
        trained in fewer epochs, no fewer than a fifth, or not at all; other
        classifiers are dropped if fits on few samples, or their first folds, show that
        they take too long. The first candidates are always trained.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, of the initial weights and of the order of samples.
    drop_early : bool, default=True
        Whether, of two classes and 1,000 samples or more, all candidates are tried on
        one fold first, networks in a third of their epochs, and those with a
        predicted weight below 0.02 are not trained on the others: see
        :func:`sk_anyloss.search.effort.halving.clearly_behind`. They then have no
        scores in ``cv_results_``. Not with a ``time_budget``, which drops by time.
    verbose : int, default=0
        If 1, prints a line for each candidate as soon as it is scored, and in the end
        the weights of those that decide and why others do not.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted; for several labels, their positions.
    target_type_ : {'binary', 'multiclass', 'multilabel-indicator'}
        What kind of labels y has.
    metric_ : str or callable
        The metric that was trained for, such as ``'f1_macro'`` for ``metric='f1'`` and
        three classes or more.
    pos_label_ : label or None
        Of two classes, the positive one.
    cv_results_ : dict of lists and arrays
        An entry for each candidate: ``params``, which is ``{'estimator': ...}`` for a
        classifier of another kind, ``split<k>_test_score``, ``mean_test_score`` and
        ``std_test_score`` over the folds, ``pooled_test_score`` and its bootstrap
        standard error ``pooled_test_error``, ``rank_test_score`` (by the pooled one),
        ``weight`` in the ensemble, ``threshold``, ``fit_time``, for networks their
        share of the time of their stack, and ``error``, why it failed, or ``''``. A
        candidate that fails, or does not stay finite, has the score NaN and is left
        out; only if all of them fail does ``fit`` raise.
    best_index_ : int
        The candidate with the best pooled score.
    best_params_ : dict
        Its parameters.
    best_score_ : float
        Its pooled score.
    scores_ : ndarray of shape (n_candidates, n_folds)
        Scores of the folds.
    ensemble_indices_ : list of int
        The candidates that decide, the best one first; one with less than 0.02 of the
        weight does not.
    dropped_ : list of pairs of str
        The candidates that do not decide, each in one line, and why: it failed, time
        was over, it was clearly behind on one fold, or others are better.
    estimators_ : list of AnyLossClassifier and other classifiers
        The models that decide.
    estimator_offsets_ : ndarray of shape (n_estimators,) or (n_estimators, n_classes)
        What is subtracted from the log-odds of each model, or from the
        log-probabilities of its classes.
    estimator_weights_ : ndarray of shape (n_estimators,)
        Weight of the scores of each model in the mean; they sum to 1.
    oof_rows_, oof_target_, oof_weight_, oof_proba_ : ndarray of shape (n_pooled, ...)
        Samples that were left out, fold by fold, whether they are positive, or their
        classes or labels as numbers, their weights or None, and their scores by
        models that have not seen them, which are decided at ``threshold_``.
    decision_ : Decision
        Where the positive class, each class or each label is predicted.
    threshold_ : float or ndarray of shape (n_labels,)
        The same, as a score between 0 and 1; not for several classes. It is 0.5,
        since every candidate is shifted to its own threshold, except for metrics with
        a constraint, ``tune_threshold=True``, and less than 2 % of positives, of which
        the mean of the fold models would predict fewer than each of them.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if all were strings.

    See Also
    --------
    AnyLossClassifier : One network.

    Notes
    -----
    Callbacks of scikit-learn 1.9 (``set_callbacks(ProgressBar())``) are called after
    every candidate, and can end the search.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sk_anyloss import AnyLossClassifierCV
    >>> X, y = make_classification(300, weights=[0.9], class_sep=2, random_state=0)
    >>> model = AnyLossClassifierCV("f1", hidden=[()], max_epochs=50, random_state=0)
    >>> model.fit(X, y).best_score_ > 0.7
    True
    >>> len(model.estimators_)  # Boosting and two networks, five folds.
    15
    """

    def __init__(
        self,
        metric: str | Metric = "f1",
        *,
        cv: CV = 5,
        hidden: Sequence[tuple[int, ...]] = ((), (32, 32)),
        candidates: Sequence[Mapping[str, Any] | BaseEstimator] | None = None,
        ensemble: bool = True,
        n_best: int = 5,
        tune_threshold: bool | str = "auto",
        max_epochs: int | str = "auto",
        batch_size: int | float | str = "auto",
        class_weight: Mapping[Hashable, float] | str | None = None,
        pos_label: Hashable | None = None,
        device: str | torch.device = "cpu",
        n_jobs: int | None = None,
        time_budget: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        drop_early: bool = True,
        verbose: int = 0,
    ) -> None:
        self.metric = metric
        self.cv = cv
        self.hidden = hidden
        self.candidates = candidates
        self.ensemble = ensemble
        self.n_best = n_best
        self.tune_threshold = tune_threshold
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.class_weight = class_weight
        self.pos_label = pos_label
        self.device = device
        self.n_jobs = n_jobs
        self.time_budget = time_budget
        self.random_state = random_state
        self.drop_early = drop_early
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        given = self.candidates or ()
        tags.input_tags.allow_nan = bool(given) and all(map(accepts_nan, given))
        return tags

    def get_metadata_routing(self) -> MetadataRouter:
        """What ``fit`` takes, and what it hands on to the splitter, ``groups`` say."""
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                splitter=inner_cv(self.cv),
                method_mapping=MethodMapping().add(caller="fit", callee="split"),
            )
        )

    @with_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        **params: Any,
    ) -> AnyLossClassifierCV:
        """Try the candidates and keep the best.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples to learn from.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Their classes, of any type; or several labels, as a matrix of 0 and 1.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, for training and for the pooled score.
        **params
            Parameters of the splitter, such as ``groups``, by metadata routing.

        Returns
        -------
        self : AnyLossClassifierCV
            The fitted estimator. If fit fails, it is left as it was before. If it is
            interrupted, the candidates that are finished are used, with a warning.
        """
        context = begin_callbacks(self)
        with restored_on_error(self):
            self._fit(X, y, sample_weight, params, context)
        return self

    def _fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        params: dict[str, Any],
        context: Any,
    ) -> None:
        check_search_params(self)
        if getattr(X, "is_streamed", False):
            raise TypeError(
                "AnyLossClassifierCV holds all samples in memory; fit it on some of "
                "them (X.sample()), or an AnyLossClassifier on all."
            )
        samples, labels = self._validate(X, y, reset=True)
        self._labels = Labels.of(labels, self.pos_label)
        self.classes_, self.pos_label_ = self._labels.classes, self._labels.pos_label
        target = self._labels.target
        self.target_type_, self.metric_ = target.name, target.resolve(self.metric)
        candidates = self.candidates
        if candidates is None:
            candidates = default_candidates(
                self.hidden,
                samples.shape[1],
                target.name,
                n_samples=len(labels),
                smallest_class=np.unique(labels, return_counts=True)[1].min(),
                is_sparse=issparse(samples),
            )
        candidates = check_candidates(candidates)
        seed, fold_seed = split_seed(self.random_state, 2)
        base = self._base(len(labels), seed)
        check_params(base)
        weight = None
        if sample_weight is not None:
            weight = check_sample_weight(sample_weight, len(labels))
        folds = split_samples(
            self.cv, samples, labels, weight, fold_seed, split_params(self, params)
        )
        data = CrossValidationData(
            samples, labels, folds, weight, in_single=fits_in_single(samples)
        )
        out_of_fold = data.out_of_fold(self._labels, self.metric)
        given = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        tasks = CandidateTasks(self, context, given, out_of_fold, len(candidates))
        runner = Runner(
            out_of_fold,
            base,
            self.tune_threshold,
            self.n_jobs,
            self.time_budget,
            self.verbose,
            self.drop_early,
            tasks.end,
        )
        trials = runner.run(candidates, data)
        order = self._record(trials, out_of_fold)
        chosen = self._choose(trials, order)
        tunes = self.ensemble and runner.tunes_threshold()
        weights = self._combine([trials[i] for i in chosen], out_of_fold, tunes)
        if tunes:
            self._tune_ensemble(out_of_fold)
        elif self.ensemble and self._has_few_positives(out_of_fold):
            self._decide_as_often(samples, out_of_fold)
        share = self.cv_results_["weight"] = np.zeros(len(trials))
        share[chosen] = weights
        self.dropped_ = dropped_candidates(runner.order, trials, share)
        self.ensemble_indices_ = [i for i, w in zip(chosen, weights, strict=True) if w]
        if self.verbose:
            print_weights(self.cv_results_, self.ensemble_indices_, self.dropped_)
        if not self.ensemble:
            best = trials[order[0]]
            self._use_only(fit_on_all(best, data, self._labels, self.class_weight))
        self._warn_if_constant()
        tasks.finish()

    def _base(self, n: int, seed: int) -> AnyLossClassifier:
        """What all candidates have in common, for n samples."""
        batch_size = self.batch_size
        if isinstance(batch_size, str) and batch_size == "auto":
            batch_size = samples_in_batch(n)
        max_epochs = self.max_epochs
        if isinstance(max_epochs, str) and max_epochs == "auto":
            max_epochs = passes(n)
        return AnyLossClassifier(
            self.metric,
            activation="relu",
            lr=CosineDecay(0.01),
            max_epochs=max_epochs,  # type: ignore[arg-type]
            batch_size=batch_size,
            class_weight=self.class_weight,
            pos_label=self.pos_label,
            device=self.device,
            random_state=seed,
        )

    def _record(self, trials: list[Trial], out_of_fold: OutOfFold) -> list[int]:
        """Record the scores of all candidates; return their order, the best first."""
        self.scores_, pooled = score_trials(trials, out_of_fold)
        errors = standard_errors(trials, out_of_fold)
        self.cv_results_ = results_table(trials, self.scores_, pooled, errors)
        order = best_first(trials, pooled)
        self.best_index_ = order[0]
        self.best_params_ = trials[self.best_index_].params
        self.best_score_ = float(pooled[self.best_index_])
        return order
