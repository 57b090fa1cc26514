"""The skorch net: trains any torch module that gives logits."""

from __future__ import annotations

import copy
import numbers
import warnings
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

import numpy as np
import torch
from numpy.typing import ArrayLike
from skorch.callbacks import EpochTimer
from skorch.dataset import get_len
from skorch.utils import is_dataset, to_numpy
from torch import nn
from torch.utils.data import Dataset

from sk_anyloss._compat import check_sample_weight
from sk_anyloss.losses import AnyLoss
from sk_anyloss.losses.base import Loss
from sk_anyloss.losses.distributed.processes import ProcessGroup
from sk_anyloss.losses.steps import Sigmoid
from sk_anyloss.metrics import Metric
from sk_anyloss.training.batch_steps import Input
from sk_anyloss.training.callbacks import QuietPrintLog
from sk_anyloss.training.data.batches import resolve_batch_size
from sk_anyloss.training.data.dataset import SizedDataset
from sk_anyloss.training.data.labels import (
    as_labels,
    check_labels,
    check_samples,
    with_weights,
)
from sk_anyloss.training.data.sparse import chunk_samples
from sk_anyloss.training.distributed.checkpoint import ResumableCheckpoint
from sk_anyloss.training.distributed.synchronization import start_together
from sk_anyloss.training.iterator import Batches, sample_width, takes_sparse
from sk_anyloss.training.loop import Run, StepByStep, run_epochs
from sk_anyloss.training.network.closed_form import supports
from sk_anyloss.training.network.collapse import warn_if_constant
from sk_anyloss.training.network.mlp import MLP
from sk_anyloss.training.network.start import choose_L, metric_rate, warm_up_epochs
from sk_anyloss.training.network.warm_up import WarmUp
from sk_anyloss.training.predictions import Predictions
from sk_anyloss.training.targets import TargetType

__all__ = ["AnyLossNet", "Data"]

#: What skorch trains on: an array, tensor, sparse matrix or table; several by name; or
#: a dataset that also holds the labels.
Data: TypeAlias = "ArrayLike | Input | Dataset"
#: Parameters of the net that its default loss is made from.
LOSS_PARAMETERS = ("metric", "threshold", "L")


class AnyLossNet(Predictions):
    """A skorch net that trains any torch module for a confusion-matrix metric.

    The module takes a batch and returns one logit for each sample, of shape (n,) or
    (n, 1), for labels 0 and 1; logits of shape (n, C) for classes 0 to C - 1; or logits
    of shape (n, Q) for several labels, which are then a matrix of 0 and 1. Batches are
    sliced and stratified; loss and metric of an epoch come from statistics summed over
    it, never from averages of batches; a validation set, if ``train_split`` makes one,
    is scored by the metric as ``valid_score``.

    Parameters
    ----------
    module : torch.nn.Module
        A class or an instance, of which a copy is trained. If its ``forward`` has a
        parameter ``sample_weight``, it is given the weights of the batch.
    metric : str or callable, default='f1'
        What to train for and to score by. A metric of two classes means its macro
        average if there are several classes or labels.
    threshold : float, default=0.5
        Probability above which the positive class, or a label, is predicted. Of
        several classes, the most probable one is.
    criterion : torch.nn.Module, default=AnyLoss
        The loss, on logits. ``AnyLoss`` is given ``metric`` and ``threshold``; its
        other parameters are set in skorch's way, as in ``criterion__step='linear'``.
    optimizer : torch.optim.Optimizer, default=torch.optim.Adam
        The optimiser.
    lr : float, default=0.01
        Its learning rate.
    max_epochs : int, default=100
        Number of passes over the training data.
    batch_size : int, float or 'auto', default='auto'
        As in :func:`sk_anyloss.training.data.batches.resolve_batch_size`.
    train_split : callable or None, default=None
        How to split off a validation set; ``skorch.dataset.ValidSplit`` for one.
    target_type : str, default='auto'
        What the logits stand for: ``'binary'``, ``'multiclass'`` or
        ``'multilabel-indicator'``; by default, what their shape and that of the labels
        say.
    process_group : 'world', torch.distributed.ProcessGroup or None, default='world'
        The processes that train together, once :mod:`torch.distributed` is initialised:
        each has a stratified part of every batch, and the training is that of one
        process. None trains in this process alone.
    warm_up : float or 'auto', default='auto'
        Fraction of the epochs that the first :meth:`fit` trains on cross-entropy, in
        [0, 1). The output bias is set to the class frequencies before, and to the best
        threshold for the metric after these epochs; a training that continues does not
        come back to them. By default three quarters, if
        ``criterion`` is left at ``AnyLoss`` and the module is not our own ``MLP``.
    metric_lr : float or 'auto', default='auto'
        Learning rate of the epochs on the metric after such a start. By default a tenth
        of ``lr``, unless a callback sets the learning rates.
    L : float, 'auto' or None, default=None
        Steepness of the amplifier of the default criterion; None leaves it at 10, or at
        ``criterion__step``. ``'auto'`` chooses it by
        :func:`sk_anyloss.losses.steepness.auto_L` from the learning rate and the number
        of steps on the metric, the number of classes and the widest layer.
    accumulate : int or None, default=None
        The most samples that go through the module at a time. Larger batches go
        through it in parts, twice, so that the gradient is that of the whole batch;
        only a batch norm sees the parts. None: all samples of a batch at a time.
    sharded : bool, default=False
        Whether ``fit`` is given, in each of several processes, samples of its own
        instead of all samples; ``batch_size`` is that of all processes together.
    random_state : int or None, default=None
        Seed of the order of samples. The module's own initial weights come from
        wherever the module takes them.
    verbose : int, default=0
        If 1, prints a line for each epoch.
    **kwargs
        Everything else that :class:`skorch.NeuralNet` takes: ``callbacks``,
        ``device``, ``module__<parameter>``, ``optimizer__<parameter>`` and so on.

    Examples
    --------
    >>> import numpy as np
    >>> from torch import nn
    >>> from sk_anyloss import AnyLossNet
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4)).astype("float32")
    >>> y = (X[:, 0] > 1).astype(int)
    >>> net = AnyLossNet(nn.Linear(4, 1), metric="gmean", lr=0.1, random_state=0)
    >>> net.fit(X, y).score(X, y) > 0.9
    True
    """

    def __init__(
        self,
        module: nn.Module | type[nn.Module],
        *,
        metric: str | Metric = "f1",
        threshold: float = 0.5,
        criterion: nn.Module | type[nn.Module] = AnyLoss,
        optimizer: Callable[..., torch.optim.Optimizer] = torch.optim.Adam,
        lr: float = 0.01,
        max_epochs: int = 100,
        batch_size: int | float | str = "auto",
        iterator_train: Callable[..., Iterable[Any]] = Batches,
        iterator_valid: Callable[..., Iterable[Any]] = Batches,
        train_split: Callable[..., Any] | None = None,
        target_type: str | TargetType = "auto",
        process_group: ProcessGroup = "world",
        warm_up: float | str = "auto",
        metric_lr: float | str = "auto",
        L: float | str | None = None,
        accumulate: int | None = None,
        sharded: bool = False,
        random_state: int | None = None,
        verbose: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            module,
            criterion=criterion,
            optimizer=optimizer,
            lr=lr,
            max_epochs=max_epochs,
            batch_size=batch_size,
            iterator_train=iterator_train,
            iterator_valid=iterator_valid,
            train_split=train_split,
            verbose=verbose,
            **kwargs,
        )
        self.metric = metric
        self.threshold = threshold
        self.target_type = target_type
        self.process_group = process_group
        self.warm_up = warm_up
        self.metric_lr = metric_lr
        self.L = L
        self.accumulate = accumulate
        self.sharded = sharded
        self.random_state = random_state

    def get_default_callbacks(self) -> list[tuple[str, Any]]:
        """Callbacks that every net has."""
        return [("epoch_timer", EpochTimer()), ("print_log", QuietPrintLog())]

    def initialize(self) -> AnyLossNet:
        """Make module, criterion, optimiser and callbacks anew."""
        self.rng_ = np.random.default_rng(self.random_state)
        super().initialize()
        self._reset_loss()
        # Whether the last training was ended by a callback, or by an interruption.
        self.stopped_ = self.interrupted_ = False
        #: The last one that was trained on, unless in closed form.
        self.last_batch_: Any = None
        return self

    def initialized_instance(self, instance_or_cls: Any, kwargs: Any) -> Any:
        """A part made anew; of a module that is given ready-made, a copy is trained.

        So every fit starts from the weights that were given, and what was learned
        does not go into clones of the net.
        """
        if isinstance(instance_or_cls, torch.nn.Module) and not kwargs:
            return copy.deepcopy(instance_or_cls)
        return super().initialized_instance(instance_or_cls, kwargs)

    def get_params_for(self, prefix: str) -> dict[str, Any]:
        """Parameters of a part; those of the criterion include the net's own."""
        params = super().get_params_for(prefix)
        if prefix == "criterion" and self.criterion is AnyLoss:
            params = {"metric": self.metric, "threshold": self.threshold, **params}
            if self.L is not None and self.L != "auto":
                params["step"] = Sigmoid(self.L)  # type: ignore[arg-type]
        return params

    def set_params(self, **params: Any) -> AnyLossNet:
        """Set parameters; after :meth:`initialize`, those of the loss make it anew.

        Parameters
        ----------
        **params
            Names and values, as in the constructor. The weights stay, unless a
            parameter of the module (``module__<parameter>``) is among them.

        Returns
        -------
        self : AnyLossNet
            The net.
        """
        super().set_params(**params)
        if self.initialized_:
            if self.criterion is AnyLoss and not params.keys().isdisjoint(
                LOSS_PARAMETERS
            ):
                self.initialize_criterion()
                self.adapt_criterion()
            elif any(name.startswith(("criterion__", "module__")) for name in params):
                self.adapt_criterion()  # skorch has made it anew.
        return self

    def get_iterator(self, dataset: SizedDataset, training: bool = False) -> Any:
        """Batches of a dataset, shuffled and stratified if it is trained on."""
        prefix = "iterator_train" if training else "iterator_valid"
        iterator, params = getattr(self, prefix), self.get_params_for(prefix)
        own_batches = isinstance(iterator, type) and issubclass(iterator, Batches)
        if training:
            params.setdefault("batch_size", self.batch_size)
        else:
            params.setdefault("batch_size", chunk_samples(sample_width(self, dataset)))
        if own_batches:
            params.setdefault("keep_sparse", takes_sparse(self))
            if training:
                params.setdefault("rng", self.rng_)
        else:
            params["batch_size"] = resolve_batch_size(
                params["batch_size"], len(dataset)
            )
        return iterator(dataset, **params)

    def check_data(self, X: Data, y: ArrayLike | None = None) -> None:
        """Refuse labels that are neither classes from 0 on nor a matrix of 0 and 1.

        And weights that are negative, not finite, or all zero.
        """
        check_samples(X)
        super().check_data(X, y)
        if isinstance(X, dict) and "sample_weight" in X:
            weight = to_numpy(X["sample_weight"])
            # One process among several may have no samples, or none that counts.
            if weight.any() or self.processes_.is_alone():
                check_sample_weight(weight, get_len(X))
        if y is None or is_dataset(X):
            return
        target: TargetType | None = getattr(self, "target_", None)
        check_labels(y, has_one_output=target is not None and target.name == "binary")

    def fit(
        self,
        X: Data,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> AnyLossNet:
        """Initialise the module and train it.

        Parameters
        ----------
        X : array, tensor, sparse matrix, dict of these, or dataset
            The samples.
        y : array or tensor of shape (n,), default=None
            Labels, 0 or 1, or classes, 0 to C - 1, or a matrix (n, Q) of 0 and 1;
            None if X is a dataset that has them.
        sample_weight : array or tensor of shape (n,), default=None
            Weights of the samples.

        Returns
        -------
        self : AnyLossNet
            The fitted net; a warning says if it predicts one class for all samples.
        """
        X, y = with_weights(X, sample_weight), as_labels(y)
        if not (self.warm_start and self.initialized_):
            self.initialize()
        self._check_params()
        epochs = warm_up_epochs(self)
        factor = metric_rate(self)
        if not self.history:  # A training that continues has left it, or is in it.
            self.warm_up_ = WarmUp(epochs, factor) if epochs else None
        super().partial_fit(X, y)
        self._reset_loss()
        if not self.interrupted_ and not self.processes_.rank:
            warn_if_constant(self, X, y)
        self.last_batch_ = None
        return self

    def _check_params(self) -> None:
        """Refuse parameters that would train on something else, or not at all."""
        parts, epochs, sharded = self.accumulate, self.max_epochs, self.sharded
        is_whole = isinstance(parts, numbers.Integral) and not isinstance(parts, bool)
        if parts is not None and not (is_whole and parts >= 1):
            raise ValueError(
                "accumulate must be a whole number of samples of at least 1, or None; "
                f"got {parts!r}."
            )
        is_whole = isinstance(epochs, numbers.Integral) and not isinstance(epochs, bool)
        if not is_whole or epochs < 0:
            raise ValueError(
                f"max_epochs must be a whole number of at least 0, got {epochs!r}."
            )
        if not isinstance(sharded, (bool, np.bool_)):
            raise ValueError(f"sharded must be True or False, got {sharded!r}.")
        if not isinstance(self.verbose, numbers.Integral) or self.verbose < 0:
            raise ValueError(
                f"verbose must be a whole number of at least 0, got {self.verbose!r}."
            )

    def _reset_loss(self) -> None:
        """Drop the moving average of the loss over the batches."""
        if isinstance(self.criterion_, Loss):
            self.criterion_.reset()

    def partial_fit(
        self,
        X: Data,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        **fit_params: Any,
    ) -> AnyLossNet:
        """Continue the training for ``max_epochs`` epochs, from the current weights.

        The loss keeps its moving average over the batches (``decay``) until
        :meth:`fit` starts anew.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.
        classes
            Not used; here for scikit-learn's convention.

        Returns
        -------
        self : AnyLossNet
            The net.
        """
        X, y = with_weights(X, sample_weight), as_labels(y)
        self._check_params()
        return super().partial_fit(X, y, **fit_params)

    def set_goal(
        self, criterion: nn.Module, metric: str | Metric, threshold: float
    ) -> None:
        """Continue with another loss, metric or threshold, from the same weights.

        Parameters
        ----------
        criterion : torch.nn.Module
            The loss from now on.
        metric : str or callable
            What to score by.
        threshold : float
            Probability above which the positive class is predicted.
        """
        self.metric, self.threshold = metric, threshold
        self.criterion = self.criterion_ = criterion.to(self.device)
        if isinstance(criterion, Loss):
            criterion.set_processes(self.processes_)
        self.closed_form_supported_ = supports(self.module_, criterion)

    def fit_loop(
        self,
        X: Data,
        y: ArrayLike | None = None,
        epochs: int | None = None,
        **fit_params: Any,
    ) -> AnyLossNet:
        """Run the epochs; an interruption keeps what was learned."""
        fit_params.pop("_routing_method", None)
        self.check_data(X, y)
        self.check_training_readiness()
        if not any(p.requires_grad for p in self.module_.parameters()):
            raise ValueError(
                "No parameter of the module is trained: all of them are frozen, or it "
                "has none."
            )
        train, valid = self.get_split_datasets(X, y, **fit_params)
        if not sum(self.processes_.gather(len(train))):
            raise ValueError("There are no samples to train on.")
        if not self.processes_.is_alone():
            start_together(self, train)
        choose_L(self, train)
        if self.target_ is None and type(self.module_) is MLP:
            self.resolve_target(self.module_.widths[-1], getattr(train, "y", None))
        run = Run(self, train, valid, fit_params)
        gradients = StepByStep(run)
        self.stopped_ = self.interrupted_ = False
        epochs = self.max_epochs if epochs is None else epochs
        behind = 0
        for _, callback in self.callbacks_:
            if isinstance(callback, ResumableCheckpoint):
                behind = callback.restore(self, X, y, fit_params)
        if behind and self.warm_up_ is not None and behind >= self.warm_up_.epochs:
            self.warm_up_ = None  # It was over at the checkpoint.
        with self.limited_threads():
            try:
                run_epochs([run], gradients, epochs - behind)
                self.processes_.barrier()  # The first one has written its files.
            except KeyboardInterrupt:
                self.interrupted_ = not self.stopped_
                if self.interrupted_:
                    warnings.warn(
                        f"Training was interrupted in epoch {len(self.history)}; the "
                        "model keeps what it has learned.",
                        stacklevel=2,
                    )
                raise  # skorch ends the training there.
            finally:
                gradients.release()
                self.release()
        return self
