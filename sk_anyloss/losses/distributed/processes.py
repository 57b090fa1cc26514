"""Sums over the processes of :mod:`torch.distributed`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

__all__ = ["ProcessGroup", "Processes"]

#: Which processes a batch is spread over: all of them, those of a group of
#: :mod:`torch.distributed`, or None for this process alone.
ProcessGroup: TypeAlias = "dist.ProcessGroup | Literal['world'] | None"

#: A tensor, or a tuple of tensors and tuples again.
Tensors = TypeVar("Tensors", bound=Any)

_IS_AVAILABLE = dist.is_available()
#: Bytes of all processes together up to which each of them gathers a message and sums
#: it: gloo's ring goes round once then, and twice for a sum.
GATHERED = 2**18
_DESTROYED = (
    "The process group that this loss sums over was destroyed; call it before "
    "destroy_process_group(), or set process_group=None to go on with the samples of "
    "this process alone."
)


class Processes:
    """The processes that the samples of a batch are spread over.

    Parameters
    ----------
    group : 'world', torch.distributed.ProcessGroup or None, default='world'
        ``'world'`` is all processes once :mod:`torch.distributed` is initialised, and
        this one alone before; a group is that of
        :func:`torch.distributed.new_group`; None is this process alone.
    gradients : {'mean', 'sum'}, default='mean'
        What happens to the gradients of the processes after ``backward``: a mean, as
        by ``DistributedDataParallel`` and FSDP, or a sum.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses.distributed.processes import Processes
    >>> processes = Processes()
    >>> processes.is_alone(), processes.size, processes.rank
    (True, 1, 0)
    >>> processes.sum(torch.ones(2))
    tensor([1., 1.])
    """

    def __init__(self, group: ProcessGroup = "world", gradients: str = "mean") -> None:
        self.group = _check_group(group)
        if gradients not in ("mean", "sum"):
            raise ValueError(
                "gradients of processes are followed by their 'mean' (as in "
                f"DistributedDataParallel and FSDP) or their 'sum'; got {gradients!r}."
            )
        self.gradients = gradients
        #: What has been found to be the same in all processes.
        self._agreed: set[object] = set()

    def is_alone(self) -> bool:
        """Whether there is nothing to sum over; this is asked at every batch."""
        if self.group is None or not _IS_AVAILABLE:
            return True
        if not dist.is_initialized():
            if not self._agreed and self.group == "world":
                return True
            raise RuntimeError(_DESTROYED)
        if self._group is not None:
            try:
                dist.get_process_group_ranks(self._group)
            except KeyError:  # Messages would still be sent.
                raise RuntimeError(_DESTROYED) from None
        return self._members().size() == 1

    @property
    def size(self) -> int:
        """Number of processes."""
        return 1 if self._is_local() else self._members().size()

    @property
    def rank(self) -> int:
        """Number of this process among them."""
        return 0 if self._is_local() else self._members().rank()

    @property
    def gradient_factor(self) -> int:
        """What gradients of the local samples are multiplied with.

        The gradient of the whole loss is the sum over the processes; where a mean
        follows, it has to be the sum of as many times more.
        """
        return self.size if self.gradients == "mean" else 1

    @property
    def _group(self) -> dist.ProcessGroup | None:
        return None if isinstance(self.group, str) else self.group

    def _members(self) -> dist.ProcessGroup:
        """The group, once there is one. Asking it is faster than asking torch."""
        group = self._group or dist.group.WORLD
        assert group is not None
        return group

    def _is_local(self) -> bool:
        return self.group is None or not _IS_AVAILABLE or not dist.is_initialized()

    def sum(self, values: Tensors, what: object = "") -> Tensors:
        """The sum over the processes, the same in all of them, in one message.

        Parameters
        ----------
        values : tensor or tuple of tensors
            What this process has. All have the same shapes and dtypes.
        what : object, default=''
            What is summed; its ``repr`` has to be the same in all processes, which is
            checked at the first sum of its kind.

        Returns
        -------
        values : tensor or tuple of tensors
            The sums, as new tensors without a gradient.
        """
        if self.is_alone():
            return values
        tensors = [tensor.detach() for tensor in _tensors(values)]
        shapes = tuple((tuple(tensor.shape), tensor.dtype) for tensor in tensors)
        key = type(what), shapes
        if key not in self._agreed:
            self.agree(f"{what!r} of shape {shapes}", "losses, metrics or classes")
            self._agreed.add(key)
        if len(tensors) == 1:
            (own,) = tensors
            found = self._gathered(own)
            if found is None:
                found = own.clone(memory_format=torch.contiguous_format)
                dist.all_reduce(found, group=self._group)
            return _like(values, iter((found,)))
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        self.sum_(flat)
        parts = iter(flat.split([tensor.numel() for tensor in tensors]))
        return _like(values, parts)

    def sum_(self, tensor: Tensor) -> None:
        """Replace a contiguous tensor by its sum over the processes."""
        if self.is_alone():
            return
        found = self._gathered(tensor)
        if found is None:
            dist.all_reduce(tensor, group=self._group)
        else:
            tensor.copy_(found)

    def _gathered(self, tensor: Tensor) -> Tensor | None:
        """The sum of a short message, equal in all processes to the last bit."""
        size = self._members().size()
        is_long = tensor.numel() * tensor.element_size() * size > GATHERED
        if is_long or tensor.device.type != "cpu":
            return None
        with torch.inference_mode(False):  # torch 2.4 writes from another thread.
            everyone = tensor.new_empty((size, *tensor.shape))
        dist.all_gather([*everyone.unbind()], tensor.contiguous(), group=self._group)
        return everyone.sum(0, dtype=tensor.dtype)

    def agree(self, text: str, kind: str) -> None:
        """Raise an error in all processes unless they have the same.

        Parameters
        ----------
        text : str
            What this process has. Addresses of objects in it are left out.
        kind : str
            What it is, for the message.
        """
        own = re.sub(r" at 0x[0-9a-fA-F]+", "", text)
        for other, found in enumerate(texts := self.gather(own)):
            if found != texts[0]:
                raise ValueError(
                    f"Processes have different {kind}: process 0 has {texts[0]}, "
                    f"process {other} has {found}."
                )

    def gather(self, value: Any) -> list[Any]:
        """An object of each process, in their order, for all of them."""
        if self.is_alone():
            return [value]
        values: list[Any] = [None] * self.size
        with torch.inference_mode(False):  # As in _gathered.
            dist.all_gather_object(values, value, group=self._group)
        return values

    def from_first(self, value: Any) -> Any:
        """The object of the first process, for all of them."""
        if self.is_alone():
            return value
        values = [value]
        first = dist.get_global_rank(self._members(), 0)
        dist.broadcast_object_list(values, src=first, group=self._group)
        return values[0]

    def broadcast_(self, tensors: Sequence[Tensor]) -> None:
        """Replace tensors by those of the first process."""
        if self.is_alone():
            return
        first = dist.get_global_rank(self._members(), 0)
        for tensor in tensors:
            own = tensor.contiguous()
            dist.broadcast(own, src=first, group=self._group)
            tensor.copy_(own)

    def barrier(self) -> None:
        """Wait until all processes are here."""
        if not self.is_alone():
            dist.barrier(group=self._group)

    def reset(self) -> None:
        """Check anew whether all processes have the same, before a new training."""
        self._agreed.clear()

    def __deepcopy__(self, memo: dict[int, Any]) -> Processes:
        # A group is a connection, of which there are no copies.
        copied = Processes(self.group, self.gradients)
        memo[id(self)] = copied
        return copied

    def __getstate__(self) -> dict[str, Any]:
        # In the job that loads it there is no such group.
        group = None if self.group is None else "world"
        return {"group": group, "gradients": self.gradients, "_agreed": set()}

    def __repr__(self) -> str:
        return f"Processes({self.group!r}, {self.gradients!r})"


def _check_group(group: Any) -> Any:
    if group is None or (isinstance(group, str) and group == "world"):
        return group
    if _IS_AVAILABLE and isinstance(group, dist.ProcessGroup):
        return group
    raise TypeError(
        "process_group must be 'world', None or a group that this process belongs to, "
        f"from torch.distributed.new_group(); got {group!r}."
    )


def _tensors(values: Any) -> Iterator[Tensor]:
    if isinstance(values, tuple):
        for value in values:
            yield from _tensors(value)
    else:
        yield values


def _like(values: Any, parts: Iterator[Tensor]) -> Any:
    if isinstance(values, tuple):
        return type(values)(_like(value, parts) for value in values)
    return next(parts).view(values.shape)
