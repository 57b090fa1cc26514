"""Statistics that are averaged over the batches of a training."""

from __future__ import annotations

from torch import Tensor

__all__ = ["MovingAverage"]


class MovingAverage:
    """Exponential moving average of the statistics over the batches of a training.

    Parameters
    ----------
    decay : float
        Decay of the average, in [0, 1); 0 for none.
    """

    decay: float
    moving_average: Tensor | None

    def set_decay(self, decay: float) -> None:
        """Start without an average."""
        if not 0 <= decay < 1:
            raise ValueError(f"decay must lie in [0, 1), got {decay!r}.")
        self.decay, self.moving_average = decay, None

    def average(self, S: Tensor) -> Tensor:
        """The average with earlier batches."""
        if not self.decay:
            return S
        before = self.moving_average
        if before is not None and before.shape == S.shape:
            S = before + (1 - self.decay) * (S - before)
        self.moving_average = S.clone()
        return S

    def reset(self) -> None:
        """Discard the statistics of earlier batches."""
        super().reset()  # type: ignore[misc]
        self.moving_average = None
