"""The gradient of a batch too large for the memory: two passes over its parts."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from sk_anyloss.losses.base import Loss
from sk_anyloss.losses.precision import full_precision

__all__ = ["Accumulation"]


class Accumulation:
    """Loss and gradient of a batch from its parts, exactly.

    Gradients of the losses of single parts do not add up to that of the whole batch,
    since a metric of a sum is not the sum of metrics. Statistics do: the first pass
    over the parts sums them (:meth:`add`), :meth:`value` adds those of the other
    processes, and in the second pass the gradient of each part follows from the sums
    (:meth:`part`).

    Parameters
    ----------
    loss : Loss
        An additive loss, such as :class:`sk_anyloss.losses.AnyLoss`. In several
        processes, each adds at least one part, which may be empty.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import AnyLoss
    >>> from sk_anyloss.losses.distributed.accumulation import Accumulation
    >>> model = torch.nn.Linear(2, 1)
    >>> X, y = torch.randn(100, 2), torch.arange(100) % 2
    >>> whole = Accumulation(AnyLoss("f1"))
    >>> with torch.no_grad():
    ...     for rows in torch.arange(100).split(30):
    ...         whole.add(model(X[rows]), y[rows])
    >>> for rows in torch.arange(100).split(30):
    ...     whole.part(model(X[rows]), y[rows]).backward()
    >>> in_parts = model.weight.grad.clone()
    >>> model.zero_grad()
    >>> AnyLoss("f1")(model(X), y).backward()
    >>> torch.allclose(model.weight.grad, in_parts, atol=1e-6)
    True
    """

    def __init__(self, loss: Loss) -> None:
        if not loss.is_additive:
            raise ValueError(
                f"The loss of a batch does not follow from parts of it for {loss!r}; "
                "use an additive loss such as AnyLoss."
            )
        self.loss = loss
        self._form: Loss | None = None
        self._S: Any = None
        self._found: tuple[Tensor, Any] | None = None

    @torch.no_grad()
    def add(
        self, logits: Tensor, y: Tensor, sample_weight: Tensor | None = None
    ) -> None:
        """Add the statistics of a part, in the first pass.

        Parameters
        ----------
        logits, y, sample_weight
            As the loss takes them.
        """
        if self._found is not None:
            raise RuntimeError(
                "The first pass is over since the loss was computed; make a new "
                "Accumulation for each batch."
            )
        self._form, arranged, samples = self.loss.arrange(logits, y, sample_weight)
        with full_precision(arranged.device):
            S, _ = self._form.statistics(arranged, samples)
        self._S = S if self._S is None else self._S + S

    def value(self) -> Tensor:
        """The loss of all parts in all processes; this ends the first pass.

        Returns
        -------
        loss : tensor of shape ()
            Without a gradient, which :meth:`part` has.
        """
        return self._value_and_grad()[0]

    def _value_and_grad(self) -> tuple[Tensor, Any]:
        if self._found is None:
            if self._form is None:
                raise RuntimeError(
                    "No part was added; call add() for every part first, for an empty "
                    "one if this process has no samples."
                )
            S = self._S
            if self._form.training:
                S = self._form.average(self._form.reduce(S))
            value, grad = self._form.value_and_grad(S)
            like = S
            while isinstance(like, tuple):
                like = like[0]
            self._found = like.new_tensor(np.reshape(value, ())), grad
        return self._found

    def part(
        self, logits: Tensor, y: Tensor, sample_weight: Tensor | None = None
    ) -> Tensor:
        """The loss of the whole batch, with the gradient of a part of it.

        Parameters
        ----------
        logits, y, sample_weight
            As the loss takes them, in the second pass.

        Returns
        -------
        loss : tensor of shape ()
            ``backward()`` of each part adds up to the gradient of the whole.
        """
        value, grad = self._value_and_grad()
        form, arranged, samples = self.loss.arrange(logits, y, sample_weight)
        with full_precision(arranged.device):
            found: Tensor = _PartFunction.apply(arranged, form, samples, value, grad)
        return found


class _PartFunction(torch.autograd.Function):
    """The loss of a batch as a function of the logits of a part of it."""

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, loss: Loss, samples: Any, value: Tensor, grad: Any
    ) -> Tensor:
        if ctx.needs_input_grad[0]:
            _, cache = loss.statistics(logits, samples)
            by_logits = torch.empty_like(logits)
            loss.backward(cache, grad, samples, by_logits)
            ctx.factor = loss.processes.gradient_factor if loss.training else 1
            ctx.save_for_backward(by_logits)
        return value.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None, None]:
        (by_logits,) = ctx.saved_tensors
        return grad * ctx.factor * by_logits, None, None, None, None
