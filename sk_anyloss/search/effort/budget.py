"""How much work a search does, for a number of samples and within a time."""

from __future__ import annotations

import math
import time

from sk_anyloss.training.data.batches import FULL_BATCH_SAMPLES

__all__ = ["Clock", "OutOfTimeError", "passes", "samples_in_batch"]

#: Passes over few samples, and the fewest over many.
MOST_PASSES, FEWEST_PASSES = 25, 20
#: Samples times passes that a network is trained on before it gets fewer passes, and
#: the most of them.
BUDGET, MOST_WORK = 250_000, 5_000_000
#: The most samples in a batch.
MAX_BATCH = 1024
#: The least share of its epochs that a network is trained in if time is short.
LEAST_SHARE = 0.2


def passes(n_samples: int) -> int:
    """Passes over the samples: fewer for many, which bring more steps in each.

    Parameters
    ----------
    n_samples : int
        Number of samples.

    Returns
    -------
    max_epochs : int
        25 for up to 10,000 samples; then as many as make 250,000 samples in all, and no
        fewer than 20, unless these were more than 5,000,000 samples.

    Examples
    --------
    >>> from sk_anyloss.search.effort.budget import passes
    >>> [passes(n) for n in (1_000, 10_000, 50_000, 1_000_000)]
    [25, 25, 20, 5]
    """
    wanted = math.ceil(BUDGET / n_samples)
    most = max(1, math.ceil(MOST_WORK / n_samples))
    return min(max(wanted, FEWEST_PASSES), MOST_PASSES, most)


def samples_in_batch(n_samples: int) -> int:
    """Samples in a batch: a twelfth, no fewer than 64 and no more than 1,024.

    Twelve steps in an epoch are half as many as a single fit takes: as good, measured,
    and faster.

    Parameters
    ----------
    n_samples : int
        Number of samples.

    Returns
    -------
    batch_size : int
        Samples in a batch.

    Examples
    --------
    >>> from sk_anyloss.search.effort.budget import samples_in_batch
    >>> [samples_in_batch(n) for n in (100, 1_200, 50_000)]
    [64, 100, 1024]
    """
    return max(FULL_BATCH_SAMPLES, min(math.ceil(n_samples / 12), MAX_BATCH))


class OutOfTimeError(Exception):
    """A candidate would take longer than the time that is left."""


class Clock:
    """The time of one candidate, or of candidates that are trained together.

    Parameters
    ----------
    seconds : float, default=None
        Time that is left; None for any.
    is_first : bool, default=False
        Whether there is nothing to fall back on, so that nothing is dropped.

    Examples
    --------
    >>> from sk_anyloss.search.effort.budget import Clock
    >>> Clock(100.0).epochs(50, fixed=2.0, of_one=4.0)  # Of 50 epochs, 23 fit in.
    23
    >>> Clock(100.0).epochs(50, fixed=2.0, of_one=1.0)
    50
    >>> Clock(100.0).epochs(50, fixed=2.0, of_one=20.0)
    Traceback (most recent call last):
    ...
    sk_anyloss.search.effort.budget.OutOfTimeError: its networks would take ...
    """

    def __init__(self, seconds: float | None = None, is_first: bool = False) -> None:
        self._start = time.perf_counter()
        self._seconds = seconds
        self.is_first = is_first

    @property
    def spent(self) -> float:
        """Seconds since it was made."""
        return time.perf_counter() - self._start

    @property
    def left(self) -> float | None:
        """Seconds that are left; None for any number."""
        return None if self._seconds is None else self._seconds - self.spent

    @property
    def is_limited(self) -> bool:
        """Whether a candidate is dropped for which the time does not suffice."""
        return self._seconds is not None and not self.is_first

    def epochs(self, wanted: int, fixed: float, of_one: float) -> int:
        """Epochs that can be trained in the time that is left.

        Parameters
        ----------
        wanted : int
            Number of epochs without a limit.
        fixed : float
            Seconds that a training takes beside its epochs.
        of_one : float
            Seconds of an epoch.

        Returns
        -------
        epochs : int
            As many as wanted, or fewer. Less than a fifth of them is no training, and
            raises ``OutOfTimeError``, unless there is nothing to fall back on.
        """
        left = self.left
        if left is None:
            return wanted
        fitting = int((0.98 * left - fixed) / max(of_one, 1e-9))
        least = max(1, math.ceil(LEAST_SHARE * wanted))
        if fitting < least and not self.is_first:
            raise OutOfTimeError(
                f"its networks would take about {fixed + wanted * of_one:.1f} s and "
                f"{max(left, 0):.1f} s were left."
            )
        return min(wanted, max(fitting, least))

    def check_left(self) -> None:
        """Raise ``OutOfTimeError`` if no time is left, as where a process came late."""
        left = self.left
        if self.is_limited and left is not None and left <= 0:
            raise OutOfTimeError("time was over before it was begun.")

    def check(self, needed: float, reason: str) -> None:
        """Raise ``OutOfTimeError`` if a candidate will take too long.

        Parameters
        ----------
        needed : float
            Seconds that it needs from now on.
        reason : str
            What says so, as the beginning of the message up to the seconds.
        """
        left = self.left
        if self.is_limited and left is not None and needed > left:
            raise OutOfTimeError(
                f"{reason} {self.spent + needed:.1f} s and "
                f"{self.spent + left:.1f} s were left."
            )
