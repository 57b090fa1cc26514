"""The registry of methods, and the check of options."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.metrics import f1_score

from sk_anyloss.compare import (
    built_in,
    compare,
    compare_tables,
    default_methods,
    get_method,
    method_names,
    register_method,
    unregister_method,
)
from sk_anyloss.compare.run.models import make_model
from tests.compare.samples import X, Y


@pytest.mark.parametrize("method", method_names())
def test_every_method_learns_separable_classes(method):
    # Separable, so that resamplers that remove samples keep both classes.
    X, y = make_classification(
        150, 4, weights=[0.8], class_sep=2, flip_y=0, n_clusters_per_class=1,
        random_state=0,
    )  # fmt: skip
    model = make_model(method, "f1", 0, X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        predicted = model.fit(X, y).predict(X)
    assert f1_score(y, predicted) > 0.5
    assert get_method(method).title


def test_default_methods_are_registered():
    assert set(default_methods()) < set(method_names())
    assert "anyloss_cv" in default_methods()


def test_a_registered_method_is_compared():
    register_method("always", lambda metric, seed: DummyClassifier(), "always no")
    try:
        found = compare(X, Y, methods=["always", "logistic"], folds=2)
    finally:
        unregister_method("always")
    assert found.scores()["always"].eq(0).all()


def test_invalid_options_are_refused():
    with pytest.raises(ValueError, match=r"Unknown method 'histgbb'. Did you mean"):
        compare(X, Y, methods=["histgbb"])
    with pytest.raises(ValueError, match=r"methods must hold names, classif.*mean"):
        compare(X, Y, methods=[np.mean])
    with pytest.raises(ValueError, match="no method to compare"):
        compare(X, Y, methods=[])
    with pytest.raises(ValueError, match=r"roc_auc.*is a metric over all thresholds"):
        compare(X, Y, "roc_auc")
    with pytest.raises(ValueError, match=r"folds must be .* at least 2, got 1"):
        compare(X, Y, folds=1)
    with pytest.raises(ValueError, match="same name"):
        compare_tables([built_in(), built_in()])
