"""Thresholds and offsets that are best for a metric, tuned on given scores."""

from sk_anyloss.metrics.tuning.labels import best_label_thresholds
from sk_anyloss.metrics.tuning.offsets import best_offsets
from sk_anyloss.metrics.tuning.resampling import Tuned, robust
from sk_anyloss.metrics.tuning.thresholds import best_threshold

__all__ = [
    "Tuned",
    "best_label_thresholds",
    "best_offsets",
    "best_threshold",
    "robust",
]
