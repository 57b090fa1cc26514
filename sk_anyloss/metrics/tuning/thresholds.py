"""The threshold on the log-odds of two classes that is best for a metric."""

from __future__ import annotations

import numpy as np

from sk_anyloss.metrics.arithmetic import Metric
from sk_anyloss.metrics.curves import counts_at_every_score
from sk_anyloss.metrics.evaluation import metric_values

__all__ = ["best_threshold", "check_values", "clip_infinite"]


def clip_infinite(scores: np.ndarray) -> np.ndarray:
    """Replace infinite scores by finite ones in the same order.

    Infinite scores have no midpoint to others.

    Parameters
    ----------
    scores : ndarray
        Log-odds.

    Returns
    -------
    scores : ndarray
        Finite ones are unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.metrics.tuning.thresholds import clip_infinite
    >>> clip_infinite(np.array([-np.inf, 3.0, np.inf]))
    array([-7.,  3.,  7.])
    """
    finite = scores[np.isfinite(scores)]
    far = 1 + 2 * np.abs(finite).max(initial=1.0)
    return np.clip(scores, -far, far)


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
        two logits; of equally good thresholds, it is the one nearest to 0.
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
        kept = sample_weight > 0
        logits, target, sample_weight = logits[kept], target[kept], sample_weight[kept]
    logits = clip_infinite(logits)
    # From the threshold above all logits to the one below all of them.
    counts = counts_at_every_score(logits, target, sample_weight)
    tn, fp, fn, tp = (np.insert(count, 0, 0.0) for count in counts)
    tn[0], fn[0] = fp[-1], tp[-1]
    values = check_values(metric, metric_values(metric, tn, fp, fn, tp))
    z = np.unique(logits.astype(float))[::-1]
    thresholds = np.concatenate(([z[0] + 1], (z[:-1] + z[1:]) / 2, [z[-1] - 1]))
    candidates = np.flatnonzero(values == values.max())
    best = candidates[np.argmin(np.abs(thresholds[candidates]))]
    return float(thresholds[best]), float(values[best])
