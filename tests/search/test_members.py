"""Candidates of any kind: classifiers of scikit-learn beside our networks."""

import pickle

import numpy as np
import pytest
import sklearn
from imblearn.over_sampling import RandomOverSampler
from imblearn.pipeline import make_pipeline as make_resampling_pipeline
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_anyloss import AnyLossClassifier, AnyLossClassifierCV
from sk_anyloss.estimators.labels import Labels
from sk_anyloss.plain import to_plain
from sk_anyloss.search.members import fit_member, outputs_of

X, Y = make_classification(
    200, 5, n_informative=3, weights=[0.8], flip_y=0.1, random_state=0
)
FOLDS = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, Y))
NETWORK = {"hidden": (), "lr": 0.1}
FOREST = ExtraTreesClassifier(20)
RNG = np.random.default_rng(0)


def search(*candidates, **params):
    small = {"cv": FOLDS, "max_epochs": 10, "random_state": 0}
    return AnyLossClassifierCV(candidates=candidates, **{**small, **params})


def of_classes(model, X):
    proba = np.clip(model.predict_proba(X), 1e-12, 1 - 1e-12)
    return logit(proba[:, 1])


def test_the_outputs_of_a_classifier_are_its_log_odds_out_of_fold():
    model = search(make_pipeline(StandardScaler(), LogisticRegression())).fit(X, Y)
    expected = [
        of_classes(
            make_pipeline(StandardScaler(), LogisticRegression()).fit(X[a], Y[a]), X[b]
        )
        for a, b in FOLDS
    ]
    results = model.cv_results_
    np.testing.assert_array_equal(
        model.oof_rows_, np.concatenate([b for _, b in FOLDS])
    )
    thresholds = []  # Of each fold, between its scores and its margins.
    found = np.split(
        logit(model.oof_proba_), np.cumsum([len(b) for _, b in FOLDS])[:-1]
    )
    for odds, margin in zip(expected, found, strict=True):
        shift = odds - margin
        np.testing.assert_allclose(shift, shift[0], rtol=1e-6, atol=1e-6)
        thresholds.append(shift[0])
    assert np.ptp(thresholds) > 0  # Each was tuned without its own fold.
    assert 0 < results["threshold"][0] < 1
    assert results["threshold"][0] != 0.5
    assert results["fit_time"][0] > 0
    decided = model.oof_proba_ > 0.5
    assert results["pooled_test_score"][0] == pytest.approx(
        f1_score(model.oof_target_, decided)
    )


def test_classifiers_decide_beside_networks():
    model = search(NETWORK, FOREST, GaussianNB()).fit(X, Y)
    assert len(model.estimators_) == 9
    kinds = [type(member).__name__ for member in model.estimators_]
    assert sorted(set(kinds)) == [
        "AnyLossClassifier",
        "ExtraTreesClassifier",
        "GaussianNB",
    ]
    total = 0
    for member, offset, weight in zip(
        model.estimators_,
        model.estimator_offsets_,
        model.estimator_weights_,
        strict=True,
    ):
        if isinstance(member, AnyLossClassifier):
            odds = member.decision_function(X)
        else:
            odds = logit(np.clip(member.predict_proba(X)[:, 1], 2e-16, 1 - 2e-16))
        total = total + weight * expit(odds - offset)
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 1], total, rtol=1e-6, atol=1e-9
    )
    assert model.estimator_weights_.sum() == pytest.approx(1)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_a_classifier_without_a_seed_gets_that_of_the_search(n_jobs):
    first = search(FOREST).fit(X, Y)
    again = search(FOREST, n_jobs=n_jobs).fit(X, Y)
    np.testing.assert_array_equal(first.predict_proba(X), again.predict_proba(X))
    other = search(FOREST, random_state=1).fit(X, Y)
    assert (first.predict_proba(X) != other.predict_proba(X)).any()
    assert FOREST.random_state is None
    own = search(ExtraTreesClassifier(5, random_state=3)).fit(X, Y)
    assert {member.random_state for member in own.estimators_} == {3}


def test_a_positive_first_class():
    labels = np.array(["no", "fraud"])[Y]
    model = search(GaussianNB(), pos_label="fraud").fit(X, labels)
    expected = search(GaussianNB()).fit(X, Y)
    np.testing.assert_allclose(
        model.predict_proba(X)[:, 0], expected.predict_proba(X)[:, 1]
    )
    assert model.best_score_ == pytest.approx(expected.best_score_)


def test_three_classes_of_which_a_fold_lacks_one():
    X, y = make_classification(
        300, 6, n_informative=4, n_classes=3, weights=[0.7, 0.2], random_state=0
    )
    y[:2] = 7
    y = np.array(["a", "b", "c", *"defg", "h"])[y]
    ridge = make_pipeline(StandardScaler(), RidgeClassifier())
    model = search(NETWORK, FOREST, ridge, cv=3, metric="f1_macro").fit(X, y)
    assert (model.cv_results_["error"] == "").all()
    proba = model.predict_proba(X)
    assert proba.shape == (300, 4)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert model.score(X, y) > 0.4


def test_several_labels_where_the_classifier_has_them():
    X, Y = make_multilabel_classification(200, 8, n_classes=4, random_state=0)
    model = search(
        NETWORK, FOREST, KNeighborsClassifier(), HistGradientBoostingClassifier(), cv=3
    )
    with pytest.warns(UserWarning, match="1 of 4 candidates failed.*1d array"):
        model.fit(X, Y)
    assert np.shape(model.cv_results_["threshold"][1]) == (4,)
    assert model.predict(X).shape == Y.shape
    assert model.score(X, Y) > 0.5


class Weighed(ClassifierMixin, BaseEstimator):
    """Predicts the weighted share of positives, and knows what it was given."""

    def fit(self, X, y, sample_weight=None):
        self.classes_ = np.unique(y)
        self.weight_ = sample_weight
        share = np.average(y == self.classes_[1], weights=sample_weight)
        self.share_ = min(max(float(share), 0.01), 0.99)
        return self

    def predict_proba(self, X):
        return np.tile([1 - self.share_, self.share_], (len(X), 1))


class Unweighed(Weighed):
    """The same, without weights."""

    def fit(self, X, y):
        return super().fit(X, y)


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("wrap", [lambda e: e, make_pipeline], ids=["alone", "piped"])
def test_weights_reach_classifiers_that_take_them(wrap, routing):
    weight = np.where(np.arange(200) % 4, 0.5 + np.arange(200), 0.0)
    with sklearn.config_context(enable_metadata_routing=routing):
        candidates = wrap(Weighed()), wrap(Unweighed())
        fitted = [
            fit_member(c, X, Y, Labels.of(Y), sample_weight=weight) for c in candidates
        ]
    steps = [model if wrap is not make_pipeline else model[-1] for model in fitted]
    np.testing.assert_allclose(steps[0].weight_, weight[weight > 0])
    assert steps[1].share_ == pytest.approx(Y[weight > 0].mean())


@pytest.mark.parametrize("routing", [False, True])
def test_weights_reach_a_classifier_within_a_search(routing):
    weight = np.where(np.arange(200) % 4, 0.5 + np.arange(200), 0.0)
    searched = GridSearchCV(make_pipeline(StandardScaler(), GaussianNB()), {}, cv=2)
    with sklearn.config_context(enable_metadata_routing=routing):
        model = fit_member(searched, X, Y, Labels.of(Y), sample_weight=weight)
    used = weight > 0
    scaled = StandardScaler().fit_transform(X[used])
    # With metadata routing, a search gets weights where its user requests them.
    expected = GaussianNB().fit(scaled, Y[used], None if routing else weight[used])
    np.testing.assert_allclose(model.best_estimator_[-1].theta_, expected.theta_)


def test_a_pipeline_that_resamples_is_fitted_without_weights():
    resampled = make_resampling_pipeline(RandomOverSampler(), GaussianNB())
    model = search(resampled, class_weight="balanced").fit(X, Y)
    assert model.cv_results_["error"][0] == ""


def test_a_frozen_classifier_is_a_candidate():
    fitted = GaussianNB().fit(X, Y)
    model = search(FrozenEstimator(fitted), NETWORK).fit(X, Y)
    assert (model.cv_results_["error"] == "").all()
    model = search(FrozenEstimator(fitted), tune_threshold=False).fit(X, Y)
    np.testing.assert_allclose(
        model.predict_proba(X), fitted.predict_proba(X), rtol=1e-6, atol=1e-9
    )


def test_class_weights_are_weights_of_samples_and_leave_the_threshold():
    model = search(Weighed(), GaussianNB(), class_weight={0: 1, 1: 9}).fit(X, Y)
    assert (model.cv_results_["threshold"] == 0.5).all()
    place = model.ensemble_indices_.index(0) * 3
    member, train = model.estimators_[place], FOLDS[0][0]
    np.testing.assert_allclose(member.weight_, np.where(Y[train] == 1, 9.0, 1.0))


class FailsLater(GaussianNB):
    """A classifier that cannot be fitted where the first sample is missing."""

    def fit(self, X, y, sample_weight=None):
        if not (X == FIRST).all(axis=1).any():
            raise RuntimeError("the first sample is missing")
        return super().fit(X, y, sample_weight)


FIRST = X[0]


@pytest.mark.parametrize(
    ("candidate", "reason"),
    [
        (
            FailsLater(),
            r"RuntimeError: the first sample is missing \(in fold \d of 3\)",
        ),
        (KMeans(2), "neither predict_proba nor decision_function"),
        (make_pipeline(StandardScaler(), KMeans(2)), "neither predict_proba"),
    ],
    ids=["one fold", "no scores", "no scores in a pipeline"],
)
def test_a_classifier_that_fails_is_recorded_and_left_out(candidate, reason):
    model = search(candidate, NETWORK, GaussianNB())
    with pytest.warns(UserWarning, match=f"1 of 3 candidates failed.*{reason}"):
        model.fit(X, Y)
    assert list(map(bool, model.cv_results_["error"])) == [True, False, False]
    assert 0 not in model.ensemble_indices_


@pytest.mark.parametrize(
    ("candidate", "message"),
    [
        (GaussianNB, "candidates must hold dicts.*and classifiers"),
        ("histgb", "candidates must hold dicts.*and classifiers"),
        ({"estimator": GaussianNB}, "must be a dict.*or a classifier"),
        ({"estimator": GaussianNB(), "lr": 1}, "has no other parameters, got lr"),
    ],
    ids=["class", "string", "class in a dict", "parameters beside"],
)
def test_what_is_no_candidate_is_refused(candidate, message):
    with pytest.raises(ValueError, match=message):
        search(candidate).fit(X, Y)


def test_without_an_ensemble_the_best_classifier_is_fitted_on_all_samples():
    model = search(GaussianNB(), ensemble=False).fit(X, Y)
    (member,) = model.estimators_
    np.testing.assert_allclose(member.theta_, GaussianNB().fit(X, Y).theta_)
    cut = model.cv_results_["threshold"][0]
    expected = member.predict_proba(X)[:, 1] > cut
    np.testing.assert_array_equal(model.predict(X) == 1, expected)
    assert model.best_params_["estimator"] is not member
    assert search(model.best_params_).fit(X, Y).best_score_ == model.best_score_


def test_a_network_as_an_estimator_keeps_the_threshold_that_it_has_learned():
    own = AnyLossClassifier(max_epochs=5), AnyLossClassifier(max_epochs=5, loss="bce")
    model = search(*own).fit(X, Y)
    on_metric, on_entropy = model.cv_results_["threshold"]
    assert on_metric == 0.5 != on_entropy


def test_outputs_are_log_probabilities_for_three_classes():
    y = np.arange(200) % 3
    member = GaussianNB().fit(X, y)
    outputs = outputs_of(member, X, Labels.of(y))
    np.testing.assert_allclose(np.exp(outputs), member.predict_proba(X), atol=1e-9)


def test_missing_values_reach_candidates_that_all_accept_them():
    missing = np.where(RNG.random(X.shape) < 0.1, np.nan, X)
    trees = HistGradientBoostingClassifier(max_iter=5)
    imputed = make_pipeline("passthrough", SimpleImputer(), LogisticRegression())
    model = search(trees, imputed).fit(missing, Y)
    assert max(model.cv_results_["pooled_test_score"]) > 0.3
    predicted = model.predict(missing)
    assert not any(model.cv_results_["error"])
    np.testing.assert_array_equal(to_plain(model).predict(missing), predicted)
    for others in ([trees, NETWORK], [trees, LogisticRegression()]):
        with pytest.raises(ValueError, match="NaN"):
            search(*others).fit(missing, Y)
