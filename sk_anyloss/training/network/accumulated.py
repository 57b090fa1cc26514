"""The gradient of a batch in parts that fit into the memory, exactly."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from sk_anyloss.losses.base import Loss
from sk_anyloss.losses.distributed.accumulation import Accumulation

__all__ = ["accumulated_backward", "take_part"]


def take_part(batch: Any, part: slice | np.ndarray) -> Any:
    """A part of the samples of a batch: an array, a tensor, or several by name.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.training.network.accumulated import take_part
    >>> take_part({"X": torch.arange(4)}, slice(1, 3))
    {'X': tensor([1, 2])}
    """
    if isinstance(batch, dict):
        return {key: take_part(value, part) for key, value in batch.items()}
    if isinstance(batch, (list, tuple)):
        return type(batch)(take_part(value, part) for value in batch)
    return batch[part]


def accumulated_backward(
    module: nn.Module,
    loss: Loss,
    logits_of: Callable[[slice], Tensor],
    y: Tensor,
    sample_weight: Tensor | None,
    size: int,
) -> tuple[Tensor, Tensor]:
    """Add the gradient of the loss of a batch to the parameters, part by part.

    The first pass sums the statistics of all parts, the second one has their
    gradients. Dropout draws the same masks in both; a batch norm normalises each part
    by itself, and updates its running statistics in the second pass only.

    Parameters
    ----------
    module : torch.nn.Module
        The module.
    loss : Loss
        An additive loss.
    logits_of : callable
        Logits of a part of the samples.
    y, sample_weight : tensor
        Labels and weights of all of them.
    size : int
        The most samples in a part.

    Returns
    -------
    value, logits : tensor
        The loss and the logits of the whole batch, without a gradient.
    """
    # An empty batch, of a process that has no samples, is one empty part.
    parts = [slice(i, i + size) for i in range(0, max(len(y), 1), size)]
    whole = Accumulation(loss)
    buffers = [(buffer, buffer.clone()) for buffer in module.buffers()]
    states = []

    def of(part: slice) -> tuple[Tensor, Tensor, Tensor | None]:
        weight = None if sample_weight is None else sample_weight[part]
        return logits_of(part), y[part], weight

    with torch.no_grad():
        for part in parts:
            states.append(_random_state(y.device))
            whole.add(*of(part))
        for buffer, before in buffers:
            buffer.copy_(before)
    logits = []
    for part, state in zip(parts, states, strict=True):
        _set_random_state(y.device, state)
        found, labels, weight = of(part)
        whole.part(found, labels, weight).backward()
        logits.append(found.detach())
    return whole.value(), torch.cat(logits)


def _random_state(device: torch.device) -> list[Tensor]:
    """State of the generators that a module on this device draws from."""
    states = [torch.get_rng_state()]
    if device.type == "cuda":
        states.append(torch.cuda.get_rng_state(device))
    elif device.type == "mps":
        states.append(torch.mps.get_rng_state())
    return states


def _set_random_state(device: torch.device, states: list[Tensor]) -> None:
    torch.set_rng_state(states[0])
    if device.type == "cuda":
        torch.cuda.set_rng_state(states[1], device)
    elif device.type == "mps":
        torch.mps.set_rng_state(states[1])
