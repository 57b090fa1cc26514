"""Limit a fit to one thread, without a change for other Python threads."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
from threadpoolctl import ThreadpoolController

from sk_anyloss._compat import mkl_set_num_threads_local

__all__ = ["single_thread"]

_lock = threading.Lock()
#: How many fits have set torch to one thread, and what it had before the first did.
_inside = 0
_before = 1


@cache
def _controller() -> ThreadpoolController:
    """The libraries that are loaded, looked up once: it takes a millisecond."""
    return ThreadpoolController()


@contextmanager
def single_thread() -> Iterator[None]:
    """Keep the arithmetic of the calling Python thread to one thread.

    The networks are small, so more threads cost more than they bring; and sums that
    are split over threads round differently, so that a fit in a worker process of
    joblib would not be bitwise the fit in the main one. OpenMP keeps the number of
    threads for each thread that calls it, so other Python threads keep theirs.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.training.threads import single_thread
    >>> before = torch.get_num_threads()
    >>> with single_thread():
    ...     torch.get_num_threads()
    1
    >>> torch.get_num_threads() == before
    True
    """
    # Asking makes torch set up this thread, which would undo what follows.
    if torch.get_num_threads() == 1:
        yield
        return
    with _controller().limit(limits=1, user_api="openmp"):
        if torch.get_num_threads() == 1:
            with _single_mkl_thread():
                yield
            return
    with _single_thread_for_all():
        yield


@contextmanager
def _single_mkl_thread() -> Iterator[None]:
    """Keep MKL to one thread too, for the calling Python thread only.

    MKL follows OpenMP's number of threads until somebody calls
    ``torch.set_num_threads``, and from then on its own.
    """
    set_local = mkl_set_num_threads_local(torch.__file__)
    if set_local is None:
        yield
        return
    before = set_local(1)
    try:
        yield
    finally:
        set_local(before)


@contextmanager
def _single_thread_for_all() -> Iterator[None]:
    """Where torch has no OpenMP: one thread until the last of several fits ends."""
    global _inside, _before
    with _lock:
        if _inside == 0:
            _before = torch.get_num_threads()
        torch.set_num_threads(1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                torch.set_num_threads(_before)
