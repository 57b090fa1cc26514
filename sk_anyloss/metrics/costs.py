"""Metrics of a cost matrix."""

from __future__ import annotations

from dataclasses import dataclass

from sk_anyloss.metrics.arithmetic import Count, ratio

__all__ = ["Savings"]


@dataclass(frozen=True)
class Savings:
    """Cost that is saved, as a fraction of the cost that can be saved.

    ``(C_max - C) / (C_max - C_min)`` with the cost C of the decisions. The value is 1
    if every sample gets its cheaper decision, and 0 if every sample gets the other.

    Parameters
    ----------
    fp, fn : float, default=1
        Cost of a false positive and of a false negative.
    tn, tp : float, default=0
        Cost of a correct decision; a negative cost is a gain.

    Examples
    --------
    >>> from sk_anyloss.metrics import Savings
    >>> Savings(fp=1, fn=20)(90, 4, 1, 5)
    0.887...
    """

    fp: float = 1.0
    fn: float = 1.0
    tn: float = 0.0
    tp: float = 0.0

    def __post_init__(self) -> None:
        costs = (self.fp, self.fn, self.tn, self.tp)
        if not all(-float("inf") < cost < float("inf") for cost in costs):
            raise ValueError(f"Costs must be finite numbers, got {self!r}.")
        if self.fp == self.tn and self.fn == self.tp:
            raise ValueError(
                f"{self!r} costs the same whatever is decided; give a cost to false "
                "positives or to false negatives."
            )

    def __call__(self, tn: Count, fp: Count, fn: Count, tp: Count) -> Count:
        # In each class, the samples with the cheaper decision save the difference.
        negatives, positives = self.fp - self.tn, self.fn - self.tp
        saved = abs(negatives) * (tn if negatives > 0 else fp)
        saved = saved + abs(positives) * (tp if positives > 0 else fn)
        most = abs(negatives) * (tn + fp) + abs(positives) * (fn + tp)
        return ratio(saved, most)
