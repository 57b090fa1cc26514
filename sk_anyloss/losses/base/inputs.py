"""Logits, labels and weights of a batch: validation, one dtype, matching shapes."""

from __future__ import annotations

from torch import Tensor

from sk_anyloss.losses.precision import at_least_single

__all__ = ["align", "check_binary"]


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
    if not bool((y * y == y).all()):
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
    logits : tensor of shape (n,), (n, 1) or (..., n)
        Floating-point numbers.
    y : tensor of shape (n,) or (n, 1)
        Labels.
    sample_weight : tensor of shape (n,) or (n, 1), default=None
        Weights.

    Returns
    -------
    logits : tensor of shape (n,) or (..., n)
        Logits.
    y, sample_weight : tensor of shape (n,)
        Labels and weights; None for no weights.

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
    logits = at_least_single(logits)
    if y.dim() == 2 and y.shape[1] == 1:
        y = y.squeeze(1)
    if logits.dim() == y.dim() + 1 and logits.shape == (*y.shape, 1):
        logits = logits.squeeze(-1)
    if y.shape[-1:] != logits.shape[-1:] or y.dim() > logits.dim():
        raise ValueError(
            "A loss takes one logit per sample: logits of shape (n,), (n, 1) or "
            f"(..., n) with y of shape (n,); got {tuple(logits.shape)} and "
            f"{tuple(y.shape)}."
        )
    if sample_weight is not None:
        if sample_weight.shape == (*y.shape, 1):
            sample_weight = sample_weight.squeeze(-1)
        if sample_weight.shape[-1:] != y.shape[-1:]:
            raise ValueError(
                "sample_weight must have one entry per sample; got shape "
                f"{tuple(sample_weight.shape)} with y of shape {tuple(y.shape)}."
            )
        sample_weight = sample_weight.to(logits.dtype)
    return logits, y.to(logits.dtype), sample_weight
