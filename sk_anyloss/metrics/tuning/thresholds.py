"""The threshold on the log-odds of two classes that is best for a metric."""

from __future__ import annotations

import numbers

import numpy as np

from sk_anyloss.metrics.arithmetic import Metric
from sk_anyloss.metrics.curves import counts_at_every_score
from sk_anyloss.metrics.evaluation import metric_values

__all__ = [
    "best_threshold",
    "check_sweeps",
    "check_values",
    "thresholds_between",
    "used",
]


def thresholds_between(scores: np.ndarray) -> tuple[np.ndarray, slice]:
    """Thresholds above all scores, between any two neighbours, and below all.

    Parameters
    ----------
    scores : ndarray of shape (n,)
        Log-odds.

    Returns
    -------
    thresholds : ndarray of shape (m,)
        Falling. Whatever the precision, ``scores > thresholds[j]`` holds for the
        distinct scores above it and for no other.
    reachable : slice
        Which of the thresholds for m - 1 distinct scores these are: no threshold is
        above a score of inf or below one of -inf.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.tuning.thresholds import thresholds_between
    >>> thresholds_between(np.array([2.0, 3.0]))
    (array([4. , 2.5, 1. ]), slice(0, 3, None))
    >>> thresholds_between(np.array([-np.inf, 3.0, np.inf]))
    (array([ 5., -2.]), slice(1, 3, None))
    """
    z = np.unique(scores)[::-1]
    finite = np.abs(z[np.isfinite(z)])
    lowest = z.dtype.type(-np.inf)
    with np.errstate(over="ignore"):
        far = np.minimum(1 + 2 * finite.max(initial=1.0), np.finfo(z.dtype).max)
        below = np.nextafter(z[-1], lowest)
    # Infinite scores have no midpoint to others.
    near = np.clip(z, -far, far)
    middle = near[:-1] / 2 + near[1:] / 2
    thresholds = np.concatenate(([near[0] + 1], middle, [near[-1] - 1]), dtype=z.dtype)
    # The midpoint of adjacent numbers is one of them, and a huge one plus 1 is itself.
    is_between = thresholds >= np.append(z, lowest)
    is_between[1:] &= thresholds[1:] < z
    reachable = slice(int(z[0] == np.inf), len(z) + int(z[-1] != -np.inf))
    return np.where(is_between, thresholds, np.append(z, below))[reachable], reachable


def used(sample_weight: np.ndarray) -> np.ndarray:
    """Which samples have any weight; negative ones and NaN are no weights."""
    if not (sample_weight >= 0).all():
        raise ValueError(
            "sample_weight must not be negative or NaN, got "
            f"{np.unique(sample_weight)[:5].tolist()} among them."
        )
    return sample_weight > 0


def check_sweeps(max_sweeps: int) -> None:
    """Refuse numbers of sweeps by which nothing is tuned."""
    is_whole = isinstance(max_sweeps, numbers.Integral)
    if not is_whole or isinstance(max_sweeps, bool) or max_sweeps < 1:
        raise ValueError(
            f"max_sweeps must be a whole number of at least 1, got {max_sweeps!r}."
        )


def check_values(metric: object, values: np.ndarray) -> np.ndarray:
    """Refuse values of a metric that are not numbers, among which none is the largest.

    Parameters
    ----------
    metric : str or callable
        The metric, for the message.
    values : ndarray
        Its values.

    Returns
    -------
    values : ndarray
        The same.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.tuning.thresholds import check_values
    >>> check_values("own", np.array([0.5, np.nan]))
    Traceback (most recent call last):
    ...
    ValueError: The metric 'own' is not a number (NaN) for some of the decisions to
    choose from. Where it divides by a sum of counts that can be 0, use ratio of
    sk_anyloss.metrics.
    """
    if np.isnan(values).any():
        name = getattr(metric, "__name__", metric)
        raise ValueError(
            f"The metric {name!r} is not a number (NaN) for some of the decisions to "
            "choose from. Where it divides by a sum of counts that can be 0, use ratio "
            "of sk_anyloss.metrics."
        )
    return values


def best_threshold(
    metric: str | Metric,
    logits: np.ndarray,
    target: np.ndarray,
    sample_weight: np.ndarray | None = None,
) -> tuple[float, float]:
    """The threshold on logits that maximises a metric on the given samples.

    Parameters
    ----------
    metric : str or callable
        As :func:`sk_anyloss.metrics.get_metric` takes it.
    logits : ndarray of shape (n,)
        One for each sample.
    target : ndarray of shape (n,)
        Labels, 0 or 1.
    sample_weight : ndarray of shape (n,), default=None
        Sample weights.

    Returns
    -------
    threshold : float
        Samples with a larger logit are to be decided positive. It lies halfway between
        two logits; of equally good thresholds, it is the one nearest to 0. Logits of
        inf and -inf are positive and negative at any threshold.
    value : float
        The metric at the threshold.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.tuning import best_threshold
    >>> best_threshold("f1", np.array([-2.0, -1.0, 0.0, 3.0]), np.array([0, 1, 0, 1]))
    (-1.5, 0.8)
    """
    if sample_weight is not None:  # Samples of weight 0 count as absent.
        kept = used(sample_weight)
        logits, target, sample_weight = logits[kept], target[kept], sample_weight[kept]
    logits = logits if logits.dtype.kind == "f" else logits.astype(float)
    thresholds, reachable = thresholds_between(logits)
    # From the threshold above all logits to the one below all of them.
    counts = counts_at_every_score(logits, target, sample_weight)
    tn, fp, fn, tp = (np.insert(count, 0, 0.0) for count in counts)
    tn[0], fn[0] = fp[-1], tp[-1]
    in_reach = (count[reachable] for count in (tn, fp, fn, tp))
    values = check_values(metric, metric_values(metric, *in_reach))
    candidates = np.flatnonzero(values == values.max())
    best = candidates[np.argmin(np.abs(thresholds[candidates]))]
    return float(thresholds[best]), float(values[best])
