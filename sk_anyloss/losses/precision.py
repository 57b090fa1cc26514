"""Half precision: networks may compute in it, statistics and losses never do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

__all__ = ["at_least_single", "full_precision"]


@contextmanager
def full_precision(device: torch.device | None) -> Iterator[None]:
    """Disable autocast: it would round sums over samples to 8 or 11 bits.

    Parameters
    ----------
    device : torch.device or None
        Where the sums are computed; None for the CPU.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses.precision import full_precision
    >>> ones = torch.ones(300)
    >>> with torch.autocast("cpu", dtype=torch.bfloat16):
    ...     rounded = ones @ ones
    ...     with full_precision(ones.device):
    ...         exact = ones @ ones
    >>> exact.dtype, rounded.dtype
    (torch.float32, torch.bfloat16)
    """
    kind = "cpu" if device is None else device.type
    if torch.amp.is_autocast_available(kind) and torch.is_autocast_enabled(kind):
        with torch.autocast(kind, enabled=False):
            yield
    else:
        yield


def at_least_single(values: Tensor) -> Tensor:
    """Convert half-precision numbers to float32, and leave others unchanged.

    In float16 exp(12) overflows, and so does a sum of more than 65,504 samples.

    Parameters
    ----------
    values : tensor
        Floating-point numbers.

    Returns
    -------
    values : tensor
        Of dtype float32 or wider.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses.precision import at_least_single
    >>> at_least_single(torch.zeros(1, dtype=torch.bfloat16)).dtype
    torch.float32
    """
    return values.float() if values.dtype.itemsize < 4 else values
