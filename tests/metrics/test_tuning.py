"""Thresholds and offsets that are tuned for a metric."""

import numpy as np
import pytest

from sk_anyloss.metrics import Average
from sk_anyloss.metrics.multilabel import LabelAverage
from sk_anyloss.metrics.tuning import (
    best_label_thresholds,
    best_offsets,
    best_threshold,
)

rng = np.random.default_rng(0)


def own_precision(tn, fp, fn, tp):
    """Not a number where nothing is predicted positive."""
    with np.errstate(invalid="ignore"):
        return tp / (tp + fp)


@pytest.mark.parametrize(
    ("tune", "metric", "shape"),
    [
        (best_threshold, own_precision, (30,)),
        (best_label_thresholds, LabelAverage(own_precision, "micro"), (30, 2)),
        (best_label_thresholds, LabelAverage(own_precision, "samples"), (30, 2)),
        (best_offsets, own_precision, (30, 2)),
        (best_offsets, Average(own_precision, "macro"), (30, 3)),
    ],
)
def test_a_metric_that_is_not_a_number_is_refused_by_its_name(tune, metric, shape):
    n_classes = shape[-1] if tune is best_offsets else 2
    y = rng.integers(0, n_classes, 30 if tune is best_offsets else shape)
    with pytest.raises(ValueError, match=r"own_precision.* is not a number \(NaN\)"):
        tune(metric, rng.normal(size=shape), y)
