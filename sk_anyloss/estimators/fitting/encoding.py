"""How features enter the network: standardised, or in a piecewise-linear encoding."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from sklearn.preprocessing import StandardScaler

from sk_anyloss._compat import with_short_indices
from sk_anyloss.estimators.fitting.quantiles import QuantileSketch
from sk_anyloss.training.data.dataset import Subset
from sk_anyloss.training.data.source import Source

__all__ = ["Encoding", "fit_encoding"]


class Encoding(NamedTuple):
    """Arrays with which :class:`sk_anyloss.training.network.mlp.MLP` encodes inputs."""

    mean: np.ndarray | None = None
    scale: np.ndarray | None = None
    #: Feature of each bin; None if features are not split into bins.
    bin_features: np.ndarray | None = None


def fit_encoding(
    source: Source, sample: Subset, standardize: bool, n_bins: int | None
) -> Encoding:
    """Learn from the training samples how features enter the network.

    Parameters
    ----------
    source : Source
        All samples.
    sample : Subset
        Those to learn from.
    standardize : bool
        Whether features get mean 0 and standard deviation 1.
    n_bins : int or None
        If given, the number of bins of a piecewise-linear encoding instead.

    Returns
    -------
    encoding : Encoding
        What the network is built with.
    """
    if n_bins is not None:
        return _piecewise_linear(source, sample, n_bins)
    return _standardized(source, sample) if standardize else Encoding()


def _standardized(source: Source, sample: Subset) -> Encoding:
    """Mean and scale of the features, as scikit-learn's scaler finds them.

    A constant feature has the scale infinity, so that it enters as 0 whatever comes
    later: a network cannot have learned anything from it.
    """
    # with_mean=False admits sparse samples; the mean is learned all the same.
    scaler = StandardScaler(with_mean=False)
    with np.errstate(over="ignore", invalid="ignore"):
        for block, weight in sample.chunks(source):
            scaler.partial_fit(with_short_indices(block), sample_weight=weight)
    mean, scale = scaler.mean_, scaler.scale_
    # The scaler puts 1 for what it takes for constant, by a bound that grows with the
    # mean; where squares overflow it has no number at all.
    # No value is further from the mean than sqrt(n) standard deviations.
    largest = np.abs(mean) + scale * np.sqrt(len(sample.target))
    usable = np.isfinite(scaler.var_) & (largest < np.finfo(source.dtype).max / 4)
    strange = np.flatnonzero(~usable | ((scale == 1) & (scaler.var_ != 1)))
    if source.is_streamed and len(strange):
        mean[strange], scale[strange] = _means_and_scales(source, sample, strange)
    elif len(strange):
        for j in strange.tolist():
            feature = source.feature(j, sample.index)
            mean[j], scale[j] = _exact_mean_and_scale(feature, sample.weight)
    if not np.isfinite(mean).all():
        (j, *_) = np.flatnonzero(~np.isfinite(mean)).tolist()
        raise ValueError(
            f"X has values too large to be standardised in column {j}, beyond a "
            f"quarter of the largest number of {source.dtype}. Scale that column first."
        )
    # The scale of the least of all numbers rounds to 0.
    return Encoding(mean, np.maximum(scale, np.finfo(source.dtype).tiny))


def _exact_mean_and_scale(
    feature: np.ndarray, weight: np.ndarray | None
) -> tuple[float, float]:
    """Mean and standard deviation without overflow and without loss of digits.

    Rounding noise counts as constant: values that differ by no more than eight units
    in the last place of the largest.
    """
    limits = np.finfo(feature.dtype)
    top = float(np.abs(feature).max())
    if top > limits.max / 4:
        return np.inf, np.inf
    feature = feature.astype(float)
    if np.ptp(feature) <= 8 * limits.eps * top:
        return 0.0, np.inf
    first, unit = feature[0], float(np.ptp(feature))
    offsets = (feature - first) / unit
    mean = float(np.average(offsets, weights=weight))
    variance = float(np.average((offsets - mean) ** 2, weights=weight))
    return first + unit * mean, unit * float(np.sqrt(variance))


def _means_and_scales(
    source: Source, sample: Subset, columns: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The same as :func:`_exact_mean_and_scale` for columns that are read in blocks."""
    limits = np.finfo(source.dtype)
    least, greatest = np.full(len(columns), np.inf), np.full(len(columns), -np.inf)
    for block, _ in sample.chunks(source):
        least = np.minimum(least, block[:, columns].min(axis=0))
        greatest = np.maximum(greatest, block[:, columns].max(axis=0))
    top = np.maximum(np.abs(least), np.abs(greatest))
    is_huge = top > limits.max / 4
    with np.errstate(over="ignore"):
        unit = greatest - least
    is_constant = ~is_huge & (unit <= 8 * limits.eps * top)
    unit[is_huge | is_constant] = np.inf  # Their offsets are 0.
    scaler = StandardScaler()
    for block, weight in sample.chunks(source):
        offsets = (block[:, columns].astype(float) - least) / unit
        scaler.partial_fit(offsets, sample_weight=weight)
    unit[is_huge | is_constant] = 1
    mean = np.where(is_constant, 0, least + unit * scaler.mean_)
    scale = np.where(is_constant, np.inf, unit * np.sqrt(scaler.var_))
    mean[is_huge] = scale[is_huge] = np.inf
    return mean, scale


def _piecewise_linear(source: Source, sample: Subset, n_bins: int) -> Encoding:
    """Each bin of a feature as an input: -1 below the bin, 1 above it, linear within.

    The encoding of Gorishniy et al., "On Embeddings for Numerical Features in Tabular
    Deep Learning", 2022, on [-1, 1]. A feature of few values has an edge at each of
    them, another one has its edges at quantiles. The number of bins of a feature is
    rounded up to a power of two, with bins that are always 0, so that folds which lack
    a value have networks of one shape.
    """
    means, scales, features = [], [], []
    sketch = _sketch(source, sample, n_bins) if source.is_streamed else None
    for j in range(source.shape[1]):
        if sketch is not None:
            edges = sketch.edges(j, n_bins)
        else:
            feature = source.feature(j, sample.index)
            edges = _bin_edges(feature.astype(float), sample.weight, n_bins)
        n_used = len(edges) - 1
        n_inputs = min(n_bins, 1 << max(0, n_used - 1).bit_length())
        mean, scale = np.zeros(n_inputs), np.full(n_inputs, np.inf)
        mean[:n_used] = edges[1:] / 2 + edges[:-1] / 2
        # Half a difference may round to 0, in the least of all numbers.
        half = edges[1:] / 2 - edges[:-1] / 2
        scale[:n_used] = np.maximum(half, np.finfo(np.float32).tiny)
        means.append(mean)
        scales.append(scale)
        features.append(np.full(n_inputs, j))
    return Encoding(*(np.concatenate(parts) for parts in (means, scales, features)))


def _sketch(source: Source, sample: Subset, n_bins: int) -> QuantileSketch:
    sketch = QuantileSketch(n_bins + 1)
    for block, weight in sample.chunks(source):
        sketch.add(block, weight)
    return sketch


def _bin_edges(feature: np.ndarray, weight: np.ndarray | None, n: int) -> np.ndarray:
    """All values if they make at most n bins, or else weighted quantiles."""
    values, codes = np.unique(feature, return_inverse=True)
    if len(values) <= n + 1:
        return values
    below = np.cumsum(np.bincount(codes, weight))
    levels = np.linspace(0, below[-1], n + 1)
    return values[np.unique(np.searchsorted(below, levels).clip(max=len(values) - 1))]
