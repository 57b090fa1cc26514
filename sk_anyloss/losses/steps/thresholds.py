"""Validation of decision thresholds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

__all__ = ["check_threshold", "check_thresholds"]


def check_threshold(threshold: float, name: str = "threshold") -> float:
    """Return a threshold if it lies in (0, 1), else raise a ValueError.

    Parameters
    ----------
    threshold : float
        The threshold on the probability.
    name : str, default='threshold'
        Name of the parameter, for the message.

    Returns
    -------
    threshold : float
        The threshold.

    Examples
    --------
    >>> from sk_anyloss.losses.steps import check_threshold
    >>> check_threshold(0.3)
    0.3
    """
    if isinstance(threshold, (int, float, np.number)) and 0 < threshold < 1:
        return float(threshold)
    raise ValueError(
        f"{name} must be a number strictly between 0 and 1, got {threshold!r}."
    )


def check_thresholds(threshold: float | Sequence[float]) -> tuple[float, ...]:
    """Return one threshold or several as a tuple, else raise a ValueError.

    Parameters
    ----------
    threshold : float or sequence of floats
        Each in (0, 1).

    Returns
    -------
    thresholds : tuple of floats
        At least one.

    Examples
    --------
    >>> from sk_anyloss.losses.steps import check_thresholds
    >>> check_thresholds(0.3), check_thresholds([0.25, 0.75])
    ((0.3,), (0.25, 0.75))
    """
    if isinstance(threshold, (Sequence, np.ndarray)) and not isinstance(threshold, str):
        if len(threshold) == 0:
            raise ValueError(
                "threshold is an empty list; give at least one number between 0 and 1."
            )
        return tuple(check_threshold(t) for t in threshold)
    return (check_threshold(threshold),)
