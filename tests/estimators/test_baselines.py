"""The baselines: each by name, the same network, resampled inside the folds."""

import numpy as np
import pytest
import scipy.sparse
from imblearn.pipeline import Pipeline
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV

from sk_anyloss import AnyLossClassifier, metric_scorer
from sk_anyloss.baselines import baseline_names, get_baseline

every_baseline = pytest.mark.parametrize("name", baseline_names())


@every_baseline
def test_each_learns_and_repeats(name, imbalanced):
    X, y = imbalanced
    model = get_baseline(name, max_epochs=50, random_state=0)
    first, again = clone(model).fit(X, y), clone(model).fit(X, y)
    assert metric_scorer("f1")(first, X, y) == first.score(X, y) > 0.6
    assert (again.predict(X) == first.predict(X)).all()


# One of each kind: the network itself, behind a resampler, and with a threshold.
@pytest.mark.parametrize("name", ["bce", "bce_smote", "bce_under", "bce_threshold"])
def test_they_take_sparse_rows_and_labels_of_any_type(name, imbalanced):
    X, y = imbalanced
    model = get_baseline(name, max_epochs=3, random_state=0)
    predicted = model.fit(scipy.sparse.csr_array(X), np.array(["n", "y"])[y]).predict(X)
    assert set(predicted) <= {"n", "y"}


def network(model):
    if isinstance(model, Pipeline):
        return model[-1]
    return model.estimator if isinstance(model, TunedThresholdClassifierCV) else model


@every_baseline
def test_each_is_the_same_network_and_takes_its_parameters(name):
    classifier = network(get_baseline(name, metric="gmean", hidden=(7,), max_epochs=3))
    assert isinstance(classifier, AnyLossClassifier)
    assert classifier.loss == ("mse" if name == "mse" else "bce")
    assert (classifier.metric, classifier.hidden, classifier.max_epochs) == (
        "gmean",
        (7,),
        3,
    )


@pytest.mark.parametrize("name", ["bce_smote", "bce_over", "bce_under"])
def test_resampling_touches_training_rows_only(name, imbalanced):
    X, y = imbalanced
    model = get_baseline(name, max_epochs=3, random_state=0).fit(X, y)
    assert model.predict(X).shape == y.shape
    _, resampled = model["resample"].fit_resample(X, y)
    assert resampled.mean() == 0.5


def test_parameters_of_every_step_can_be_searched(imbalanced):
    X, y = imbalanced
    model = get_baseline("bce_smote", max_epochs=3, random_state=0)
    grid = {"resample__sampling_strategy": [0.5, 1.0], "classifier__lr": [0.01, 0.05]}
    search = GridSearchCV(model, grid, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_unknown_baseline():
    with pytest.raises(ValueError, match=r"Did you mean 'bce_smote'.*bce_under"):
        get_baseline("bce_smot")
