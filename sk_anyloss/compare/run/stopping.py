"""Signals that stop a run: raised where it can end its processes and files."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Stopped", "stopped_by"]


class Stopped(BaseException):
    """A signal has come.

    No ``Exception``, which a failed fit is recorded for, and no
    ``KeyboardInterrupt``, by which skorch ends a training and keeps the network: a
    network trained in part would count as a finished fold.

    Parameters
    ----------
    number : int
        Of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def stopped_by(*numbers: int) -> Iterator[None]:
    """Raise :class:`Stopped` in this block when one of these signals comes.

    Parameters
    ----------
    *numbers : int
        Signals. Those that are ignored, as under ``nohup``, stay ignored; outside the
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
    ours = [n for n, old in before.items() if old not in (signal.SIG_IGN, None)]

    def stop(number: int, frame: FrameType | None) -> None:
        for other in ours:  # Nothing may interrupt what is then tidied up.
            signal.signal(other, signal.SIG_IGN)
        raise Stopped(number)

    for number in ours:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])
