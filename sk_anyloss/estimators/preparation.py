"""What the estimator does to rows, labels and weights before the net sees them."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from scipy.special import logit
from sklearn.preprocessing import StandardScaler
from sklearn.utils.class_weight import compute_class_weight
from torch import nn

from sk_anyloss._compat import check_sample_weight, with_short_indices
from sk_anyloss.training.dataset import Sample


def positive_weights(y: np.ndarray, sample_weight: Any) -> tuple[Any, Any]:
    """Rows that have any weight, None standing for all of them, and their weights."""
    if sample_weight is None:
        return None, None
    weight = check_sample_weight(sample_weight, len(y))
    used = weight > 0
    if used.all():
        return None, weight
    return np.flatnonzero(used), weight[used]


#: The least share of the largest weight that a sample counts for. Below it, weights of
#: a whole batch would round to 0, in float64 in products of four of their sums.
LEAST_SHARE = {np.dtype(np.float32): 1e-15, np.dtype(np.float64): 1e-60}


def class_weights(
    class_weight: Any,
    classes: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray | None,
    dtype: np.dtype,
) -> np.ndarray | None:
    """Weights of the samples times those of their classes, kept within sane bounds."""
    if class_weight is None and weight is None:
        return None
    if weight is None:
        weight = np.ones(len(y))
    if class_weight is not None:
        if isinstance(class_weight, str) and class_weight == "balanced":
            # scikit-learn heeds sample weights here from 1.7 on only. Only the classes
            # that are here: a partial fit may see just one.
            classes, codes = np.unique(y, return_inverse=True)
            totals = np.bincount(codes, weights=weight)
            factors = totals.sum() / (len(classes) * totals)
        else:
            factors = compute_class_weight(class_weight, classes=classes, y=y)
        if not (np.isfinite(factors).all() and (factors >= 0).all()):
            raise ValueError(
                f"class_weight must be finite and not negative, got {class_weight!r}."
            )
        weight = weight * factors[np.searchsorted(classes, y)]
    top = weight.max()
    if top == 0:
        raise ValueError(f"class_weight={class_weight!r} leaves no row any weight.")
    if not 1e-9 < top < 1e9:
        # Their scale has no meaning for a metric, but sums of them might overflow.
        weight = weight / top
    least = LEAST_SHARE[np.dtype(dtype)] * weight.max()
    weight = np.where(weight > 0, np.maximum(weight, least), 0)
    return None if (weight == 1).all() else weight


class Figures(NamedTuple):
    """How columns enter the network: see :class:`sk_anyloss.training.mlp.MLP`."""

    mean: np.ndarray | None = None
    scale: np.ndarray | None = None
    pieces: np.ndarray | None = None


def column_figures(X: Any, sample: Sample) -> Figures:
    """Mean and scale of the columns, as scikit-learn's scaler finds them.

    A constant column has the scale infinity, so that it enters as 0 whatever comes
    later: a network cannot have learned anything from it.
    """
    # with_mean=False admits sparse rows; the mean is learned all the same.
    scaler = StandardScaler(with_mean=False)
    with np.errstate(over="ignore", invalid="ignore"):
        for rows, weight in sample.chunks(X):
            scaler.partial_fit(with_short_indices(rows), sample_weight=weight)
    mean, scale = scaler.mean_, scaler.scale_
    # The scaler puts 1 for what it takes for constant, by a bound that grows with the
    # mean; where squares overflow it has no number at all.
    # No value is further from the mean than the root of their number.
    largest = np.abs(mean) + scale * np.sqrt(len(sample.target))
    usable = np.isfinite(scaler.var_) & (largest < np.finfo(X.dtype).max / 4)
    for j in np.flatnonzero(~usable | ((scale == 1) & (scaler.var_ != 1))).tolist():
        mean[j], scale[j] = _exact_figures(_column(X, j, sample), sample.weight)
    if not (np.isfinite(mean).all() and (scale > 0).all()):
        (j, *_) = np.flatnonzero(~np.isfinite(mean)).tolist()
        raise ValueError(
            f"X has values too large to be standardised in column {j}, beyond a "
            f"quarter of the largest number of {X.dtype}. Scale that column first."
        )
    return Figures(mean, np.maximum(scale, np.finfo(X.dtype).tiny))


def _exact_figures(
    column: np.ndarray, weight: np.ndarray | None
) -> tuple[float, float]:
    """Mean and standard deviation without overflow and without loss of digits.

    Rounding noise counts as constant: values that differ by no more than eight units
    in the last place of the largest.
    """
    limits = np.finfo(column.dtype)
    top = float(np.abs(column).max())
    if top > limits.max / 4:
        return np.inf, np.inf
    column = column.astype(float)
    if np.ptp(column) <= 8 * limits.eps * top:
        return 0.0, np.inf
    first, unit = column[0], float(np.ptp(column))
    offsets = (column - first) / unit
    mean = float(np.average(offsets, weights=weight))
    variance = float(np.average((offsets - mean) ** 2, weights=weight))
    return first + unit * mean, unit * float(np.sqrt(variance))


def _column(X: Any, j: int, sample: Sample) -> np.ndarray:
    """Column j of the samples, as an array."""
    column = X[:, [j]].toarray().ravel() if issparse(X) else X[:, j]
    return column if sample.rows is None else column[sample.rows]


def piece_figures(X: Any, sample: Sample, n_bins: int) -> Figures:
    """Each column in pieces: from -1 to 1 within a bin, and constant beyond it.

    A column of few values has an edge at each of them, another one has its edges at
    quantiles. A network sees in them what a tree sees in its splits. The number of
    pieces of a column is rounded up to a power of two, with pieces that are always 0,
    so that folds which lack a value have the same ones.
    """
    if issparse(X):
        X = X.tocsc()
    means, scales, pieces = [], [], []
    for j in range(X.shape[1]):
        column = _column(X, j, sample)
        edges = _bin_edges(column.astype(float), sample.weight, n_bins)
        n_pieces = len(edges) - 1
        room = min(n_bins, 1 << max(0, n_pieces - 1).bit_length())
        mean, scale = np.zeros(room), np.full(room, np.inf)
        mean[:n_pieces] = edges[1:] / 2 + edges[:-1] / 2
        # Half a difference may round to 0, in the least of all numbers.
        half = edges[1:] / 2 - edges[:-1] / 2
        scale[:n_pieces] = np.maximum(half, np.finfo(np.float32).tiny)
        means.append(mean)
        scales.append(scale)
        pieces.append(np.full(room, j))
    return Figures(*(np.concatenate(parts) for parts in (means, scales, pieces)))


def _bin_edges(column: np.ndarray, weight: np.ndarray | None, n: int) -> np.ndarray:
    """All values if they make at most n bins, or else weighted quantiles."""
    values, place = np.unique(column, return_inverse=True)
    if len(values) <= n + 1:
        return values
    below = np.cumsum(np.bincount(place, weight))
    levels = np.linspace(0, below[-1], n + 1)
    return values[np.unique(np.searchsorted(below, levels).clip(max=len(values) - 1))]


def prior_logit(criterion: nn.Module, sample: Sample) -> float:
    """Log-odds of the positives' share of the weight, kept where the step is open."""
    share = float(np.average(sample.target, weights=sample.weight))
    low, high = 1e-6, 1 - 1e-6
    thresholds: Any = getattr(criterion, "thresholds", ())
    if thresholds:
        step: Any = criterion.step
        ends = [step.open_range(threshold) for threshold in thresholds]
        low = max(low, min(start for start, _ in ends))
        high = min(high, max(end for _, end in ends))
    return float(logit(np.clip(share, low, high)))


def split_seed(random_state: Any, n: int) -> list[int]:
    """Independent seeds from one ``random_state``, without the global generators."""
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    elif isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**31))
    return np.random.SeedSequence(random_state).generate_state(n).tolist()


def hold_out(sample: Sample, fraction: float, seed: int) -> tuple[Sample, Sample]:
    """Split into rows to train on and rows to watch, both with both classes."""
    rng = np.random.default_rng(seed)
    chosen = []
    for label in (0, 1):
        members = rng.permutation(np.flatnonzero(sample.target == label))
        if len(members) < 2:
            raise ValueError(
                "early_stopping=True holds out rows of each class, so it needs at "
                f"least two rows of each class; got {len(members)} of one of them. Use "
                "early_stopping=False."
            )
        n_valid = round(fraction * len(members))
        chosen.append(members[: min(max(n_valid, 1), len(members) - 1)])
    watched = np.zeros(len(sample.target), dtype=bool)
    watched[np.concatenate(chosen)] = True
    return sample.take(np.flatnonzero(~watched)), sample.take(np.flatnonzero(watched))


def check_labels(labels: np.ndarray, pos_label: Any) -> tuple[np.ndarray, Any]:
    """Refuse anything but two classes, and find out which one is positive.

    Parameters
    ----------
    labels : ndarray
        The labels, sorted, each once.
    pos_label : label or None
        The positive one; None for the greater.

    Returns
    -------
    classes : ndarray of shape (2,)
        The labels.
    pos_label : label
        The positive one among them.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.estimators.preparation import check_labels
    >>> str(check_labels(np.array(["no", "yes"]), None)[1])
    'yes'
    """
    if len(labels) > 2:
        raise ValueError(
            "Only binary classification is supported. The type of the target is "
            f"multiclass: {len(labels)} classes, {labels[:5].tolist()}..."
        )
    if len(labels) < 2:
        raise ValueError(
            "y has only one class among the rows of positive weight, "
            f"{labels.tolist()}, and a classifier needs two classes; partial_fit "
            "can be told both with classes=."
        )
    if pos_label is not None and pos_label not in labels:
        raise ValueError(
            f"pos_label={pos_label!r} is not one of the classes {labels.tolist()}."
        )
    return labels, labels[1] if pos_label is None else pos_label
