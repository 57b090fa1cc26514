"""Optimisers by name."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch

from sk_anyloss._names import spelled, unknown

__all__ = ["get_optimizer", "optimizer_names"]

# Gradients shrink by orders of magnitude where a steep step saturates. With torch's own
# betas, Adam averages their squares over a thousand steps, and its steps become tiny
# there; an average over twenty more than halves the fits that end with one class.
_BETAS = (0.9, 0.95)

# Fused: one kernel for all parameters.
_REGISTRY: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "adam": partial(torch.optim.Adam, betas=_BETAS, fused=True),
    "adamw": partial(torch.optim.AdamW, betas=_BETAS, fused=True),
    "rmsprop": torch.optim.RMSprop,
    "sgd": partial(torch.optim.SGD, fused=True),
}


def optimizer_names() -> list[str]:
    """Names that :func:`get_optimizer` knows.

    Examples
    --------
    >>> from sk_anyloss.training.optimizers import optimizer_names
    >>> optimizer_names()
    ['adam', 'adamw', 'rmsprop', 'sgd']
    """
    return sorted(_REGISTRY)


def get_optimizer(
    optimizer: str | Callable[..., torch.optim.Optimizer],
) -> Callable[..., torch.optim.Optimizer]:
    """Look an optimiser up by name; a class or a function is returned unchanged.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.training.optimizers import get_optimizer
    >>> get_optimizer(torch.optim.NAdam).__name__
    'NAdam'
    """
    optimizer = spelled(optimizer, _REGISTRY)
    if isinstance(optimizer, str) and optimizer in _REGISTRY:
        return _REGISTRY[optimizer]
    if not isinstance(optimizer, str) and callable(optimizer):
        return optimizer
    otherwise = "or pass a class of torch.optim."
    raise ValueError(unknown("optimizer", optimizer, _REGISTRY, otherwise))
