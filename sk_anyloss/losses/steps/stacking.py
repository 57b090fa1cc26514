"""Steps of several models as one step, with a parameter for each model."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from torch import Tensor

from sk_anyloss.losses.steps.base import Step, Threshold

__all__ = ["stack_steps", "stack_values"]


def stack_values(values: Sequence[float], like: Tensor) -> Threshold:
    """One number if all are equal, else a tensor with one row for each model.

    Parameters
    ----------
    values : sequence of K floats
        A parameter of K models.
    like : tensor
        A tensor with the dtype and device of the logits.

    Returns
    -------
    value : float or tensor of shape (K, 1)
        Broadcasts against logits of shape (K, n).

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses.steps import stack_values
    >>> stack_values([0.5, 0.5], torch.zeros(1))
    0.5
    >>> stack_values([5, 73], torch.zeros(1))
    tensor([[ 5.],
            [73.]])
    """
    if all(value == values[0] for value in values):
        return values[0]
    return like.new_tensor(values).unsqueeze(-1)


def stack_steps(steps: Sequence[Step], like: Tensor) -> Step:
    """Steps of one type as one step, for logits of shape (K, n).

    Parameters
    ----------
    steps : sequence of K steps
        They may differ in their parameters.
    like : tensor
        A tensor with the dtype and device of the logits.

    Returns
    -------
    step : Step
        Applies ``steps[k]`` to row k.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses.steps import Sigmoid, stack_steps
    >>> step = stack_steps([Sigmoid(5), Sigmoid(73)], torch.zeros(1))
    >>> step(torch.full((2, 1), 0.6))
    tensor([[0.6225],
            [0.9993]])
    """
    stacked = copy.copy(steps[0])
    for name in vars(stacked):
        values = [getattr(step, name) for step in steps]
        object.__setattr__(stacked, name, stack_values(values, like))
    return stacked
