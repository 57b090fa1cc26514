"""Signals stop a run wherever they arrive."""

import signal
import time
import weakref

import pytest

from sk_anyloss.compare.run.stopping import Stopped, stopped_by


class Owner:
    pass


def wait_after_a_signal_in_a_callback():
    """Receive a signal where Python drops exceptions, and go on for a while."""
    owner = Owner()
    reference = weakref.ref(owner, lambda _: signal.raise_signal(signal.SIGTERM))
    del owner
    assert reference() is None
    end = time.monotonic() + 10
    while time.monotonic() < end:
        time.sleep(0.01)


def test_a_signal_in_the_callback_of_a_weak_reference_is_not_lost():
    with pytest.raises(Stopped) as stopped, stopped_by(signal.SIGTERM):
        wait_after_a_signal_in_a_callback()
    assert stopped.value.number == signal.SIGTERM


def test_handlers_are_those_of_before_after_the_block():
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(Stopped), stopped_by(signal.SIGTERM):
        signal.raise_signal(signal.SIGTERM)
    assert signal.getsignal(signal.SIGTERM) is before
