"""The search for three classes or more, and for several labels."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.metrics import f1_score

from sk_anyloss import AnyLossClassifierCV
from sk_anyloss.search.displays import SettingsDisplay
from tests.tolerances import SAME_MODEL


def search(metric="f1", **params):
    defaults = {"hidden": [(), (6,)], "cv": 3, "max_epochs": 20, "random_state": 0}
    return AnyLossClassifierCV(metric, **{**defaults, **params})


@pytest.fixture(scope="module")
def fitted():
    X, y = make_classification(
        450, 6, n_informative=4, n_classes=3, weights=[0.75, 0.08], random_state=0
    )
    y = np.array(["fine", "fraud", "late"])[y]
    return search().fit(X, y), X, y


def test_the_ensemble_of_three_classes_is_the_mean_of_its_members(fitted):
    model, X, y = fitted
    assert (model.target_type_, model.metric_) == ("multiclass", "f1_macro")
    proba = model.predict_proba(X)
    total = 0
    for member, offset, weight in zip(
        model.estimators_,
        model.estimator_offsets_,
        model.estimator_weights_,
        strict=True,
    ):
        tilted = member.predict_proba(X) * np.exp(-offset)
        total = total + weight * tilted / tilted.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(proba, total, **SAME_MODEL)
    assert (model.classes_[proba.argmax(axis=1)] == model.predict(X)).all()
    assert model.score(X, y) > 0.6


def test_networks_on_the_metric_have_no_offsets(fitted):
    model, _, y = fitted
    results = model.cv_results_
    for params, threshold in zip(results["params"], results["threshold"], strict=True):
        has_offsets = "loss" in params or "estimator" in params
        assert np.ndim(threshold) == has_offsets
    decided = model.classes_[model.oof_proba_.argmax(axis=1)]
    assert f1_score(y[model.oof_rows_], decided, average="macro") > 0.5
    assert 0.4 < model.best_score_ < 1
    SettingsDisplay.from_estimator(model)


def test_trees_find_what_networks_cannot():
    rng = np.random.default_rng(0)
    X, X_test = rng.uniform(size=(2, 600, 3))
    y, y_test = ((24 * x[:, 0]).astype(int) % 3 for x in (X, X_test))
    model = search(hidden=[()]).fit(X, y)
    assert "estimator" in model.best_params_
    assert model.cv_results_["threshold"][model.best_index_].shape == (3,)
    assert model.score(X_test, y_test) > 0.8  # Networks alone have less than 0.5.


def test_trees_are_fitted_to_many_samples_of_which_one_is_of_a_class():
    X = np.linspace(0, 1, 10_500)[:, None]
    y = (3 * X[:, 0]).astype(int) % 3
    y[[0, -1]] = 3
    rows = np.arange(len(y))
    model = search(hidden=[()], max_epochs=1, cv=[(rows[:-400], rows[-400:])])
    model.fit(X, y)
    assert set(model.cv_results_["error"]) == {""}


def test_a_floor_is_met_out_of_fold():
    X, y = make_classification(
        450, 6, n_informative=4, n_classes=3, weights=[0.75, 0.08], random_state=0
    )
    model = search("f1_macro@recall[1]>=0.8", hidden=[()]).fit(X, y)
    outputs = np.log(model.oof_proba_) - model.decision_.offset
    of_rare = model.oof_target_ == 1
    assert (outputs.argmax(axis=1)[of_rare] == 1).mean() >= 0.8


def test_rare_classes_are_missing_in_some_folds_and_networks_have_them_all():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    y[:2], y[2] = 7, 9  # Two members, and one.
    model = search(hidden=[()], cv=5, max_epochs=5).fit(X, y)
    assert model.classes_.tolist() == [0, 1, 2, 7, 9]
    assert model.predict_proba(X).shape == (200, 5)
    assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("metric", ["f1", "f1_micro", "f1_samples"])
def test_several_labels_have_a_threshold_each(metric):
    X, Y = make_multilabel_classification(300, 8, n_classes=4, random_state=0)
    model = search(metric, hidden=[()], tune_threshold=True).fit(X, Y)
    assert model.threshold_.shape == (4,)
    assert model.predict(X).shape == model.predict_proba(X).shape == Y.shape
    assert ((model.predict_proba(X) > model.threshold_) == model.predict(X)).all()
    average = metric.removeprefix("f1_") if "_" in metric else "macro"
    expected = f1_score(Y, model.predict(X), average=average, zero_division=0)
    assert model.score(X, Y) == pytest.approx(expected)
    assert model.best_score_ > 0.5


def test_metrics_over_thresholds_are_refused_for_three_classes():
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.raises(ValueError, match="Only binary classification"):
        search("roc_auc").fit(X, np.arange(60) % 3)


def test_more_folds_than_samples_of_any_class_are_refused():
    X, y = np.arange(12.0).reshape(6, 2), np.array([0, 0, 1, 1, 2, 2])
    with pytest.raises(ValueError, match=r"cv=3 folds .* the largest one has 2"):
        search().fit(X, y)
