"""Signals that stop a run, as exceptions, so that it can clean up."""

from __future__ import annotations

import functools
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import current_process, parent_process
from types import FrameType
from typing import Any

__all__ = ["Stopped", "end_with_parent", "stopped_by"]


class Stopped(BaseException):
    """A signal was received.

    It is not an ``Exception``, which would be recorded as a failed fit, and not a
    ``KeyboardInterrupt``, on which skorch stops training and keeps the network: a
    partly trained network would count as a finished fold.

    Parameters
    ----------
    number : int
        Number of the signal.

    Examples
    --------
    >>> from sk_anyloss.compare.run.stopping import Stopped
    >>> Stopped(15).number
    15
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def stopped_by(*numbers: int) -> Iterator[None]:
    """Raise :class:`Stopped` in this block when one of these signals is received.

    Parameters
    ----------
    *numbers : int
        Signals. Those that are ignored, as with ``nohup``, stay ignored; outside the
        main thread, where Python handles no signals, nothing changes.

    Examples
    --------
    >>> import signal
    >>> from sk_anyloss.compare.run.stopping import Stopped, stopped_by
    >>> try:
    ...     with stopped_by(signal.SIGTERM):
    ...         signal.raise_signal(signal.SIGTERM)
    ... except Stopped as stopped:
    ...     print(stopped.number)
    15
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in numbers}
    handled = [n for n, old in before.items() if old not in (signal.SIG_IGN, None)]

    def stop(number: int, frame: FrameType | None) -> None:
        for other in handled:  # Nothing may interrupt the clean-up.
            signal.signal(other, signal.SIG_IGN)
        raise Stopped(number)

    show = sys.unraisablehook

    def repeat(unraisable: Any) -> None:
        # Python drops what is raised in a destructor or the callback of a weak
        # reference, where the signal may have arrived.
        if not isinstance(unraisable.exc_value, Stopped):
            show(unraisable)
            return
        number = unraisable.exc_value.number
        signal.signal(number, stop)
        threading.Timer(0.01, _signal_main_thread, [number]).start()

    for number in handled:
        signal.signal(number, stop)
    sys.unraisablehook = repeat
    try:
        yield
    finally:
        sys.unraisablehook = show
        for number in handled:
            signal.signal(number, before[number])


def _signal_main_thread(number: int) -> None:
    """Send a signal to the main thread, where Python handles signals."""
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)


@functools.cache
def end_with_parent() -> None:
    """Let this worker of joblib end within a second when its parent was killed.

    It would finish its fit and wait five minutes for another one. On Windows, where a
    process keeps the number of its parent, it still does.
    """
    parent = parent_process()
    if parent is None or not current_process().name.startswith("LokyProcess"):
        return

    def watch() -> None:
        while os.getppid() == parent.pid:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
