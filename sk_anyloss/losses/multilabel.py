"""A loss of two classes for several labels: one output of the network for each."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from sk_anyloss.losses.base import (
    AnyStatistics,
    Arranged,
    Loss,
    MovingAverage,
    Parts,
    as_weight,
)
from sk_anyloss.losses.precision import at_least_single
from sk_anyloss.metrics.arithmetic import FloatOrArray, ratio, values_of
from sk_anyloss.metrics.class_weights import LabelWeights, without_traces
from sk_anyloss.metrics.multilabel import LABEL_AVERAGES, LabelAverage

__all__ = ["OverLabels"]

#: Of a loss that is averaged over samples: the derivative of the summed metric by the
#: logits, over the gain of the step, and the weights of the samples.
SampleCache: TypeAlias = tuple[Tensor, Tensor]


class OverLabels(MovingAverage, Loss[Any, Any, Any]):
    """A loss of two classes, averaged over labels or over samples.

    Parameters
    ----------
    loss : Loss
        A loss of two classes, such as :class:`sk_anyloss.losses.AnyLoss`.
    average : {'macro', 'weighted', 'micro', 'samples'}, default='macro'
        The mean of the losses of the labels; the mean weighted by the number of samples
        that have the label; the loss of the sum of their confusion matrices; or the
        mean over the samples of the loss of each one's own confusion matrix. All but
        the first need a loss that is one minus a metric.

    Notes
    -----
    Logits have the shape (K, Q, n) for K models and Q labels. The statistics are those
    of the loss itself, with the labels on the first axis: (Q, ..., K, ...).

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import AnyLoss
    >>> from sk_anyloss.losses.multilabel import OverLabels
    >>> logits = torch.tensor([[2.0, -2.0], [2.0, 2.0]])
    >>> loss = OverLabels(AnyLoss("f1"), "micro")
    >>> round(loss(logits, torch.tensor([[1, 0], [0, 1]])).item(), 3)
    0.211
    """

    def __init__(self, loss: Loss, average: str = "macro") -> None:
        super().__init__(process_group=loss.process_group)
        if average not in LABEL_AVERAGES:
            raise ValueError(
                f"average must be one of {', '.join(map(repr, LABEL_AVERAGES))}, got "
                f"{average!r}."
            )
        self.loss, self.average_over = loss, average
        self.goal = loss.goal
        self.set_decay(getattr(loss, "decay", 0.0))
        if average != "macro" and not hasattr(loss, "value_and_derivatives"):
            raise ValueError(
                f"average={average!r} is one of a metric; {type(loss).__name__} is "
                "averaged over labels by 'macro' only."
            )
        #: The losses of each model by label: one entry if all models have the same
        #: loss, and in it one if all labels have.
        self.losses: list[list[Loss]] = [[loss]]
        #: Those of all models and labels as one, in the orders that are in use.
        self._stacks: dict[tuple[object, ...], Loss] = {}

    def for_labels(self) -> Loss:
        return self

    def prepare(
        self, negatives: float | np.ndarray, positives: float | np.ndarray
    ) -> None:
        """Set what depends on the frequency of each label in the training set.

        Parameters
        ----------
        negatives, positives : float or ndarray of shape (Q,)
            Total weight of the samples without and with each label.
        """
        without, having = np.atleast_1d(negatives), np.atleast_1d(positives)
        self.losses = [[copy.deepcopy(self.loss) for _ in having]]
        for q, loss in enumerate(self.losses[0]):
            loss.prepare(float(without[q]), float(having[q]))
        self._stacks = {}

    @property
    def kind(self) -> tuple[object, ...]:
        n_labels = len(self.losses[0])
        return type(self), self.average_over, self.decay, self.loss.kind, n_labels

    @classmethod
    def stack(cls, losses: Sequence[OverLabels], like: Tensor) -> OverLabels:
        # They may differ in what the loss of two classes can differ in.
        stacked = copy.copy(losses[0])
        stacked.losses = [loss.losses[0] for loss in losses]
        stacked._stacks = {}
        return stacked

    def _loss_of(self, k: int, q: int) -> Loss:
        by_label = self.losses[k if len(self.losses) > 1 else 0]
        return by_label[q if len(by_label) > 1 else 0]

    def _as_one(self, order: str, sizes: tuple[int, int, int], like: Tensor) -> Loss:
        """The losses of Q labels and K = G M models as one loss.

        ``order`` says what the rows are: the models and labels ``'gqm'`` as the samples
        have them, ``'qgm'`` as the statistics have them, or ``'gm'`` the models only.
        """
        key = order, sizes, like.dtype, like.device
        if key not in self._stacks:
            shape = dict(zip("gqm", sizes, strict=True))
            losses = []
            for index in np.ndindex(*(shape[axis] for axis in order)):
                at = dict(zip(order, index, strict=True))
                k = at["g"] * shape["m"] + at["m"]
                losses.append(self._loss_of(k, at.get("q", 0)))
            # A single loss computes with numbers, which is faster; but the counts of
            # samples are arrays, for which a stack has its metrics ready.
            is_single = len(losses) == 1 and self.average_over != "samples"
            one = losses[0] if is_single else losses[0].stack(losses, like)
            self._stacks[key] = one
        return self._stacks[key]

    def statistics(
        self, logits: Tensor, samples: LabelWeights
    ) -> tuple[AnyStatistics, Any]:
        if self.average_over == "samples":
            return self._sample_statistics(logits, samples)
        loss = self._as_one("gqm", _sizes_of(logits, samples), logits)
        S, cache = loss.statistics(_by_group(logits, samples), samples.by_label)
        return _labels_first(S, samples), cache

    def value_and_grad(self, S: Any) -> tuple[FloatOrArray, Any]:
        if self.average_over == "samples":
            total, weight = S.to("cpu", torch.float64).numpy()
            factor = np.divide(1.0, weight, out=np.zeros_like(weight), where=weight > 0)
            return 1 - total * factor, -self._gains(len(weight)) * factor
        Q, K, like = _sizes(S)
        if self.average_over == "micro":
            loss = self._as_one("gm", (K, Q, 1), like)
            value, grad = loss.value_and_grad(S.sum(0))
            return np.reshape(value, (K,)), _scaled(grad, np.ones((Q, K)))
        loss = self._as_one("qgm", (K, Q, 1), like)
        value, grad = loss.value_and_grad(_joined(S))
        losses, weights = np.reshape(value, (Q, K)), np.full((Q, K), 1 / Q)
        if self.average_over == "weighted":
            support = S[:, 0, :, 1].sum(-1).to("cpu", torch.float64).numpy()
            whole = support.sum(0)
            weights = np.divide(support, whole, out=np.zeros((Q, K)), where=whole > 0)
            # The metric, not the loss, is 0 without any true label.
            return 1 - (weights * (1 - losses)).sum(0), _scaled(grad, weights)
        return (weights * losses).sum(0), _scaled(grad, weights)

    def backward(
        self, cache: Any, grad: Any, samples: LabelWeights, out: Tensor
    ) -> None:
        if self.average_over == "samples":
            derivative, weight = cache
            factor = out.new_tensor(grad)[:, None]
            torch.mul(derivative, (weight * factor)[:, None], out=out)
            return
        G, Q, M = _sizes_of(out, samples)
        arranged = _reordered(grad, (Q, G, M))
        loss = self._as_one("gqm", (G, Q, M), out)
        if M == 1 and out.is_contiguous():
            loss.backward(cache, arranged, samples.by_label, out.view(G * Q, samples.n))
            return
        into = out.new_empty((G * Q * M, samples.n))
        loss.backward(cache, arranged, samples.by_label, into)
        out.copy_(into.view(G, Q, M, samples.n).transpose(1, 2).reshape(out.shape))

    def _gains(self, K: int) -> np.ndarray:
        """What the derivatives of each model's decisions have to be multiplied with."""
        losses: list[Any] = [self._loss_of(k, 0) for k in range(K)]
        return np.array([loss.gain for loss in losses])

    def _sample_statistics(
        self, logits: Tensor, samples: LabelWeights
    ) -> tuple[Tensor, SampleCache]:
        """Sum of the metric over the samples, and their weight, for each model."""
        K, Q, n = logits.shape
        G, _, M = _sizes_of(logits, samples)
        loss: Any = self._as_one("gm", (G, Q, M), logits)
        y = samples.target.repeat_interleave(M, dim=0)
        weight = samples.weight.repeat_interleave(M, dim=0)
        total, by_logit = weight.new_zeros(K), torch.zeros_like(logits)
        for threshold in loss.thresholds:
            # Parameters of a stack of steps have the shape (K, 1).
            decisions, derivative = loss.step.decide(logits.flatten(1), threshold)
            h_not, h = decisions.view(2, K, Q, n)
            counts = [
                (a * b).sum(1).to("cpu", torch.float64).numpy()
                for a, b in ((1 - y, h_not), (1 - y, h), (y, h_not), (y, h))
            ]
            counts = [without_traces(count) for count in counts]
            value, positives, negatives = (
                logits.new_tensor(part)
                for part in loss.stacked_metrics.of_matrices(*counts)
            )
            by_decision = torch.where(y > 0, positives[:, None], negatives[:, None])
            by_logit.addcmul_(derivative.view(K, Q, n), by_decision)
            total = total + (weight * value).sum(-1)
        share = 1 / len(loss.thresholds)
        S = torch.stack((total * share, weight.sum(-1)))
        return S, (by_logit.mul_(share), weight)

    def differentiable(self, logits: Tensor, table: Tensor) -> Tensor:
        if self.average_over == "macro":
            each = zip(logits, table, strict=True)
            losses = [self._loss_of(0, q).of_one(*one) for q, one in enumerate(each)]
            return torch.stack(losses).mean()
        loss: Any = self.loss
        average = LabelAverage(loss.metric, self.average_over)
        is_over_samples = self.average_over == "samples"
        if is_over_samples:
            weight, table = table[0].sum(0), 1.0 * (table > 0)
        parts = loss.soft_counts(logits, table)
        counts = [part.sum(-2 if is_over_samples else -1) for part in parts]
        if is_over_samples:
            values = values_of(loss.metric, *counts)
            return 1 - ratio((values * weight).sum(-1), weight.sum()).mean()
        return 1 - average.of_counts(*counts).mean()

    def arrange(
        self, logits: Tensor, y: Tensor, sample_weight: Tensor | None = None
    ) -> Arranged:
        logits = at_least_single(logits)
        if logits.dim() != 2 or y.shape != logits.shape:
            raise ValueError(
                "A loss of several labels takes logits and labels of the shape (n, Q); "
                f"got {tuple(logits.shape)} and {tuple(y.shape)}."
            )
        weight = as_weight(sample_weight, len(y), logits)
        samples = LabelWeights.of(y.to(logits), weight)
        return self, logits.T.contiguous()[None], samples

    def extra_repr(self) -> str:
        return f"average={self.average_over!r}"


def _by_group(logits: Tensor, samples: LabelWeights) -> Tensor:
    """Logits (K, Q, n) as (G Q M, n), so that models of a label are together."""
    G, Q, n = samples.groups, samples.n_labels, samples.n
    M = len(logits) // G
    if M == 1:
        return logits.reshape(G * Q, n)
    return logits.view(G, M, Q, n).transpose(1, 2).reshape(G * Q * M, n)


def _labels_first(S: Any, samples: LabelWeights) -> Any:
    """Statistics (..., G Q M, ...) as (Q, ..., K, ...)."""
    if isinstance(S, Parts):
        return Parts(_labels_first(part, samples) for part in S)
    split = S.unflatten(1, (samples.groups, samples.n_labels, -1))
    return split.movedim(2, 0).flatten(2, 3)


def _joined(S: Any) -> Any:
    """Statistics (Q, ..., K, ...) as the loss takes them, for Q K models."""
    if isinstance(S, Parts):
        return Parts(_joined(part) for part in S)
    return S.movedim(0, 1).flatten(1, 2)


def _sizes(S: Any) -> tuple[int, int, Tensor]:
    """Number of labels and of models, and a tensor of the statistics."""
    first = S[0] if isinstance(S, Parts) else S
    return first.shape[0], first.shape[2], first


def _sizes_of(logits: Tensor, samples: LabelWeights) -> tuple[int, int, int]:
    """Number of groups, of labels, and of models in a group."""
    return samples.groups, samples.n_labels, len(logits) // samples.groups


def _scaled(grad: Any, weights: np.ndarray) -> Any:
    """All factors of a gradient times weights (Q, K)."""
    if isinstance(grad, (tuple, list)):
        return type(grad)(_scaled(part, weights) for part in grad)
    return (weights * np.reshape(grad, (-1, weights.shape[1]))).ravel()


def _reordered(grad: Any, sizes: tuple[int, int, int]) -> Any:
    """All factors of a gradient from the order (Q, G, M) to (G, Q, M)."""
    if isinstance(grad, (tuple, list)):
        return type(grad)(_reordered(part, sizes) for part in grad)
    return grad.reshape(sizes).transpose(1, 0, 2).ravel()
