"""Whether the networks of a search may compute in single precision."""

from __future__ import annotations

from typing import Any

import numpy as np

from sk_anyloss.training.data.source import Matrix

__all__ = ["fits_in_single"]

#: With fewer samples a training takes little time in any precision.
MIN_SAMPLES = 500
#: The largest mean of a feature, in its standard deviations. Rounding moves a
#: standardised value by 2**-24 of that.
MOST_MEAN = 1e4
#: The largest value, and the least standard deviation, with room for squares.
MOST_VALUE, LEAST_DEVIATION = 1e15, 1e-15
#: Numbers that are looked at together.
BLOCK = 2**18


def fits_in_single(X: Matrix) -> bool:
    """Whether single precision loses nothing that a network could learn from.

    Standardised values are between the square roots of the number of samples, so what
    counts is how far the values of a feature lie from 0, compared with how much they
    differ.

    Parameters
    ----------
    X : array or sparse matrix of shape (n_samples, n_features)
        All samples.

    Returns
    -------
    fits : bool
        False for what is no array in double precision, for fewer than 500 samples, for
        features whose mean is more than 10,000 times their standard deviation, unless
        they are constant, and for values above 1e15 and deviations below 1e-15.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.search.effort.precision import fits_in_single
    >>> X = np.random.default_rng(0).random((500, 2))
    >>> fits_in_single(X), fits_in_single(X + 1e6)
    (True, False)
    """
    if not isinstance(X, np.ndarray) or X.dtype != np.float64 or len(X) < MIN_SAMPLES:
        return False
    rows = max(1, BLOCK // max(1, X.shape[1]))
    blocks = [X[start : start + rows] for start in range(0, len(X), rows)]
    low = np.min([block.min(axis=0) for block in blocks], axis=0)
    high = np.max([block.max(axis=0) for block in blocks], axis=0)
    if max(-low.min(initial=0), high.max(initial=0)) > MOST_VALUE:
        return False
    # From the middle of the range, where squares lose no digits.
    middle = low / 2 + high / 2
    first: Any = sum((block - middle).sum(axis=0) for block in blocks) / len(X)
    second: Any = sum(((block - middle) ** 2).sum(axis=0) for block in blocks) / len(X)
    deviation = np.sqrt(np.maximum(second - first**2, 0))
    fits = np.abs(middle + first) <= MOST_MEAN * deviation
    return bool((fits & (deviation >= LEAST_DEVIATION))[low < high].all())
