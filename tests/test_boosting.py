"""Gradient boosting on the metric: its objective, and the classifier around it."""

import pickle

import numpy as np
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

from sk_anyloss import AnyLossClassifierCV
from sk_anyloss.boosting import MetricBoostingClassifier, MetricObjective
from sk_anyloss.losses.steps import Identity
from sk_anyloss.metrics import get_metric

X, Y = make_classification(500, 6, weights=[0.9], flip_y=0.05, random_state=0)
WORDS = np.array(["fraud", "other"])[1 - Y]
WEIGHT = 1.0 + np.arange(500) % 3


def trees(**params):
    given = {"n_estimators": 30, "n_jobs": 1, "verbosity": -1, "random_state": 0}
    return LGBMClassifier(**{**given, **params})


CONFIGURATIONS = [MetricBoostingClassifier(trees(min_child_samples=2))]


def expected_to_fail(estimator):
    why = "LightGBM places the edges of its bins without weights"
    kinds = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{k}_data": why for k in kinds}


@parametrize_with_checks(CONFIGURATIONS, expected_failed_checks=expected_to_fail)
@pytest.mark.filterwarnings("ignore:Converting data to scipy sparse matrix")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("metric", ["f1", "mcc"])
def test_the_gradient_is_that_of_the_soft_metric(metric):
    rng = np.random.default_rng(0)
    scores, weight = rng.normal(size=60), rng.uniform(0.5, 2, 60)
    y = np.arange(60) % 4 == 0

    def soft(scores):
        p = 1 / (1 + np.exp(-scores))
        sums = [(weight * a * b).sum() for a in (~y, y) for b in (1 - p, p)]
        return get_metric(metric)(*sums)

    gradient, hessian = MetricObjective(metric, Identity())(y, scores, weight)
    steps = 1e-6 * np.eye(60)
    numeric = np.array([soft(scores - e) - soft(scores + e) for e in steps]) / 2e-6
    # It is scaled to the Hessian of log-loss.
    np.testing.assert_allclose(gradient, 0.25 * numeric / abs(numeric).mean(), 1e-5)
    np.testing.assert_allclose(hessian, np.maximum(abs(gradient), 0.0025))


def test_a_metric_that_no_decision_changes_has_no_gradient():
    gradient, hessian = MetricObjective("recall")(np.zeros(4), np.zeros(4))
    assert (gradient == 0).all()
    assert (hessian > 0).all()


def test_trees_on_the_metric_continue_those_on_log_loss():
    model = MetricBoostingClassifier(trees(), "f1", warm_up=10).fit(X, Y)
    assert model.estimator_.booster_.num_trees() == 30
    start = trees(n_estimators=10).fit(X, Y).predict(X, raw_score=True)
    booster = model.estimator_.booster_
    found = booster.predict(X, raw_score=True, num_iteration=10)
    np.testing.assert_allclose(found, start)
    # They decide at 0.5 for the metric: more recall than log-loss for rare positives.
    plain = trees(n_estimators=12).fit(X, Y).predict(X)
    assert model.predict(X).sum() > plain.sum()
    only_log_loss = trees(n_estimators=12, learning_rate=0.1)
    few = MetricBoostingClassifier(only_log_loss, "f1", warm_up=11).fit(X, Y)
    assert few.score(X, Y) < model.score(X, Y)


def test_weights_count_as_repeated_samples():
    options = {"min_child_samples": 1, "min_split_gain": 1e-9, "max_bin": 16}
    model = MetricBoostingClassifier(trees(**options), "f1", warm_up=0, L=5)
    X16 = np.round(X).clip(-2, 2)  # Bins do not depend on the number of samples.
    weighted = clone(model).fit(X16, Y, sample_weight=WEIGHT)
    rows = np.repeat(np.arange(500), WEIGHT.astype(int))
    repeated = clone(model).fit(X16[rows], Y[rows])
    unweighted = clone(model).fit(X16, Y)
    scores = [m.decision_function(X16) for m in (weighted, repeated, unweighted)]
    assert np.corrcoef(scores)[0, 1] > 0.99
    assert abs(scores[0] - scores[1]).mean() < 0.5 * abs(scores[0] - scores[2]).mean()


def test_labels_of_any_kind_and_a_positive_one():
    model = MetricBoostingClassifier(trees(), "f1", pos_label="fraud").fit(X, WORDS)
    same = MetricBoostingClassifier(trees(), "f1").fit(X, Y)
    np.testing.assert_array_equal(model.predict(X) == "fraud", same.predict(X) == 1)
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 0], same.predict_proba(X)[:, 1]
    )
    assert model.score(X, WORDS) == same.score(X, Y)
    stored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(stored.predict(X), model.predict(X))


def test_missing_values_are_left_to_the_trees():
    holes = np.where(np.arange(X.size).reshape(X.shape) % 7, X, np.nan)
    assert MetricBoostingClassifier(trees()).fit(holes, Y).score(holes, Y) > 0.5


def test_names_of_features_are_kept_until_the_next_fit():
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = MetricBoostingClassifier(trees()).fit(frame, Y)
    assert list(model.feature_names_in_) == list("abcdef")
    assert not hasattr(model.fit(X, Y), "feature_names_in_")


def test_it_is_a_candidate_of_the_search_that_decides_at_a_half():
    own = MetricBoostingClassifier(trees(n_estimators=25), "f1")
    candidates = [own, trees(n_estimators=10)]
    search = AnyLossClassifierCV(candidates=candidates, cv=3, random_state=0).fit(X, Y)
    thresholds = search.cv_results_["threshold"]
    assert thresholds[0] == 0.5
    assert thresholds[1] != 0.5


def test_xgboost_takes_the_same_objective():
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=30, n_jobs=1)
    fitted = MetricBoostingClassifier(model, "f1").fit(X, Y, sample_weight=WEIGHT)
    assert fitted.estimator_.get_booster().num_boosted_rounds() == 30
    plain = clone(model).set_params(n_estimators=20).fit(X, Y)
    assert fitted.predict(X).sum() > plain.predict(X).sum()


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (
            MetricBoostingClassifier(LogisticRegression()),
            Y,
            "must be an LGBMClassifier",
        ),
        (MetricBoostingClassifier(trees(), warm_up=30), Y, "from 0 to .* = 29, got 30"),
        (MetricBoostingClassifier(trees(), warm_up=-1), Y, "warm_up must be a whole"),
        (MetricBoostingClassifier(trees(objective="mape")), Y, "objective='mape'"),
        (MetricBoostingClassifier(trees()), np.arange(500) % 3, "for two classes"),
        (MetricBoostingClassifier(trees(), "f3x"), Y, "f3x"),
        (MetricBoostingClassifier(trees(), step="steep"), Y, "step"),
    ],
)
def test_bad_input_is_named(model, y, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)
