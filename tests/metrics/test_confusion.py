"""The soft confusion matrix."""

import numpy as np
import pytest
import sklearn.metrics
import torch
from hypothesis import given
from hypothesis import strategies as st

from sk_anyloss.metrics.confusion import confusion, weighted_sum


@given(
    samples=st.lists(
        st.tuples(st.booleans(), st.booleans(), st.integers(1, 5)), min_size=1
    )
)
def test_hard_decisions_give_scikit_learns_confusion_matrix(samples):
    y, h, w = np.array(samples, dtype=float).T
    expected = sklearn.metrics.confusion_matrix(y, h, labels=[0, 1], sample_weight=w)
    assert list(confusion(h, 1 - h, y, w)) == expected.ravel().tolist()


def test_integer_weights_equal_repeated_samples():
    rng = np.random.default_rng(0)
    h, y, w = rng.random(20), rng.integers(0, 2, 20), rng.integers(0, 4, 20)
    weighted = confusion(h, 1 - h, y, w)
    h, y = h.repeat(w), y.repeat(w)
    assert weighted == pytest.approx(confusion(h, 1 - h, y))


def test_leading_axes_are_kept():
    h = torch.rand(3, 2, 10)
    y = torch.randint(0, 2, (10,))
    counts = confusion(h, 1 - h, y)
    assert all(count.shape == (3, 2) for count in counts)
    torch.testing.assert_close(counts.tp[1, 0], confusion(h[1, 0], 1 - h[1, 0], y).tp)


def test_weighted_sum():
    assert weighted_sum(np.array([1.0, 2.0])) == 3
    assert weighted_sum(np.array([1.0, 2.0]), np.array([2.0, 0.5])) == 3
