"""Fitted networks as plain arrays: to be stored safely, and applied without torch.

Nothing here imports torch; :func:`to_plain` does, when it is first asked for.
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from scipy.special import erf, expit
from sklearn.base import BaseEstimator

from sk_anyloss.estimators.decisions import DecidesByLogOdds
from sk_anyloss.metrics import Metric
from sk_anyloss.metrics.decision import Decision, log_odds

if TYPE_CHECKING:
    from sk_anyloss.plain.conversion import to_plain

__all__ = ["PlainClassifier", "replace_parts", "to_plain"]

#: Samples are predicted in chunks whose widest dense array takes at most so much.
CHUNK_BYTES = 2**26
#: A column whose mean is more scales away from 0 is not folded into the weights.
FAR_FROM_ZERO = 1000.0

ACTIVATIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "gelu": lambda x: x * (0.5 + 0.5 * erf(x / np.sqrt(2))),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x),
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": expit,
    "silu": lambda x: x * expit(x),
    "tanh": np.tanh,
}


class PlainClassifier(DecidesByLogOdds, BaseEstimator):
    """What a fitted estimator of this package has learned, in numpy arrays.

    Made by :func:`to_plain`; it predicts, and is not fitted again.

    Parameters
    ----------
    metric : str or callable, default='f1'
        What ``score`` is.
    """

    def __init__(self, metric: str | Metric = "f1") -> None:
        self.metric = metric

    def fit(self, X: Any, y: Any) -> PlainClassifier:
        """Refuse: what was learned is all there is."""
        raise ValueError(
            "PlainClassifier holds what another estimator has learned, and cannot be "
            "fitted; fit that one anew."
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "networks_")

    def _log_odds(self, X: Any) -> np.ndarray:
        networks = [_prepared(network, issparse(X)) for network in self.networks_]
        n_rows = max(1, CHUNK_BYTES // max(network.row_bytes for network in networks))
        chunks = (X[i : i + n_rows] for i in range(0, X.shape[0], n_rows))
        return np.concatenate([self._combine(networks, chunk) for chunk in chunks])

    def _combine(self, networks: list[_Network], X: Any) -> np.ndarray:
        """Log-odds of a chunk of samples, over all networks."""
        logits = [network.logits(X) for network in networks]
        if len(logits) == 1:
            return logits[0] - self.cuts_[0]
        pairs = zip(logits, self.cuts_, self.shares_, strict=True)
        return log_odds(np.sum([expit(z - cut) * w for z, cut, w in pairs], axis=0))

    @property
    def decision_(self) -> Decision:  # type: ignore[override]
        """Where the positive class is predicted."""
        return Decision(self.cut_)


@dataclass
class _Network:
    """A stored network, with its first layer ready for dense or sparse samples.

    Parameters
    ----------
    arrays : dict
        As :func:`sk_anyloss.plain.conversion.to_plain` makes them.
    first : callable
        Dense or sparse samples to the input of the first activation.
    row_bytes : int
        Bytes that one sample takes in the widest dense array on the way.
    """

    arrays: dict[str, Any]
    first: Callable[[Any], np.ndarray]
    row_bytes: int

    def logits(self, X: Any) -> np.ndarray:
        """Of shape (n_samples,)."""
        arrays = self.arrays
        X = self.first(X)
        layers = zip(arrays["weights"][1:], arrays["biases"][1:], strict=True)
        for i, (weight, bias) in enumerate(layers):
            if arrays["norms"]:
                norm = arrays["norms"][i]
                spread = np.sqrt(norm["running_var"] + norm["eps"])
                X = (X - norm["running_mean"]) / spread * norm["weight"] + norm["bias"]
            X = ACTIVATIONS[arrays["activation"]](X) @ weight.T + bias
        return X[:, 0]


def _prepared(arrays: dict[str, Any], sparse: bool) -> _Network:
    dtype = arrays["weights"][0].dtype
    widths = [weight.shape[0] for weight in arrays["weights"]]
    if sparse and arrays["pieces"] is None:
        layer = _SparseLayer(arrays)
        widths.append(len(layer.offset))
        # The product is in float64, whatever the network computes in.
        return _Network(arrays, layer, max(widths) * np.dtype(float).itemsize)
    if arrays["pieces"] is not None:
        widths.append(len(arrays["pieces"]))
        widths.append(int(arrays["pieces"].max(initial=0)) + 1)
    widths.append(arrays["weights"][0].shape[1])
    return _Network(arrays, partial(_dense_layer, arrays), max(widths) * dtype.itemsize)


def _dense_layer(arrays: dict[str, Any], X: Any) -> np.ndarray:
    X = (X.toarray() if issparse(X) else X).astype(arrays["weights"][0].dtype)
    if arrays["pieces"] is not None:
        X = X[:, arrays["pieces"]]
    if arrays["mean"] is not None:
        X -= arrays["mean"]
    if arrays["scale"] is not None:
        X /= arrays["scale"]
    if arrays["pieces"] is not None:
        X.clip(-1, 1, out=X)
    return X @ arrays["weights"][0].T + arrays["biases"][0]


class _SparseLayer:
    """The first layer of a network, for sparse samples that stay sparse.

    With the means m and scales s of the columns,
    ``((x - m) / s) W' + b = x (W / s)' + (b - W (m / s))``. A column far from 0, as
    seen from its scale, would lose digits on the right-hand side; such a column has
    hardly a zero, so it is made dense and standardised as on the left.

    Parameters
    ----------
    arrays : dict
        As :func:`sk_anyloss.plain.conversion.to_plain` makes them, without pieces.
    """

    def __init__(self, arrays: dict[str, Any]) -> None:
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
        self.offset = np.flatnonzero(np.abs(self.mean) > FAR_FROM_ZERO * scale)
        self.offset_weight = self.weight[self.offset]
        self.weight[self.offset] = 0
        self.bias -= self.mean @ self.weight

    def __call__(self, X: Any) -> np.ndarray:
        """The input of the first activation, of shape (n_samples, n_units)."""
        product = X @ self.weight + self.bias
        if len(self.offset):
            dense = X[:, self.offset].toarray() - self.mean[self.offset]
            product += dense @ self.offset_weight
        return product.astype(self.dtype, copy=False)


def replace_parts(value: Any, replace: Callable[[Any], Any]) -> Any:
    """A copy of an object with parts of it replaced; itself where none is.

    Parameters
    ----------
    value : object
        An estimator, or a list, tuple or dict.
    replace : callable
        From a part to what should stand in its place, or to the part itself.

    Returns
    -------
    value : object
        Of the same type, unless it is replaced itself.
    """
    new = replace(value)
    if new is not value:
        return new
    if isinstance(value, (list, tuple)):
        parts = [replace_parts(part, replace) for part in value]
        same = all(a is b for a, b in zip(parts, value, strict=True))
        return value if same else type(value)(parts)
    if isinstance(value, dict):
        values = {key: replace_parts(part, replace) for key, part in value.items()}
        same = all(values[key] is part for key, part in value.items())
        return value if same else type(value)(**values)
    if isinstance(value, BaseEstimator):
        changed = {
            name: new
            for name, old in vars(value).items()
            if (new := replace_parts(old, replace)) is not old
        }
        if changed:
            value = copy.copy(value)
            vars(value).update(changed)
    return value


def __getattr__(name: str) -> Any:
    # It looks for networks of torch, which what it makes of them does without.
    if name == "to_plain":
        return importlib.import_module("sk_anyloss.plain.conversion").to_plain
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
