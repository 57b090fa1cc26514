"""Callbacks for the net, beside the many that skorch brings."""

from __future__ import annotations

import math
from copy import deepcopy
from typing import Any

import numpy as np
from skorch import NeuralNet
from skorch.callbacks import Callback, PrintLog

__all__ = ["FallingRate", "QuietPrintLog", "StopOnScore"]


class QuietPrintLog(PrintLog):
    """skorch's table of epochs, which is not put together where nobody reads it."""

    def on_epoch_end(self, net: NeuralNet, **kwargs: Any) -> None:
        """Print a line, if the net is verbose or the log goes elsewhere."""
        if net.verbose or self.sink is not print:
            super().on_epoch_end(net, **kwargs)


class FallingRate(Callback):
    """Lower the learning rate from epoch to epoch, as a schedule says.

    Parameters
    ----------
    schedule : 'cosine' or None, default=None
        ``'cosine'`` goes down to 0 along half a cosine; None changes nothing.

    Examples
    --------
    >>> from sk_anyloss.training.callbacks import FallingRate
    >>> falling = FallingRate("cosine")
    >>> [round(falling.factor((epoch + 0.5) / 4), 3) for epoch in range(4)]
    [0.962, 0.691, 0.309, 0.038]
    """

    def __init__(self, schedule: str | None = None) -> None:
        self.schedule = schedule
        self.epoch_, self.total_ = 0, 1

    def begin(self, schedule: str | None, total: int) -> None:
        """Get ready for a training of so many epochs, in however many parts."""
        self.schedule, self.total_, self.epoch_ = schedule, total, 0

    def factor(self, share: float) -> float:
        """What the learning rate is multiplied with after a share of the training."""
        return 1.0 if self.schedule is None else (1 + math.cos(math.pi * share)) / 2

    def on_epoch_begin(self, net: NeuralNet, **kwargs: Any) -> None:
        """Set the rate of the epoch."""
        if self.schedule is not None:
            self._set(net, self.factor((self.epoch_ + 0.5) / self.total_))
            self.epoch_ += 1

    def on_train_end(self, net: NeuralNet, **kwargs: Any) -> None:
        """Put the rate back to what it was."""
        if self.schedule is not None:
            self._set(net, 1.0)

    def _set(self, net: NeuralNet, factor: float) -> None:
        for group in net.optimizer_.param_groups:
            group["lr"] = net.lr * factor


class StopOnScore(Callback):
    """Stop when the validation metric has stopped rising, and go back to its best.

    On few held-out rows a metric of hard decisions often stands still while the
    network learns. So an epoch also counts as better if the metric is no worse and
    the validation loss has fallen. Epochs without validation rows are passed over.

    Parameters
    ----------
    patience : int, default=10
        How many epochs in a row may be no better.
    tol : float, default=1e-4
        By how much the metric must rise, or the loss fall, to count.

    Attributes
    ----------
    best_score_, best_loss_ : float
        Validation figures of the best epoch.
    best_epoch_ : int or None
        Its number.

    Examples
    --------
    >>> import numpy as np
    >>> from skorch.dataset import ValidSplit
    >>> from sk_anyloss import AnyLossNet
    >>> from sk_anyloss.training.callbacks import StopOnScore
    >>> from sk_anyloss.training.mlp import MLP
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> net = AnyLossNet(
    ...     MLP(2, random_state=0),
    ...     train_split=ValidSplit(5, stratified=True),
    ...     callbacks=[StopOnScore(patience=3)],
    ...     random_state=0,
    ... )
    >>> len(net.fit(X, (X[:, 0] > 0).astype(int)).history) < 100
    True
    """

    def __init__(self, patience: int = 10, tol: float = 1e-4) -> None:
        self.patience = patience
        self.tol = tol

    def on_train_begin(self, net: NeuralNet, **kwargs: Any) -> None:
        """Forget an earlier training."""
        self.best_score_, self.best_loss_ = -np.inf, np.inf
        self.best_epoch_: int | None = None
        self.best_weights_: dict[str, Any] | None = None
        self.misses_ = 0

    def on_epoch_end(
        self, net: NeuralNet, dataset_valid: Any = None, **kwargs: Any
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
            self.misses_ = 0
            return
        self.misses_ += 1
        if self.misses_ >= self.patience:
            if net.verbose:
                print(f"No better for {self.patience} epochs; back to the best.")
            raise KeyboardInterrupt  # How skorch's callbacks end a training.

    def on_train_end(self, net: NeuralNet, **kwargs: Any) -> None:
        """Put the best weights back."""
        if self.best_weights_ is not None:
            net.module_.load_state_dict(self.best_weights_)
            self.best_weights_ = None
