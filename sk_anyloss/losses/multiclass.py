"""AnyLoss for C classes: one minus a metric of the soft C x C confusion matrix."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from sk_anyloss._compat import shallow_copy, softmax_backward
from sk_anyloss.losses.base import ClassesLoss, MovingAverage
from sk_anyloss.losses.distributed.processes import ProcessGroup
from sk_anyloss.losses.multilabel import OverLabels
from sk_anyloss.losses.steps import Identity, LogitSigmoid, Sigmoid, Step, get_step
from sk_anyloss.metrics.class_weights import (
    ClassWeights,
    LabelWeights,
    largest_factor,
    without_traces,
)
from sk_anyloss.metrics.derivatives.differentiable import not_finite
from sk_anyloss.metrics.multiclass.gradients import (
    ValueAndGrad,
    differentiate_matrix,
)
from sk_anyloss.metrics.multiclass.lookup import matrix_metric
from sk_anyloss.metrics.multiclass.matrix import MatrixMetric

__all__ = ["MulticlassAnyLoss", "OneAgainstRest"]

#: Up to this scale, the decisions beside the largest sum to a thousandth or more, so
#: that rounding of the largest one costs three digits of its gradient at most.
UNCORRECTED = 7.0

#: The amplifier that suits networks of any kind.
DEFAULT_STEP = Sigmoid(10)

#: Probabilities and decisions, of shape (K, C, n).
Decided: TypeAlias = tuple[Tensor, Tensor]


class MulticlassAnyLoss(MovingAverage, ClassesLoss[Tensor, Decided, Tensor]):
    r"""One minus a metric of the soft confusion matrix of C classes.

    With ``p = softmax(logits)``, the decisions are ``h = softmax(k p)``, ``k = L / 2``;
    for two classes that is the amplifier of :class:`sk_anyloss.losses.AnyLoss` with L.
    The soft confusion matrix is ``M[c, d]``, the sum of ``w_i h_id`` over the samples
    of class c, and ``loss = 1 - f(M)``. With ``G = df/dM``,

    .. math::
        \frac{\partial loss}{\partial h_{id}} = - w_i G[y_i, d].

    Parameters
    ----------
    metric : str or callable, default='f1_macro'
        As :func:`sk_anyloss.metrics.matrix_metric` takes it; a binary metric means its
        macro average.
    step : str or Step, default=Sigmoid(L=10)
        ``'sigmoid'`` or ``Sigmoid(L)`` is the amplifier; ``'identity'`` is ``h = p``;
        ``'logit'`` or ``LogitSigmoid(beta)`` is ``h = softmax(beta logits)``.
    classes : sequence, default=None
        The labels, for a metric that names one, such as
        ``'f1_macro@recall[fraud]>=0.8'``; by default 0 to C - 1.
    decay : float, default=0
        Decay of a moving average of the confusion matrix over batches, as for
        :class:`sk_anyloss.losses.AnyLoss`.
    process_group : 'world', torch.distributed.ProcessGroup or None, default='world'
        As for :class:`sk_anyloss.losses.base.Loss`.

    Notes
    -----
    In the contract of :class:`sk_anyloss.losses.base.Loss`, logits have the shape
    (K, C, n). Those of shape (K, n) are log-odds of the second of two classes.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import MulticlassAnyLoss
    >>> logits = torch.tensor([[2.0, 0, 0], [0, 1, 0], [0, 1, 0]], requires_grad=True)
    >>> loss = MulticlassAnyLoss("f1_macro")(logits, torch.tensor([0, 1, 2]))
    >>> loss.backward()
    >>> round(loss.item(), 3)
    0.452
    """

    def __init__(
        self,
        metric: str | MatrixMetric = "f1_macro",
        step: str | Step = DEFAULT_STEP,
        classes: Sequence[object] | None = None,
        decay: float = 0.0,
        process_group: ProcessGroup = "world",
    ) -> None:
        super().__init__(process_group=process_group)
        self.set_decay(decay)
        self.name, self.classes = metric, classes
        self.step = get_step(step)
        if not isinstance(self.step, (Sigmoid, Identity, LogitSigmoid)):
            raise ValueError(
                f"step={step!r} decides one class against the rest, so its decisions "
                "do not sum to 1; choose 'sigmoid', 'identity' or 'logit', or "
                "OneAgainstRest."
            )
        #: What probabilities, or logits, are multiplied with; (K, 1, 1) in a stack.
        self.scale: float | Tensor = 1.0
        if isinstance(self.step, Sigmoid):
            self.scale = self.step.L / 2
        elif isinstance(self.step, LogitSigmoid):
            self.scale = self.step.beta
        self._functions: dict[int, ValueAndGrad] = {}

    def _function(self, n_classes: int) -> ValueAndGrad:
        """The metric of the matrix with its gradient, looked up once."""
        if n_classes not in self._functions:
            classes = range(n_classes) if self.classes is None else self.classes
            metric = matrix_metric(self.name, classes)
            self._functions[n_classes] = differentiate_matrix(metric)
        return self._functions[n_classes]

    def statistics(
        self, logits: Tensor, samples: ClassWeights
    ) -> tuple[Tensor, Decided]:
        """Soft confusion matrices of shape (K, C, C), for logits of shape (K, C, n)."""
        if logits.dim() == 2:
            logits = torch.stack((torch.zeros_like(logits), logits), dim=1)
        p = torch.softmax(logits, dim=1)
        if isinstance(self.step, Sigmoid):
            h = torch.softmax(p * self.scale, dim=1)
        elif isinstance(self.step, LogitSigmoid):
            h = torch.softmax(logits * self.scale, dim=1)
        else:
            h = p
        return torch.bmm(samples.table_of(h.size(0)), h.mT), (p, h)

    def value_and_grad(self, S: Tensor) -> tuple[np.ndarray, Tensor]:
        """Losses of shape (K,), and their gradients with respect to the matrices."""
        M = without_traces(S.to("cpu", torch.float64).numpy())
        with np.errstate(all="ignore"):  # Next to 0, derivatives may overflow.
            value, G = self._function(M.shape[-1])(M)
        if not math.isfinite(value.sum()):
            raise not_finite(str(self.name), M[~np.isfinite(value)][0].tolist())
        most = largest_factor(S.dtype)
        if np.abs(G).max() > most:
            # No sample weighs more than all of them together.
            most = largest_factor(S.dtype, M.sum((1, 2)).max())
            G = G.clip(-most, most)
        return 1 - value, torch.from_numpy(-G).to(S)

    def backward(
        self, cache: Decided, grad: Tensor, samples: ClassWeights, out: Tensor
    ) -> None:
        """Write the gradient with respect to the logits, in their shape."""
        p, h = cache
        grad = grad if isinstance(self.step, Identity) else grad * self.scale
        by_h = torch.bmm(grad.mT, samples.table_of(h.size(0)))  # -w_i G[y_i], scaled
        into = out if out.dim() == 3 else None
        if isinstance(self.step, Sigmoid):
            restore = isinstance(self.scale, Tensor) or self.scale > UNCORRECTED
            by_p = _through_softmax(by_h, h, restore=restore)
            by_logits = _through_softmax(by_p, p, into)
        else:
            by_logits = _through_softmax(by_h, h, into)
        if into is None:  # Of the log-odds of the second of two classes.
            out.copy_(by_logits[:, 1])

    def differentiable(self, logits: Tensor, table: Tensor) -> Tensor:
        p = torch.softmax(logits, dim=0)
        if isinstance(self.step, Sigmoid):
            h = torch.softmax(p * self.scale, dim=0)
        elif isinstance(self.step, LogitSigmoid):
            h = torch.softmax(logits * self.scale, dim=0)
        else:
            h = p
        classes = range(len(p)) if self.classes is None else self.classes
        value = matrix_metric(self.name, classes)(table @ h.mT)
        return 1 - value + 0 * h.sum()  # A branch of the metric may be constant.

    @property
    def kind(self) -> tuple[object, ...]:
        metric = self.name if isinstance(self.name, str) else id(self.name)
        return type(self), type(self.step), metric, str(self.classes), self.decay

    @classmethod
    def stack(
        cls, losses: Sequence[MulticlassAnyLoss], like: Tensor
    ) -> MulticlassAnyLoss:
        # They may differ in the steepness.
        stacked = copy.copy(losses[0])
        scales = [loss.scale for loss in losses]
        if any(scale != scales[0] for scale in scales):
            stacked.scale = like.new_tensor(scales).view(-1, 1, 1)
        return stacked

    def extra_repr(self) -> str:
        text = f"metric={self.name!r}, step={self.step!r}"
        return text + (f", decay={self.decay}" if self.decay else "")


class OneAgainstRest(ClassesLoss[Any, Any, Any]):
    r"""A loss of labels for C classes, each a label against the rest.

    The probability of each class, ``p = softmax(logits)``, is decided upon by itself,
    for steps that act on one probability. With the log-odds
    ``z_c`` of class c, ``dz_c/dlogit_j = -p_j / (1 - p_c)`` for another class j.

    Parameters
    ----------
    loss : OverLabels
        The loss of the C labels.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import AnyLoss
    >>> loss = AnyLoss("f1", "linear").for_target("multiclass")
    >>> type(loss).__name__
    'OneAgainstRest'
    >>> loss(torch.eye(3) * 9, torch.tensor([0, 1, 2])).item() < 0.01
    True
    """

    loss: OverLabels

    def __init__(self, loss: OverLabels) -> None:
        super().__init__(process_group=loss.process_group)
        self.loss = loss
        self.goal = loss.goal

    @property
    def kind(self) -> tuple[object, ...]:
        return type(self), self.loss.kind

    @classmethod
    def stack(cls, losses: Sequence[OneAgainstRest], like: Tensor) -> OneAgainstRest:
        stacked = shallow_copy(losses[0])
        inner = [loss.loss for loss in losses]
        stacked.loss = inner[0].stack(inner, like)
        return stacked

    @property
    def step(self) -> Step:
        """The step of each class."""
        return self.loss.loss.step  # type: ignore[return-value]

    def statistics(self, logits: Tensor, samples: ClassWeights) -> tuple[Any, Any]:
        p = torch.softmax(logits, dim=1)
        largest = p.argmax(1, keepdim=True)
        p_not = 1 - p
        rest = p.scatter(1, largest, 0.0).sum(1, keepdim=True)
        tiny = torch.finfo(p.dtype).tiny
        p_not = p_not.scatter(1, largest, rest).clamp(min=tiny)
        log_odds = torch.log(p.clamp(min=tiny)) - torch.log(p_not)
        labels = _as_labels(samples)
        S, cache = self.loss.statistics(log_odds, labels)
        return S, (p, p_not, labels, cache)

    def value_and_grad(self, S: Any) -> tuple[Any, Any]:
        return self.loss.value_and_grad(S)

    def average(self, S: Any) -> Any:
        return self.loss.average(S)

    @property
    def moving_average(self) -> Tensor | None:
        """The moving average of the loss of the labels."""
        return self.loss.moving_average

    @moving_average.setter
    def moving_average(self, average: Tensor | None) -> None:
        self.loss.moving_average = average

    def reset(self) -> None:
        super().reset()
        self.loss.reset()

    def backward(
        self, cache: Any, grad: Any, samples: ClassWeights, out: Tensor
    ) -> None:
        p, p_not, labels, inner = cache
        self.loss.backward(inner, grad, labels, out)
        ratio = out / p_not
        others = ratio.sum(1, keepdim=True) - ratio
        out.sub_(p * others)

    def differentiable(self, logits: Tensor, table: Tensor) -> Tensor:
        own = torch.eye(len(logits), dtype=torch.bool, device=logits.device)
        others = torch.where(own.unsqueeze(-1), -math.inf, logits).logsumexp(1)
        labels = torch.stack((table.sum(0) - table, table), dim=1)
        return self.loss.of_one(logits - others, labels)


def _as_labels(samples: ClassWeights) -> LabelWeights:
    """Each class as a label."""
    table = samples.table
    rest = table.sum(1, keepdim=True) - table
    target = (table > 0).to(table.dtype)
    uniform = samples.uniform_share is not None
    return LabelWeights(torch.stack((rest, table), dim=2), target, uniform)


def _through_softmax(
    by_output: Tensor,
    output: Tensor,
    out: Tensor | None = None,
    restore: bool = True,
) -> Tensor:
    """Gradient with respect to the input of a softmax over axis 1, from its output's.

    ``a = s (g - <s, g>)``, whose entries sum to 0. Where one output rounds to 1, its
    own entry is lost to rounding; subtracting the sum of all entries restores it.
    """
    backward = softmax_backward()
    if backward is not None:
        found = backward(by_output, output, 1, output.dtype)
    else:
        mean = (output * by_output).sum(1, keepdim=True)
        found = (by_output - mean).mul_(output)
    if not restore:
        return found
    total = found.sum(1, keepdim=True)
    return torch.addcmul(found, output, total, value=-1, out=out)
