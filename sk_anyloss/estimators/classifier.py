"""The scikit-learn estimator: validates, encodes labels, builds the net, trains it."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from operator import attrgetter

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import gen_batches
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data
from skorch import NeuralNet
from skorch.callbacks import Callback
from torch import nn

from sk_anyloss._compat import (
    CallbackSupportMixin,
    begin_callbacks,
    with_callbacks,
)
from sk_anyloss.estimators.binary_mixin import DecidesByLogOdds
from sk_anyloss.estimators.encoding import Encoding, fit_encoding
from sk_anyloss.estimators.labels import Labels
from sk_anyloss.estimators.networks import (
    Plan,
    build_loss,
    build_net,
    build_task,
    steepness,
    warm_up_epochs,
)
from sk_anyloss.estimators.parameters import check_params
from sk_anyloss.estimators.preparation import (
    class_weights,
    hold_out,
    positive_weights,
    split_seed,
)
from sk_anyloss.losses.base import Loss
from sk_anyloss.losses.registry import LossLike, trains_on_metric
from sk_anyloss.losses.steps import Step
from sk_anyloss.metrics import AtLeast, Metric, depends_on_prevalence, metric_name
from sk_anyloss.metrics.arithmetic import Count
from sk_anyloss.metrics.curves import Curve
from sk_anyloss.metrics.decision import Decision
from sk_anyloss.metrics.evaluation import evaluate_logits
from sk_anyloss.metrics.tuning import best_threshold
from sk_anyloss.training.callbacks import EarlyStopping
from sk_anyloss.training.data.dataset import Subset
from sk_anyloss.training.data.parquet import ParquetSource
from sk_anyloss.training.data.source import Matrix, Source, as_source
from sk_anyloss.training.data.sparse import chunk_samples
from sk_anyloss.training.fit_callbacks import copy_of_net, epochs_as_tasks
from sk_anyloss.training.net import AnyLossNet
from sk_anyloss.training.network.mlp import Activation
from sk_anyloss.training.schedules import CosineDecay, initial_rate
from sk_anyloss.training.threads import single_thread
from sk_anyloss.training.trainer import Task, train

__all__ = ["AnyLossClassifier"]


class AnyLossClassifier(CallbackSupportMixin, DecidesByLogOdds, BaseEstimator):
    """Neural network that is trained for the metric you report.

    The loss is one minus the metric of a soft confusion matrix, which the AnyLoss
    amplifier makes nearly hard yet differentiable.

    Parameters
    ----------
    metric : str or callable, default='f1'
        What to train for: ``'f1'``, ``'f2'``, any ``'f<beta>'``, ``'gmean'``,
        ``'balanced_accuracy'``, ``'mcc'`` and others of
        :func:`sk_anyloss.metrics.metric_names`; a metric with a constraint such as
        ``'precision@recall>=0.8'``, for which the output bias is then tuned on the
        training samples; ``'roc_auc'`` or ``'average_precision'``, which look at
        all thresholds, so that as many training samples are then predicted positive
        as there are positives; or a differentiable callable ``f(tn, fp, fn, tp)``,
        larger being better, such as ``Savings(fp=1, fn=20)`` for a cost matrix.
        For three classes or more, what :func:`sk_anyloss.metrics.matrix_metric` takes:
        ``'f1_macro'``, ``'precision_weighted'``, ``'mcc'``, ``'kappa_quadratic'``,
        ``'f1_macro@recall[fraud]>=0.8'``, a ``CostMatrix``, or a callable ``f(M)`` of
        the confusion matrix; for several labels, averages such as ``'f1_micro'`` and
        ``'f1_samples'``. A metric of two classes then means its macro average.
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
    threshold : float, default=0.5
        Probability above which the positive class, or a label, is predicted. Of several
        classes, the one with the largest score is. Training aims at this threshold,
        so there is rarely a reason to change it; to predict at another
        one than the network was trained for, wrap the estimator in
        :class:`~sklearn.model_selection.FixedThresholdClassifier`.
    loss : str, torch.nn.Module or functools.partial, default=None
        None trains on the metric. ``'hybrid'`` adds class-weighted cross-entropy to
        it, ``'surrogate_fbeta'`` replaces F-beta scores. ``'bce'``,
        ``'weighted_bce'``, ``'focal'``, ``'mse'`` or a torch criterion on logits trains
        the same network on that instead; the metric then only scores.
        ``partial(AnyLoss, decay=0.9)`` (a moving average over batches, for batches that
        hold a positive or two) or ``partial(AnyLoss, threshold=[0.3, 0.5, 0.7])`` set
        options of the loss that are not parameters here.
    warm_up : float or 'auto', default='auto'
        Fraction of the epochs, in [0, 1), that the network is trained on cross-entropy
        before it is trained on the metric. ``'auto'`` is a half for three classes or
        more, where it was measured to help, and 0 for two classes, several labels, or
        with early stopping. ``fit`` uses it in a new training only.
    pos_label : label, default=None
        Of two classes, the positive one; by default the greater label,
        ``classes_[1]``, as everywhere in scikit-learn.
    standardize : bool, default=True
        Whether features get mean 0 and standard deviation 1, by means and scales
        learned from the training samples.
    n_bins : int, default=None
        If given, features enter in a piecewise-linear encoding of at most so many
        quantile bins each: -1 below a bin, 1 above it, linear within. Then even a
        network without hidden layers is nonlinear in each feature.
    activation : str or callable, default='sigmoid'
        What follows a hidden layer: ``'sigmoid'``, ``'relu'``, ``'tanh'``, ``'silu'``,
        ``'gelu'``, ``'leaky_relu'``, or a function from tensor to tensor.
    batch_norm : bool, default=True
        Whether each hidden layer is batch-normalised.
    optimizer : str or callable, default='adam'
        ``'adam'``, ``'adamw'`` (both with betas of 0.9 and 0.95), ``'sgd'``,
        ``'rmsprop'``, or anything that makes a torch optimiser from
        ``(parameters, lr=...)``.
    lr : float or CosineDecay, default=0.01
        Learning rate, constant or falling to 0.
    max_epochs : int, default=100
        Number of passes over the training samples.
    batch_size : int, float or 'auto', default='auto'
        Number of samples in a batch, or their fraction in (0, 1]. ``'auto'`` takes a
        twentieth of the samples, but at least 64 and at most 5,000 of them, so that a
        set of up to 64 samples is trained full batch. Batches are stratified.
    class_weight : dict or 'balanced', default=None
        Factors on the weights of the samples of each class.
    early_stopping : bool or EarlyStopping, default=False
        Whether to hold out a tenth of the samples, stop once the metric on them has
        not risen by 1e-4 for 10 epochs, nor their loss reached a new low, and restore
        the weights with the best metric. :class:`~sk_anyloss.EarlyStopping` has other
        fractions, patiences and tolerances.
    n_init : int, default=1
        Number of trainings from different initial weights, in one stack, of which the
        one with the lowest training loss is kept, or with the best validation score
        under early stopping.
    warm_start : bool, default=False
        Whether another ``fit`` continues from the network as it is; metric, L, loss
        and learning rate may be changed in between.
    device : str or torch.device, default='cpu'
        Where to compute.
    callbacks : list, default=None
        Those of skorch, for the net.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial weights, of the order of samples and of those held out.
        The global generators of torch and numpy are neither read nor changed.
    verbose : int, default=0
        If 1, prints a line an epoch.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes, sorted; for several labels, their positions.
    target_type_ : {'binary', 'multiclass', 'multilabel-indicator'}
        What kind of labels y has.
    metric_ : str or callable
        What was trained for, such as ``'f1_macro'`` for ``metric='f1'`` if there are
        three classes or more.
    pos_label_ : label or None
        Of two classes, the positive one.
    decision_ : Decision
        Where the positive class, or each label, is predicted.
    n_features_in_ : int
        Number of features seen in ``fit``.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Names of the features, if all were strings.
    net_ : AnyLossNet
        The trained skorch net; ``net_.module_`` is the torch module.
    L_ : float
        The steepness of the amplifier in the last fit.
    n_iter_ : int
        Number of epochs.
    loss_curve_ : list of float
        Training loss of each epoch, from statistics summed over the epoch.
    validation_scores_ : list of float or None
        Metric on the held-out samples after each epoch, with early stopping.

    See Also
    --------
    sk_anyloss.losses.AnyLoss : The criterion alone, for any torch loop.
    sk_anyloss.AnyLossNet : The skorch net, for any torch module.

    Notes
    -----
    ``score`` is the metric that the model was trained for. ``predict_proba`` ranks the
    samples, but a model trained on a metric is not calibrated; wrap it in
    :class:`~sklearn.calibration.CalibratedClassifierCV` if you need probabilities.

    Callbacks of scikit-learn 1.9 (``set_callbacks(ProgressBar())``) are told of every
    epoch, and can end the training of a single start; those of skorch are given as
    ``callbacks``.

    Before training, every sample has the prevalence of the positive class as its
    probability, as far as the step has a gradient there.

    float64 input is computed in float64, float32 input in float32. Sets of up to 64
    samples are always computed in float64, where it costs nothing.

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
        threshold: float = 0.5,
        loss: LossLike | None = None,
        warm_up: float | str = "auto",
        pos_label: Hashable | None = None,
        standardize: bool = True,
        n_bins: int | None = None,
        activation: str | Activation = "sigmoid",
        batch_norm: bool = True,
        optimizer: str | Callable[..., torch.optim.Optimizer] = "adam",
        lr: float | CosineDecay = 0.01,
        max_epochs: int = 100,
        batch_size: int | float | str = "auto",
        class_weight: Mapping[Hashable, float] | str | None = None,
        early_stopping: bool | EarlyStopping = False,
        n_init: int = 1,
        warm_start: bool = False,
        device: str | torch.device = "cpu",
        callbacks: Sequence[Callback | tuple[str, Callback]] | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.metric = metric
        self.hidden = hidden
        self.L = L
        self.step = step
        self.threshold = threshold
        self.loss = loss
        self.warm_up = warm_up
        self.pos_label = pos_label
        self.standardize = standardize
        self.n_bins = n_bins
        self.activation = activation
        self.batch_norm = batch_norm
        self.optimizer = optimizer
        self.lr = lr
        self.max_epochs = max_epochs
        self.batch_size = batch_size
        self.class_weight = class_weight
        self.early_stopping = early_stopping
        self.n_init = n_init
        self.warm_start = warm_start
        self.device = device
        self.callbacks = callbacks
        self.random_state = random_state
        self.verbose = verbose

    @with_callbacks
    def fit(
        self,
        X: ArrayLike | ParquetSource,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> AnyLossClassifier:
        """Train the network.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples to learn from; or a
            :class:`sk_anyloss.training.data.parquet.ParquetSource`, which has labels
            and weights as well.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Their classes, of any type; or several labels, as a matrix of 0 and 1.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights. A sample of weight 0 counts as absent, and in a full batch one of
            weight 2 counts as two.

        Returns
        -------
        self : AnyLossClassifier
            The fitted estimator. If fit fails, it is left as it was before.
        """
        is_continued = self.warm_start and hasattr(self, "net_")
        given = {"X": X, "y": y, "metadata": {"sample_weight": sample_weight}}
        context = begin_callbacks(self)
        with restored_on_error(self), single_thread():
            check_params(self)
            if isinstance(X, ParquetSource):
                y = X.labels() if y is None else y
                sample_weight = X.weights() if sample_weight is None else sample_weight
            data, labels = self._validate(X, y, reset=not is_continued)
            source = as_source(data)
            plan = self._plan(labels, sample_weight, data.dtype, is_continued)
            self._warn_of_class_weight()
            if is_continued:
                criterion = self._loss(plan.sample)
                tasks = [self._continued(source, plan, criterion, self.max_epochs)]
            else:
                tasks = self._tasks(source, plan)
            nets = [task.net for task in tasks]
            n_epochs = sum(task.epochs for task in tasks)
            with epochs_as_tasks(
                nets, self, context, n_epochs, given, self._as_if_fitted
            ):
                train(tasks)
            self._finish(max(tasks, key=attrgetter("outcome")))
            if context is not None:
                context.call_on_fit_task_end(
                    estimator=self, **given, reconstruction_attributes={}
                )
        return self

    @with_callbacks  # None are told; so that warnings have one depth.
    def partial_fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> AnyLossClassifier:
        """Pass once over some samples, in batches, from the network as it is.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples to learn from. The first call learns from them how to standardise.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Their labels.
        classes : array-like of shape (n_classes,), default=None
            All classes. Needed in the first call unless y has all of them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        self : AnyLossClassifier
            The estimator. The moving average of a loss with ``decay`` continues from
            the call before. Early stopping and several starts do not apply, the
            threshold is not tuned for a constraint, the learning rate is constant, and
            ``class_weight='balanced'`` balances within these samples.
        """
        is_continued = hasattr(self, "net_")
        with restored_on_error(self), single_thread():
            check_params(self)
            data, labels = self._validate(X, y, reset=not is_continued)
            source, dtype = as_source(data), data.dtype
            plan = self._plan(
                labels,
                sample_weight,
                dtype,
                is_continued,
                partial=True,
                classes=classes,
            )
            self._warn_of_class_weight()
            if is_continued:
                criterion = self._resumed(self._loss(plan.sample))
                task = self._continued(source, plan, criterion, 1)
            else:
                (task,) = self._tasks(source, plan, n_init=1, epochs=1)
            task.lr = initial_rate(self.lr)
            train([task])
            self._take_over(task)
        return self

    def _plan(
        self,
        y: np.ndarray,
        sample_weight: ArrayLike | None,
        dtype: np.dtype,
        is_continued: bool = False,
        partial: bool = False,
        classes: ArrayLike | None = None,
    ) -> Plan:
        """Settle classes, weights and which samples to train on, without copying any.

        A partial fit may see one class only, and holds nothing out.
        """
        index, weight = positive_weights(y, sample_weight)
        if index is not None:
            y = y[index]
        if is_continued:
            self._check_same_classes(y, partial, classes)
            self._check_same_network()
        else:
            known = None if classes is None else np.asarray(classes)
            self._labels = Labels.of(y, self.pos_label, known)
            self.classes_, self.pos_label_ = (
                self._labels.classes,
                self._labels.pos_label,
            )
            self.target_type_ = self._labels.target.name
        self.metric_ = self._labels.target.resolve(self.metric)
        target = self._labels.encode(y, dtype)
        own = weight
        weight = class_weights(self.class_weight, self.classes_, y, own, dtype)
        seeds = split_seed(self.random_state, 3)
        sample, held_out = Subset(index, target, weight, own), None
        stopping = self.early_stopping
        if stopping and not partial:
            if not isinstance(stopping, EarlyStopping):
                stopping = EarlyStopping()
            sample, held_out = hold_out(sample, stopping.validation_fraction, seeds[2])
        return Plan(sample, held_out, seeds)

    def _loss(self, sample: Subset) -> nn.Module:
        self.L_ = steepness(self, sample, self._labels.target)
        return build_loss(self, self.L_, sample, self._labels.target)

    def _tasks(
        self,
        source: Source,
        plan: Plan,
        encoding: Encoding | None = None,
        n_init: int | None = None,
        epochs: int | None = None,
    ) -> list[Task]:
        """New nets to train: one, or several from different initial weights."""
        if encoding is None:
            encoding = fit_encoding(source, plan.sample, self.standardize, self.n_bins)
        # What cannot be changed in a warm start.
        fixed = ("hidden", "activation", "batch_norm", "standardize", "n_bins")
        self._network = {name: getattr(self, name) for name in (*fixed, "optimizer")}
        tasks = []
        for start in plan.starts(n_init or self.n_init):
            criterion = self._loss(start.sample)
            target, n_epochs, warm_up = self._labels.target, epochs, 0
            if n_epochs is None:
                n_epochs = self.max_epochs
                warm_up = warm_up_epochs(self, target, n_epochs)
            # It starts from the class frequencies, where the first loss has a gradient.
            first = None if warm_up else criterion
            net = build_net(self, source, start, encoding, criterion, target, first)
            task = build_task(self, net, criterion, source, start, n_epochs, warm_up)
            tasks.append(task)
        return tasks

    def _continued(
        self, source: Source, plan: Plan, criterion: nn.Module, epochs: int
    ) -> Task:
        """The net that there is, to be trained further."""
        return build_task(self, self.net_, criterion, source, plan, epochs)

    def _take_over(self, task: Task) -> None:
        """Take over a trained net and its history."""
        self.net_ = net = task.net
        # An epoch that was interrupted has no loss.
        self.loss_curve_ = _of_epochs(net, "train_loss")
        self.n_iter_ = len(self.loss_curve_)
        is_validated = task.held_out is not None
        self.validation_scores_ = (
            _of_epochs(net, "valid_score") if is_validated else None
        )
        self.decision_ = Decision.at(self.threshold)

    def _as_if_fitted(self, net: NeuralNet) -> dict[str, object]:
        """Attributes with which an estimator predicts as if the fit had ended."""
        return {"net_": copy_of_net(net), "decision_": Decision.at(self.threshold)}

    def _finish(self, task: Task) -> None:
        """Take over a net; tune its threshold where the metric needs that."""
        self._take_over(task)
        source, sample = task.source, task.sample
        criterion = self.net_.criterion_
        if isinstance(criterion, Loss):
            criterion.reset()
        goal = getattr(criterion, "goal", None)
        if self.target_type_ != "binary":
            self._tune_offsets(source, sample)
        elif isinstance(goal, AtLeast):
            self._tune_threshold(goal, source, sample)
        elif isinstance(goal, Curve):
            # It says nothing of a threshold: as many as there are positives, by
            # weights that include those of the classes.
            by_class = replace(sample, own=sample.weight)
            self._tune_threshold(_prevalence_error, source, by_class)
        self._warn_if_constant(source, sample)

    def _tune_threshold(self, goal: Metric, source: Source, sample: Subset) -> None:
        """Move the output bias so that the threshold is best on the training samples.

        Training aims at soft counts of batches, which come close to a constraint; this
        meets it. Of all thresholds that do, the one that is best for the metric.
        ``predict_proba`` then agrees with ``predict`` at the given threshold.
        """
        logits = np.concatenate([self._log_odds(X) for X, _ in sample.chunks(source)])
        best, _ = best_threshold(goal, logits, sample.target, sample.own)
        offset = float(self.decision_.offset)
        with torch.no_grad():
            self.net_.module_.layers[-1].bias.add_(offset - best)
        if not isinstance(goal, AtLeast):
            return
        logits += logits.dtype.type(offset - best)  # As it is after rounding.
        value = evaluate_logits(goal, logits, sample.target, sample.own, offset)
        if value < 0:
            warnings.warn(
                f"{metric_name(goal)} cannot be met on the training samples: the best "
                f"{metric_name(goal.constraint)} is {goal.floor + value:.3f}, "
                f"{-value:.3f} short of {goal.floor:g}. Lower the floor, or train a "
                "larger network for longer.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _tune_offsets(self, source: Source, sample: Subset) -> None:
        """Move the output biases so that a constraint is met on the training samples.

        The same for several classes or labels as :meth:`_tune_threshold` for two.
        """
        has_constraint = isinstance(self.metric_, str) and "@" in self.metric_
        if not has_constraint or not trains_on_metric(self.loss):
            return
        outputs = np.concatenate([self._log_odds(X) for X, _ in sample.chunks(source)])
        decision, value = self._labels.target.best_decision(
            self.metric_, outputs, sample.target, sample.own
        )
        with torch.no_grad():
            bias = self.net_.module_.layers[-1].bias
            moved = self.decision_.offset - np.asarray(decision.offset)
            bias.add_(torch.as_tensor(moved, dtype=bias.dtype))
        if value < 0:
            warnings.warn(
                f"{self.metric_} cannot be met on the training samples: the best "
                f"decision is {-value:.3f} short of the floor. Lower the floor, or "
                "train a larger network for longer.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _check_same_classes(
        self, y: np.ndarray, partial: bool, classes: ArrayLike | None
    ) -> None:
        has_labels = self.target_type_ == "multilabel-indicator"
        if has_labels or y.ndim > 1:
            if not has_labels or y.ndim < 2 or y.shape[1] != len(self.classes_):
                what = "labels" if has_labels else "classes"
                raise ValueError(
                    f"A model of {len(self.classes_)} {what} cannot continue with y of "
                    f"the shape {y.shape}; fit a new model."
                )
            return
        check_classification_targets(y)
        labels = np.unique(y)
        if partial and classes is not None:
            labels = np.union1d(labels, classes)
        strange = np.setdiff1d(labels, self.classes_).tolist()
        if strange or not (partial or len(labels) == len(self.classes_)):
            raise ValueError(
                f"A model of the classes {self.classes_.tolist()} cannot continue with "
                f"samples of the class {(strange or labels.tolist())[0]!r}; for other "
                "classes, fit a new model."
            )
        if self.pos_label is not None and self.pos_label != self.pos_label_:
            raise ValueError(
                f"A model whose positive class is {self.pos_label_!r} cannot continue "
                f"with pos_label={self.pos_label!r}; fit a new model for that."
            )

    def _check_same_network(self) -> None:
        for name, value in self._network.items():
            now = getattr(self, name)
            if now != value and not (name == "hidden" and tuple(now) == tuple(value)):
                raise ValueError(
                    f"A model with {name}={value!r} cannot continue with "
                    f"{name}={getattr(self, name)!r}; fit a new model for that."
                )

    def _resumed(self, criterion: nn.Module) -> nn.Module:
        """The loss of the net with its moving average, unless it is now another one."""
        before = self.net_.criterion_
        if not isinstance(before, Loss) or repr(before) != repr(criterion):
            return criterion
        if before.goal != criterion.goal:
            return criterion
        return copy.deepcopy(before)  # A training that fails leaves the old one.

    def _warn_of_class_weight(self) -> None:
        if self.class_weight is None or self.loss is not None:
            return
        if self.target_type_ != "binary":
            return
        if not depends_on_prevalence(self._labels.target.goal(self.metric)):
            warnings.warn(
                f"class_weight={self.class_weight!r} has no effect on metric="
                f"{metric_name(self.metric)!r}: it is made of the rates within each "
                "class, which no weight of a class changes. Leave class_weight out, or "
                "take a metric that depends on prevalence, such as 'f1' or 'mcc'.",
                UserWarning,
                stacklevel=4,
            )

    def _warn_if_constant(self, source: Source, sample: Subset) -> None:
        if self.target_type_ == "multilabel-indicator":
            return
        decided: set[int] = set()
        for X, _ in sample.chunks(source):
            margin = self._decide(X)
            index = margin > 0 if margin.ndim == 1 else margin.argmax(axis=1)
            decided.update(np.unique(index).tolist())
            if len(decided) > 1:
                return
        label = self.classes_.tolist()[int(decided.pop())]
        less_steep = ""
        if self.loss is None:
            less_steep = "a smaller L (5 to 20) or step='identity', "
        warnings.warn(
            f"The model predicts {label!r} for every training sample. Try another "
            f"learning rate (lr={self.lr}), more epochs (max_epochs="
            f"{self.max_epochs}), {less_steep}class_weight='balanced' or another "
            "random_state.",
            ConvergenceWarning,
            stacklevel=5,
        )

    def _log_odds(self, X: Matrix | Source) -> np.ndarray:
        if isinstance(X, Source):
            parts = gen_batches(X.shape[0], chunk_samples(X.width))
            return np.concatenate([self._log_odds(X.block(part)) for part in parts])
        logits = self.net_.logits(X)
        if not np.isfinite(logits).all():
            i = int(np.argwhere(~np.isfinite(logits))[0][0])
            largest = np.abs(X[[i]]).max()
            way_out = "" if self.standardize else "use standardize=True, "
            raise ValueError(
                f"The output of the network for sample {i} of X is not finite; the "
                f"largest value of that sample is {largest:.3g}. To train and predict "
                f"on such values, {way_out}scale the columns, or leave such samples "
                "out."
            )
        return logits


def _prevalence_error(tn: Count, fp: Count, fn: Count, tp: Count) -> Count:
    """Best where as many samples are predicted positive as there are positives."""
    return -abs(fp - fn)


def prepare_stack(
    models: Sequence[AnyLossClassifier],
    X: ArrayLike,
    y: ArrayLike,
    rows: Sequence[np.ndarray | None],
    weights: Sequence[np.ndarray | None],
    classes: ArrayLike | None = None,
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
    classes : array-like, default=None
        Classes that all networks are to have.

    Returns
    -------
    tasks : list of lists of Task
        For each estimator its tasks, of which the best one is to be kept.
    """
    data, labels = models[0]._validate(X, y, reset=True)
    source, dtype = as_source(data), data.dtype
    encodings: dict[Hashable, Encoding] = {}
    tasks = []
    for model, index, weight in zip(models, rows, weights, strict=True):
        if model is not models[0]:
            validate_data(model, X, skip_check_array=True)
        if index is None:
            plan = model._plan(labels, weight, dtype, classes=classes)
        else:
            part = None if weight is None else weight[index]
            plan = model._plan(labels[index], part, dtype, classes=classes)
            plan = plan.within(index)
        model._warn_of_class_weight()
        key = (*plan.sample.key(), model.standardize, model.n_bins)
        if key not in encodings:
            encodings[key] = fit_encoding(
                source, plan.sample, model.standardize, model.n_bins
            )
        tasks.append(model._tasks(source, plan, encodings[key]))
    return tasks


def take_over(model: AnyLossClassifier, tasks: Sequence[Task]) -> None:
    """Give an estimator the net of the best of its tasks."""
    model._finish(max(tasks, key=attrgetter("outcome")))


def _of_epochs(net: AnyLossNet, name: str) -> list[float]:
    return [epoch[name] for epoch in net.history if name in epoch]


@contextmanager
def restored_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Restore all attributes of an estimator if its fit fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
