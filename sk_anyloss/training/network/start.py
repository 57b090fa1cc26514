"""What a training of :class:`sk_anyloss.AnyLossNet` starts with, by its parameters.

How many epochs on cross-entropy, the learning rate after them, and the steepness of the
amplifier.
"""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING

import torch
from skorch.callbacks import LRScheduler
from skorch.utils import get_dim, to_numpy

from sk_anyloss.losses import AnyLoss
from sk_anyloss.losses.base import Loss
from sk_anyloss.losses.steepness import auto_L
from sk_anyloss.losses.steps import Sigmoid
from sk_anyloss.training.callbacks import SetLearningRate
from sk_anyloss.training.distributed.synchronization import spread
from sk_anyloss.training.epoch_steps import EpochSteps
from sk_anyloss.training.network.mlp import MLP

if TYPE_CHECKING:
    from sk_anyloss.training.data.dataset import SizedDataset
    from sk_anyloss.training.net import AnyLossNet

__all__ = ["choose_L", "metric_rate", "warm_up_epochs"]

#: Fraction of the epochs on cross-entropy, by ``warm_up='auto'``.
WARM_UP = 0.75

#: Factor of the learning rate after them, by ``metric_lr='auto'``.
METRIC_RATE = 0.1


def warm_up_epochs(net: AnyLossNet) -> int:
    """Number of epochs on cross-entropy, from the parameter ``warm_up``."""
    fraction = net.warm_up
    if isinstance(fraction, str) and fraction == "auto":
        is_default = net.criterion is AnyLoss and type(net.module_) is not MLP
        is_own = type(net).get_loss is not EpochSteps.get_loss
        fraction = WARM_UP if is_default and not is_own else 0.0
    is_number = isinstance(fraction, numbers.Real) and fraction is not True
    if not is_number or not 0 <= float(fraction) < 1:
        raise ValueError(
            f"warm_up must be a number in [0, 1) or 'auto', got {fraction!r}."
        )
    epochs = min(round(float(fraction) * net.max_epochs), net.max_epochs - 1)
    if epochs > 0 and not isinstance(net.criterion_, Loss):
        raise ValueError(
            f"warm_up={fraction!r} is a start on cross-entropy before a loss of "
            f"sk_anyloss.losses, but criterion={type(net.criterion_).__name__}; "
            "use warm_up=0."
        )
    return max(epochs, 0)


def metric_rate(net: AnyLossNet) -> float:
    """Factor of the learning rate after the start on cross-entropy."""
    rate = net.metric_lr
    if isinstance(rate, str) and rate == "auto":
        is_set = any(
            isinstance(callback, (LRScheduler, SetLearningRate))
            for _, callback in net.callbacks_
        )
        return 1.0 if is_set else METRIC_RATE
    is_number = isinstance(rate, numbers.Real) and rate is not True
    if not is_number or not 0 < float(rate) < math.inf:
        raise ValueError(
            f"metric_lr must be a positive number or 'auto', got {rate!r}."
        )
    return float(rate) / net.lr


def choose_L(net: AnyLossNet, train: SizedDataset) -> None:
    """Set the steepness of the amplifier for this training, if it is ``'auto'``."""
    if net.L is None:
        return
    if net.criterion is not AnyLoss or hasattr(net, "criterion__step"):
        raise ValueError(
            f"L={net.L!r} is the steepness of the default criterion, but another "
            "criterion or criterion__step is given as well; give one of the two."
        )
    if net.L != "auto" or not isinstance(net.criterion_, AnyLoss):
        return
    epochs, rate = net.max_epochs, net.lr
    if net.warm_up_ is not None:
        left = net.warm_up_.epochs - len(net.history)
        epochs, rate = epochs - left, rate * net.warm_up_.factor
    iterator = net.get_iterator(train, training=True)
    n_batches = len(spread(net, iterator, training=True))
    widths = [len(p) for p in net.module_.parameters() if p.dim() > 1]
    y = getattr(train, "y", None)
    n_classes = 2
    if y is not None and get_dim(y) == 1 and len(y):
        n_classes = int(to_numpy(y).max()) + 1
    L = auto_L(
        rate,
        max(epochs * n_batches, 1),
        max([2, *widths]),
        net.dtype_ or torch.float32,
        max(net.processes_.gather(n_classes)),
    )
    net.criterion_.set_step(Sigmoid(L))
