"""The scikit-learn estimator: validates, encodes labels, builds the net, trains it."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from scipy.special import logit
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data
from torch import nn

from sk_anyloss._names import spelled
from sk_anyloss.estimators.decisions import DecidesByLogOdds
from sk_anyloss.estimators.parameters import check_params
from sk_anyloss.estimators.preparation import (
    Figures,
    check_labels,
    class_weights,
    column_figures,
    hold_out,
    piece_figures,
    positive_weights,
    prior_logit,
    split_seed,
)
from sk_anyloss.losses import BCE, AnyLoss, get_loss, loss_names
from sk_anyloss.losses.base import Loss
from sk_anyloss.losses.steepness import auto_L, valid_L_range
from sk_anyloss.losses.steps import (
    Step,
    check_thresholds,
    get_step,
    step_names,
)
from sk_anyloss.metrics import AtLeast, Metric, depends_on_prevalence, metric_name
from sk_anyloss.metrics.curves import Curve
from sk_anyloss.metrics.differentiable import check_metric
from sk_anyloss.metrics.scoring import best_cut, evaluate_logits
from sk_anyloss.training.batches import FULL_BATCH_ROWS, batch_rows
from sk_anyloss.training.callbacks import FallingRate, StopOnScore
from sk_anyloss.training.dataset import Sample, as_rows
from sk_anyloss.training.mlp import MLP, Activation, check_hidden
from sk_anyloss.training.net import AnyLossNet
from sk_anyloss.training.optimizers import get_optimizer
from sk_anyloss.training.trainer import Phase, Task, train

__all__ = ["AnyLossClassifier"]


class Job(NamedTuple):
    """What an estimator has to do in ``fit``, once the data are looked at."""

    sample: Sample
    held_out: Sample | None
    seeds: list[int]

    def within(self, index: np.ndarray) -> Job:
        """The same samples by their places in a larger set."""
        held_out = None if self.held_out is None else self.held_out.within(index)
        return Job(self.sample.within(index), held_out, self.seeds)


class AnyLossClassifier(DecidesByLogOdds, BaseEstimator):
    """Neural network for two classes, trained for the metric you report.

    The loss is one minus the metric of a soft confusion matrix, which the AnyLoss
    amplifier makes nearly hard yet differentiable.

    Parameters
    ----------
    metric : str or callable, default='f1'
        What to train for: ``'f1'``, ``'f2'``, any ``'f<beta>'``, ``'gmean'``,
        ``'balanced_accuracy'``, ``'mcc'`` and others of
        :func:`sk_anyloss.metrics.metric_names`; a goal with a constraint such as
        ``'precision@recall>=0.8'``, which the decisions on the training rows then meet
        if they can; ``'roc_auc'`` or ``'average_precision'``, which look at all
        thresholds, so that the cut is then put where as many training rows are
        positive as there should be; or a differentiable callable
        ``f(tn, fp, fn, tp)``, larger being better, such as ``Savings(fp=1, fn=20)``
        for a cost matrix.
    hidden : tuple of int, default=(2,)
        Widths of the hidden layers; ``()`` is a single-layer perceptron.
    L : float or 'auto', default=73
        Steepness of the amplifier; used by ``step='sigmoid'`` only. ``'auto'`` takes
        what suits the learning rate, the number of steps and the width of the network,
        by the rule of :func:`sk_anyloss.losses.steepness.auto_L`.
    step : str or Step, default='sigmoid'
        How a probability becomes a soft decision: ``'sigmoid'``, ``'identity'``,
        ``'linear'``, ``'cosine'``, ``'uniform'``, ``'logit'``, or an instance such as
        ``Linear(delta=0.2)``.
    threshold : float or list of floats, default=0.5
        Probability above which the positive class is predicted. Training aims at
        this threshold, so there is rarely a reason to move it. With several, training
        aims at the mean of the metric over them.
    decision_threshold : float, default=None
        Where to predict the positive class, if not at ``threshold``, or at 0.5 where
        that is a list.
    loss : str or torch.nn.Module, default=None
        None trains on the metric. ``'hybrid'`` adds class-weighted cross-entropy to
        it, ``'surrogate_fbeta'`` stands in for F-beta scores. ``'bce'``,
        ``'weighted_bce'``, ``'focal'``, ``'mse'`` or a torch criterion on logits trains
        the same network on that instead; the metric then only scores.
    memory : float, default=0
        Share of the past, in [0, 1), in a moving average of the confusion matrix over
        the batches; the gradient of the metric is taken there. Of use where batches
        hold a positive or two, as with one positive in a thousand rows and 100 rows in
        a batch: 0.9 is a good start. Used by ``loss=None`` only.
    warm_up : int, default=0
        How many of the epochs, the first ones, are trained on cross-entropy. Of use for
        wide networks with a steep step, which otherwise starts on rows that are
        decided already.
    n_init : int, default=1
        Number of trainings from other initial weights, all in one stack, of which the
        one with the lowest training loss is kept, or with the best validation score
        under early stopping.
    pos_label : label, default=None
        The class that counts as positive; by default the greater label,
        ``classes_[1]``, as everywhere in scikit-learn.
    standardize : bool, default=True
        Whether the network first brings each column to mean 0 and deviation 1, by
        figures that are learned from the training rows.
    n_bins : int, default=None
        If given, each column enters in so many pieces instead, one for each bin between
        its quantiles: -1 below the bin, 1 above it, linear within (a column of few
        values has an edge at each of them, and fewer pieces). Then even a network
        without hidden layers can follow a curve in each column.
    activation : str or callable, default='sigmoid'
        What follows a hidden layer: ``'sigmoid'``, ``'relu'``, ``'tanh'``, ``'silu'``,
        ``'gelu'``, ``'leaky_relu'``, or a function from tensor to tensor.
    batch_norm : bool, default=True
        Whether each hidden layer is batch-normalised.
    output_bias : float or 'prior', default='prior'
        Logit that every row has before training. ``'prior'`` takes it from the weighted
        share of positives, as far as the step is still open there; 0 is the paper's.
    optimizer : str or callable, default='adam'
        ``'adam'``, ``'adamw'`` (both with betas of 0.9 and 0.95), ``'sgd'``,
        ``'rmsprop'``, or anything that makes a torch optimiser from
        ``(parameters, lr=...)``.
    lr : float, default=0.01
        Learning rate.
    schedule : 'cosine' or None, default=None
        Whether the learning rate falls to 0 in the course of the epochs, along half a
        cosine.
    max_epochs : int, default=100
        Number of passes over the training rows.
    batch_size : int, float or 'auto', default='auto'
        Rows in a batch, or their share in (0, 1]. ``'auto'`` takes a
        twentieth of the rows, but at least 64 and at most 5,000 of them, so that a
        set of up to 64 rows is trained full batch. Batches are stratified.
    class_weight : dict or 'balanced', default=None
        Factors on the weights of the rows of each class.
    early_stopping : bool, default=False
        Whether to hold out ``validation_fraction`` of the rows, stop once the metric
        on them has not risen by ``tol`` for ``n_iter_no_change`` epochs (nor, at an
        equal metric, their loss fallen), and go back to the best weights.
    validation_fraction : float, default=0.1
        Share of the rows held out by early stopping.
    n_iter_no_change : int, default=10
        Patience of early stopping, in epochs.
    tol : float, default=1e-4
        What early stopping takes for a rise.
    warm_start : bool, default=False
        Whether another ``fit`` goes on from the network as it is; metric, L, loss and
        learning rate may be changed on the way.
    device : str or torch.device, default='cpu'
        Where to compute.
    callbacks : list, default=None
        skorch callbacks for the net.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial weights, of the order of rows and of the held-out rows.
        The global generators of torch and numpy are neither read nor moved.
    verbose : int, default=0
        If 1, prints a line an epoch.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels, sorted.
    pos_label_ : label
        The positive one among them.
    n_features_in_ : int
        Number of columns seen in ``fit``.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Names of the columns, if all were strings.
    net_ : AnyLossNet
        The trained skorch net; ``net_.module_`` is the torch module.
    L_ : float
        The steepness of the amplifier in the last fit.
    n_iter_ : int
        Number of epochs.
    loss_curve_ : list of float
        Training loss of each epoch, from sums over the epoch; in a warm-up it is
        cross-entropy.
    validation_scores_ : list of float or None
        Metric on the held-out rows after each epoch, with early stopping.

    See Also
    --------
    sk_anyloss.losses.AnyLoss : The criterion alone, for any torch loop.
    sk_anyloss.AnyLossNet : The skorch net, for any torch module.

    Notes
    -----
    ``score`` is the metric that the model was trained for. ``predict_proba`` orders the
    rows, but a model trained on a metric is not calibrated; wrap it in
    :class:`~sklearn.calibration.CalibratedClassifierCV` if you need probabilities.

    float64 input is computed in float64, float32 input in float32. Sets of up to 64
    rows are always computed in float64, where it costs nothing.

    References
    ----------
    D. Han, N. Moniz, N. V. Chawla, "AnyLoss: Transforming Classification Metrics into
    Loss Functions", KDD 2024, https://doi.org/10.1145/3637528.3672017

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.model_selection import cross_val_score
    >>> from sk_anyloss import AnyLossClassifier
    >>> X, y = make_classification(500, weights=[0.9], class_sep=2, random_state=0)
    >>> model = AnyLossClassifier(metric="f1", random_state=0)
    >>> scores = cross_val_score(model, X, y, cv=5)
    >>> bool(scores.mean() > 0.8)
    True
    """

    net_: AnyLossNet

    def __init__(
        self,
        metric: str | Metric = "f1",
        hidden: tuple[int, ...] = (2,),
        L: float | str = 73,
        *,
        step: str | Step = "sigmoid",
        threshold: float | Sequence[float] = 0.5,
        decision_threshold: float | None = None,
        loss: str | nn.Module | None = None,
        memory: float = 0.0,
        warm_up: int = 0,
        n_init: int = 1,
        pos_label: Any = None,
        standardize: bool = True,
        n_bins: int | None = None,
        activation: str | Activation = "sigmoid",
        batch_norm: bool = True,
        output_bias: float | str = "prior",
        optimizer: Any = "adam",
        lr: float = 0.01,
        schedule: str | None = None,
        max_epochs: int = 100,
        batch_size: int | float | str = "auto",
        class_weight: dict[Any, float] | str | None = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.1,
        n_iter_no_change: int = 10,
        tol: float = 1e-4,
        warm_start: bool = False,
        device: str | torch.device = "cpu",
        callbacks: list[Any] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.metric = metric
        self.hidden = hidden
        self.L = L
        self.step = step
        self.threshold = threshold
        self.decision_threshold = decision_threshold
        self.loss = loss
        self.memory = memory
        self.warm_up = warm_up
        self.n_init = n_init
        self.pos_label = pos_label
        self.standardize = standardize
        self.n_bins = n_bins
        self.activation = activation
        self.batch_norm = batch_norm
        self.output_bias = output_bias
        self.optimizer = optimizer
        self.lr = lr
        self.schedule = schedule
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.n_iter_no_change = n_iter_no_change
        self.tol = tol
        self.warm_start = warm_start
        self.device = device
        self.callbacks = callbacks
        self.random_state = random_state
        self.verbose = verbose

    def fit(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None
    ) -> AnyLossClassifier:
        """Train the network.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to learn from.
        y : array-like of shape (n_samples,)
            Their labels, two of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights. A row of weight 0 counts as absent, and in a full batch a row of
            weight 2 counts as two.

        Returns
        -------
        self : AnyLossClassifier
            The fitted estimator. If fit fails, it is left as it was before.
        """
        going_on = self.warm_start and hasattr(self, "net_")
        with restored_on_error(self):
            self._fit(X, y, sample_weight, going_on)
        return self

    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> AnyLossClassifier:
        """Go over some rows once, in batches, from the network as it is.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to learn from. The first call learns from them how to standardise.
        y : array-like of shape (n_samples,)
            Their labels.
        classes : array-like of shape (2,), default=None
            The two labels. Needed in the first call unless y has both.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.

        Returns
        -------
        self : AnyLossClassifier
            The estimator. The moving average of ``memory`` goes on from the call
            before. Early stopping, warm-up and several starts do not apply,
            the cut is not moved to meet a constraint, and ``class_weight='balanced'``
            balances within these rows.
        """
        going_on = hasattr(self, "net_")
        with restored_on_error(self):
            self._fit(X, y, sample_weight, going_on, partial=True, classes=classes)
        return self

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        going_on: bool,
        partial: bool = False,
        classes: Any = None,
    ) -> None:
        """Train a new net, or go on with the one there is.

        A partial fit is one epoch without early stopping, and may see one class only.
        """
        check_params(self)
        self._warn_of_class_weight()
        X, y = self._validate(X, y, reset=not going_on)
        job = self._prepare(y, sample_weight, X.dtype, going_on, partial, classes)
        if going_on:
            criterion = self._build_criterion(job.sample)
            if partial:
                criterion = self._resumed(criterion)
            tasks = [self._task(self.net_, criterion, X, job, partial)]
        else:
            tasks = self._tasks(X, job, self._figures(X, job.sample), partial)
        train(tasks)
        self._finish(max(tasks, key=Task.outcome), watch=not partial)

    def _prepare(
        self,
        y: np.ndarray,
        sample_weight: Any,
        dtype: Any,
        going_on: bool = False,
        partial: bool = False,
        classes: Any = None,
    ) -> Job:
        """Settle classes, weights and which rows to train on, without copying any."""
        rows, weight = positive_weights(y, sample_weight)
        if rows is not None:
            y = y[rows]
        check_classification_targets(y)
        labels = np.unique(y)
        if partial and classes is not None:
            labels = np.union1d(labels, classes)
        if going_on:
            self._check_same_classes(labels, partial)
            self._check_same_network()
        else:
            self.classes_, self.pos_label_ = check_labels(labels, self.pos_label)
        target = (y == self.pos_label_).astype(dtype)
        own = weight
        weight = class_weights(self.class_weight, self.classes_, y, own, dtype)
        seeds = split_seed(self.random_state, 3)
        sample, held_out = Sample(rows, target, weight, own), None
        if self.early_stopping and not partial:
            sample, held_out = hold_out(sample, self.validation_fraction, seeds[2])
        return Job(sample, held_out, seeds)

    def _tasks(
        self, X: Any, job: Job, figures: Figures, partial: bool = False
    ) -> list[Task]:
        """New nets to train: one, or several that start from other weights."""
        tasks = []
        for start in _starts(job, 1 if partial else self.n_init):
            net = self._build_net(X, start, figures)
            tasks.append(self._task(net, net.criterion_, X, start, partial))
        return tasks

    def _task(
        self, net: AnyLossNet, criterion: nn.Module, X: Any, job: Job, partial: bool
    ) -> Task:
        """A net to train as the estimator is set now."""
        return Task(
            net,
            X,
            job.sample,
            job.held_out,
            self._phases(net, criterion, partial),
            self.metric,
            self._decide_at,
            self.lr,
            self.batch_size,
            self.schedule,
            self.n_iter_no_change,
            self.tol,
            self.verbose,
            seed=job.seeds[1],
            is_observed=bool(self.callbacks or self.verbose),
            standardized=self.standardize or self.n_bins is not None,
        )

    def _phases(
        self, net: AnyLossNet, criterion: nn.Module, partial: bool = False
    ) -> list[Phase]:
        """What a training consists of: one loss, or cross-entropy and then that."""
        if partial:
            return [Phase(criterion, 1, False)]
        epochs = self.max_epochs
        if not self.warm_up or net.history:
            return [Phase(criterion, epochs, True)]
        return [
            Phase(BCE(), self.warm_up, False),
            Phase(criterion, epochs - self.warm_up, True),
        ]

    def _finish(self, task: Task, watch: bool = True) -> None:
        """Take over what was learned; ``watch`` for a model that learned nothing."""
        self.net_ = net = task.net
        X, sample = task.X, task.sample
        # An epoch that was interrupted has no figures.
        self.loss_curve_ = _column(net, "train_loss")
        self.n_iter_ = len(self.loss_curve_)
        watched = task.held_out is not None
        self.validation_scores_ = _column(net, "valid_score") if watched else None
        if not watch:
            return
        if isinstance(net.criterion_, Loss):
            net.criterion_.forget()
        goal = getattr(net.criterion_, "goal", None)
        if isinstance(goal, AtLeast):
            self._place_at_least(goal, X, sample)
        elif isinstance(goal, Curve):
            # It says nothing of where to cut: as many as there are positives, by
            # weights that include those of the classes.
            by_class = replace(sample, own=sample.weight)
            self._place(lambda tn, fp, fn, tp: -abs(fp - fn), X, by_class)
        self._warn_if_constant(X, sample)

    def _place(self, metric: Metric, X: Any, sample: Sample) -> float:
        """Move the output bias to where a metric is best on the training rows."""
        logits = [self._log_odds(rows) for rows, _ in sample.chunks(X)]
        z = np.concatenate(logits)
        cut, _ = best_cut(metric, z, sample.target, sample.own)
        with torch.no_grad():
            self.net_.module_.layers[-1].bias.add_(self._cut - cut)
        # As it is after rounding.
        z += z.dtype.type(self._cut - cut)
        return evaluate_logits(metric, z, sample.target, sample.own, self._cut)

    def _place_at_least(self, goal: AtLeast, X: Any, sample: Sample) -> None:
        """Decide where the constraint is met, if it can be, on the training rows.

        Training aims at soft counts of batches, which come close to a constraint; this
        meets it. Of all places that do, the one that is best for the goal.
        """
        value = self._place(goal, X, sample)
        if value < 0:
            warnings.warn(
                f"{metric_name(goal)} cannot be met on the training rows: the best "
                f"{metric_name(goal.constraint)} is {goal.floor + value:.3f}, "
                f"{-value:.3f} short of {goal.floor:g}. Lower the floor, or train a "
                "larger network for longer.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _check_same_classes(self, labels: np.ndarray, partial: bool) -> None:
        strange = np.setdiff1d(labels, self.classes_).tolist()
        if strange or not (partial or len(labels) == 2):
            raise ValueError(
                f"A model of the classes {self.classes_.tolist()} cannot go on with "
                f"rows of the class {(strange or labels.tolist())[0]!r}; for other "
                "classes, fit a new model."
            )
        if self.pos_label is not None and self.pos_label != self.pos_label_:
            raise ValueError(
                f"A model whose positive class is {self.pos_label_!r} cannot go on "
                f"with pos_label={self.pos_label!r}; fit a new model for that."
            )

    def _check_same_network(self) -> None:
        for name, value in self._network.items():
            now = getattr(self, name)
            if now != value and not (name == "hidden" and tuple(now) == tuple(value)):
                raise ValueError(
                    f"A model with {name}={value!r} cannot go on with "
                    f"{name}={getattr(self, name)!r}; fit a new model for that."
                )

    def _build_net(self, X: Any, job: Job, figures: Figures) -> AnyLossNet:
        """A new net; ``figures`` are those of the columns."""
        few = len(job.sample.target) <= FULL_BATCH_ROWS
        wide = X.dtype == np.float64 or few
        wide = wide and torch.device(self.device).type != "mps"  # It has no float64.
        mean, scale, pieces = figures
        criterion = self._build_criterion(job.sample)
        if self.output_bias == "prior":
            output_bias = prior_logit(criterion, job.sample)
        else:
            output_bias = float(self.output_bias)
        callbacks = [
            *(self.callbacks or []),
            ("falling_rate", FallingRate()),
            ("early_stopping", StopOnScore()),
        ]
        net = AnyLossNet(
            MLP,
            module__n_features=X.shape[1],
            module__hidden=self.hidden,
            module__activation=self.activation,
            module__batch_norm=self.batch_norm,
            module__mean=mean,
            module__scale=scale,
            module__pieces=pieces,
            module__output_bias=output_bias,
            module__dtype=torch.float64 if wide else torch.float32,
            module__random_state=job.seeds[0],
            metric=self.metric,
            threshold=self._decide_at,
            criterion=criterion,
            optimizer=get_optimizer(self.optimizer),
            lr=self.lr,
            batch_size=self.batch_size,
            callbacks=callbacks,
            device=self.device,
            random_state=job.seeds[1],
            verbose=self.verbose,
        )
        # What cannot be changed on the way: see _check_same_network.
        fixed = (
            "hidden",
            "activation",
            "batch_norm",
            "standardize",
            "n_bins",
            "optimizer",
        )
        self._network = {name: getattr(self, name) for name in fixed}
        return net.initialize()

    def _figures(self, X: Any, sample: Sample) -> Figures:
        """How the columns enter the network."""
        if self.n_bins is not None:
            return piece_figures(X, sample, self.n_bins)
        return column_figures(X, sample) if self.standardize else Figures()

    def _find_L(self, sample: Sample) -> float:
        n = len(sample.target)
        dtype = np.dtype(float) if n <= FULL_BATCH_ROWS else sample.target.dtype
        if not isinstance(self.L, str):
            _, high = valid_L_range(0.1, dtype)
            # 73 is the paper's own, and what is not chosen is not warned of.
            if high < self.L and self.L != 73 and self._step == "sigmoid":
                warnings.warn(
                    f"L={self.L} lies above the valid range for {dtype}, which ends at "
                    f"{high:.1f}: rows that are decided have next to no gradient, and "
                    "the model may predict one class only. L='auto' takes one that "
                    "suits the training.",
                    UserWarning,
                    stacklevel=5,
                )
            return self.L
        n_batches = math.ceil(n / batch_rows(self.batch_size, n))
        width = max(check_hidden(self.hidden), default=2)
        return auto_L(self.lr, self.max_epochs * n_batches, width, dtype)

    def _build_criterion(self, sample: Sample) -> nn.Module:
        self.L_ = self._find_L(sample)
        params = {"L": self.L_} if self._step == "sigmoid" else {}
        goal = (self.metric, get_step(self._step, **params), self.threshold)
        if self.loss is None:
            criterion: nn.Module = AnyLoss(*goal, self.memory)
        else:
            check_metric(self.metric)
            criterion = get_loss(spelled(self.loss, loss_names()), *goal)
        if isinstance(criterion, Loss):
            if criterion is self.loss:
                criterion = copy.deepcopy(criterion)
            weight = 1.0 if sample.weight is None else sample.weight
            positives = float(np.sum(sample.target * weight))
            criterion.prepare(float(np.sum(weight * (1 - sample.target))), positives)
        return criterion

    @property
    def _step(self) -> str | Step:
        """The step, by its registered name if it is given by name."""
        return spelled(self.step, step_names())

    def _resumed(self, criterion: nn.Module) -> nn.Module:
        """The loss of the net with its moving average, unless it is now another one."""
        before = self.net_.criterion_
        if self.loss is not None or not self.memory or repr(before) != repr(criterion):
            return criterion
        if getattr(before, "goal", None) != criterion.goal:
            return criterion
        return copy.deepcopy(before)  # A training that fails leaves the old one.

    def _warn_of_class_weight(self) -> None:
        if self.class_weight is None or self.loss is not None:
            return
        if not depends_on_prevalence(self.metric):
            warnings.warn(
                f"class_weight={self.class_weight!r} has no effect on metric="
                f"{metric_name(self.metric)!r}: it is made of the rates within each "
                "class, which no weight of a class changes. Leave class_weight out, or "
                "take a metric that depends on prevalence, such as 'f1' or 'mcc'.",
                UserWarning,
                stacklevel=4,
            )

    def _warn_if_constant(self, X: Any, sample: Sample) -> None:
        decided: set[bool] = set()
        for rows, _ in sample.chunks(X):
            decided.update((self._decide(rows) > 0).tolist())
            if len(decided) == 2:
                break
        else:
            label = self.classes_.tolist()[int(decided.pop())]
            of_the_step = ""
            if self.loss is None:
                of_the_step = "a smaller L (5 to 20) or step='identity', "
            warnings.warn(
                f"The model predicts {label!r} for every training row. Try another "
                f"learning rate (lr={self.lr}), more epochs (max_epochs="
                f"{self.max_epochs}), {of_the_step}class_weight='balanced', "
                "output_bias=0 or another random_state.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _log_odds(self, X: Any) -> np.ndarray:
        logits = self.net_.logits(as_rows(X))
        if not np.isfinite(logits).all():
            i = int(np.flatnonzero(~np.isfinite(logits))[0])
            largest = np.abs(X[[i]]).max()
            way_out = "" if self.standardize else "use standardize=True, "
            raise ValueError(
                f"The output of the network for sample {i} of X is not finite; the "
                f"largest value of that sample is {largest:.3g}. To train and predict "
                f"on such values, {way_out}scale the columns, or leave such samples "
                "out."
            )
        return logits

    @property
    def _cut(self) -> float:  # type: ignore[override]
        """The logit of the threshold."""
        return float(logit(self._decide_at))

    @property
    def _decide_at(self) -> float:
        """Probability above which the positive class is predicted."""
        if self.decision_threshold is not None:
            return self.decision_threshold
        thresholds = check_thresholds(self.threshold)
        return thresholds[0] if np.ndim(self.threshold) == 0 else 0.5


def _starts(job: Job, n: int) -> list[Job]:
    """The same job from several initial weights and orders of samples."""
    seeds = np.random.SeedSequence(job.seeds).generate_state((n - 1) * 2).tolist()
    others = zip(seeds[::2], seeds[1::2], strict=True)
    return [job] + [job._replace(seeds=[*pair, job.seeds[2]]) for pair in others]


def figures_key(model: AnyLossClassifier, job: Job) -> Hashable:
    """The same for jobs whose columns enter the network in the same way."""
    sample = job.sample
    parts = (sample.rows, sample.target, sample.weight)
    keys = [None if part is None else hash(part.tobytes()) for part in parts]
    return (*keys, model.standardize, model.n_bins)


def prepare_stack(
    models: Sequence[AnyLossClassifier],
    X: Any,
    y: Any,
    rows: Sequence[np.ndarray | None],
    weights: Sequence[np.ndarray | None],
) -> list[list[Task]]:
    """Tasks of estimators that learn from parts of the same samples.

    Parameters
    ----------
    models : sequence of AnyLossClassifier
        The estimators.
    X, y
        All samples, and their labels.
    rows : sequence of arrays of int or None
        For each estimator the samples to learn from; None for all of them.
    weights : sequence of arrays or None
        For each estimator the weights of all samples.

    Returns
    -------
    tasks : list of lists of Task
        For each estimator its tasks, of which the best one is to be kept.
    """
    names, (X, y) = X, models[0]._validate(X, y, reset=True)
    figures: dict[Hashable, Figures] = {}
    tasks = []
    for model, index, weight in zip(models, rows, weights, strict=True):
        model._warn_of_class_weight()
        if model is not models[0]:
            validate_data(model, names, skip_check_array=True)
        if index is None:
            job = model._prepare(y, weight, X.dtype)
        else:
            part = None if weight is None else weight[index]
            job = model._prepare(y[index], part, X.dtype).within(index)
        key = figures_key(model, job)
        if key not in figures:
            figures[key] = model._figures(X, job.sample)
        tasks.append(model._tasks(X, job, figures[key]))
    return tasks


def take_over(model: AnyLossClassifier, tasks: Sequence[Task]) -> None:
    """Give an estimator the net of the best of its tasks."""
    model._finish(max(tasks, key=Task.outcome))


def _column(net: AnyLossNet, name: str) -> list[float]:
    return [epoch[name] for epoch in net.history if name in epoch]


@contextmanager
def restored_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Put back all attributes of an estimator if its fit fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
