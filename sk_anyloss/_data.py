"""What the estimator does to rows, labels and weights before the net sees them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from scipy.sparse import issparse
from scipy.special import logit
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.validation import _check_sample_weight
from torch import nn

from sk_anyloss.batches import as_tensor
from sk_anyloss.losses import AnyLoss


def positive_weights(
    X: Any, y: np.ndarray, sample_weight: Any
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Check the weights, and leave out the rows that have none."""
    weight = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    used = weight > 0
    if not used.any():
        raise ValueError(
            "sample_weight is 0 for every row; at least one row of each class needs a "
            "positive weight."
        )
    if used.all():
        return X, y, weight
    return X[used], y[used], weight[used]


def class_weights(
    class_weight: Any, classes: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Weights of the rows times those of their classes, kept within sane bounds."""
    if class_weight is not None:
        if isinstance(class_weight, str) and class_weight == "balanced":
            # Only the classes that are here: a partial fit may see just one.
            classes = np.unique(y)
        factors = compute_class_weight(
            class_weight, classes=classes, y=y, sample_weight=weight
        )
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
    return weight


def prior_logit(criterion: nn.Module, target: np.ndarray, weight: np.ndarray) -> float:
    """Log-odds of the positives' share of the weight, kept where the step is open."""
    share = float(np.average(target, weights=weight))
    low, high = 1e-6, 1 - 1e-6
    if isinstance(criterion, AnyLoss):
        low, high = criterion.step.open_range(criterion.threshold)
    return float(logit(np.clip(share, low, high)))


def split_seed(random_state: Any, n: int) -> list[int]:
    """Independent seeds from one ``random_state``, without the global generators."""
    if isinstance(random_state, np.random.RandomState):
        random_state = int(random_state.randint(2**31))
    elif isinstance(random_state, np.random.Generator):
        random_state = int(random_state.integers(2**31))
    return np.random.SeedSequence(random_state).generate_state(n).tolist()


def hold_out(
    X: Any, target: np.ndarray, weight: np.ndarray, fraction: float, seed: int
) -> tuple[Any, ...]:
    """Split into rows to train on and rows to watch, both with both classes."""
    rng = np.random.default_rng(seed)
    chosen = []
    for label in (0, 1):
        members = rng.permutation(np.flatnonzero(target == label))
        if len(members) < 2:
            raise ValueError(
                "early_stopping=True holds out rows of each class, so it needs at "
                f"least two rows of each class; got {len(members)} of one of them. Use "
                "early_stopping=False."
            )
        n_valid = round(fraction * len(members))
        chosen.append(members[: min(max(n_valid, 1), len(members) - 1)])
    watched = np.zeros(len(target), dtype=bool)
    watched[np.concatenate(chosen)] = True
    train, valid = np.flatnonzero(~watched), np.flatnonzero(watched)
    parts = (X, target, weight)
    return *(part[train] for part in parts), *(part[valid] for part in parts)


def as_rows(X: Any) -> Any:
    """Dense rows as a tensor, sparse ones as they are."""
    return X if issparse(X) else as_tensor(X)


def as_batch(
    X: Any, target: np.ndarray, weight: np.ndarray
) -> tuple[dict[str, Any], torch.Tensor]:
    """Rows, weights and labels as the net takes them; weights only if they matter."""
    rows = {"X": as_rows(X)}
    if (weight != 1).any():
        rows["sample_weight"] = torch.from_numpy(weight.astype(X.dtype))
    return rows, torch.from_numpy(target)
