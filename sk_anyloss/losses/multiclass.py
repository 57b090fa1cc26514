"""AnyLoss for C classes: one minus a metric of the soft C x C confusion matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor

from sk_anyloss.losses.base import Loss
from sk_anyloss.losses.precision import at_least_single
from sk_anyloss.losses.steps import Identity, LogitSigmoid, Sigmoid, Step, get_step
from sk_anyloss.metrics.class_weights import ClassWeights
from sk_anyloss.metrics.differentiable import not_finite
from sk_anyloss.metrics.multiclass.gradients import matrix_value_and_grad
from sk_anyloss.metrics.multiclass.lookup import matrix_metric
from sk_anyloss.metrics.multiclass.matrix import MatrixMetric

__all__ = ["MulticlassAnyLoss"]

#: Probabilities and decisions, of shape (K, C, n).
Decided: TypeAlias = tuple[Tensor, Tensor]


class MulticlassAnyLoss(Loss[Tensor, Decided, Tensor]):
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
    step : str or Step, default='sigmoid'
        ``'sigmoid'`` or ``Sigmoid(L)`` is the amplifier; ``'identity'`` is ``h = p``;
        ``'logit'`` or ``LogitSigmoid(beta)`` is ``h = softmax(beta logits)``.
    classes : sequence, default=None
        The labels, for a metric that names one, such as
        ``'f1_macro@recall[fraud]>=0.8'``; by default 0 to C - 1.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import MulticlassAnyLoss
    >>> logits = torch.tensor([[2.0, 0, 0], [0, 1, 0], [0, 1, 0]], requires_grad=True)
    >>> loss = MulticlassAnyLoss("f1_macro")(logits, torch.tensor([0, 1, 2]))
    >>> loss.backward()
    >>> round(loss.item(), 3)
    0.444
    """

    def __init__(
        self,
        metric: str | MatrixMetric = "f1_macro",
        step: str | Step = "sigmoid",
        classes: Sequence[object] | None = None,
    ) -> None:
        super().__init__()
        self.name, self.classes = metric, classes
        self.step = get_step(step)
        if not isinstance(self.step, (Sigmoid, Identity, LogitSigmoid)):
            raise ValueError(
                f"step={step!r} decides one class against the rest, so its decisions "
                "do not sum to 1; choose 'sigmoid', 'identity' or 'logit'."
            )

    def statistics(
        self, logits: Tensor, samples: ClassWeights
    ) -> tuple[Tensor, Decided]:
        """Soft confusion matrices of shape (K, C, C), for logits of shape (K, C, n)."""
        p = torch.softmax(logits, dim=1)
        if isinstance(self.step, Sigmoid):
            h = torch.softmax(p * (self.step.L / 2), dim=1)
        elif isinstance(self.step, LogitSigmoid):
            h = torch.softmax(logits * self.step.beta, dim=1)
        else:
            h = p
        return torch.bmm(samples.table.expand(len(h), -1, -1), h.mT), (p, h)

    def value_and_grad(self, S: Tensor) -> tuple[np.ndarray, Tensor]:
        """Losses of shape (K,), and their gradients by the matrices."""
        M = S.to("cpu", torch.float64).numpy()
        classes = range(M.shape[-1]) if self.classes is None else self.classes
        value, G = matrix_value_and_grad(matrix_metric(self.name, classes), M)
        if not np.isfinite(value).all():
            raise not_finite(str(self.name), M[~np.isfinite(value)][0].tolist())
        limit = torch.finfo(S.dtype).max * 1e-12
        return 1 - value, S.new_tensor(-G.clip(-limit, limit))

    def backward(
        self, cache: Decided, grad: Tensor, samples: ClassWeights, out: Tensor
    ) -> None:
        """Write the gradient by the logits, of shape (K, C, n), into a tensor."""
        p, h = cache
        table = samples.table.expand(len(h), -1, -1)
        by_h = torch.bmm(grad.mT, table)  # w_i G[y_i]
        if isinstance(self.step, Sigmoid):
            by_p = _through_softmax(by_h, h).mul_(self.step.L / 2)
            out.copy_(_through_softmax(by_p, p))
        elif isinstance(self.step, LogitSigmoid):
            out.copy_(_through_softmax(by_h, h).mul_(self.step.beta))
        else:
            out.copy_(_through_softmax(by_h, p))

    def forward(
        self, logits: Tensor, y: Tensor, sample_weight: Tensor | None = None
    ) -> Tensor:
        """Loss of a batch.

        Parameters
        ----------
        logits : tensor of shape (n, C)
            Output of the network for each sample, before any softmax.
        y : tensor of shape (n,)
            Classes, 0 to C - 1, of any dtype.
        sample_weight : tensor of shape (n,), default=None
            Weights; a sample of weight 2 counts as two.

        Returns
        -------
        loss : tensor of shape ()
            The loss.
        """
        logits = at_least_single(logits)
        if logits.dim() != 2 or logits.shape[1] < 2 or y.shape != logits.shape[:1]:
            raise ValueError(
                "A loss of several classes takes logits of shape (n, C) with y of "
                f"shape (n,); got {tuple(logits.shape)} and {tuple(y.shape)}."
            )
        samples = ClassWeights.of_classes(y, logits.shape[1], logits, sample_weight)
        return self.of_batch(logits.T, samples)

    def of_batch(self, logits: Tensor, samples: ClassWeights) -> Tensor:
        """Loss of a batch whose labels and weights have been validated.

        Parameters
        ----------
        logits : tensor of shape (C, n)
            Logits.
        samples : ClassWeights
            Classes and weights.

        Returns
        -------
        loss : tensor of shape ()
            Differentiable, if the logits require a gradient.
        """
        return self.apply_steps(logits[None], samples).squeeze(0)

    def extra_repr(self) -> str:
        return f"metric={self.name!r}, step={self.step!r}"


def _through_softmax(by_output: Tensor, output: Tensor) -> Tensor:
    """Gradient by the input of a softmax over axis 1, from the one by its output.

    ``s (g - <s, g>)``. Where one output rounds to 1, ``g - <s, g>`` would round to 0;
    so g is taken relative to its entry at the largest output.
    """
    largest = output.argmax(1, keepdim=True)
    relative = by_output - by_output.gather(1, largest)
    return output * (relative - (output * relative).sum(1, keepdim=True))
