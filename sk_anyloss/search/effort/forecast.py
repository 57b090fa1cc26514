"""How long a training will take, foretold by shorter ones.

Networks are trained for one epoch, and other classifiers are fitted on few samples,
before time is spent on a candidate for which it would not suffice.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import Any

import torch
from skorch import NeuralNet
from skorch.callbacks import Callback

from sk_anyloss.search.effort.budget import Clock

__all__ = ["MarkEpochs", "check_few_samples", "load_optimizers", "seconds_of_epochs"]

#: What part of its samples a classifier is fitted on, and the fewest of them.
PARTS, LEAST_SAMPLES = (64, 32, 16, 8, 4), 50


class MarkEpochs(Callback):
    """Records when each epoch of a net begins, as ``begin`` in its history."""

    def on_epoch_begin(self, net: NeuralNet, **kwargs: Any) -> None:
        """Record the time.

        Parameters
        ----------
        net : skorch.NeuralNet
            The net.
        **kwargs
            Not used.
        """
        net.history.record("begin", time.perf_counter())


def seconds_of_epochs(nets: Iterable[NeuralNet]) -> float:
    """Seconds in which at least one of some nets was in an epoch.

    Epochs of nets in one stack are at the same time, those of others one after another.

    Parameters
    ----------
    nets : iterable of skorch.NeuralNet
        Trained with :class:`MarkEpochs`.

    Returns
    -------
    seconds : float
        Without what is done before, between and after the epochs.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from sk_anyloss.search.effort.forecast import seconds_of_epochs
    >>> marks = [(0.0, 2.0), (0.5, 1.5), (3.0, 1.0)]
    >>> nets = [SimpleNamespace(history=[{"begin": b, "dur": d}]) for b, d in marks]
    >>> seconds_of_epochs(nets)
    3.0
    """
    epochs = [epoch for net in nets for epoch in net.history]
    total, last = 0.0, -math.inf
    for epoch in sorted(epochs, key=lambda epoch: epoch["begin"]):
        end = epoch["begin"] + epoch["dur"]
        total += max(0.0, end - max(epoch["begin"], last))
        last = max(last, end)
    return total


def load_optimizers() -> None:
    """Let torch import what it imports with the first optimiser of a process.

    That takes seconds, which are no part of any training.
    """
    torch.optim.SGD([torch.zeros(1)], lr=1.0)


def check_few_samples(
    clock: Clock, fit: Callable[[int], object], n_samples: int, n_folds: int
) -> None:
    """Raise ``OutOfTimeError`` if fits on few samples show that time is too short.

    The number of samples is doubled from one fit to the next, up to a quarter, as long
    as the time would not suffice for all folds in proportion to it. A fold takes at
    least as long as such a fit, and the next fit about twice as long as the last, so
    that the time that is left is hardly exceeded, whatever a fold takes.

    Parameters
    ----------
    clock : Clock
        The time that is left.
    fit : callable
        Fits on a number of samples. If it fails, nothing is foretold.
    n_samples : int
        Samples to train on in a fold.
    n_folds : int
        Number of folds.

    Examples
    --------
    >>> from time import sleep
    >>> from sk_anyloss.search.effort.budget import Clock
    >>> from sk_anyloss.search.effort.forecast import check_few_samples
    >>> check_few_samples(Clock(60.0), lambda n: sleep(n / 1e4), 6400, n_folds=5)
    >>> check_few_samples(Clock(0.1), lambda n: sleep(n / 1e4), 6400, n_folds=5)
    Traceback (most recent call last):
    ...
    sk_anyloss.search.effort.budget.OutOfTimeError: by a fit on ... samples it would ...
    """
    for part in PARTS if clock.is_limited else ():
        n = n_samples // part
        if n < LEAST_SAMPLES:
            continue
        start = clock.spent
        try:
            fit(n)
        except Exception:  # On all samples it may well succeed.
            return
        seconds = clock.spent - start
        if seconds * part * n_folds <= (clock.left or 0.0):
            return
        clock.check(
            seconds * n_folds, f"by a fit on {n} samples it would take at least"
        )
