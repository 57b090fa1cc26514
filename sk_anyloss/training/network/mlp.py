"""The multi-layer perceptron: a batch of samples in, their logits out."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from sk_anyloss._names import spelled, unknown
from sk_anyloss.losses.precision import full_precision
from sk_anyloss.metrics.confusion import weighted_sum

__all__ = ["MLP", "WeightedBatchNorm", "activation_names", "check_hidden"]

Activation = Callable[[Tensor], Tensor]


class InPlaceActivation(NamedTuple):
    """An activation, and how to write it and its derivative into a given tensor."""

    function: Activation
    #: From the input x, into a tensor.
    write: Callable[[Tensor, Tensor], Any]
    #: The derivative at the input x, where the output is known, into a tensor.
    write_derivative: Callable[[Tensor, Tensor, Tensor], Any]


def _sigmoid_derivative(x: Tensor, out: Tensor, into: Tensor) -> None:
    torch.addcmul(out, out, out, value=-1, out=into)


def _tanh_derivative(x: Tensor, out: Tensor, into: Tensor) -> None:
    torch.mul(out, out, out=into)
    torch.sub(1, into, out=into)


def _gelu_derivative(x: Tensor, out: Tensor, into: Tensor) -> None:
    normal = torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)
    into.copy_(torch.special.ndtr(x) + x * normal)


def _silu_derivative(x: Tensor, out: Tensor, into: Tensor) -> None:
    s = torch.sigmoid(x)
    into.copy_(s + out * (1 - s))


def _leaky_relu_derivative(x: Tensor, out: Tensor, into: Tensor) -> None:
    torch.gt(x, 0, out=into)
    into.mul_(0.99).add_(0.01)


def _by_copy(function: Activation) -> Callable[[Tensor, Tensor], Any]:
    return lambda x, into: into.copy_(function(x))


ACTIVATIONS: dict[str, InPlaceActivation] = {
    "gelu": InPlaceActivation(
        nn.functional.gelu, _by_copy(nn.functional.gelu), _gelu_derivative
    ),
    "leaky_relu": InPlaceActivation(
        nn.functional.leaky_relu,
        _by_copy(nn.functional.leaky_relu),
        _leaky_relu_derivative,
    ),
    "relu": InPlaceActivation(
        torch.relu,
        lambda x, into: torch.clamp(x, min=0, out=into),
        lambda x, out, into: torch.gt(x, 0, out=into),
    ),
    "sigmoid": InPlaceActivation(
        torch.sigmoid, lambda x, into: torch.sigmoid(x, out=into), _sigmoid_derivative
    ),
    "silu": InPlaceActivation(
        nn.functional.silu, _by_copy(nn.functional.silu), _silu_derivative
    ),
    "tanh": InPlaceActivation(
        torch.tanh, lambda x, into: torch.tanh(x, out=into), _tanh_derivative
    ),
}


def activation_names() -> list[str]:
    """Names of the activations between the layers.

    Examples
    --------
    >>> from sk_anyloss.training.network.mlp import activation_names
    >>> activation_names()
    ['gelu', 'leaky_relu', 'relu', 'sigmoid', 'silu', 'tanh']
    """
    return sorted(ACTIVATIONS)


def check_hidden(hidden: object) -> tuple[int, ...]:
    """Return the widths of the hidden layers as a tuple, or say what is wrong.

    Examples
    --------
    >>> from sk_anyloss.training.network.mlp import check_hidden
    >>> check_hidden([16, 8])
    (16, 8)
    """
    widths: Any = [hidden] if isinstance(hidden, numbers.Integral) else hidden
    if isinstance(widths, (Sequence, np.ndarray)) and not isinstance(
        widths, (str, bytes, bytearray, memoryview)
    ):
        whole = all(
            isinstance(width, numbers.Integral) and not isinstance(width, bool)
            for width in widths
        )
        if whole and all(width > 0 for width in widths):
            return tuple(int(width) for width in widths)
    raise ValueError(
        "hidden must be a tuple of positive whole numbers, the widths of the hidden "
        f"layers, or () for none; got {hidden!r}."
    )


def _activation(activation: str | Activation) -> Activation:
    if isinstance(activation, str):
        if activation in ACTIVATIONS:
            return ACTIVATIONS[activation].function
    elif callable(activation):
        return activation
    otherwise = "or pass a function from tensor to tensor."
    raise ValueError(unknown("activation", activation, ACTIVATIONS, otherwise))


class WeightedBatchNorm(nn.Module):
    """Batch normalisation whose mean and variance are weighted.

    A sample of weight 2 has the effect of the same sample twice, and multiplying all
    weights by a number has none; both need the biased variance, here and in the
    running statistics that are used outside of training.

    Parameters
    ----------
    n_features : int
        Number of features.
    momentum : float, default=0.1
        Weight of the newest batch in the running statistics.
    eps : float, default=1e-5
        Added to the variance.
    dtype : torch.dtype, default=None
        Type of parameters and running statistics.
    """

    running_mean: Tensor
    running_var: Tensor

    def __init__(
        self,
        n_features: int,
        momentum: float = 0.1,
        eps: float = 1e-5,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.momentum = momentum
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(n_features, dtype=dtype))
        self.bias = nn.Parameter(torch.zeros(n_features, dtype=dtype))
        self.register_buffer("running_mean", torch.zeros(n_features, dtype=dtype))
        self.register_buffer("running_var", torch.ones(n_features, dtype=dtype))

    def forward(self, x: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Normalise the features of x, by the batch in training, else as learned."""
        if self.training:
            weight = x.new_ones(len(x)) if sample_weight is None else sample_weight
            share = weight / weighted_sum(weight).clamp(min=torch.finfo(x.dtype).tiny)
            mean = share @ x
            centred = x - mean
            var = share @ (centred * centred)
            if len(x) > 1:  # One sample has no variance.
                self.running_mean.lerp_(mean.detach(), self.momentum)
                self.running_var.lerp_(var.detach(), self.momentum)
        else:
            centred, var = x - self.running_mean, self.running_var
        normal = centred / torch.sqrt(var + self.eps)
        return torch.addcmul(self.bias, normal, self.weight)


class _Linear(nn.Linear):
    """A linear layer that does not draw weights from torch's global generator."""

    def reset_parameters(self) -> None:
        pass


class MLP(nn.Module):
    """Multi-layer perceptron with one logit, or several, for each sample.

    ``hidden=()`` is the single-layer perceptron, started at zero. ``hidden=(2,)`` is
    the network of the AnyLoss paper: Linear, batch norm, sigmoid, Linear.

    Parameters
    ----------
    n_features : int
        Number of features.
    hidden : tuple of int, default=(2,)
        Widths of the hidden layers.
    activation : str or callable, default='sigmoid'
        What follows each hidden layer; see :func:`activation_names`.
    batch_norm : bool, default=True
        Whether each hidden layer is normalised before its activation.
    mean, scale : array of shape (n_inputs,), default=None
        If given, the input enters as ``(X - mean) / scale``.
    bin_features : array of int of shape (n_inputs,), default=None
        If given, a piecewise-linear encoding: each input is a bin of the feature named
        here, ``(X - mean) / scale`` clipped to [-1, 1].
    output_bias : float or array of shape (n_outputs,), default=0
        Logits of every sample before training: the weights of the last layer are 0.
    n_outputs : int, default=1
        Number of logits for each sample: one for two classes, or one for each of
        several classes or labels.
    dtype : torch.dtype, default=None
        Type of the parameters.
    random_state : int, default=None
        Seed of the initial weights. They are drawn from a generator of their own:
        torch's global one is neither read nor changed.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.training.network.mlp import MLP
    >>> MLP(3, hidden=(4,), random_state=0)(torch.zeros(5, 3)).shape
    torch.Size([5])
    """

    mean: Tensor | None
    scale: Tensor | None
    bin_features: Tensor | None

    def __init__(
        self,
        n_features: int,
        hidden: Sequence[int] = (2,),
        activation: str | Activation = "sigmoid",
        batch_norm: bool = True,
        mean: np.ndarray | None = None,
        scale: np.ndarray | None = None,
        bin_features: np.ndarray | None = None,
        output_bias: float | np.ndarray = 0.0,
        n_outputs: int = 1,
        dtype: torch.dtype | None = None,
        random_state: int | None = None,
    ) -> None:
        super().__init__()
        hidden = check_hidden(hidden)
        self.activation = activation = spelled(activation, ACTIVATIONS)
        self.activation_function = _activation(activation)
        self.output_bias = output_bias
        for name, value in (("mean", mean), ("scale", scale)):
            tensor = None if value is None else torch.as_tensor(value, dtype=dtype)
            self.register_buffer(name, tensor)
        index = None if bin_features is None else torch.as_tensor(bin_features)
        self.register_buffer("bin_features", index)
        n_inputs = n_features if bin_features is None else len(bin_features)
        #: Widths of the input, the hidden layers and the output.
        self.widths = widths = [n_inputs, *hidden, n_outputs]
        self.layers = nn.ModuleList(
            _Linear(n_in, n_out, dtype=dtype) for n_in, n_out in pairwise(widths)
        )
        self.norms = nn.ModuleList(
            WeightedBatchNorm(width, dtype=dtype) for width in hidden if batch_norm
        )
        generator = torch.Generator()
        if random_state is None:
            generator.seed()
        else:
            generator.manual_seed(random_state)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator) -> None:
        """Draw He-normal hidden weights; the last layer starts at zero and its bias.

        So all samples start at one probability, which can be chosen where the step is
        steep; from a random start, half the samples can lie on a plateau of a large L.
        """
        *hidden, output = self.layers
        for parameter in self.layers.parameters():
            nn.init.zeros_(parameter)
        for layer in hidden:
            weight = layer.get_parameter("weight")
            nn.init.kaiming_normal_(weight, nonlinearity="relu", generator=generator)
        bias = output.get_parameter("bias")
        with torch.no_grad():
            bias.copy_(torch.as_tensor(self.output_bias, dtype=bias.dtype))

    def forward(self, X: Tensor, sample_weight: Tensor | None = None) -> Tensor:
        """Logits of shape (n,) or (n, n_outputs), for samples (n, n_features).

        Computed in the dtype of the parameters, under autocast too: so the network is
        the same whether its gradient comes in closed form or from autograd.
        """
        with full_precision(X.device):
            X = self._first_layer(X)
            for i, layer in enumerate(self.layers[1:]):
                if self.norms:
                    X = self.norms[i](X, sample_weight)
                X = layer(self.activation_function(X))
            return X.squeeze(-1) if self.widths[-1] == 1 else X

    def _first_layer(self, X: Tensor) -> Tensor:
        """Output of the first layer; a sparse tensor is not made dense for it."""
        layer = self.layers[0]
        if not X.is_sparse:
            return layer(self.standardize(X))
        weight: Tensor = layer.get_parameter("weight")
        bias: Tensor = layer.get_parameter("bias")
        if self.scale is not None:
            weight = weight / self.scale
        if self.mean is not None:
            bias = bias - weight @ self.mean
        return torch.sparse.mm(X, weight.mT) + bias

    def standardize(self, X: Tensor) -> Tensor:
        """Samples as they enter the first layer, in one new tensor."""
        if self.bin_features is not None:
            X = X[..., self.bin_features]
        if self.mean is not None:
            X = X - self.mean
        if self.scale is not None:
            X = X / self.scale if self.mean is None else X.div_(self.scale)
        return X if self.bin_features is None else X.clamp_(-1, 1)
