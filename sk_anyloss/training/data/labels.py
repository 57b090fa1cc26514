"""Validation of labels and weights for :class:`sk_anyloss.AnyLossNet`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from skorch.utils import get_dim, is_dataset, to_numpy
from torch.utils.data import DataLoader, IterableDataset

if TYPE_CHECKING:
    from sk_anyloss.training.net import Data

__all__ = ["as_labels", "check_labels", "check_samples", "with_weights"]


def check_samples(X: Data) -> None:
    """Refuse what gives batches, or has no length, instead of samples.

    Parameters
    ----------
    X : array, tensor, dict or dataset
        The samples.
    """
    if isinstance(X, DataLoader):
        raise ValueError(
            "X is a DataLoader, which gives batches; pass its dataset, and settings of "
            "the loader by batch_size, iterator_train__num_workers=2, or "
            "iterator_train=DataLoader, iterator_train__shuffle=True."
        )
    if isinstance(X, IterableDataset):
        raise ValueError(
            f"X is an IterableDataset ({type(X).__name__}), which has no length and no "
            "order to shuffle; pass a Dataset with __len__ and __getitem__, or arrays "
            "part by part to partial_fit."
        )


def check_labels(y: ArrayLike, has_one_output: bool) -> None:
    """Refuse labels that are neither classes from 0 on nor a matrix of 0 and 1.

    Parameters
    ----------
    y : array or tensor of shape (n,) or (n, Q)
        The labels.
    has_one_output : bool
        Whether the module is known to have a single output.
    """
    labels, dim = to_numpy(y), get_dim(y)
    is_number = labels.dtype.kind in "biuf"
    is_binary = is_number and ((labels == 0) | (labels == 1)).all()
    if dim == 2 and labels.shape[1] > 1 and not has_one_output:
        is_valid = is_binary
    elif dim == 1 and not has_one_output:
        is_valid = is_binary or (
            is_number and ((labels >= 0) & (labels == np.floor(labels))).all()
        )
    else:
        is_valid = dim == 1 and is_binary
    if not is_valid:
        raise ValueError(
            "AnyLossNet needs labels 0 and 1 for a module with one output, classes "
            "0 to C - 1 for one with C outputs, or a matrix of 0 and 1 for several "
            f"labels; got the values {_few(labels)} of dtype {labels.dtype} in {dim} "
            "dimensions. AnyLossClassifier takes any labels."
        )


def _few(labels: np.ndarray) -> list[object]:
    """Some of the values, also of those that have no order."""
    if labels.dtype == object:
        return list(dict.fromkeys(labels.ravel().tolist()))[:5]
    return np.unique(labels)[:5].tolist()


def as_labels(y: Any) -> Any:
    """Labels as they are, or, of a list, as an array."""
    return np.asarray(y) if isinstance(y, (list, tuple)) else y


def with_weights(X: Data, sample_weight: ArrayLike | None) -> Any:
    """Samples with their weights, as one dict of inputs."""
    if sample_weight is None:
        return X
    if is_dataset(X):
        raise ValueError(
            "sample_weight cannot be added to a dataset; let the dataset give "
            "dicts with the keys 'X' and 'sample_weight' instead of X."
        )
    samples = X if isinstance(X, dict) else {"X": X}
    return {**samples, "sample_weight": sample_weight}
