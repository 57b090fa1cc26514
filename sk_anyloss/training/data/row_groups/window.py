"""A window of samples in memory, whose parts are replaced as others are needed."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

__all__ = ["Window"]


class Window:
    """Groups of consecutive samples in one buffer.

    In one buffer, samples of a batch are gathered by one call, as those of an array
    are. Where there is no room for a group, those that were not needed for longest are
    removed.

    Parameters
    ----------
    bounds : ndarray of int of shape (n_groups + 1,)
        Where the groups begin and end.
    width : int
        Numbers of a sample.
    dtype : numpy.dtype
        Their type.
    n_bytes : int
        Size of the buffer; that of the largest group at least.
    read : callable
        ``read(g, out)`` writes the samples of a group.

    Examples
    --------
    >>> import numpy as np
    >>> import torch
    >>> from sk_anyloss.training.data.row_groups.window import Window
    >>> def read(g, out):
    ...     out[:] = 10 * g
    >>> window = Window(np.array([0, 2, 4, 6]), 1, np.dtype("float32"), 16, read)
    >>> out = torch.empty(3, 1)
    >>> window.gather(np.array([5, 0, 3]), out)
    >>> out.ravel().tolist(), window.held
    ([20.0, 0.0, 10.0], [1, 2])
    """

    def __init__(
        self,
        bounds: np.ndarray,
        width: int,
        dtype: np.dtype,
        n_bytes: int,
        read: Callable[[int, np.ndarray], None],
    ) -> None:
        self.bounds, self.read = bounds, read
        #: Several threads may train on the same source.
        self._lock = threading.Lock()
        sizes = np.diff(bounds)
        n = n_bytes // max(1, width * dtype.itemsize)
        # Pages of it that are never written take no memory.
        n = min(max(n, int(sizes.max())), int(bounds[-1]))
        self._buffer = np.empty((n, width), dtype=dtype)
        self._tensor = torch.from_numpy(self._buffer)
        #: First place of each group that is held, the last one needed at the end.
        self._starts: OrderedDict[int, int] = OrderedDict()
        #: What is added to a position to have the place; none for other groups.
        self._shift = np.zeros(len(sizes), dtype=np.int64)
        self._is_held = np.zeros(len(sizes), dtype=bool)

    @property
    def held(self) -> list[int]:
        """Groups in the buffer."""
        return sorted(self._starts)

    @property
    def nbytes(self) -> int:
        """Size of the buffer."""
        return self._buffer.nbytes

    def feature(self, g: int, j: int) -> np.ndarray:
        """A copy of one feature of a group."""
        with self._lock:
            start = self._load(g)
            return self._buffer[start : start + self._size(g), j].copy()

    def gather(self, index: np.ndarray, out: Tensor) -> None:
        """Write samples into a tensor of shape (n, width).

        Parameters
        ----------
        index : ndarray of int of shape (n,)
            Their positions.
        out : tensor
            Of the same dtype, on the CPU.
        """
        of_samples = np.searchsorted(self.bounds, index, side="right") - 1
        with self._lock:
            self._gather(index, of_samples, out)

    def _gather(self, index: np.ndarray, of_samples: np.ndarray, out: Tensor) -> None:
        is_held = self._is_held[of_samples]
        if is_held.all():
            self._touch(of_samples)
            places = torch.from_numpy(index + self._shift[of_samples])
            torch.index_select(self._tensor, 0, places, out=out)
            return
        here, rest = np.flatnonzero(is_held), np.flatnonzero(~is_held)
        if len(here):
            self._copy(here, index, of_samples, out)
        for g in np.unique(of_samples[rest]).tolist():
            self._load(g)
            self._copy(rest[of_samples[rest] == g], index, of_samples, out)

    def _copy(
        self, of_out: np.ndarray, index: np.ndarray, of_samples: np.ndarray, out: Tensor
    ) -> None:
        groups = of_samples[of_out]
        self._touch(groups)
        places = torch.from_numpy(index[of_out] + self._shift[groups])
        found = self._tensor.index_select(0, places)
        out.index_copy_(0, torch.from_numpy(of_out), found)

    def _touch(self, groups: np.ndarray) -> None:
        needed = np.zeros(len(self._is_held), dtype=bool)
        needed[groups] = True
        for g in np.flatnonzero(needed).tolist():
            self._starts.move_to_end(g)

    def _load(self, g: int) -> int:
        if g in self._starts:
            self._starts.move_to_end(g)
            return self._starts[g]
        n = self._size(g)
        while sum(map(self._size, self._starts)) + n > len(self._buffer):
            removed, _ = self._starts.popitem(last=False)
            self._is_held[removed] = False
        start = self._gap(n)
        if start is None:
            start = self._close_gaps()
        # A group that cannot be read is not held.
        self.read(g, self._buffer[start : start + n])
        self._starts[g], self._is_held[g] = start, True
        self._shift[g] = start - self.bounds[g]
        return start

    def _gap(self, n: int) -> int | None:
        """The first free place for n samples in a row."""
        stop = 0
        for start, size in sorted((s, self._size(g)) for g, s in self._starts.items()):
            if start - stop >= n:
                return stop
            stop = start + size
        return stop if len(self._buffer) - stop >= n else None

    def _close_gaps(self) -> int:
        """Move all groups to the front, and return the first free place."""
        stop = 0
        for start, g in sorted((start, g) for g, start in self._starts.items()):
            n = self._size(g)
            self._buffer[stop : stop + n] = self._buffer[start : start + n]
            self._starts[g], self._shift[g] = stop, stop - self.bounds[g]
            stop += n
        return stop

    def _size(self, g: int) -> int:
        return int(self.bounds[g + 1] - self.bounds[g])
