"""Differences between versions of other libraries, and their private functions.

No other module uses a private function of another library. A private function is used
here only where no public one exists, and is optional.
"""

from __future__ import annotations

import copy
import ctypes
import functools
import numbers
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import csr_array
from sklearn import get_config
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.utils import check_array, check_random_state

if TYPE_CHECKING:
    import torch

Method = TypeVar("Method", bound=Callable[..., object])
Module = TypeVar("Module", bound="torch.nn.Module")

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn below 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Stands for that of scikit-learn 1.9: there are no callbacks."""

    def with_callbacks(method: Method) -> Method:
        """Stands for that of scikit-learn 1.9, and does nothing."""

        @functools.wraps(method)
        def same(*args: Any, **kwargs: Any) -> Any:
            return method(*args, **kwargs)

        return cast(Method, same)


__all__ = [
    "CallbackSupportMixin",
    "begin_callbacks",
    "check_sample_weight",
    "fused_adam",
    "has_callbacks",
    "in_transform",
    "is_out_of_memory",
    "mkl_set_num_threads_local",
    "raise_for_unrouted",
    "routing_enabled",
    "set_training",
    "shallow_copy",
    "shuffled_group_folds",
    "softmax_backward",
    "with_callbacks",
    "with_short_indices",
]


def begin_callbacks(estimator: object) -> Any:
    """Begin the fit of an estimator for its scikit-learn callbacks.

    Parameters
    ----------
    estimator : estimator
        Its ``fit`` is decorated by ``with_callbacks``.

    Returns
    -------
    context : sklearn.callback.CallbackContext or None
        None for scikit-learn below 1.9, which has no callbacks.
    """
    begin = getattr(estimator, "_init_callback_context", None)
    return None if begin is None else begin()


def has_callbacks(context: object) -> bool:
    """Whether any scikit-learn callback was given to an estimator.

    Parameters
    ----------
    context : sklearn.callback.CallbackContext or None
        That of its fit, from :func:`begin_callbacks`.

    Returns
    -------
    has_callbacks : bool
        False for None.

    Examples
    --------
    >>> from sk_anyloss._compat import has_callbacks
    >>> has_callbacks(None)
    False
    """
    return bool(getattr(context, "_callbacks", ()))


def shallow_copy(module: Module) -> Module:
    """A copy of a module that shares its submodules, until others are assigned.

    ``copy.copy`` alone shares the dictionary of submodules too, so that an assignment
    would change both.

    Parameters
    ----------
    module : torch.nn.Module
        Any module.

    Returns
    -------
    module : torch.nn.Module
        The copy.

    Examples
    --------
    >>> from torch import nn
    >>> from sk_anyloss._compat import shallow_copy
    >>> module = nn.Sequential(nn.Linear(1, 1))
    >>> copied = shallow_copy(module)
    >>> copied[0] = nn.Tanh()
    >>> module[0], copied[0]
    (Linear(in_features=1, out_features=1, bias=True), Tanh())
    """
    copied = copy.copy(module)
    copied._modules = dict(module._modules)
    return copied


def fused_adam(
    decoupled: bool, device: torch.device | None = None
) -> Callable[..., None] | None:
    """The function that updates lists of tensors in ``Adam(fused=True)``.

    It is private to torch. For small networks it takes less than a third of the time of
    the same update in public operations.

    Parameters
    ----------
    decoupled : bool
        Whether weight decay is decoupled from the gradient, as in AdamW.
    device : torch.device, default=None
        Device of the tensors; None for the CPU.

    Returns
    -------
    step : callable or None
        None if this version of torch has no such function for the device; the caller
        then uses public operations.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss._compat import fused_adam
    >>> fused_adam(False, torch.device("meta")) is None
    True
    """
    if device is not None and device.type not in ("cpu", "cuda"):
        return None
    # Callers have imported torch; this module must not, for stored models.
    name = "_fused_adamw_" if decoupled else "_fused_adam_"
    return getattr(sys.modules["torch"], name, None)


def softmax_backward() -> Callable[..., torch.Tensor] | None:
    """The derivative of a softmax as one operation, ``s g - s sum(s g)``.

    It is private to torch. For the small batches of a table it takes a third of the
    time of the same in public operations.

    Returns
    -------
    backward : callable or None
        ``backward(g, s, dim, dtype)``; None if this version of torch has no such
        function.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss._compat import softmax_backward
    >>> backward = softmax_backward()
    >>> g, s = torch.tensor([[1.0, 0.0]]), torch.tensor([[0.5, 0.5]])
    >>> backward is None or backward(g, s, 1, g.dtype).tolist()
    [[0.25, -0.25]]
    """
    # Callers have imported torch; this module must not, for stored models.
    return getattr(sys.modules["torch"], "_softmax_backward_data", None)


def in_transform() -> bool:
    """Whether a transform of :mod:`torch.func` is active, such as ``grad`` or ``vmap``.

    Tensors may then have no values to look at. What tells is private to torch.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss._compat import in_transform
    >>> found = []
    >>> _ = torch.func.vmap(lambda x: found.append(in_transform()) or x)(torch.ones(1))
    >>> in_transform(), found
    (False, [True])
    """
    # Callers have imported torch; this module must not, for stored models.
    C = sys.modules["torch"]._C
    active = getattr(C, "_are_functorch_transforms_active", None)
    return active is not None and active()


@cache
def mkl_set_num_threads_local(torch_file: str) -> Callable[[int], int] | None:
    """MKL's function that sets the number of threads of the calling thread.

    Parameters
    ----------
    torch_file : str
        ``torch.__file__``, beside which MKL is.

    Returns
    -------
    set_local : callable or None
        From the new number, 0 for that of the process, to the one before; None where
        torch is built without MKL.

    Examples
    --------
    >>> from sk_anyloss._compat import mkl_set_num_threads_local
    >>> import torch
    >>> set_local = mkl_set_num_threads_local(torch.__file__)
    >>> set_local is None or set_local(set_local(1)) == 1
    True
    """
    folder = Path(torch_file).parent / "lib"
    for path in folder.glob("*torch_cpu*"):
        try:
            return ctypes.CDLL(str(path)).MKL_Set_Num_Threads_Local
        except (OSError, AttributeError):
            continue
    return None


def set_training(owner: object, training: bool) -> None:
    """Set the training mode of every module that a skorch net has initialised.

    Parameters
    ----------
    owner : skorch.NeuralNet
        The net. Its initialised modules are attributes that end with an underscore;
        the modules that were passed to it are not changed.
    training : bool
        True for training, False for evaluation.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from torch import nn
    >>> from sk_anyloss._compat import set_training
    >>> net = SimpleNamespace(module=nn.Linear(1, 1), module_=nn.Linear(1, 1))
    >>> set_training(net, False)
    >>> net.module.training, net.module_.training
    (True, False)
    """
    module = sys.modules["torch"].nn.Module
    for name, part in vars(owner).items():
        if name.endswith("_") and isinstance(part, module):
            part.train(training)


def check_sample_weight(sample_weight: ArrayLike, n_samples: int) -> np.ndarray:
    """Validate sample weights and convert them to float64.

    Parameters
    ----------
    sample_weight : float or array-like of shape (n_samples,)
        Finite, non-negative weights, not all zero.
    n_samples : int
        Number of samples.

    Returns
    -------
    sample_weight : ndarray of shape (n_samples,)
        The weights.

    Examples
    --------
    >>> from sk_anyloss._compat import check_sample_weight
    >>> check_sample_weight([1, 0, 2], 3)
    array([1., 0., 2.])
    """
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n_samples, sample_weight)
    weight = check_array(
        sample_weight, ensure_2d=False, order="C", input_name="sample_weight"
    ).astype(np.float64, copy=False)
    if weight.shape != (n_samples,):
        raise ValueError(
            f"sample_weight.shape is {weight.shape}; give a 1D array of {n_samples} "
            "weights, one for each sample."
        )
    if (weight < 0).any():
        raise ValueError(
            f"Negative values in sample_weight, the smallest is {weight.min():g}; "
            "weights must be zero or positive."
        )
    if not weight.any():
        raise ValueError(
            "sample_weight is zero for every sample; at least one sample of each "
            "class needs a positive weight."
        )
    return weight


def shuffled_group_folds(
    n_splits: int, y: np.ndarray, groups: np.ndarray, random_state: int | None = None
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Stratified folds of whole groups, in a shuffled order of the groups.

    ``StratifiedGroupKFold(shuffle=True)`` of older scikit-learn balances the classes of
    other groups than those that it then assigns to a fold, so that a fold can lack a
    class. Groups that are renumbered at random need no shuffling.

    Parameters
    ----------
    n_splits : int
        Number of folds.
    y : ndarray of shape (n_samples,)
        Labels.
    groups : ndarray of shape (n_samples,)
        Group of each sample.
    random_state : int, default=None
        Seed of the order.

    Returns
    -------
    folds : list of pairs of ndarray of int
        Indices of training and test samples, the same with every version.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss._compat import shuffled_group_folds
    >>> y, groups = np.tile([0, 1], 4), np.repeat(np.arange(4), 2)
    >>> [len(test) for _, test in shuffled_group_folds(2, y, groups, 0)]
    [4, 4]
    """
    names, codes = np.unique(groups, return_inverse=True)
    order = np.arange(len(names))
    check_random_state(random_state).shuffle(order)
    numbers = np.argsort(order)[codes]
    folds = StratifiedGroupKFold(n_splits).split(np.zeros(len(y)), y, numbers)
    return list(folds)


def routing_enabled() -> bool:
    """Whether metadata routing is enabled in scikit-learn.

    Returns
    -------
    enabled : bool
        The current configuration.

    Examples
    --------
    >>> import sklearn
    >>> from sk_anyloss._compat import routing_enabled
    >>> with sklearn.config_context(enable_metadata_routing=True):
    ...     routing_enabled()
    True
    """
    return bool(get_config().get("enable_metadata_routing", False))


def raise_for_unrouted(params: Mapping[str, object], caller: str) -> None:
    """Raise an error for metadata while metadata routing is disabled.

    Parameters
    ----------
    params : mapping of str to object
        Metadata, such as ``groups``.
    caller : str
        Name of the method that received it.

    Examples
    --------
    >>> from sk_anyloss._compat import raise_for_unrouted
    >>> raise_for_unrouted({"groups": [0, 1]}, "AnyLossClassifierCV.fit")
    Traceback (most recent call last):
    ...
    ValueError: AnyLossClassifierCV.fit got groups, which it routes only after
    sklearn.set_config(enable_metadata_routing=True).
    """
    if params and not routing_enabled():
        raise ValueError(
            f"{caller} got {', '.join(sorted(params))}, which it routes only after "
            "sklearn.set_config(enable_metadata_routing=True)."
        )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory does not suffice.

    On the CPU, torch raises a plain ``RuntimeError``.

    Parameters
    ----------
    error : BaseException
        Any error.

    Returns
    -------
    is_out_of_memory : bool
        Whether less memory might do.

    Examples
    --------
    >>> from sk_anyloss._compat import is_out_of_memory
    >>> is_out_of_memory(RuntimeError("DefaultCPUAllocator: can't allocate memory"))
    True
    >>> is_out_of_memory(MemoryError()), is_out_of_memory(RuntimeError("no kernel"))
    (True, False)
    """
    said = str(error).lower()
    parts = "allocate memory", "out of memory", "not enough memory"
    return isinstance(error, MemoryError) or any(part in said for part in parts)


def with_short_indices(X: np.ndarray | csr_array) -> np.ndarray | csr_array:
    """A CSR matrix with 32-bit indices, if they suffice; anything else as it is.

    ``StandardScaler.partial_fit`` of older scikit-learn needs them after the first
    call, and older scipy keeps 64-bit indices.

    Parameters
    ----------
    X : {ndarray, sparse matrix}
        Samples.

    Returns
    -------
    X : {ndarray, sparse matrix}
        Equal samples, of the same type.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from sk_anyloss._compat import with_short_indices
    >>> X = csr_array(np.eye(2))
    >>> X.indices, X.indptr = X.indices.astype("int64"), X.indptr.astype("int64")
    >>> with_short_indices(X).indices.dtype
    dtype('int32')
    """
    if isinstance(X, np.ndarray) or max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    indices = (part.astype(np.int32, copy=False) for part in (X.indices, X.indptr))
    return type(X)((X.data, *indices), shape=X.shape)
