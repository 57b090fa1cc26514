"""Strata of samples: their classes, or the rarest of their labels."""

from __future__ import annotations

import numpy as np

__all__ = ["strata"]


def strata(y: np.ndarray) -> np.ndarray:
    """Stratum of each sample: its class, or the rarest of its labels.

    Parameters
    ----------
    y : ndarray of shape (n,) or (n, Q)
        Classes, or labels, 0 or 1.

    Returns
    -------
    strata : ndarray of shape (n,)
        The classes themselves; for several labels, the position of the rarest one
        that a sample has, or Q for a sample without labels.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.training.data.strata import strata
    >>> strata(np.array([[1, 0], [1, 1], [0, 0]]))
    array([0, 1, 2])
    """
    if y.ndim == 1:
        return y
    # A last column that everyone has is the most frequent one.
    has = np.column_stack((y > 0, np.ones(len(y), dtype=bool)))
    by_rarity = np.argsort(has.sum(axis=0), kind="stable")
    by_rarity = np.append(by_rarity[by_rarity != y.shape[1]], y.shape[1])
    return by_rarity[has[:, by_rarity].argmax(axis=1)]
