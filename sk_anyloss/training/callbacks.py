"""Callbacks for the net, beside the many that skorch brings."""

from __future__ import annotations

import math
import numbers
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
from skorch import NeuralNet
from skorch.callbacks import Callback, PrintLog
from torch import Tensor
from torch.utils.data import Dataset

from sk_anyloss.training.schedules import CosineDecay, LearningRate

__all__ = ["EarlyStopping", "QuietPrintLog", "SetLearningRate", "StopOnScore"]


@dataclass(frozen=True)
class EarlyStopping:
    """When to stop a training by the metric on samples that are held out.

    Parameters
    ----------
    validation_fraction : float, default=0.1
        Fraction of the samples of each class that is held out.
    patience : int, default=10
        Number of epochs in a row without an improvement after which to stop.
    tol : float, default=1e-4
        By how much the metric must rise to count as an improvement.

    Examples
    --------
    >>> from sk_anyloss import AnyLossClassifier, EarlyStopping
    >>> AnyLossClassifier(early_stopping=EarlyStopping(patience=5)).early_stopping
    EarlyStopping(validation_fraction=0.1, patience=5, tol=0.0001)
    """

    validation_fraction: float = 0.1
    patience: int = 10
    tol: float = 1e-4

    def __post_init__(self) -> None:
        fraction, tol = self.validation_fraction, self.tol
        if not isinstance(fraction, numbers.Real) or not 0 < float(fraction) < 1:
            raise ValueError(
                "validation_fraction must be a number above 0 and below 1, got "
                f"{fraction!r}."
            )
        is_whole = isinstance(self.patience, numbers.Integral)
        if not is_whole or isinstance(self.patience, bool) or self.patience < 1:
            raise ValueError(
                f"patience must be a whole number of at least 1, got {self.patience!r}."
            )
        is_number = isinstance(tol, numbers.Real) and not isinstance(tol, bool)
        if not is_number or not 0 <= float(tol) < math.inf:
            raise ValueError(f"tol must be a finite number of at least 0, got {tol!r}.")


class QuietPrintLog(PrintLog):
    """skorch's table of epochs, which is not assembled where nobody reads it."""

    def on_epoch_end(self, net: NeuralNet, **kwargs: object) -> None:
        """Print a line, if the net is verbose or the log goes elsewhere."""
        is_first = getattr(net, "processes_", None) is None or not net.processes_.rank
        if is_first and (net.verbose or self.sink is not print):
            super().on_epoch_end(net, **kwargs)


class SetLearningRate(Callback):
    """Set the learning rate of each epoch by a schedule.

    Parameters
    ----------
    lr : float or CosineDecay, default=0.01
        A constant rate is left to the optimiser.
    total : int, default=1
        Number of epochs of the training.
    start : int, default=0
        How many of them lie behind, in an earlier part of the training.
    """

    def __init__(self, lr: LearningRate = 0.01, total: int = 1, start: int = 0) -> None:
        self.lr, self.total, self.start = lr, total, start
        self.epoch_ = 0

    def on_train_begin(self, net: NeuralNet, **kwargs: object) -> None:
        """Start at the first epoch of this part."""
        self.epoch_ = self.start

    def on_epoch_begin(self, net: NeuralNet, **kwargs: object) -> None:
        """Set the rate of the epoch."""
        if isinstance(self.lr, CosineDecay):
            progress = (self.epoch_ + 0.5) / self.total
            _set_rate(net, self.lr.initial * self.lr.factor(progress))
            self.epoch_ += 1

    def on_train_end(self, net: NeuralNet, **kwargs: object) -> None:
        """Restore the initial rate."""
        if isinstance(self.lr, CosineDecay):
            _set_rate(net, self.lr.initial)


def _set_rate(net: NeuralNet, rate: float) -> None:
    for group in net.optimizer_.param_groups:
        group["lr"] = rate


class StopOnScore(Callback):
    """Stop when the validation metric has stopped rising, and restore the best weights.

    On few held-out samples a metric of hard decisions often stays the same while the
    network learns. So an epoch is also the best one if the metric is no worse and the
    validation loss has fallen, and training goes on while that loss reaches new lows.
    Without validation samples it does nothing.

    Parameters
    ----------
    patience : int, default=10
        Number of epochs in a row without an improvement after which to stop.
    tol : float, default=1e-4
        By how much the metric must rise, or the loss fall, to count.

    Attributes
    ----------
    best_score_, best_loss_ : float
        Validation metric and loss of the best epoch.
    best_epoch_ : int or None
        Its number.

    Examples
    --------
    >>> import numpy as np
    >>> from skorch.dataset import ValidSplit
    >>> from sk_anyloss import AnyLossNet
    >>> from sk_anyloss.training.callbacks import StopOnScore
    >>> from sk_anyloss.training.network.mlp import MLP
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> net = AnyLossNet(
    ...     MLP(2, random_state=0),
    ...     train_split=ValidSplit(5, stratified=True),
    ...     callbacks=[StopOnScore(patience=3, tol=0.01)],
    ...     random_state=0,
    ... )
    >>> len(net.fit(X, (X[:, 0] > 0).astype(int)).history) < 100
    True
    """

    def __init__(self, patience: int = 10, tol: float = 1e-4) -> None:
        self.patience = patience
        self.tol = tol

    def on_train_begin(self, net: NeuralNet, **kwargs: object) -> None:
        """Discard what was found in an earlier training."""
        self.best_score_, self.best_loss_ = -np.inf, np.inf
        self.best_epoch_: int | None = None
        self.best_weights_: dict[str, Tensor] | None = None
        self.lowest_loss_ = np.inf
        self.misses_ = 0

    def on_epoch_end(
        self, net: NeuralNet, dataset_valid: Dataset | None = None, **kwargs: object
    ) -> None:
        """Compare the epoch with the best one so far."""
        if dataset_valid is None:
            return
        epoch = net.history[-1]
        score, loss = epoch["valid_score"], epoch["valid_loss"]
        rises = score > self.best_score_ + self.tol
        falls = score >= self.best_score_ and loss < self.best_loss_ - self.tol
        if rises or falls:
            self.best_score_, self.best_loss_ = score, loss
            self.best_epoch_ = epoch["epoch"]
            self.best_weights_ = deepcopy(net.module_.state_dict())
            self.lowest_loss_ = min(loss, self.lowest_loss_)
            self.misses_ = 0
            return
        if getattr(net, "warm_up_", None) is not None:
            return  # The training on the metric is still to come.
        self.misses_ += 1
        if loss < self.lowest_loss_ - self.tol:
            self.lowest_loss_, self.misses_ = loss, 0
        if self.misses_ >= self.patience:
            if net.verbose:
                print(f"No improvement for {self.patience} epochs: stopped.")
            raise KeyboardInterrupt  # How skorch's callbacks end a training.

    def on_train_end(self, net: NeuralNet, **kwargs: object) -> None:
        """Restore the best weights."""
        if self.best_weights_ is not None:
            net.module_.load_state_dict(self.best_weights_)
            self.best_weights_ = None
