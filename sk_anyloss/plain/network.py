"""Forward pass of a stored network in numpy, for dense and sparse samples."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias, TypedDict

import numpy as np
from scipy.sparse import csr_array
from scipy.special import erf, expit

__all__ = ["ACTIVATIONS", "Network", "NetworkArrays", "NormArrays", "Samples"]

#: Validated samples, in rows.
Samples: TypeAlias = np.ndarray | csr_array

#: Features whose mean is more scales than this away from 0 are standardised before the
#: product with the weights, not by it.
FAR_FROM_ZERO = 1000.0

ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "gelu": lambda x: x * (0.5 + 0.5 * erf(x / np.sqrt(2))),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": expit,
    "silu": lambda x: x * expit(x),
    "tanh": np.tanh,
}


class NormArrays(TypedDict):
    """A batch normalisation, with the names of ``torch.nn.BatchNorm1d``."""

    eps: float
    running_mean: np.ndarray
    running_var: np.ndarray
    weight: np.ndarray
    bias: np.ndarray


class NetworkArrays(TypedDict):
    """A fitted network, as :func:`sk_anyloss.plain.to_plain` stores it."""

    activation: str
    #: For each bin of the piecewise-linear encoding the index of its feature; None if
    #: the features are not encoded.
    bin_features: np.ndarray | None
    #: Offset and scale of each input of the first layer.
    mean: np.ndarray | None
    scale: np.ndarray | None
    weights: list[np.ndarray]
    biases: list[np.ndarray]
    norms: list[NormArrays]


@dataclass
class Network:
    """A stored network, with its first layer prepared for dense or sparse samples.

    Parameters
    ----------
    arrays : dict
        As :func:`sk_anyloss.plain.to_plain` stores them.
    first_layer : callable
        From samples to the input of the first activation.
    sample_bytes : int
        Bytes that one sample takes in the widest dense array of the forward pass.
    """

    arrays: NetworkArrays
    first_layer: Callable[[Samples], np.ndarray]
    sample_bytes: int

    @classmethod
    def prepare(cls, arrays: NetworkArrays, sparse: bool) -> Network:
        """Prepare a network for dense samples, or for sparse ones.

        Parameters
        ----------
        arrays : dict
            As :func:`sk_anyloss.plain.to_plain` stores them.
        sparse : bool
            Whether the samples are sparse.

        Returns
        -------
        network : Network
            Ready for :meth:`logits`.
        """
        dtype = arrays["weights"][0].dtype
        widths = [weight.shape[0] for weight in arrays["weights"]]
        bin_features = arrays["bin_features"]
        if sparse and bin_features is None:
            layer = _SparseLayer(arrays)
            widths.append(len(layer.dense))
            # The product is in float64, whatever the dtype of the network.
            return cls(arrays, layer, max(widths) * np.dtype(float).itemsize)
        if bin_features is not None:
            widths.append(len(bin_features))
            widths.append(int(bin_features.max(initial=0)) + 1)
        widths.append(arrays["weights"][0].shape[1])
        return cls(arrays, partial(_dense_layer, arrays), max(widths) * dtype.itemsize)

    def logits(self, X: Samples) -> np.ndarray:
        """Output of the network.

        Parameters
        ----------
        X : {ndarray, sparse array} of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        logits : ndarray of shape (n_samples,) or (n_samples, C)
            Logits of the positive class, or of each of C classes.
        """
        arrays = self.arrays
        hidden = self.first_layer(X)
        layers = zip(arrays["weights"][1:], arrays["biases"][1:], strict=True)
        for i, (weight, bias) in enumerate(layers):
            if arrays["norms"]:
                hidden = _normalize(hidden, arrays["norms"][i])
            hidden = ACTIVATIONS[arrays["activation"]](hidden) @ weight.T + bias
        return hidden[:, 0] if hidden.shape[1] == 1 else hidden


def _normalize(hidden: np.ndarray, norm: NormArrays) -> np.ndarray:
    """Batch normalisation in evaluation mode."""
    std = np.sqrt(norm["running_var"] + norm["eps"])
    return (hidden - norm["running_mean"]) / std * norm["weight"] + norm["bias"]


def _dense_layer(arrays: NetworkArrays, X: Samples) -> np.ndarray:
    """The first layer, for samples that are dense or made dense."""
    dense = (X if isinstance(X, np.ndarray) else X.toarray()).astype(
        arrays["weights"][0].dtype
    )
    if arrays["bin_features"] is not None:
        dense = dense[:, arrays["bin_features"]]
    if arrays["mean"] is not None:
        dense -= arrays["mean"]
    if arrays["scale"] is not None:
        dense /= arrays["scale"]
    if arrays["bin_features"] is not None:
        dense.clip(-1, 1, out=dense)
    return dense @ arrays["weights"][0].T + arrays["biases"][0]


class _SparseLayer:
    """The first layer, for sparse samples that stay sparse.

    With the means m and scales s of the features,
    ``((x - m) / s) W' + b = x (W / s)' + (b - W (m / s))``. A feature whose mean is far
    from 0, in units of its scale, would lose digits on the right-hand side; it has
    hardly any zeros, so it is made dense and standardised as on the left.

    Parameters
    ----------
    arrays : dict
        As :func:`sk_anyloss.plain.to_plain` stores them, without an encoding.

    Attributes
    ----------
    dense : ndarray of int
        Indices of the features that are made dense.
    """

    def __init__(self, arrays: NetworkArrays) -> None:
        weight = arrays["weights"][0]
        self.dtype = weight.dtype
        self.bias = arrays["biases"][0].astype(float)
        self.weight = weight.T.astype(float)
        self.mean = np.zeros(len(self.weight))
        scale = np.ones(len(self.weight))
        if arrays["mean"] is not None:
            self.mean = arrays["mean"].astype(float)
        if arrays["scale"] is not None:
            scale = arrays["scale"].astype(float)
        self.weight /= scale[:, np.newaxis]
        self.dense = np.flatnonzero(np.abs(self.mean) > FAR_FROM_ZERO * scale)
        self.dense_weight = self.weight[self.dense]
        self.weight[self.dense] = 0
        self.bias -= self.mean @ self.weight

    def __call__(self, X: csr_array) -> np.ndarray:
        """The input of the first activation, of shape (n_samples, n_units)."""
        product = X @ self.weight + self.bias
        if len(self.dense):
            centred = X[:, self.dense].toarray() - self.mean[self.dense]
            product += centred @ self.dense_weight
        return product.astype(self.dtype, copy=False)
