"""The estimator that tunes itself: settings and folds trained in stacks."""

from __future__ import annotations

import math
import numbers
import time
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import ArrayLike
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    process_routing,
)
from sklearn.utils.multiclass import check_classification_targets

from sk_anyloss._compat import (
    check_sample_weight,
    raise_for_unrouted,
    routing_enabled,
)
from sk_anyloss._names import spelled
from sk_anyloss.estimators.classifier import AnyLossClassifier, restored_on_error
from sk_anyloss.estimators.decisions import DecidesByLogOdds, log_odds
from sk_anyloss.estimators.folds import inner_cv
from sk_anyloss.estimators.parameters import check_params, check_search_params
from sk_anyloss.estimators.preparation import check_labels, split_seed
from sk_anyloss.metrics import AtLeast, Metric, get_metric, metric_name
from sk_anyloss.metrics.curves import Curve
from sk_anyloss.search.candidates import check_candidates, grid
from sk_anyloss.search.results import failure_message, results_table, score_trials
from sk_anyloss.search.trials import Pool, Trial, run_trials
from sk_anyloss.training.batches import FULL_BATCH_ROWS, MAX_AUTO_ROWS

__all__ = ["AnyLossClassifierCV"]

#: Columns are not cut into pieces if there would be more than so many.
MANY_COLUMNS = 1024


class AnyLossClassifierCV(DecidesByLogOdds, BaseEstimator):
    """Network for two classes, trained for the metric you report, that tunes itself.

    Candidates of :class:`AnyLossClassifier` are trained on the folds of a
    cross-validation, all that have one shape in one stack. Their decisions on the rows
    left out are pooled, and the metric is computed once on all of them: the mean of
    the scores of folds is biased for ratios such as F1. The networks of the best
    candidates then decide together.

    Parameters
    ----------
    metric : str or callable, default='f1'
        What to train for and to choose by, as for :class:`AnyLossClassifier`.
    cv : int, splitter or iterable, default=5
        How to split the samples. An integer gives that many stratified folds of
        shuffled samples, seeded by ``random_state``; one that is greater than the
        number of samples in the smaller class is lowered to it, with a warning. For
        samples that are ordered in time pass ``TimeSeriesSplit``, for samples in
        groups ``StratifiedGroupKFold`` and ``groups`` by metadata routing.
    hidden : sequence of tuples of int, default=((), (32, 32))
        Widths of hidden layers to try.
    steps : sequence of str or Step, default=('sigmoid',)
        Steps to try; ``'sigmoid'`` with each L.
    Ls : sequence of float or 'auto', default=(5,)
        Values of L to try.
    lrs : sequence of float, default=(0.03,)
        Learning rates to try.
    bins : sequence of int or None, default=(None, 8)
        In how many pieces columns enter, None for columns as they are. Pieces are left
        out where they would come to more than 1,024 columns.
    cross_entropy : bool, default=True
        Whether to try networks that are trained on cross-entropy as well, with a
        threshold that is tuned on the pooled decisions.
    candidates : sequence of dict, default=None
        Parameters of :class:`AnyLossClassifier` to try instead of all these.
    ensemble : bool, default=True
        Whether the fold networks of the best candidates decide together, by the mean
        of their scores. Otherwise one network of the best candidate is trained on all
        rows.
    n_best : int, default=5
        How many of the best candidates are in the ensemble.
    tune_threshold : bool or 'auto', default='auto'
        Whether to put the threshold where the metric is best on the pooled decisions;
        a candidate is then scored fold by fold with the threshold of the others.
        ``'auto'`` does so for metrics with a constraint, and for networks trained on
        cross-entropy without class weights; class weights say already where to decide,
        and networks trained on the metric have learned their threshold.
    activation : str or callable, default='relu'
        As for :class:`AnyLossClassifier`, as the following ones.
    schedule : 'cosine' or None, default='cosine'
        Whether the learning rate falls.
    max_epochs : int, default=50
        Number of passes over the rows.
    batch_norm, optimizer
        As for :class:`AnyLossClassifier`.
    batch_size : int, float or 'auto', default='auto'
        Rows in a batch, or their share. ``'auto'`` is a twelfth of the rows, no fewer
        than 64 and no more than 5,000 of them.
    class_weight, pos_label, standardize, device
        As for :class:`AnyLossClassifier`.
    n_jobs : int, default=None
        Number of processes; networks of one shape are trained in one.
    time_budget : float, default=None
        Seconds after which no further candidates are begun. The first shape is
        always trained.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds, of the initial weights and of the order of samples.
    verbose : int, default=0
        If 1, prints a line for each candidate as soon as it is known.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels, sorted.
    pos_label_ : label
        The positive one among them.
    cv_results_ : dict of lists and arrays
        An entry for each candidate: ``params``, ``split<k>_test_score``,
        ``mean_test_score`` and ``std_test_score`` over the folds,
        ``pooled_test_score``, ``rank_test_score`` (by the pooled one),
        ``threshold``, ``fit_time``, its share of the time of its stack, and ``error``,
        why it failed, or ``''``. A candidate that fails, or does not stay finite, has
        the score NaN and is left out; only if all of them fail does ``fit`` raise.
    best_index_ : int
        The candidate with the best pooled score.
    best_params_ : dict
        Its parameters.
    best_score_ : float
        Its pooled score.
    scores_ : ndarray of shape (n_candidates, n_folds)
        Scores of the folds.
    ensemble_indices_ : list of int
        The candidates that decide, the best one first.
    estimators_ : list of AnyLossClassifier
        The networks that decide.
    oof_rows_, oof_target_, oof_weight_, oof_proba_ : ndarray of shape (n_pooled,)
        Rows that were left out, fold by fold, whether they are positive, their weights
        or None, and their scores by networks that have not seen them.
    threshold_ : float
        Score above which the positive class is predicted.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if all were strings.

    See Also
    --------
    AnyLossClassifier : One network.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sk_anyloss import AnyLossClassifierCV
    >>> X, y = make_classification(300, weights=[0.9], class_sep=2, random_state=0)
    >>> model = AnyLossClassifierCV("f1", hidden=[()], max_epochs=50, random_state=0)
    >>> model.fit(X, y).best_score_ > 0.7
    True
    >>> len(model.estimators_)  # Four candidates, five folds.
    20
    """

    def __init__(
        self,
        metric: str | Metric = "f1",
        *,
        cv: Any = 5,
        hidden: Sequence[tuple[int, ...]] = ((), (32, 32)),
        steps: Sequence[Any] = ("sigmoid",),
        Ls: Sequence[float | str] = (5,),
        lrs: Sequence[float] = (0.03,),
        bins: Sequence[int | None] = (None, 8),
        cross_entropy: bool = True,
        candidates: Sequence[dict[str, Any]] | None = None,
        ensemble: bool = True,
        n_best: int = 5,
        tune_threshold: bool | str = "auto",
        activation: Any = "relu",
        batch_norm: bool = True,
        optimizer: Any = "adam",
        schedule: str | None = "cosine",
        max_epochs: int = 50,
        batch_size: int | float | str = "auto",
        class_weight: dict[Any, float] | str | None = None,
        pos_label: Any = None,
        standardize: bool = True,
        device: Any = "cpu",
        n_jobs: int | None = None,
        time_budget: float | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.metric = metric
        self.cv = cv
        self.hidden = hidden
        self.steps = steps
        self.Ls = Ls
        self.lrs = lrs
        self.bins = bins
        self.cross_entropy = cross_entropy
        self.candidates = candidates
        self.ensemble = ensemble
        self.n_best = n_best
        self.tune_threshold = tune_threshold
        self.activation = activation
        self.batch_norm = batch_norm
        self.optimizer = optimizer
        self.schedule = schedule
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.class_weight = class_weight
        self.pos_label = pos_label
        self.standardize = standardize
        self.device = device
        self.n_jobs = n_jobs
        self.time_budget = time_budget
        self.random_state = random_state
        self.verbose = verbose

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
            Rows to learn from.
        y : array-like of shape (n_samples,)
            Their labels, two of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights, for training and for the pooled score.
        **params
            For the splitter, ``groups`` say, through metadata routing.

        Returns
        -------
        self : AnyLossClassifierCV
            The fitted estimator. If fit fails, it is left as it was before. If it is
            interrupted, the candidates that are finished are used, with a warning.
        """
        with restored_on_error(self):
            self._fit(X, y, sample_weight, params)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, params: dict[str, Any]) -> None:
        self._check()
        X, y = self._validate(X, y, reset=True)
        candidates = self._candidates(X.shape[1])
        seed, fold_seed = split_seed(self.random_state, 2)
        base = self._base(len(y), seed)
        check_params(base)
        if self.candidates is None:  # Made from parameters of the search itself.
            for candidate in candidates:
                check_params(clone(base).set_params(**candidate))
        check_classification_targets(y)
        self.classes_, self.pos_label_ = check_labels(np.unique(y), self.pos_label)
        if sample_weight is not None:
            sample_weight = check_sample_weight(sample_weight, len(y))
        folds = self._split(X, y, sample_weight, params, fold_seed)
        rows = np.concatenate([test for _, test in folds])
        pool = Pool(
            rows,
            (y[rows] == self.pos_label_).astype(float),
            None if sample_weight is None else sample_weight[rows],
            [len(test) for _, test in folds],
            self.metric,
        )
        trials = self._run(base, candidates, (X, y, folds, sample_weight), pool)
        self._note(trials, pool)
        self._choose(trials, pool, (X, y, sample_weight))

    def _check(self) -> None:
        """Refuse parameters that make no sense."""
        get_metric(self.metric)
        check_search_params(self)

    def _candidates(self, n_columns: int) -> list[dict[str, Any]]:
        """What to try on rows of so many columns."""
        candidates = self.candidates
        if candidates is None:
            bins = [n for n in self.bins if (n or 0) * n_columns <= MANY_COLUMNS]
            candidates = grid(
                self.hidden,
                self.steps,
                self.Ls,
                self.lrs,
                bins or [None],
                self.cross_entropy,
            )
        return check_candidates(candidates)

    def _base(self, n: int, seed: int) -> AnyLossClassifier:
        """What all candidates have in common, for n samples."""
        batch_size = self.batch_size
        if isinstance(batch_size, str) and batch_size == "auto":
            # Half as many steps as a single fit takes: as good, measured, and faster.
            batch_size = max(FULL_BATCH_ROWS, min(math.ceil(n / 12), MAX_AUTO_ROWS))
        return AnyLossClassifier(
            self.metric,
            activation=self.activation,
            batch_norm=self.batch_norm,
            optimizer=self.optimizer,
            schedule=self.schedule,
            max_epochs=self.max_epochs,
            batch_size=batch_size,
            class_weight=self.class_weight,
            pos_label=self.pos_label,
            standardize=self.standardize,
            device=self.device,
            random_state=seed,
        )

    def _split(
        self,
        X: Any,
        y: np.ndarray,
        sample_weight: Any,
        params: dict[str, Any],
        seed: int,
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Folds whose training rows have both classes."""
        cv, least = self.cv, np.unique(y, return_counts=True)[1].min()
        if least < 2:
            raise ValueError(
                "AnyLossClassifierCV needs at least two rows of each class, one to "
                "train on and one to leave out; got one of the smaller class."
            )
        if isinstance(cv, numbers.Integral) and cv > least:
            warnings.warn(
                f"cv={cv} is lowered to {least}, the number of rows in the smaller "
                "class.",
                UserWarning,
                stacklevel=4,
            )
            cv = int(least)
        splitter = inner_cv(cv, seed)
        routed: dict[str, Any] = {}
        if routing_enabled():
            routed = process_routing(self, "fit", **params).splitter.split
        else:
            raise_for_unrouted(params, "AnyLossClassifierCV.fit")
        folds = list(splitter.split(X, y, **routed))
        for k, (train, test) in enumerate(folds):
            used = train
            if sample_weight is not None:
                used = np.asarray(train)[sample_weight[train] > 0]
            if len(test) == 0:
                raise ValueError(f"Fold {k} of {len(folds)} leaves no row out.")
            if len(np.unique(y[used])) < 2:
                raise ValueError(
                    f"Fold {k} of {len(folds)} leaves only one class to train on; use "
                    "fewer folds, or a splitter that keeps both classes together, such "
                    "as StratifiedKFold or StratifiedGroupKFold."
                )
        return folds

    def _run(
        self,
        base: AnyLossClassifier,
        candidates: list[dict[str, Any]],
        data: tuple[Any, ...],
        pool: Pool,
    ) -> list[Trial]:
        """Try the candidates, those of one shape together, within the time."""
        by_shape: dict[Any, list[dict[str, Any]]] = defaultdict(list)
        for candidate in candidates:
            shape = [candidate.get(name) for name in ("hidden", "n_bins")]
            by_shape[repr(shape)].append(candidate)  # A list cannot be a key.
        start, begun = time.perf_counter(), 0

        def jobs() -> Iterator[Any]:
            nonlocal begun
            for alike in by_shape.values():
                spent = time.perf_counter() - start
                if begun and self.time_budget is not None and spent > self.time_budget:
                    return
                begun += len(alike)
                yield delayed(run_trials)(base, alike, *data)

        trials: list[Trial] = []
        parallel = Parallel(self.n_jobs, return_as="generator", pre_dispatch="n_jobs")
        interrupted = False
        try:
            for done in parallel(jobs()):
                for trial in done:
                    trials.append(self._scored(trial, pool))
        except KeyboardInterrupt:
            if all(trial.error for trial in trials):
                raise
            interrupted = True
        if interrupted:
            warnings.warn(
                f"The search was interrupted after {len(trials)} of {len(candidates)} "
                "candidates; the best of these are kept.",
                UserWarning,
                stacklevel=4,
            )
        elif begun < len(candidates):
            warnings.warn(
                f"time_budget={self.time_budget} was over after {begun} of "
                f"{len(candidates)} candidates and {time.perf_counter() - start:.1f} "
                "s; the best of these is kept.",
                UserWarning,
                stacklevel=4,
            )
        message = failure_message(trials)
        if all(trial.error for trial in trials):
            raise ValueError(message)
        if message:
            warnings.warn(message, UserWarning, stacklevel=4)
        return trials

    def _scored(self, trial: Trial, pool: Pool) -> Trial:
        """A candidate with its threshold tuned, or as failed if it has no score."""
        try:
            if not trial.error and self._tunes(trial):
                trial.tune(pool)
            if not trial.error:
                pool.score(trial.decisions())
        except Exception as error:  # A metric of one's own may raise anything.
            trial = Trial.failed(trial.params, error, trial.seconds)
        if self.verbose:
            self._report(trial, pool)
        return trial

    def _tunes(self, trial: Trial | None = None) -> bool:
        """Whether the cut of a candidate, or of the ensemble, is tuned."""
        goal = get_metric(self.metric)
        if isinstance(goal, Curve) or self.tune_threshold is False:
            return False
        if self.tune_threshold is True or isinstance(goal, AtLeast):
            return True
        if trial is None or trial.params.get("class_weight", self.class_weight):
            return False  # Class weights say already where to decide.
        return spelled(trial.params.get("loss"), ["hybrid"]) not in (None, "hybrid")

    def _report(self, trial: Trial, pool: Pool) -> None:
        if trial.error:
            print(f"failed  {trial.seconds:6.2f} s  {trial.describe()}: {trial.error}")
            return
        folds = pool.score_of_folds(trial.decisions())
        print(
            f"{metric_name(self.metric)} {pool.score(trial.decisions()):.4f} "
            f"(folds {np.nanmean(folds):.3f} +/- {np.nanstd(folds):.3f})  "
            f"{trial.seconds:6.2f} s  {trial.describe()}"
        )

    def _note(self, trials: list[Trial], pool: Pool) -> None:
        """Write down what became of each candidate."""
        self.scores_, pooled = score_trials(trials, pool)
        self.cv_results_ = results_table(trials, self.scores_, pooled)
        self.best_index_ = _best_first(trials, pooled)[0]
        self.best_params_ = trials[self.best_index_].params
        self.best_score_ = float(pooled[self.best_index_])

    def _choose(self, trials: list[Trial], pool: Pool, data: tuple[Any, ...]) -> None:
        """Take the best candidates, or train the best one on all rows."""
        order = _best_first(trials, self.cv_results_["pooled_test_score"])
        chosen = order[: self.n_best if self.ensemble else 1]
        self.ensemble_indices_ = chosen
        self._trials = [trials[i] for i in chosen]
        self.oof_rows_, self.oof_target_ = pool.rows, pool.target
        self.oof_weight_ = pool.weight
        self.oof_proba_ = np.mean([expit(t.decisions()) for t in self._trials], axis=0)
        self.threshold_ = 0.5
        if self.ensemble and self._tunes():
            self.threshold_ = float(expit(pool.best_cut(log_odds(self.oof_proba_))))
        if not self.ensemble:
            (best,) = self._trials
            X, y, sample_weight = data
            best.models = [clone(best.models[0]).fit(X, y, sample_weight)]
        self.estimators_ = [m for trial in self._trials for m in trial.models]
        decided = self.oof_proba_ > self.threshold_
        if decided.all() or not decided.any():
            label = self.pos_label_ if decided.all() else "the other class"
            warnings.warn(
                f"The best candidates predict {label!r} for every row that was left "
                "out; try other candidates, or look for columns that tell more.",
                ConvergenceWarning,
                stacklevel=5,
            )
        for trial in self._trials:  # A part of the table, and as large as the rows.
            trial.logits, trial.placed = np.empty(0), None

    def _log_odds(self, X: Any) -> np.ndarray:
        """Of the mean score of the networks."""
        return log_odds(np.mean([trial.proba_of(X) for trial in self._trials], axis=0))

    @property
    def _cut(self) -> float:  # type: ignore[override]
        """The log-odds of the threshold."""
        return float(logit(self.threshold_))


def _best_first(trials: list[Trial], pooled: np.ndarray) -> list[int]:
    """Candidates that did not fail, from the best one; those without a score last."""
    order = np.argsort(-pooled, kind="stable").tolist()
    return [i for i in order if not trials[i].error]
