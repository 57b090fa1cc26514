"""The steepness L of the amplifier: its valid range, and a rule to choose it."""

from __future__ import annotations

import math

import numpy as np
import torch

__all__ = ["auto_L", "valid_L_range"]


def auto_L(
    lr: float,
    steps: int,
    width: int = 2,
    dtype: torch.dtype | np.dtype | type | str = torch.float64,
    n_classes: int = 2,
) -> float:
    """Choose the steepness L of the amplifier for a training with Adam.

    ``45 / sqrt(lr * steps * sqrt(width / 2))``, but at least 5, and at most what the
    paper calls valid for the dtype (73.47 for float64, 33.27 for float32). The product
    of learning rate and optimiser steps is roughly how far a weight can move, and the
    logits of a wider layer move with more weights at a time. A long training does best
    with a less steep amplifier, which still has a gradient for misclassified samples; a
    short one needs a steep amplifier to separate the classes at all, but with large
    optimiser steps or in a wide layer a steep one collapses to one class.

    For three classes or more, ``180 / sqrt(lr * steps * (width / 2) ** 1.25)``: a small
    network that has to choose which classes to get right needs a steeper amplifier than
    for two classes, a wide one does not.

    Parameters
    ----------
    lr : float
        Learning rate of Adam.
    steps : int
        Number of optimiser steps: epochs times batches.
    width : int, default=2
        Width of the widest hidden layer.
    dtype : dtype, default=torch.float64
        Floating-point type, of torch or of numpy.
    n_classes : int, default=2
        Number of classes.

    Returns
    -------
    L : float
        The steepness.

    Notes
    -----
    Measured on 54 real data sets, five folds, 100 epochs
    (``python -m benchmarks.which_L``). Best L and its mean F1, beside the F1 at 73:

    ==================  =============  ==============  ==========  =======
    hidden, lr, batch   best L         mean F1 there   F1 at 73    auto_L
    ==================  =============  ==============  ==========  =======
    (2,), .001, auto    110            .586            .583        32
    (2,), .01, auto     10             .601            .594        10
    (2,), .1, auto      5              .607            .544        5
    (2,), .01, full     40             .576            .565        45
    (32,), .001, auto   40             .597            .597        16
    (32,), .01, auto    5              .609            .572        5
    (32,), .1, auto     5              .612            .358        5
    (32,), .01, full    10             .589            .419        23
    ==================  =============  ==============  ==========  =======

    On 18 larger sets, to which the rule was not fitted, it gives .82 against .80 for 73
    at (32,) and .01, .80 against .75 at (2,) and .1, .82 against .27 at (32,) and .1,
    but .79 against .81 at (2,) and .01, the setting that suits the paper's 73.

    Macro F1 of three classes or more, on 23 real tables with at most 3,000 samples,
    three folds, 100 epochs of which half on cross-entropy, learning rate .01
    (``python -m benchmarks.which_L_multiclass``):

    ==============  =====  =====  =====  =====  =====  =============  ======
    hidden          L = 5  10     20     40     73     cross-entropy  auto_L
    ==============  =====  =====  =====  =====  =====  =============  ======
    (2,)            .546   .592   .642   .665   .638   .551           40
    (32,), relu     .810   .812   .804   .786   .789   .809           7
    ==============  =====  =====  =====  =====  =====  =============  ======

    Examples
    --------
    >>> from sk_anyloss.losses.steepness import auto_L
    >>> [round(auto_L(lr, 2_000)) for lr in (0.001, 0.01, 0.1)]
    [32, 10, 5]
    >>> round(auto_L(0.01, 2_000, width=32)), round(auto_L(0.01, 10, dtype="float32"))
    (5, 33)
    >>> [round(auto_L(0.01, 2_000, width, n_classes=5)) for width in (2, 32)]
    [40, 7]
    """
    _, high = valid_L_range(1e-9, dtype)
    if n_classes > 2:
        found = 180 / math.sqrt(lr * steps * (width / 2) ** 1.25)
    else:
        found = 45 / math.sqrt(lr * steps * math.sqrt(width / 2))
    return min(max(found, 5.0), high)


def valid_L_range(
    distance: float, dtype: torch.dtype | np.dtype | type | str = torch.float64
) -> tuple[float, float]:
    """Range of L that the paper calls valid (its Table 1), for any dtype.

    At probabilities ``distance`` away from 0 and 1 the amplifier must still
    amplify, which gives the lower end, ``ln((1 - e) / e) / (0.5 - e)``, and must
    not round to exactly 0 or 1, which gives the upper, ``ln(2 / eps) / (0.5 - e)``.

    The losses of this package have a gradient beyond the upper end as well, since
    they never compute ``1 - h`` by subtraction.

    Parameters
    ----------
    distance : float
        Distance e of the probabilities from 0 and 1, in (0, 0.5).
    dtype : dtype, default=torch.float64
        Floating-point type, of torch or of numpy.

    Returns
    -------
    low, high : float
        The ends. Where ``low > high``, no L is valid.

    Examples
    --------
    The paper's Table 1, which rounds both ends inwards, and the same for float32:

    >>> from math import ceil, floor
    >>> import torch
    >>> from sk_anyloss.losses.steepness import valid_L_range
    >>> def row(distance, dtype=torch.float64):
    ...     low, high = valid_L_range(distance, dtype)
    ...     print(f"{ceil(low * 100) / 100:.2f} <= L <= {floor(high * 100) / 100:.2f}")
    >>> for distance in (0.1, 0.01, 0.001, 1e-14, 1e-15, 1e-16):
    ...     row(distance)
    5.50 <= L <= 91.84
    9.38 <= L <= 74.97
    13.85 <= L <= 73.62
    64.48 <= L <= 73.47
    69.08 <= L <= 73.47
    73.69 <= L <= 73.47
    >>> for distance in (0.1, 0.01, 0.001, 1e-6, 1e-7):
    ...     row(distance, torch.float32)
    5.50 <= L <= 41.58
    9.38 <= L <= 33.95
    13.85 <= L <= 33.33
    27.64 <= L <= 33.27
    32.24 <= L <= 33.27
    """
    if not 0 < distance < 0.5:
        raise ValueError(f"distance must lie in (0, 0.5), got {distance!r}.")
    if isinstance(dtype, torch.dtype):
        eps = torch.finfo(dtype).eps
    else:
        eps = float(np.finfo(dtype).eps)
    # log1p, since 1 - e rounds to 1 for the smallest distances.
    low = (math.log1p(-distance) - math.log(distance)) / (0.5 - distance)
    high = math.log(2 / eps) / (0.5 - distance)
    return low, high
