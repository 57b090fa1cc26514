"""Tuning inside a fit is done on shuffled, seeded folds, or on those that are given."""

from itertools import pairwise

import numpy as np
import pytest
import sklearn
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    StratifiedGroupKFold,
    StratifiedKFold,
    TimeSeriesSplit,
)

from sk_anyloss import AnyLossClassifierCV
from sk_anyloss.baselines import get_baseline, tuned_threshold

QUICK = {"hidden": [()], "max_epochs": 10, "n_best": 1}


@pytest.fixture(scope="module")
def drifting():
    """Samples in the order of time: the feature drifts, the labels do not."""
    rng = np.random.default_rng(0)
    n = 300
    y = (rng.random(n) < 0.3).astype(int)
    drift = np.linspace(0, 8, n)
    return (rng.normal(size=n) + 2 * y + drift)[:, None], y


def folds_of(model, n):
    """The part of each sample, from the order in which they were left out."""
    part = np.empty(n, dtype=int)
    ends = np.linspace(0, n, model.scores_.shape[1] + 1).astype(int)
    for k, (start, stop) in enumerate(pairwise(ends)):
        part[model.oof_rows_[start:stop]] = k
    return part


def test_an_integer_cv_of_the_search_shuffles(drifting):
    X, y = drifting
    model = AnyLossClassifierCV(cv=5, random_state=0, **QUICK).fit(X, y)
    part = folds_of(model, len(y))
    # Contiguous folds would have nearly all neighbours in one part.
    assert (part[1:] == part[:-1]).mean() < 0.4
    # Each class is spread evenly over the folds.
    assert np.ptp(np.bincount(part[y == 1])) <= 2


def test_the_folds_of_the_search_follow_random_state(drifting):
    X, y = drifting

    def left_out(seed):
        return AnyLossClassifierCV(random_state=seed, **QUICK).fit(X, y).oof_rows_

    np.testing.assert_array_equal(left_out(1), left_out(1))
    assert (left_out(1) != left_out(2)).any()


@pytest.mark.parametrize(
    "model",
    [
        tuned_threshold(LogisticRegression(), "f1", random_state=3),
        get_baseline("bce_threshold", random_state=3),
    ],
)
def test_every_tuned_threshold_shuffles(model):
    assert isinstance(model.cv, StratifiedKFold)
    assert model.cv.shuffle
    assert model.cv.random_state == 3


def test_groups_stay_together_inside_the_search(drifting):
    X, y = drifting
    groups = np.arange(len(y)) // 4
    cv = StratifiedGroupKFold(3, shuffle=True, random_state=0)
    with sklearn.config_context(enable_metadata_routing=True):
        model = AnyLossClassifierCV(cv=cv, random_state=0, **QUICK)
        model.fit(X, y, groups=groups)
    expected = [test for _, test in cv.split(X, y, groups)]
    np.testing.assert_array_equal(model.oof_rows_, np.concatenate(expected))


def test_groups_stay_together_inside_a_tuned_threshold(drifting):
    X, y = drifting
    seen = []

    class Spy(StratifiedGroupKFold):
        def split(self, X, y, groups=None):
            for train, test in super().split(X, y, groups):
                seen.append((groups[train], groups[test]))
                yield train, test

    with sklearn.config_context(enable_metadata_routing=True):
        model = tuned_threshold(LogisticRegression(), random_state=0)
        model.set_params(cv=Spy(3)).fit(X, y, groups=np.arange(len(y)) // 4)
    assert len(seen) == 3
    assert all(len(np.intersect1d(*parts)) == 0 for parts in seen)


def test_the_search_takes_folds_that_look_forward_only(drifting):
    X, y = drifting
    cv = TimeSeriesSplit(4)
    model = AnyLossClassifierCV(cv=cv, random_state=0, **QUICK).fit(X, y)
    expected = np.concatenate([test for _, test in cv.split(X)])
    np.testing.assert_array_equal(model.oof_rows_, expected)
    assert model.oof_rows_.min() > 0  # The first samples are never left out.
