"""Thresholds and offsets that are tuned for a metric."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sk_anyloss import metric_score
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


LIMITS = np.finfo(np.float64)
#: Numbers next to which neighbours, midpoints and sums are rounded or overflow.
ANCHORS = (0.0, 1.0, 5e-324, LIMITS.tiny, 1e16, LIMITS.max / 2, LIMITS.max, np.inf)


@st.composite
def wild_scores(draw):
    """Infinite, huge, adjacent, subnormal and equal numbers, of two precisions."""
    dtype = draw(st.sampled_from([np.float64, np.float32]))
    scores = []
    for _ in range(draw(st.integers(1, 8))):
        with np.errstate(over="ignore"):
            score = dtype(draw(st.sampled_from(ANCHORS)))
            for toward in draw(
                st.lists(st.sampled_from([-np.inf, np.inf]), max_size=2)
            ):
                score = np.nextafter(score, dtype(toward))
        scores.append(score * draw(st.sampled_from([-1, 1])))
    return np.array(scores, dtype)


METRICS = ["f1", "accuracy", "specificity", "gmean", "precision@recall>=0.6"]


@given(wild_scores(), st.integers(0, 2**16), st.sampled_from(METRICS), st.booleans())
def test_a_tuned_threshold_gives_its_value_and_none_gives_more(
    scores, seed, metric, weighted
):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, len(scores))
    weight = rng.integers(1, 4, len(y)) if weighted else None

    def value_at(threshold):
        decided = (scores > threshold).astype(int)
        return metric_score(
            y, decided, metric=metric, pos_label=1, labels=[0, 1], sample_weight=weight
        )

    threshold, value = best_threshold(metric, scores, y, weight)
    assert value_at(threshold) == value
    finite = scores[np.isfinite(scores)]
    with np.errstate(over="ignore"):
        below = np.nextafter(finite, -np.inf)
    others = [0.0, *finite, *below[np.isfinite(below)]]
    assert value >= max(value_at(scores.dtype.type(other)) for other in others)


@given(wild_scores(), st.integers(0, 2**16), st.sampled_from(["micro", "samples"]))
def test_tuned_thresholds_of_labels_give_their_value(scores, seed, average):
    rng = np.random.default_rng(seed)
    z = np.column_stack([scores, rng.permutation(scores)]).astype(float)
    y = rng.integers(0, 2, z.shape)
    metric = f"f1_{average}"
    thresholds, value = best_label_thresholds(metric, z, y)
    assert metric_score(y, (z > thresholds).astype(int), metric=metric) == value


def test_scores_may_be_whole_numbers():
    counts, y = np.array([3, 200, 100, 250], dtype=np.uint8), np.array([0, 1, 0, 1])
    assert best_threshold("f1", counts, y) == (150, 1)
    large = np.array([2**60, 2**60 + 1])
    assert best_threshold("accuracy", large, np.array([0, 0])) == (2.0**60, 1)
