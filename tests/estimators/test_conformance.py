"""A full citizen of scikit-learn: its own checks, and its and imblearn's tools."""

import io
import pickle
from dataclasses import dataclass

import imblearn.metrics
import joblib
import numpy as np
import pytest
import sklearn.metrics
from imblearn.over_sampling import SMOTE
from imblearn.pipeline import make_pipeline as make_imblearn_pipeline
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.inspection import permutation_importance
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    cross_val_predict,
    cross_val_score,
    learning_curve,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.fixes import parse_version

from sk_anyloss import AnyLossClassifier, AnyLossClassifierCV, metric_scorer
from sk_anyloss.metrics import ratio


@dataclass(frozen=True)  # A function would show its address in the tests' names.
class AvoidedCost:
    """Share of the cost that was avoided, a miss costing some false alarms."""

    miss: float = 2

    def __call__(self, tn, fp, fn, tp):
        return 1 - ratio(self.miss * fn + fp, self.miss * (fn + tp) + (tn + fp))


class Float32Input(AnyLossClassifier):
    """The estimator as it is with float32 rows, whatever the checks bring."""

    @staticmethod
    def _narrow(X):
        if getattr(X, "dtype", None) == np.float64:
            return X.astype(np.float32)
        return X

    def fit(self, X, y, sample_weight=None):
        return super().fit(self._narrow(X), y, sample_weight)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        return super().partial_fit(self._narrow(X), y, classes, sample_weight)

    def decision_function(self, X):
        return super().decision_function(self._narrow(X))


CONFIGURATIONS = [
    AnyLossClassifier(),
    AnyLossClassifier(hidden=()),
    AnyLossClassifier(hidden=(16, 8)),
    AnyLossClassifier(metric=AvoidedCost()),
    AnyLossClassifier(class_weight="balanced"),
    AnyLossClassifier(metric="gmean"),
    AnyLossClassifier(loss="bce"),
    AnyLossClassifier(early_stopping=True),
    AnyLossClassifier(metric="roc_auc", loss="pairs", lr=0.03),
    AnyLossClassifier(metric="average_precision", L=10, n_init=2),
    AnyLossClassifierCV(cv=3, hidden=[(), (4,)], max_epochs=60),
    Float32Input(),
]


EQUIVALENCE = [
    f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")
]
#: Checks that call partial_fit.
PARTIAL = [
    "check_fit_score_takes_y",
    "check_n_features_in_after_fitting",
    "check_estimators_partial_fit_n_features",
]


def allowed_to_fail(estimator):
    allowed = {}
    if estimator.metric == "gmean":
        allowed["check_class_weight_classifiers"] = (
            "G-mean is made of the rates within each class, so no class weight moves it"
        )
    if getattr(estimator, "class_weight", None) == "balanced":
        allowed |= dict.fromkeys(PARTIAL, "partial_fit does not balance each call")
    if getattr(estimator, "early_stopping", False):
        why = "a validation split cannot see that two rows are one row of weight 2"
        allowed |= dict.fromkeys(EQUIVALENCE, why)
    elif parse_version(sklearn.__version__) < parse_version("1.7"):
        why = "makes other labels of the weighted than of the repeated samples"
        allowed |= dict.fromkeys(EQUIVALENCE, why)
    return allowed


@parametrize_with_checks(CONFIGURATIONS, expected_failed_checks=allowed_to_fail)
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


FOLDS = StratifiedKFold(10, shuffle=True, random_state=0)


@pytest.mark.parametrize(
    ("metric", "reference"),
    [
        ("f1", sklearn.metrics.f1_score),
        ("gmean", imblearn.metrics.geometric_mean_score),
        ("balanced_accuracy", sklearn.metrics.balanced_accuracy_score),
        ("mcc", sklearn.metrics.matthews_corrcoef),
    ],
)
def test_cross_val_score_reports_the_metric_on_ten_folds(metric, reference, imbalanced):
    X, y = imbalanced
    model = AnyLossClassifier(metric, max_epochs=20, random_state=0)
    scores = cross_val_score(model, X, y, cv=FOLDS)
    expected = [
        reference(y[test], clone(model).fit(X[train], y[train]).predict(X[test]))
        for train, test in FOLDS.split(X, y)
    ]
    np.testing.assert_allclose(scores, expected)
    assert np.mean(scores) > 0.5


def test_in_a_pipeline_behind_a_scaler(imbalanced):
    X, y = imbalanced
    pipeline = make_pipeline(StandardScaler(), AnyLossClassifier(random_state=0))
    assert pipeline.fit(X, y).score(X, y) == pytest.approx(
        sklearn.metrics.f1_score(y, pipeline.predict(X))
    )
    assert pipeline.score(X, y) > 0.8


def test_in_an_imblearn_pipeline_behind_smote(imbalanced):
    X, y = imbalanced
    model = AnyLossClassifier(random_state=0, max_epochs=50)
    pipeline = make_imblearn_pipeline(SMOTE(random_state=0), model)
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.6


def test_grid_search_over_metric_L_and_hidden(imbalanced):
    X, y = imbalanced
    grid = {"metric": ["f1", "gmean"], "L": [10, 73], "hidden": [(), (2,)]}
    model = AnyLossClassifier(max_epochs=10, random_state=0)
    scoring = metric_scorer("balanced_accuracy")
    search = GridSearchCV(model, grid, cv=3, n_jobs=2, scoring=scoring).fit(X, y)
    assert len(search.cv_results_["params"]) == 8
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.predict(X).shape == (300,)


def test_any_number_of_jobs_gives_bitwise_the_same(imbalanced):
    X, y = imbalanced
    model = AnyLossClassifier(max_epochs=10, random_state=0)
    results = [
        cross_val_predict(model, X, y, cv=4, n_jobs=jobs, method="predict_proba")
        for jobs in (1, 2)
    ]
    with joblib.parallel_backend("threading"):
        results.append(
            cross_val_predict(model, X, y, cv=4, n_jobs=2, method="predict_proba")
        )
    assert (results[0] == results[1]).all()
    assert (results[0] == results[2]).all()


def test_clone_pickle_and_joblib(imbalanced, tmp_path):
    X, y = imbalanced
    model = AnyLossClassifier(AvoidedCost(), early_stopping=True, random_state=0).fit(
        X, y
    )
    expected = model.predict_proba(X)
    assert (pickle.loads(pickle.dumps(model)).predict_proba(X) == expected).all()
    joblib.dump(model, tmp_path / "model.joblib")
    assert (joblib.load(tmp_path / "model.joblib").predict_proba(X) == expected).all()
    assert (clone(model).fit(X, y).predict_proba(X) == expected).all()


def test_held_out_rows_are_not_pickled_with_the_model():
    X = np.random.default_rng(0).normal(size=(20_000, 10))
    y = X[:, 0] > 1
    model = AnyLossClassifier(early_stopping=True, max_epochs=2).fit(X, y)
    file = io.BytesIO()
    pickle.dump(model, file)
    assert file.tell() < 100_000  # The held-out rows alone would take 160,000.


def test_calibrated_and_with_a_tuned_threshold(imbalanced):
    X, y = imbalanced
    model = AnyLossClassifier(random_state=0, max_epochs=30)
    calibrated = CalibratedClassifierCV(model, cv=3).fit(X, y)
    loss = sklearn.metrics.brier_score_loss(y, calibrated.predict_proba(X)[:, 1])
    assert loss < y.mean() * (1 - y.mean())
    tuned = TunedThresholdClassifierCV(model, scoring="f1", cv=3).fit(X, y)
    assert 0 < tuned.best_threshold_ < 1
    assert sklearn.metrics.f1_score(y, tuned.predict(X)) > 0.7


def test_inspection_and_learning_curves(imbalanced):
    X, y = imbalanced
    model = AnyLossClassifier(random_state=0, max_epochs=20).fit(X, y)
    importance = permutation_importance(model, X, y, n_repeats=2, random_state=0)
    assert importance.importances_mean.max() > 0.1
    _, _, scores = learning_curve(model, X, y, cv=3, train_sizes=[0.5, 1.0])
    assert np.isfinite(scores).all()
