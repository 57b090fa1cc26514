"""What a module may give: logits of a known shape, and no probabilities."""

from __future__ import annotations

from typing import Any

from torch import Tensor

__all__ = ["as_logits", "refuse_probabilities"]

_SHAPES = (
    "of shape (n,) or (n, 1) for two classes, or (n, C) for C classes or labels, with "
    "one row for each of the n samples of a batch"
)
#: Functions that leave values as they are, by the names of their gradients.
_VIEWS = ("Squeeze", "Unsqueeze", "View", "Reshape", "Flatten", "Select", "ToCopy")


def as_logits(outputs: Any, n: int | None = None) -> Tensor:
    """The output of a module as logits of shape (n,) or (n, C).

    Parameters
    ----------
    outputs : tensor
        What the module gives.
    n : int, default=None
        Number of samples in the batch, if it is known.

    Returns
    -------
    logits : tensor of shape (n,) or (n, C)
        A single column is squeezed.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.training.network.outputs import as_logits
    >>> as_logits(torch.zeros(3, 1)).shape
    torch.Size([3])
    """
    if not isinstance(outputs, Tensor) or not outputs.is_floating_point():
        found = type(outputs).__name__
        if isinstance(outputs, Tensor):
            found = f"a tensor of {outputs.dtype}"
        raise ValueError(
            f"The module must give one tensor of logits, {_SHAPES}; got {found}. Wrap "
            "a module that gives something else in one that selects the logits."
        )
    logits = outputs
    if logits.dim() == 2 and logits.shape[1] == 1:
        logits = logits.squeeze(1)
    is_right = logits.dim() == 1 or (logits.dim() == 2 and logits.shape[1] > 1)
    if not is_right or (n is not None and len(logits) != n):
        batch = "" if n is None else f" for a batch of {n} samples"
        raise ValueError(
            f"The module must give logits {_SHAPES}: one logit for each sample, or "
            f"one for each class; got {tuple(outputs.shape)}{batch}. Flatten or pool "
            "what goes into the last layer."
        )
    return logits


def refuse_probabilities(logits: Tensor) -> None:
    """Raise an error for outputs that have been through a sigmoid or a softmax.

    Known from the last function in the graph of autograd, so that logits that happen
    to lie between 0 and 1 are let through.

    Parameters
    ----------
    logits : tensor
        Output of a module in training.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.training.network.outputs import refuse_probabilities
    >>> logits = torch.zeros(3, 1, requires_grad=True)
    >>> refuse_probabilities(logits.squeeze(1))
    >>> refuse_probabilities(logits.sigmoid().squeeze(1))
    Traceback (most recent call last):
        ...
    ValueError: The module ends in a sigmoid, but losses take logits: ...
    """
    node: Any = logits.grad_fn
    while node is not None and node.name().startswith(_VIEWS):
        functions = node.next_functions
        node = functions[0][0] if functions else None
    name = "" if node is None else node.name()
    for kind in ("Sigmoid", "Softmax"):
        if name.startswith(kind):
            raise ValueError(
                f"The module ends in a {kind.lower()}, but losses take logits: leave "
                "the last layer out, predict_proba applies it. For probabilities p "
                "that cannot be had otherwise, give torch.logit(p, eps=1e-6)."
            )
    if logits.dim() != 2 or len(logits) < 2:
        return
    sums = logits.sum(1)
    if bool((logits >= 0).all() & ((sums - 1).abs() < 1e-4).all()):
        raise ValueError(
            "The rows of the module's output are probabilities, which sum to 1, but "
            "losses take logits: leave the softmax out, or give log(p)."
        )
