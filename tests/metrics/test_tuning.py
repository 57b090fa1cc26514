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


def test_infinite_scores_are_thresholded_like_the_largest_and_the_smallest():
    y = np.array([0, 1, 0, 1])
    for scores in ([-np.inf, np.inf] * 2, [-np.inf, 2.0, 1.0, np.inf]):
        z = np.array(scores)
        threshold, value = best_threshold("f1", z, y)
        assert value == 1
        assert ((z > threshold) == y).all()
        assert np.isfinite(threshold)
        thresholds, value = best_label_thresholds("f1_micro", z[:, None], y[:, None])
        assert value == 1
        assert thresholds == pytest.approx([threshold])
