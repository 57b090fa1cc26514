"""The scikit-learn estimator: validates, encodes labels, builds the net, trains it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from operator import attrgetter

import numpy as np
import torch
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils import gen_batches
from skorch.callbacks import Callback

from sk_anyloss._compat import CallbackSupportMixin, begin_callbacks, with_callbacks
from sk_anyloss.estimators.binary_mixin import DecidesByLogOdds
from sk_anyloss.estimators.fitting.continuation import resumed
from sk_anyloss.estimators.fitting.finish import as_if_fitted, finish, take_over
from sk_anyloss.estimators.fitting.plan import make_plan
from sk_anyloss.estimators.fitting.tasks import build_criterion, build_task, new_tasks
from sk_anyloss.estimators.parameters import (
    check_params,
    check_partial_class_weight,
    restored_on_error,
    warn_of_class_weight,
)
from sk_anyloss.losses.registry import LossLike
from sk_anyloss.losses.steps import Step
from sk_anyloss.metrics import Metric
from sk_anyloss.training.callbacks import EarlyStopping
from sk_anyloss.training.data.parquet import ParquetSource
from sk_anyloss.training.data.source import Matrix, Source, as_source
from sk_anyloss.training.data.sparse import chunk_samples
from sk_anyloss.training.fit_callbacks import epochs_as_tasks
from sk_anyloss.training.net import AnyLossNet
from sk_anyloss.training.network.mlp import Activation
from sk_anyloss.training.schedules import CosineDecay, initial_rate
from sk_anyloss.training.threads import single_thread
from sk_anyloss.training.trainer import train

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
        Steepness of the amplifier; used by ``step='sigmoid'`` only. ``'auto'`` chooses
        it from the learning rate, the number of steps and the width of the network, by
        the rule of :func:`sk_anyloss.losses.steepness.auto_L`.
    step : str or Step, default='sigmoid'
        How a probability becomes a soft decision: ``'sigmoid'``, ``'identity'``,
        ``'linear'``, ``'cosine'``, ``'uniform'``, ``'logit'``, or an instance such as
        ``Linear(delta=0.2)``.
    threshold : float, default=0.5
        Probability above which the positive class, or a label, is predicted; several
        classes have no threshold. The network is trained for this threshold, so there
        is rarely a reason to change it. To predict at another threshold than the one
        trained for, wrap the estimator in
        :class:`~sklearn.model_selection.FixedThresholdClassifier`.
    loss : str, torch.nn.Module or functools.partial, default=None
        None trains on the metric. ``'hybrid'`` adds class-weighted cross-entropy to
        it, ``'surrogate_fbeta'`` replaces F-beta scores. ``'bce'``,
        ``'weighted_bce'``, ``'focal'``, ``'mse'`` or a torch criterion on logits trains
        the same network on that instead; the metric then only scores.
        ``partial(AnyLoss, decay=0.9)`` (a moving average over batches, for batches with
        only one or two positives) or ``partial(AnyLoss, threshold=[0.3, 0.5, 0.7])``
        set options of the loss that are not parameters here.
    warm_up : float or 'auto', default='auto'
        Fraction of the epochs, in [0, 1), that the network is trained on cross-entropy
        before it is trained on the metric. ``'auto'`` is a half for three classes or
        more, where it was measured to help, and 0 for two classes, several labels, or
        with early stopping. ``fit`` uses it in a new training only.
    pos_label : label, default=None
        Of two classes, the positive one; by default the label that sorts last,
        ``classes_[1]``, as everywhere in scikit-learn.
    standardize : bool, default=True
        Whether features get mean 0 and standard deviation 1, by means and scales
        learned from the training samples.
    n_bins : int, default=None
        If given, features enter in a piecewise-linear encoding of at most so many
        quantile bins each: -1 below a bin, 1 above it, linear within. Then even a
        network without hidden layers is nonlinear in each feature.
    activation : str or callable, default='sigmoid'
        Activation of the hidden layers: ``'sigmoid'``, ``'relu'``, ``'tanh'``,
        ``'silu'``, ``'gelu'``, ``'leaky_relu'``, or a function from tensor to tensor.
    batch_norm : bool, default=True
        Whether each hidden layer is batch-normalised.
    optimizer : str or callable, default='adam'
        ``'adam'``, ``'adamw'`` (both with betas of 0.9 and 0.95), ``'sgd'``,
        ``'rmsprop'``, or a callable that returns a torch optimiser for
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
        Device of the computation.
    callbacks : list, default=None
        Callbacks of skorch, for the net.
    random_state : int, RandomState instance or None, default=None
        Seed of the initial weights, of the order of samples and of those held out.
        The global generators of torch and numpy are neither read nor changed.
    verbose : int, default=0
        If 1, prints a line for each epoch.

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

    Callbacks of scikit-learn 1.9 (``set_callbacks(ProgressBar())``) are called after
    every epoch, and can end the training if ``n_init=1``; those of skorch are given as
    ``callbacks``.

    Before training, the output bias is set so that predicted probabilities equal the
    prevalence of the positive class, as far as the step has a gradient there.

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
            plan = make_plan(self, labels, sample_weight, data.dtype, is_continued)
            warn_of_class_weight(self)
            if is_continued:
                criterion = build_criterion(self, plan.sample)
                tasks = [
                    build_task(
                        self, self.net_, criterion, source, plan, self.max_epochs
                    )
                ]
            else:
                tasks = new_tasks(self, source, plan)
            nets = [task.net for task in tasks]
            n_epochs = sum(task.epochs for task in tasks)
            with epochs_as_tasks(
                nets, self, context, n_epochs, given, partial(as_if_fitted, self)
            ):
                train(tasks)
            finish(self, max(tasks, key=attrgetter("outcome")))
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
            All classes, each of them once. Needed in the first call unless y has all of
            them; in later calls the same ones, or None.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples.

        Returns
        -------
        self : AnyLossClassifier
            The estimator. The moving average of a loss with ``decay`` continues from
            the call before. Early stopping and several starts do not apply, the
            threshold is not tuned for a constraint, the learning rate is constant, and
            ``class_weight='balanced'`` is refused, as in scikit-learn: give a dict.
        """
        is_continued = hasattr(self, "net_")
        with restored_on_error(self), single_thread():
            check_params(self)
            check_partial_class_weight(self)
            data, labels = self._validate(X, y, reset=not is_continued)
            source, dtype = as_source(data), data.dtype
            plan = make_plan(
                self,
                labels,
                sample_weight,
                dtype,
                is_continued,
                partial=True,
                classes=classes,
            )
            warn_of_class_weight(self)
            if is_continued:
                criterion = resumed(self, build_criterion(self, plan.sample))
                task = build_task(self, self.net_, criterion, source, plan, 1)
            else:
                (task,) = new_tasks(self, source, plan, n_init=1, epochs=1)
            task.lr = initial_rate(self.lr)
            train([task])
            take_over(self, task)
        return self

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
