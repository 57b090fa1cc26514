"""The gradient of the MLP by hand: a few matrix products instead of autograd.

Equal to autograd to rounding, and several times as fast on small networks, where
autograd's bookkeeping takes longer than the arithmetic. The result is written into
``.grad``, so any torch optimiser goes on from there.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from sk_anyloss.counts import weighted_sum
from sk_anyloss.losses import SummedLoss
from sk_anyloss.modules import ACTIVATIONS, MLP

__all__ = ["ClosedForm", "supports"]


def supports(module: Any, criterion: Any) -> bool:
    """Whether the gradient of this pair can be had in closed form.

    Examples
    --------
    >>> from sk_anyloss.closed_form import supports
    >>> from sk_anyloss.losses import AnyLoss
    >>> from sk_anyloss.modules import MLP
    >>> supports(MLP(3), AnyLoss("f1"))
    True
    >>> supports(MLP(3, activation=lambda x: x), AnyLoss("f1"))
    False
    """
    # The exact type: a subclass may compute something else.
    return (
        type(module) is MLP
        and module.activation in ACTIVATIONS
        and isinstance(criterion, SummedLoss)
        and criterion.has_gradient
    )


class ClosedForm:
    """Forward and backward passes of an MLP in training mode, without autograd.

    Parameters
    ----------
    module : MLP
        The network. The ``.grad`` of its parameters is overwritten by each call.
    criterion : SummedLoss
        The loss, one that :func:`supports` says yes to.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.closed_form import ClosedForm
    >>> from sk_anyloss.losses import BCE
    >>> from sk_anyloss.modules import MLP
    >>> module = MLP(2, hidden=(), dtype=torch.float64)
    >>> X = torch.tensor([[1.0, 2.0], [3.0, 4.0]], dtype=torch.float64)
    >>> y = torch.tensor([0.0, 1.0], dtype=torch.float64)
    >>> with torch.no_grad():
    ...     loss, logits, sums = ClosedForm(module, BCE())(X, y)
    >>> module.layers[0].weight.grad
    tensor([[-0.5000, -0.5000]], dtype=torch.float64)
    """

    def __init__(self, module: MLP, criterion: SummedLoss) -> None:
        self.module = module
        self.criterion = criterion
        self.activation, self.derivative = ACTIVATIONS[str(module.activation)]
        # Looked up once: attributes of torch modules are slow to reach.
        *hidden, output = ((layer.weight, layer.bias) for layer in module.layers)
        self.output: Any = output
        self.hidden: list[Any] = hidden
        self.norms: list[Any] = list(module.norms)
        self._share: Tensor | None = None

    def _even_share(self, y: Tensor) -> Tensor:
        # Batches come in one or two sizes, so the last one usually fits again.
        if self._share is None or len(self._share) != len(y):
            self._share = torch.full_like(y, 1 / len(y))
        return self._share

    def __call__(
        self, X: Tensor, y: Tensor, weight: Tensor | None = None
    ) -> tuple[float, Tensor, Tensor]:
        """Loss, logits and sums of a batch; the gradient goes into ``.grad``.

        To be called where autograd is off, under :class:`torch.no_grad`.

        Parameters
        ----------
        X : tensor of shape (n, n_features)
            Rows, in the dtype of the module.
        y : tensor of shape (n,)
            Labels, 0 or 1, in the same dtype.
        weight : tensor of shape (n,), default=None
            Weights of the rows.

        Returns
        -------
        loss : float
            The loss.
        logits : tensor of shape (n,)
            The logits before the step.
        sums : tensor
            What the loss adds up over rows.
        """
        share = None
        if self.norms:
            if weight is None:
                share = self._even_share(y)
            else:
                share = weight / weighted_sum(weight)
        x = self.module.standardize(X)
        passed: list[Any] = []
        for i, (W, b) in enumerate(self.hidden):
            entering = x
            x = torch.addmm(b, x, W.T)
            normal: Any = None
            spread: Any = None
            if share is not None:
                norm = self.norms[i]
                normal, spread = norm.normalize(x, share)
                x = torch.addcmul(norm.bias, normal, norm.weight)
            out = self.activation(x)
            passed.append((entering, normal, spread, x, out))
            x = out
        W, b = self.output
        w = W[0]
        logits = torch.addmv(b, x, w)
        loss, sums, slope = self.criterion.gradient(logits, y, weight)
        W.grad = (slope @ x).unsqueeze(0)
        b.grad = slope.sum(0, keepdim=True)
        g = torch.outer(slope, w)
        for i in reversed(range(len(passed))):
            W, b = self.hidden[i]
            entering, normal, spread, before, after = passed[i]
            g = g.mul_(self.derivative(before, after))
            total = g.sum(0)
            if share is not None:
                norm = self.norms[i]
                along = (g * normal).sum(0)
                norm.weight.grad, norm.bias.grad = along, total
                back = torch.addcmul(total, normal, along).mul_(share.unsqueeze(1))
                g = g.sub_(back).mul_(norm.weight / spread)
                # What is added before a normalisation is taken off by it again.
                total = torch.zeros_like(total)
            W.grad = g.T @ entering
            b.grad = total
            if i:
                g = g @ W
        return loss, logits, sums
