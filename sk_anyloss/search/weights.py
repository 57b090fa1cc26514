"""Weights of the members of an ensemble, by scores as far as they can be trusted."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import numpy as np
from scipy.special import softmax

from sk_anyloss.estimators.tuning.out_of_fold import OutOfFold

__all__ = ["LEAST_WEIGHT", "Trust", "bootstrap_scores", "spread", "trust"]

#: Number of bootstrap samples for a standard error.
N_BOOTSTRAP = 60
#: How much weights follow differences of scores, in units of their standard errors.
SHARPNESS = 0.5
#: A member below this share of the ensemble is left out of it.
LEAST_WEIGHT = 0.02


class Trust(NamedTuple):
    """Weights of members, and what they follow from.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.search.weights import Trust
    >>> Trust(np.array([0.3, 0.7]), np.array([0, 0.1]), np.array([0, 0.1])).weights
    array([0.3, 0.7])
    """

    #: They sum to 1.
    weights: np.ndarray
    #: Scores less that of the first member, and the standard errors of that.
    differences: np.ndarray
    errors: np.ndarray


def trust(
    margins: Sequence[np.ndarray],
    out_of_fold: OutOfFold,
    *,
    sharpness: float = SHARPNESS,
    prior: Sequence[float] | None = None,
    seed: int = 0,
) -> Trust:
    r"""Weights that trust a score only as far as it can be trusted.

    The weight of member m is proportional to

    .. math:: \pi_m \exp(c \, (s_m - s_0) / e_m)

    with its prior :math:`\pi_m`, its score :math:`s_m` on the samples left out, that of
    the first member :math:`s_0`, and the bootstrap standard error :math:`e_m` of their
    difference. On few samples all differences are within their errors, and members
    count about alike; on many the best one decides.

    Parameters
    ----------
    margins : sequence of ndarray
        Of each member, its margins on the samples left out. The first is the one that
        the others are compared with.
    out_of_fold : OutOfFold
        These samples.
    sharpness : float, default=0.5
        The factor c; 0 gives the prior.
    prior : sequence of float, default=None
        Weights before any score is known; equal by default.
    seed : int, default=0
        Seed of the bootstrap samples.

    Returns
    -------
    trust : Trust
        The weights, differences and standard errors. Where a difference is not
        defined, or both are 0, the weight is that of the prior.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.estimators.tuning.out_of_fold import OutOfFold
    >>> from sk_anyloss.search.weights import trust
    >>> rng = np.random.default_rng(0)
    >>> y = (rng.random(400) < 0.2).astype(float)
    >>> good, bad = y - 0.5 + rng.normal(size=(2, 400)) * [[0.3], [0.6]]
    >>> samples = OutOfFold(np.arange(400), y, None, [400], "f1")
    >>> trust([bad, bad, good], samples).weights.round(2)
    array([0.07, 0.07, 0.86])
    """
    scores = np.array([out_of_fold.score(margin) for margin in margins], dtype=float)
    drawn = bootstrap_scores(margins, out_of_fold, seed=seed)
    errors = spread(drawn - drawn[0])
    differences = scores - scores[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.nan_to_num(sharpness * differences / errors, posinf=1e3, neginf=-1e3)
    start = np.zeros(len(margins)) if prior is None else np.log(prior)
    return Trust(softmax(start + ratio), differences, errors)


def bootstrap_scores(
    margins: Sequence[np.ndarray],
    out_of_fold: OutOfFold,
    *,
    n_bootstrap: int = N_BOOTSTRAP,
    seed: int = 0,
) -> np.ndarray:
    """Scores of several members on the same bootstrap samples.

    Each class keeps its number of samples. Samples of one class and weight on which
    all members decide alike are drawn as one, so that the cost hardly grows with the
    number of samples.

    Parameters
    ----------
    margins : sequence of ndarray
        Of each member, its margins on the samples left out.
    out_of_fold : OutOfFold
        These samples.
    n_bootstrap : int, default=60
        Number of bootstrap samples.
    seed : int, default=0
        Seed of the draws.

    Returns
    -------
    scores : ndarray of shape (n_members, n_bootstrap)
        The metric; NaN where it cannot be computed.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.estimators.tuning.out_of_fold import OutOfFold
    >>> from sk_anyloss.search.weights import bootstrap_scores
    >>> y = np.repeat([0.0, 1.0], 50)
    >>> samples = OutOfFold(np.arange(100), y, None, [100], "recall")
    >>> half = np.where(np.arange(100) % 2, 1.0, -1.0)
    >>> drawn = bootstrap_scores([half, y - 0.5], samples, n_bootstrap=1000)
    >>> drawn.mean(axis=1).round(2), drawn.std(axis=1).round(2)  # The root of 1 / 200.
    (array([0.5, 1. ]), array([0.07, 0.  ]))
    """
    rng = np.random.default_rng(seed)
    first, counts = _units(margins, out_of_fold)
    target = out_of_fold.target[first]
    weight = np.ones(len(first))
    if out_of_fold.weight is not None:
        weight = out_of_fold.weight[first]
        counts = np.where(weight > 0, counts, 0)  # They are not drawn.
    strata = target if target.ndim == 1 else np.zeros(len(first))
    members = [np.flatnonzero(strata == value) for value in np.unique(strata)]
    kind, metric = out_of_fold.target_type, out_of_fold.metric
    scores = np.full((len(margins), n_bootstrap), np.nan)
    for b in range(n_bootstrap):
        drawn = np.zeros(len(first))
        for member in members:
            n = counts[member]
            drawn[member] = rng.multinomial(n.sum(), n / max(n.sum(), 1))
        for m, margin in enumerate(margins):
            weights = drawn * weight
            # A metric of one's own may raise anything.
            with suppress(Exception), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                scores[m, b] = kind.evaluate(metric, margin[first], target, weights)
    return scores


def _units(
    margins: Sequence[np.ndarray], out_of_fold: OutOfFold
) -> tuple[np.ndarray, np.ndarray]:
    """One sample of each group of samples that are scored alike, and their numbers."""
    n = len(out_of_fold.target)
    kind = out_of_fold.target_type
    if kind.is_curve(out_of_fold.metric):  # The order of the scores counts.
        return np.arange(n), np.ones(n, dtype=int)
    columns = [out_of_fold.target.reshape(n, -1)]
    for margin in margins:
        decided = margin.argmax(axis=1) if kind.name == "multiclass" else margin > 0
        columns.append(decided.reshape(n, -1))
    if out_of_fold.weight is not None:
        columns.append(out_of_fold.weight.reshape(n, 1))
    group = np.zeros(n, dtype=int)
    for column in (column for table in columns for column in table.T):
        # Column by column, since whole numbers are sorted much faster than rows.
        codes = np.unique(column, return_inverse=True)[1]
        group = np.unique(group * (codes.max() + 1) + codes, return_inverse=True)[1]
    _, first, counts = np.unique(group, return_index=True, return_counts=True)
    return first, counts


def spread(values: np.ndarray) -> np.ndarray:
    """Standard deviation of each row where it is defined, and NaN elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.search.weights import spread
    >>> spread(np.array([[1.0, 3.0, np.nan], [1.0, np.nan, np.nan]])).round(3)
    array([1.414,   nan])
    """
    result = np.full(len(values), np.nan)
    defined = (~np.isnan(values)).sum(axis=1) > 1
    result[defined] = np.nanstd(values[defined], axis=1, ddof=1)
    return result
