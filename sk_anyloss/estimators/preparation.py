"""Labels, weights, seeds and held-out samples, before a net is built."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight

from sk_anyloss._compat import check_sample_weight
from sk_anyloss.training.data.strata import strata

if TYPE_CHECKING:
    from sk_anyloss.training.data.dataset import Subset


def positive_weights(
    y: np.ndarray, sample_weight: ArrayLike | None
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Positions of the samples with any weight, None for all, and their weights."""
    if sample_weight is None:
        return None, None
    weight = check_sample_weight(sample_weight, len(y))
    used = weight > 0
    if used.all():
        return None, weight
    return np.flatnonzero(used), weight[used]


#: The least fraction of the largest weight that a sample counts for. Below it, weights
#: of a whole batch would round to 0, in float64 in products of four of their sums.
LEAST_FRACTION = {np.dtype(np.float32): 1e-15, np.dtype(np.float64): 1e-60}


def class_weights(
    class_weight: Mapping[Hashable, float] | str | None,
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
    if class_weight is not None and y.ndim > 1:
        # Of a sample, the product over its labels.
        weight = weight * compute_sample_weight(class_weight, y)
    elif class_weight is not None:
        if isinstance(class_weight, str) and class_weight == "balanced":
            # scikit-learn heeds sample weights here from 1.7 on only.
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
        raise ValueError(f"class_weight={class_weight!r} leaves no sample any weight.")
    if not 1e-9 < top < 1e9:
        # Their scale has no meaning for a metric, but sums of them might overflow.
        weight = weight / top
    least = LEAST_FRACTION[np.dtype(dtype)] * weight.max()
    weight = np.where(weight > 0, np.maximum(weight, least), 0)
    return None if (weight == 1).all() else weight


def split_seed(
    random_state: int | np.random.RandomState | np.random.Generator | None, n: int
) -> list[int]:
    """Independent seeds from one ``random_state``, without the global generators."""
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    elif isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**31))
    return np.random.SeedSequence(random_state).generate_state(n).tolist()


def hold_out(sample: Subset, fraction: float, seed: int) -> tuple[Subset, Subset]:
    """Split into samples to train on and to validate on, both of all classes.

    A class with a single sample is trained on only, if there are more than two classes.
    """
    rng = np.random.default_rng(seed)
    chosen = []
    of_samples = strata(sample.target)
    classes = np.unique(of_samples)
    for label in classes if len(classes) > 2 or sample.target.ndim > 1 else (0, 1):
        members = rng.permutation(np.flatnonzero(of_samples == label))
        if len(members) < 2 and len(classes) > 2:
            continue
        if len(members) < 2:
            raise ValueError(
                "early_stopping=True holds out samples of each class, so it needs at "
                f"least two samples of each class; got {len(members)} of one of them. "
                "Use early_stopping=False."
            )
        n_valid = round(fraction * len(members))
        chosen.append(members[: min(max(n_valid, 1), len(members) - 1)])
    if not chosen:
        raise ValueError(
            "early_stopping=True holds out samples of each class, but each class has "
            "one sample only. Use early_stopping=False."
        )
    watched = np.zeros(len(sample.target), dtype=bool)
    watched[np.concatenate(chosen)] = True
    return sample.take(np.flatnonzero(~watched)), sample.take(np.flatnonzero(watched))
