"""The contract of every loss, in three pure steps.

Samples reach a loss only through statistics that are sums over them, so the work on
samples comes before and after a computation with a handful of numbers:

1. ``statistics(logits, samples) -> S, cache``: the statistics of a batch, additive over
   samples, and what the last step needs of each sample;
2. ``value_and_grad(S) -> loss, grad``: the loss, and its gradient with respect to the
   statistics;
3. ``backward(cache, grad, samples, out)``: from there to the gradient with respect to
   the logits.

Between the first two, :meth:`Loss.reduce` adds the statistics of other processes, and
:meth:`Loss.average` those of earlier batches. The torch criterion wraps these steps in
one autograd function; the closed-form training of the network calls them directly; a
batch that is split into chunks, and the loss of an epoch, are sums of S.
"""

from sk_anyloss.losses.base.classes import ClassesLoss
from sk_anyloss.losses.base.inputs import align, as_weight, check_binary
from sk_anyloss.losses.base.loss import Arranged, Loss
from sk_anyloss.losses.base.moving_average import MovingAverage
from sk_anyloss.losses.base.options import options_key
from sk_anyloss.losses.base.statistics import (
    AnyStatistics,
    Cache,
    Factors,
    Gradient,
    Parts,
    Statistics,
)

__all__ = [
    "AnyStatistics",
    "Arranged",
    "Cache",
    "ClassesLoss",
    "Factors",
    "Gradient",
    "Loss",
    "MovingAverage",
    "Parts",
    "Statistics",
    "align",
    "as_weight",
    "check_binary",
    "options_key",
]
