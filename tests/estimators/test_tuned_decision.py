"""Any classifier with a decision tuned for a metric: classes, labels, bad input."""

import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
import sklearn.metrics
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import (
    GridSearchCV,
    ShuffleSplit,
    StratifiedGroupKFold,
    cross_val_score,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from sk_anyloss import TunedDecisionClassifier
from sk_anyloss.metrics import CostMatrix, metric_score


def expected_to_fail(estimator):
    # As scikit-learn expects of its own TunedThresholdClassifierCV.
    failing = {"check_classifiers_train": "a tuned threshold is not probability 0.5"}
    if parse_version(sklearn.__version__) < parse_version("1.7"):
        why = "makes other labels of the weighted than of the repeated samples"
        for kind in ("dense", "sparse"):
            failing[f"check_sample_weight_equivalence_on_{kind}_data"] = why
    return failing


CONFIGURATIONS = [
    TunedDecisionClassifier(cv=3, random_state=0),
    TunedDecisionClassifier(LogisticRegression(), "mcc", cv=3, n_bootstrap=0),
]


@parametrize_with_checks(CONFIGURATIONS, expected_failed_checks=expected_to_fail)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def three_classes():
    return make_classification(
        600, n_classes=3, n_informative=4, weights=[0.8, 0.15], random_state=0
    )


@pytest.fixture(scope="module")
def labels():
    X, y = make_multilabel_classification(400, n_labels=1, random_state=0)
    return StandardScaler().fit_transform(X), y


def test_two_classes_by_a_threshold(imbalanced):
    X, y = imbalanced
    model = TunedDecisionClassifier(random_state=0).fit(X, y)
    expected = model.predict_proba(X)[:, 1] > model.threshold_
    assert (model.predict(X) == expected).all()
    assert ((model.decision_function(X) > 0) == expected).all()
    assert model.spread_[0] <= model.threshold_ <= model.spread_[1]
    assert 0.5 < model.best_score_ <= 1
    assert model.score(X, y) == pytest.approx(sklearn.metrics.f1_score(y, expected))


def test_positive_class_of_any_name(imbalanced):
    X, y = imbalanced
    names = np.array(["the rest", "a rare one"])[y]
    named = TunedDecisionClassifier(pos_label="a rare one", random_state=0)
    named.fit(X, names)
    plain = TunedDecisionClassifier(random_state=0).fit(X, y)
    assert named.threshold_ == pytest.approx(plain.threshold_)
    assert ((named.predict(X) == "a rare one") == plain.predict(X)).all()
    assert ((named.decision_function(X) > 0) == (named.predict(X) == "the rest")).all()


def test_more_classes_by_offsets(three_classes):
    X, y = three_classes
    names = np.array(["b", "c", "a"])[y]
    model = TunedDecisionClassifier(metric="balanced_accuracy", random_state=0)
    model.fit(X, names)
    margin = model.predict_log_proba(X) + model.offsets_
    np.testing.assert_allclose(model.decision_function(X), margin)
    assert (model.predict(X) == model.classes_[margin.argmax(1)]).all()
    recall = sklearn.metrics.balanced_accuracy_score(names, model.predict(X))
    assert model.score(X, names) == pytest.approx(recall)
    untuned = model.estimator_.predict(X)
    assert recall > 0.05 + sklearn.metrics.balanced_accuracy_score(names, untuned)


@pytest.mark.parametrize("metric", ["f1_macro@recall[2]>=0.8", "recall[2]"])
def test_a_class_named_in_the_metric(metric, three_classes):
    X, y = three_classes
    model = TunedDecisionClassifier(metric=metric, random_state=0).fit(X, y)
    assert sklearn.metrics.recall_score(y, model.predict(X), average=None)[2] >= 0.8


@pytest.mark.parametrize("metric", ["precision@recall>=0.9", "accuracy@recall[1]>=0.9"])
def test_a_constraint_of_two_classes(metric, imbalanced):
    X, y = imbalanced
    model = TunedDecisionClassifier(metric=metric, random_state=0).fit(X, y)
    assert sklearn.metrics.recall_score(y, model.predict(X)) >= 0.9
    assert model.spread_.shape == (2,)


def test_costs_move_the_threshold_to_where_they_should(imbalanced):
    X, y = imbalanced
    costs = CostMatrix([[0, 1], [20, 0]])
    model = TunedDecisionClassifier(metric=costs, random_state=0).fit(X, y)
    assert model.threshold_ < 0.3  # 1 / 21 for calibrated probabilities.


@pytest.mark.parametrize(
    "estimator",
    [
        RandomForestClassifier(20, random_state=0),  # A list of probabilities.
        OneVsRestClassifier(LogisticRegression()),  # An array of them.
        OneVsRestClassifier(LinearSVC()),  # Scores.
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.parametrize("metric", ["f1_macro", "f1_micro", "jaccard_samples"])
def test_several_labels(estimator, metric, labels):
    X, y = labels
    model = TunedDecisionClassifier(
        estimator, metric, cv=3, n_bootstrap=3, random_state=0
    ).fit(X[:300], y[:300])
    # A meta-estimator of scikit-learn does not always say so.
    takes_labels = get_tags(estimator).classifier_tags.multi_label
    assert get_tags(model).classifier_tags.multi_label == takes_labels
    predicted = model.predict(X[300:])
    assert model.thresholds_.shape == (5,)
    assert model.spread_.shape == (2, 5)
    assert ((model.decision_function(X[300:]) > 0) == predicted).all()
    name, average = metric.split("_")
    reference = getattr(sklearn.metrics, f"{name}_score")
    expected = reference(y[300:], predicted, average=average, zero_division=0)
    assert model.score(X[300:], y[300:]) == pytest.approx(expected)
    untuned = metric_score(y[300:], model.estimator_.predict(X[300:]), metric=metric)
    assert expected > untuned - 0.02


@pytest.mark.parametrize(
    "estimator",
    [
        make_pipeline(StandardScaler(), LogisticRegression()),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=2),
        HistGradientBoostingClassifier(max_iter=10),
        RidgeClassifier(),
        LinearSVC(),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_any_classifier_with_weights_on_a_table(estimator, three_classes):
    X, y = three_classes
    table = pd.DataFrame(X).add_prefix("x")
    weight = np.where(y == 2, 3.0, 1.0)
    model = TunedDecisionClassifier(estimator, cv=2, n_bootstrap=5, random_state=0)
    model.fit(table, y, sample_weight=weight)
    assert list(getattr(model, "feature_names_in_", table)) == list(table)
    assert metric_score(y, model.predict(table), metric="f1") > 0.5
    assert cross_val_score(model, table, y, cv=2).min() > 0.4


def test_an_estimator_without_weights_is_tuned_with_them(imbalanced):
    X, y = imbalanced
    model = TunedDecisionClassifier(
        KNeighborsClassifier(50), metric="accuracy", random_state=0
    )
    with pytest.warns(UserWarning, match="takes no sample_weight"):
        model.fit(X, y, np.where(y == 1, 9.0, 1.0))
    assert model.threshold_ < clone(model).fit(X, y).threshold_


def test_processes_and_seeds_give_the_same(three_classes):
    X, y = three_classes
    model = TunedDecisionClassifier(cv=2, n_bootstrap=3, random_state=0)
    offsets = model.fit(X, y).offsets_
    assert (clone(model).set_params(n_jobs=2).fit(csr_array(X), y).offsets_).shape == (
        3,
    )
    np.testing.assert_array_equal(clone(model).fit(X, y).offsets_, offsets)


def test_the_score_is_of_samples_that_the_threshold_has_not_seen():
    scores = []
    for seed in range(20):  # Labels that do not depend on the samples.
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 3)), rng.permutation(np.arange(60) % 2)
        model = TunedDecisionClassifier(
            GaussianNB(), "accuracy", n_bootstrap=0, random_state=seed
        )
        scores.append(model.fit(X, y).best_score_)
    assert np.mean(scores) < 0.52


def test_groups_and_weights_are_routed(imbalanced):
    X, y = imbalanced
    groups = np.arange(len(y)) // 2
    with sklearn.config_context(enable_metadata_routing=True):
        inner = LogisticRegression().set_fit_request(sample_weight=True)
        model = TunedDecisionClassifier(inner, cv=StratifiedGroupKFold(3))
        model.set_fit_request(sample_weight=True)
        model.fit(X, y, sample_weight=np.ones(len(y)), groups=groups)
    assert 0 < model.threshold_ < 1


def test_a_single_split_need_not_be_refitted(imbalanced):
    X, y = imbalanced
    cv = ShuffleSplit(1, test_size=0.5, random_state=0)
    model = TunedDecisionClassifier(cv=cv, refit=False).fit(X, y)
    train, _ = next(cv.split(X))
    expected = LogisticRegression().fit(X[train], y[train])
    np.testing.assert_allclose(model.estimator_.coef_, expected.coef_)
    with pytest.raises(ValueError, match="refit=False"):
        model.set_params(cv=2).fit(X, y)


def test_a_class_may_be_missing_in_a_fold():
    X, y = np.arange(40.0)[:, None], np.repeat([0, 1, 2], [20, 18, 2])
    model = TunedDecisionClassifier(cv=[(np.arange(38), np.arange(38, 40)),
                                        (np.arange(2, 40), np.arange(2))])  # fmt: skip
    assert np.isfinite(model.fit(X, y).offsets_).all()


def test_splits_may_be_masks(imbalanced):
    X, y = imbalanced
    even = np.arange(len(y)) % 2 == 0
    places = [(np.flatnonzero(part), np.flatnonzero(~part)) for part in (even, ~even)]
    masks = [(part, ~part) for part in (even, ~even)]
    expected = TunedDecisionClassifier(cv=places, random_state=0).fit(X, y)
    model = TunedDecisionClassifier(cv=masks, random_state=0).fit(X, y)
    assert model.threshold_ == expected.threshold_


class NotNumbers(GaussianNB):
    """A classifier whose probability of the last sample is NaN."""

    def predict_proba(self, X):
        proba = super().predict_proba(X)
        proba[-1] = np.nan
        return proba


def test_scores_that_are_nan_are_refused_and_lose_nothing(imbalanced):
    X, y = imbalanced
    model = TunedDecisionClassifier(metric="mcc", random_state=0).fit(X, y)
    before = {**vars(model)}
    with pytest.raises(ValueError, match="NotNumbers gives scores that are NaN"):
        model.set_params(estimator=NotNumbers(), metric="f1").fit(X, y)
    assert {**vars(model), "estimator": None, "metric": "mcc"} == before


class Certain(LinearSVC):
    """A classifier whose scores are infinite."""

    def decision_function(self, X):
        return np.inf * super().decision_function(X)


@pytest.mark.filterwarnings("error")
def test_infinite_scores_are_tuned_as_the_decisions_that_they_are(imbalanced):
    X, y = imbalanced
    model = TunedDecisionClassifier(Certain(), random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), LinearSVC().fit(X, y).predict(X))


def test_more_folds_than_samples_of_a_class():
    X, y = np.arange(6.0)[:, None], np.array([0, 0, 0, 1, 1, 1])
    with pytest.warns(UserWarning, match="lowered to 3") as found:
        TunedDecisionClassifier().fit(X, y)
    assert found[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        TunedDecisionClassifier(cv=3).fit(X[1:], y[1:])


@pytest.mark.parametrize(
    ("params", "y", "message"),
    [
        ({}, [0, 0, 0, 0, 0, 1], "The class .*1.* has one sample"),
        ({}, [0] * 6, "only one class"),
        ({}, np.full((6, 2), 2), "zeros and ones"),
        ({"metric": "roc_auc"}, [0, 1] * 3, "metric over all thresholds"),
        ({"metric": "roc_auc"}, [0, 1, 2] * 2, "metric over thresholds"),
        ({"metric": CostMatrix(np.eye(2))}, [0, 1, 2] * 2, "2 rows .* 3 classes"),
        ({"metric": CostMatrix(np.eye(3))}, [0, 1] * 3, "3 rows .* 2 classes"),
        ({"metric": CostMatrix(np.eye(2))}, np.eye(6)[:, :2], "several labels"),
        ({"metric": "f1[x]"}, [0, 1, 2] * 2, "names the class"),
        ({"metric": lambda hits, misses: hits}, [0, 1, 2] * 2, "needs an average"),
        ({"metric": "f11x"}, [0, 1] * 3, "f11x"),
        ({"pos_label": 3}, [0, 1] * 3, "pos_label=3"),
        ({"pos_label": 1}, [0, 1, 2] * 2, "pos_label=1"),
        ({"n_bootstrap": -1}, [0, 1] * 3, "n_bootstrap"),
        ({"refit": "no"}, [0, 1] * 3, "refit must be True or False"),
        ({"random_state": "a"}, [0, 1] * 3, "random_state must be"),
        ({"cv": iter([])}, [0, 1] * 3, "makes no folds"),
        ({}, [], "y is empty"),
    ],
)
def test_what_cannot_be_tuned_is_refused(params, y, message):
    X = np.arange(2.0 * len(y)).reshape(len(y), 2)
    with pytest.raises(ValueError, match=message):
        TunedDecisionClassifier(**{"cv": 2, **params}).fit(X, np.asarray(y))


def test_an_estimator_without_scores_is_refused():
    from sklearn.linear_model import LinearRegression

    with pytest.raises(TypeError, match="neither predict_proba nor"):
        TunedDecisionClassifier(LinearRegression()).fit([[0], [1]] * 5, [0, 1] * 5)
    model = TunedDecisionClassifier(LinearSVC())
    assert not hasattr(model, "predict_proba")
