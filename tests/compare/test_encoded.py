"""Features are encoded once a fold, and not at all where they are numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from skrub import TableVectorizer

from sk_anyloss.compare import compare


@pytest.fixture
def fits(monkeypatch):
    """The number of samples of every fit of an encoder."""
    sizes = []
    fit_transform = TableVectorizer.fit_transform

    def count(self, X, y=None):
        sizes.append(len(X))
        return fit_transform(self, X, y)

    monkeypatch.setattr(TableVectorizer, "fit_transform", count)
    return sizes


def samples():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=60), "b": rng.integers(0, 9, 60)})
    return X, (X["a"] > 0.5).astype(int)


def test_methods_share_the_encoded_samples_of_a_fold(fits):
    X, y = samples()
    X["c"] = np.where(X["b"] > 4, "many", "few")
    methods = ["logistic", "logistic_balanced"]
    found = compare(X, y, methods=methods, folds=3)
    assert fits == [40, 40, 40]
    # Another seed has other folds, of which nothing is known yet.
    compare(X, y, methods=methods, folds=3, seed=1)
    assert len(fits) == 6
    alone = compare(X, y, methods=methods[1:], folds=3)
    column = methods[1]
    pd.testing.assert_series_equal(found.scores()[column], alone.scores()[column])


def test_numbers_are_not_encoded(fits):
    X, y = samples()
    X["d"] = pd.array([None, 2, 5] * 20, dtype="Int64")
    X["e"] = X["b"] > 4
    found = compare(X, y, methods=["logistic"], folds=2)
    assert fits == []
    assert not found.failures()
    assert len(found.best_estimator().predict(X)) == 60
