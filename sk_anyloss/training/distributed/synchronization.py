"""What the processes of a training have in common: weights, order, gradients."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import torch
from skorch.callbacks import Checkpoint, TrainEndCheckpoint
from skorch.utils import to_numpy
from torch import Tensor, nn

from sk_anyloss.losses.distributed.processes import Processes
from sk_anyloss.metrics import metric_name
from sk_anyloss.training.iterator import Batches

if TYPE_CHECKING:
    from sk_anyloss.training.data.dataset import SizedDataset
    from sk_anyloss.training.net import AnyLossNet

__all__ = ["average_buffers", "spread", "start_together", "sum_gradients"]


def start_together(net: AnyLossNet, train: SizedDataset) -> None:
    """Give all processes the weights and the random numbers of the first one.

    An error is raised in all of them if they do not train the same: another metric,
    other parameters, or other samples where all should have the same.

    Parameters
    ----------
    net : AnyLossNet
        The net, about to be trained.
    train : dataset
        Its samples.
    """
    processes = net.processes_
    parameters = [tuple(p.shape) for p in net.module_.parameters()]
    names = "threshold", "batch_size", "max_epochs", "lr", "warm_up", "L", "sharded"
    options = ", ".join(f"{name}={getattr(net, name)!r}" for name in names)
    own = f"metric={metric_name(net.metric)!r}, {options}, parameters={parameters}"
    processes.agree(own, "nets")
    if not net.sharded:
        y = getattr(train, "y", None)
        labels = "" if y is None else f", labels {_checksum(y)}"
        processes.agree(
            f"{len(train)} samples{labels}",
            "training data (give all of them the same, or set sharded=True)",
        )
    tensors = [*net.module_.parameters(), *net.module_.buffers()]
    processes.broadcast_([tensor.data for tensor in tensors])
    net.rng_ = processes.from_first(net.rng_)
    if processes.rank:
        for _, callback in net.callbacks_:
            _leave_to_first(callback)


def _checksum(y: Any) -> int:
    return zlib.crc32(to_numpy(y).tobytes())


def _leave_to_first(callback: object) -> None:
    """Keep a checkpoint of skorch's from writing the same file in every process."""
    if isinstance(callback, TrainEndCheckpoint):
        callback = callback.checkpoint_
    if isinstance(callback, Checkpoint):
        callback.save_model = _save_nothing


def _save_nothing(net: object) -> None:
    """The first process saves."""


def spread(net: AnyLossNet, iterator: Any, training: bool) -> Any:
    """Let an iterator give this process its part of every batch.

    Parameters
    ----------
    net : AnyLossNet
        The net.
    iterator : iterable
        Over all samples, or over those of this process if the net is ``sharded``. One
        that is not ours has to give each process its own samples, in equally many
        batches.
    training : bool
        Whether it is for training; then all processes need the same number of batches.

    Returns
    -------
    iterator : iterable
        The same.
    """
    processes = net.processes_
    if processes.is_alone():
        return iterator
    if isinstance(iterator, Batches):
        if not net.sharded:
            iterator.spread(processes.rank, processes.size)
        elif training:
            n = int(processes.sum(torch.tensor([len(iterator.dataset)])).item())
            iterator.set_total(n)
    if training:
        processes.agree(f"{len(iterator)} batches", "numbers of batches")
    return iterator


def sum_gradients(module: nn.Module, processes: Processes) -> None:
    """Sum the gradients of all processes, in one message for each dtype.

    Parameters
    ----------
    module : torch.nn.Module
        A parameter without a gradient, in this process, has one of 0.
    processes : Processes
        Which ones.
    """
    by_dtype: dict[torch.dtype, list[Tensor]] = {}
    for parameter in module.parameters():
        if parameter.requires_grad:
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            by_dtype.setdefault(parameter.dtype, []).append(parameter.grad)
    for grads in by_dtype.values():
        flat = torch.cat([grad.reshape(-1) for grad in grads])
        processes.sum_(flat)
        parts = flat.split([grad.numel() for grad in grads])
        for grad, part in zip(grads, parts, strict=True):
            grad.copy_(part.view(grad.shape))


def average_buffers(module: nn.Module, processes: Processes) -> None:
    """Average running statistics, such as those of batch norms, over the processes.

    Parameters
    ----------
    module : torch.nn.Module
        Its buffers of floats are set in place; the others stay.
    processes : Processes
        Which ones.
    """
    for buffer in module.buffers():
        if buffer.is_floating_point():
            mean = buffer.detach().clone().contiguous()
            processes.sum_(mean)
            buffer.copy_(mean / processes.size)
