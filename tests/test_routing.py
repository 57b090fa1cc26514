"""Weights, groups and names of features pass through scikit-learn's tools."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_anyloss import AnyLossClassifier, AnyLossClassifierCV

X, Y = make_classification(120, 5, weights=[0.8], class_sep=2, random_state=0)
WEIGHT = np.random.default_rng(0).lognormal(size=len(Y))
GROUPS = np.arange(len(Y)) // 4
QUICK = {"lr": 0.05, "max_epochs": 10, "random_state": 0}


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def weighted():
    model = AnyLossClassifier(**QUICK).set_fit_request(sample_weight=True)
    return model.set_score_request(sample_weight=True)


def test_weights_pass_through_a_cross_validated_pipeline(routing):
    scaler = StandardScaler().set_fit_request(sample_weight=False)
    found = cross_validate(
        make_pipeline(scaler, weighted()), X, Y, params={"sample_weight": WEIGHT},
        cv=2, return_estimator=True, return_indices=True,
    )  # fmt: skip
    for fold, (scaler, _) in enumerate(found["estimator"]):
        (train, test) = (found["indices"][part][fold] for part in ("train", "test"))
        Z = scaler.transform(X)
        alone = clone(weighted()).fit(Z[train], Y[train], sample_weight=WEIGHT[train])
        score = alone.score(Z[test], Y[test], sample_weight=WEIGHT[test])
        assert found["test_score"][fold] == pytest.approx(score, abs=1e-9)
        assert score != alone.score(Z[test], Y[test])


def test_weights_pass_through_a_grid_search(routing):
    search = GridSearchCV(weighted(), {"hidden": [(2,), (4,)]}, cv=2)
    search.fit(X, Y, sample_weight=WEIGHT)
    expected = clone(search.best_estimator_).fit(X, Y, sample_weight=WEIGHT)
    np.testing.assert_array_equal(search.predict(X), expected.predict(X))


def test_groups_pass_through_a_cross_validated_pipeline(routing):
    cv = StratifiedGroupKFold(2)
    search = AnyLossClassifierCV(candidates=[{"hidden": ()}], cv=cv, max_epochs=3)
    found = cross_validate(
        make_pipeline(StandardScaler(), search), X, Y, params={"groups": GROUPS},
        cv=cv, return_estimator=True, return_indices=True,
    )  # fmt: skip
    for train, (_, search) in zip(
        found["indices"]["train"], found["estimator"], strict=True
    ):
        inner = cv.split(train, Y[train], GROUPS[train])
        expected = np.concatenate([test for _, test in inner])
        np.testing.assert_array_equal(search.oof_rows_, expected)


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_names_of_features_arrive_with_set_output(output):
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = make_pipeline(StandardScaler(), AnyLossClassifier(**QUICK))
    model.set_output(transform=output).fit(frame, Y)
    assert model[-1].feature_names_in_.tolist() == list("abcde")
    np.testing.assert_array_equal(
        model.predict(frame), model[-1].predict(model[:-1].transform(frame))
    )
