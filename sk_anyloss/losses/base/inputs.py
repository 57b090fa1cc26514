"""Logits, labels and weights of a batch: validation, one dtype, matching shapes."""

from __future__ import annotations

import math

from torch import Tensor

from sk_anyloss._compat import in_transform
from sk_anyloss.losses.precision import at_least_single

__all__ = ["align", "as_weight", "check_binary"]


def check_binary(y: Tensor) -> None:
    """Refuse labels other than 0 and 1.

    Parameters
    ----------
    y : tensor
        Labels.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses.base.inputs import check_binary
    >>> check_binary(torch.tensor([1, 2]))
    Traceback (most recent call last):
        ...
    ValueError: Labels must be 0 or 1, got [1, 2] among them...
    """
    # 0 and 1 are their own squares, and NaN is not.
    if not in_transform() and not bool((y * y == y).all()):
        raise ValueError(
            f"Labels must be 0 or 1, got {y.unique()[:5].tolist()} among them. For "
            "classes, the network needs an output for each of them."
        )


def align(
    logits: Tensor, y: Tensor, sample_weight: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Convert logits, labels and weights to one dtype and to matching shapes.

    The dtype is that of the logits, but float32 at least. Without this, logits of shape
    (n, 1) and labels of shape (n,) would silently broadcast to (n, n).

    Parameters
    ----------
    logits : tensor of shape (n,) or (n, 1)
        Floating-point numbers.
    y : tensor of shape (n,) or (n, 1)
        Labels.
    sample_weight : tensor of shape (n,) or (n, 1), default=None
        Weights.

    Returns
    -------
    logits, y, sample_weight : tensor of shape (n,)
        Logits, labels and weights; None for no weights.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses.base.inputs import align
    >>> logits, y, _ = align(torch.zeros(3, 1), torch.tensor([0, 1, 1]))
    >>> logits.shape, y
    (torch.Size([3]), tensor([0., 1., 1.]))
    """
    if not logits.is_floating_point():
        raise TypeError(f"Logits must be floating-point numbers, got {logits.dtype}.")
    logits, labels = at_least_single(logits), y
    if logits.dim() == 2 and logits.shape[1] == 1:
        logits = logits.squeeze(1)
    if labels.dim() == 2 and labels.shape[1] == 1:
        labels = labels.squeeze(1)
    if logits.dim() != 1 or labels.shape != logits.shape:
        raise ValueError(
            "A loss takes one logit per sample: logits of shape (n,) or (n, 1) with y "
            f"of shape (n,); got {tuple(logits.shape)} and {tuple(y.shape)}."
        )
    weight = as_weight(sample_weight, len(labels), logits)
    return logits, labels.to(logits.dtype), weight


def as_weight(sample_weight: Tensor | None, n: int, like: Tensor) -> Tensor | None:
    """Sample weights of shape (n,), in the dtype and on the device of a tensor.

    Parameters
    ----------
    sample_weight : tensor of shape (n,) or (n, 1), or None
        Weights.
    n : int
        Number of samples.
    like : tensor
        The logits.

    Returns
    -------
    sample_weight : tensor of shape (n,) or None
        The weights; None for no weights.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses.base.inputs import as_weight
    >>> as_weight(torch.ones(2), 3, torch.zeros(3))
    Traceback (most recent call last):
        ...
    ValueError: sample_weight must have one entry per sample; got shape (2,) for 3
    samples.
    """
    if sample_weight is None:
        return None
    if sample_weight.shape not in ((n,), (n, 1)):
        raise ValueError(
            "sample_weight must have one entry per sample; got shape "
            f"{tuple(sample_weight.shape)} for {n} samples."
        )
    weight = sample_weight.reshape(n).to(like)
    # One bit to read from a device, as of the labels. NaN compares as False.
    if not bool(((weight >= 0) & (weight < math.inf)).all()):
        raise ValueError(
            f"sample_weight has values that are negative or not finite in {like.dtype}"
            f"; got {sample_weight.unique()[:5].tolist()} among them."
        )
    return weight
