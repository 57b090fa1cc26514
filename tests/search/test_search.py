"""The estimator that tunes itself: what it tries, chooses, pools and refuses."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    RepeatedStratifiedKFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_anyloss import AnyLossClassifier, AnyLossClassifierCV, metric_score
from sk_anyloss.metrics.tuning import best_threshold, robust
from sk_anyloss.search.candidates import candidate_grid, describe
from tests.tolerances import SAME_MODEL

X, Y = make_classification(
    200, 5, n_informative=3, weights=[0.8], flip_y=0.1, random_state=0
)


def search(hidden=((), (3,)), **params):
    """A search over networks alone, on standardised features and on bins."""
    small = {"candidates": candidate_grid(hidden), "max_epochs": 15}
    return AnyLossClassifierCV(**{**small, "cv": 3, "random_state": 0, **params})


@pytest.fixture(scope="module")
def fitted():
    return search().fit(X, Y)


def smoothed_threshold(z, y, **options):
    """The mean of the best thresholds of bootstrap samples."""
    return robust(lambda w: best_threshold("f1", z, y, w)[0], y, **options).center


def alone(params, train, model):
    """A candidate on the rows of a fold, by itself."""
    seed = model.estimators_[0].random_state
    base = model._base(len(Y), seed).set_params(**params)
    return base.fit(X[train], Y[train])


def test_the_table_has_a_row_a_candidate_and_a_column_a_fold(fitted):
    results = fitted.cv_results_
    n = len(results["params"])
    assert n == 8
    assert fitted.scores_.shape == (8, 3)
    for k in range(3):
        np.testing.assert_array_equal(
            results[f"split{k}_test_score"], fitted.scores_[:, k]
        )
    np.testing.assert_allclose(results["mean_test_score"], fitted.scores_.mean(axis=1))
    assert fitted.best_params_ == results["params"][fitted.best_index_]
    assert results["rank_test_score"][fitted.best_index_] == 1
    assert fitted.best_score_ == results["pooled_test_score"].max()
    assert list(results["param_hidden"]) == [()] * 4 + [(3,)] * 4
    assert results["param_n_bins"].tolist() == ([None] * 2 + [8] * 2) * 2
    assert len(pd.DataFrame(results)) == 8


@pytest.mark.parametrize("index", [0, 1, 2, 3, 6, 7])
def test_a_candidate_is_the_estimator_fitted_on_the_folds(fitted, index):
    params = fitted.cv_results_["params"][index]
    sizes = [len(test) for _, test in StratifiedKFold(3).split(X, Y)]
    tests = np.split(fitted.oof_rows_, np.cumsum(sizes)[:-1])
    folds = [(np.setdiff1d(np.arange(len(Y)), test), test) for test in tests]
    decisions = [
        alone(params, train, fitted).decision_function(X[test]) for train, test in folds
    ]
    threshold = fitted.cv_results_["threshold"][index]
    labels = [Y[test] for _, test in folds]
    cuts = [0.0] * 3
    if "loss" in params:  # Of each fold, the cut that is good on the others.
        for k in range(3):
            z, y = (np.concatenate(p[:k] + p[k + 1 :]) for p in (decisions, labels))
            cuts[k] = smoothed_threshold(z, y, n_bootstrap=10)
        cut = smoothed_threshold(np.concatenate(decisions), np.concatenate(labels))
        assert threshold == pytest.approx(expit(cut))
    else:
        assert threshold == 0.5
    decided = [z > cut for z, cut in zip(decisions, cuts, strict=True)]
    pooled = metric_score(np.concatenate(labels), np.concatenate(decided))
    assert fitted.cv_results_["pooled_test_score"][index] == pytest.approx(pooled)


def test_boosting_is_tried_by_default_from_100_samples_on():
    for n, tried in ((99, [False] * 4), (100, [True, False, False])):
        model = AnyLossClassifierCV(hidden=[()], max_epochs=1, cv=2, random_state=0)
        params = model.fit(X[:n], Y[:n]).cv_results_["params"]
        assert ["estimator" in candidate for candidate in params] == tried


def test_widths_may_be_lists():
    model = search(candidates=[{"hidden": [3]}, {"hidden": [3], "L": 5}]).fit(X, Y)
    assert len(model.cv_results_["params"]) == 2


def test_class_weights_are_not_undone_by_a_threshold():
    weighted = search(class_weight={0: 1000, 1: 0.0001}).fit(X, Y)
    assert (weighted.cv_results_["threshold"] == 0.5).all()
    assert (weighted.predict(X) == 0).mean() > 0.87
    asked = search(class_weight="balanced", tune_threshold=True, hidden=[()]).fit(X, Y)
    assert (asked.cv_results_["threshold"] != 0.5).all()


def test_the_best_candidates_decide_together(fitted):
    order = np.argsort(-fitted.cv_results_["pooled_test_score"], kind="stable")
    assert fitted.ensemble_indices_ == order[:5].tolist()
    assert len(fitted.estimators_) == 15
    cuts = logit(fitted.cv_results_["threshold"][fitted.ensemble_indices_])
    scores = [
        expit(model.decision_function(X) - cuts[i // 3])
        for i, model in enumerate(fitted.estimators_)
    ]
    p = fitted.predict_proba(X)
    np.testing.assert_allclose(p[:, 1], np.mean(scores, axis=0))
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert (fitted.predict(X) == (p[:, 1] > fitted.threshold_)).all()
    assert ((fitted.decision_function(X) > 0) == fitted.predict(X)).all()
    assert fitted.score(X, Y) == metric_score(Y, fitted.predict(X))


def test_rows_left_out_are_scored_by_networks_that_have_not_seen_them(fitted):
    assert sorted(fitted.oof_rows_) == list(range(200))
    assert (fitted.oof_target_ == Y[fitted.oof_rows_]).all()
    best = fitted.ensemble_indices_[0]
    one = search(candidates=[fitted.cv_results_["params"][best]]).fit(X, Y)
    assert one.best_score_ == pytest.approx(fitted.best_score_)
    decided = one.oof_proba_ > one.threshold_
    assert metric_score(one.oof_target_, decided) == pytest.approx(one.best_score_)


def test_without_an_ensemble_the_best_one_is_trained_on_all_rows(fitted):
    model = search(ensemble=False).fit(X, Y)
    assert model.best_params_ == fitted.best_params_
    (network,) = model.estimators_
    again = clone(network).fit(X, Y)
    np.testing.assert_array_equal(
        network.decision_function(X), again.decision_function(X)
    )
    cut = logit(model.cv_results_["threshold"][model.best_index_])
    assert (model.predict(X) == (again.decision_function(X) > cut)).all()


def test_a_threshold_may_be_tuned_for_all(fitted):
    never = search(tune_threshold=False).fit(X, Y)
    assert (never.cv_results_["threshold"] == 0.5).all()
    always = search(tune_threshold=True).fit(X, Y)
    assert (always.cv_results_["threshold"] != 0.5).all()
    decided = always.oof_proba_ > always.threshold_
    best = metric_score(always.oof_target_, decided)
    others = [always.oof_proba_ > t for t in (0.3, 0.4, 0.5, 0.6)]
    assert best >= max(metric_score(always.oof_target_, other) for other in others)


@pytest.mark.parametrize("metric", ["roc_auc", "gmean", "precision@recall>=0.7"])
def test_other_metrics(metric):
    model = search(metric=metric, hidden=[()], max_epochs=40).fit(X, Y)
    score = model.score(X, Y)
    if metric == "roc_auc":
        assert score == pytest.approx(roc_auc_score(Y, model.predict_proba(X)[:, 1]))
    if "@" not in metric:
        assert score > 0.3
        return
    decided = model.oof_proba_ > model.threshold_  # It is met out of fold.
    assert decided[model.oof_target_ == 1].mean() >= 0.7
    assert score.constraint > 0.6


def own(tn, fp, fn, tp):
    """A metric with a branch, which arrays cannot take."""
    return 2 * tp / (2 * tp + fp + fn) if tp > 0 else 0.0 * tp


def test_a_metric_of_ones_own():
    model = search(metric=own).fit(X, Y)
    assert model.best_score_ == pytest.approx(search().fit(X, Y).best_score_)


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_repeatable_in_any_number_of_processes(fitted, n_jobs, untouched_generators):
    again = search(n_jobs=n_jobs).fit(X, Y)
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    other = search(random_state=1).fit(X, Y)
    assert (other.predict_proba(X) != fitted.predict_proba(X)).any()


def test_string_labels_frames_and_a_positive_first_class(fitted):
    frame = pd.DataFrame(X, columns=list("abcde"))
    labels = np.array(["no", "fraud"])[Y]
    model = search(pos_label="fraud").fit(frame, labels)
    assert model.feature_names_in_.tolist() == list("abcde")
    np.testing.assert_array_equal(
        model.predict_proba(frame)[:, 0], fitted.predict_proba(X)[:, 1]
    )
    assert ((model.predict(frame) == "fraud") == (fitted.predict(X) == 1)).all()
    assert model.score(frame, labels) == fitted.score(X, Y)
    decision = model.decision_function(frame)
    assert ((decision > 0) == (model.predict(frame) == "no")).all()


def test_sparse_rows(fitted):
    model = search().fit(scipy.sparse.csr_array(X), Y)
    np.testing.assert_allclose(
        model.predict_proba(scipy.sparse.csr_array(X)),
        fitted.predict_proba(X),
        **SAME_MODEL,
    )


def test_weights_count_in_training_and_in_the_score():
    w = np.where(np.arange(200) % 2, 1.0, 0.0)
    cv = [(train, test) for train, test in StratifiedKFold(3).split(X, Y)]
    model = search(cv=cv).fit(X, Y, sample_weight=w)
    kept = np.flatnonzero(w)
    within = [
        (np.flatnonzero(np.isin(kept, train)), np.flatnonzero(np.isin(kept, test)))
        for train, test in cv
    ]
    without = search(cv=within).fit(X[kept], Y[kept])
    np.testing.assert_allclose(
        model.predict_proba(X), without.predict_proba(X), **SAME_MODEL
    )
    assert model.best_score_ == pytest.approx(without.best_score_)


@pytest.mark.parametrize(
    "cv",
    [
        RepeatedStratifiedKFold(n_splits=2, n_repeats=2, random_state=0),
        ShuffleSplit(3, test_size=0.3, random_state=0),
    ],
)
def test_splitters_that_repeat_or_omit_rows(cv):
    model = search(cv=cv).fit(X, Y)
    assert len(model.oof_rows_) == sum(len(test) for _, test in cv.split(X, Y))
    assert model.score(X, Y) > 0.4


def test_groups_through_metadata_routing():
    groups = np.arange(200) % 10
    with sklearn.config_context(enable_metadata_routing=True):
        model = search(cv=GroupKFold(3)).fit(X, Y, groups=groups)
        expected = search(cv=list(GroupKFold(3).split(X, Y, groups))).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    with pytest.raises(ValueError, match="enable_metadata_routing"):
        search(cv=GroupKFold(3)).fit(X, Y, groups=groups)


def test_pipeline_grid_search_clone_and_pickle(fitted):
    pipeline = make_pipeline(StandardScaler(), search())
    grid = GridSearchCV(pipeline, {"anylossclassifiercv__n_best": [1, 3]}, cv=2)
    assert grid.fit(X, Y).best_score_ > 0.4
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    assert not hasattr(clone(fitted), "estimators_")


def test_the_table_fills_as_it_goes(capsys):
    model = search(verbose=1, hidden=[()], n_best=3).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 8
    assert [line[:12] for line in lines[4:7]] == ["weight 0.333"] * 3
    worst = int(np.argmin(model.cv_results_["pooled_test_score"]))
    assert describe(model.cv_results_["params"][worst]) in lines[7]
    assert lines[7].endswith("others are better")
    assert "hidden=(), lr=CosineDecay(0.03), step=sigmoid, L=5" in lines[0]
    assert lines[0].startswith("f1 0.")


def test_time_that_is_over_leaves_the_best_so_far():
    with pytest.warns(UserWarning, match="over after 2 of 8 candidates"):
        model = search(time_budget=1e-9, max_epochs=60).fit(X, Y)
    assert len(model.cv_results_["params"]) == 2
    assert list(model.cv_results_["param_max_epochs"]) == [12, 12]
    assert [reason for _, reason in model.dropped_] == ["not finished"] * 6
    assert model.score(X, Y) > 0.4
    search(time_budget=1e9).fit(X, Y)  # No warning.


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"candidates": []}, "no candidate to try"),
        ({"candidates": None, "hidden": []}, "no candidate to try"),
        ({"candidates": [{"hiden": ()}]}, "Unknown parameter 'hiden'.*'hidden'"),
        ({"candidates": [{"step": "sigmod"}]}, "Did you mean 'sigmoid'"),
        ({"candidates": [{"L": -1}]}, "L must be positive"),
        ({"metric": "f-one"}, "Unknown metric"),
        ({"n_best": 0}, "n_best must be"),
        ({"tune_threshold": "no"}, "tune_threshold must be"),
        ({"time_budget": 0}, "time_budget must be"),
        ({"cv": 1}, "cross-validation|n_splits"),
        ({"cv": [(np.arange(100), np.array([], dtype=int))]}, "leaves no sample out"),
        (
            {"cv": [(np.flatnonzero(Y == 0), [0, 1])]},
            "Fold 0 of 1 leaves only one class",
        ),
        ({"cv": iter([])}, "cv=.* makes no folds. A generator"),
    ],
)
def test_bad_input_is_told_and_loses_nothing(params, message, fitted):
    model = clone(fitted).fit(X, Y)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match=message):
        model.set_params(**params).fit(X, Y)
    np.testing.assert_array_equal(model.predict_proba(X), before)


def test_more_folds_than_positives():
    few = np.flatnonzero((Y == 0) | (np.cumsum(Y) <= 2))
    with pytest.warns(UserWarning, match="cv=3 is lowered to 2"):
        model = search().fit(X[few], Y[few])
    assert model.scores_.shape[1] == 2
    one = np.flatnonzero((Y == 0) | (np.cumsum(Y) <= 1))
    with pytest.raises(ValueError, match="at least two samples of each class"):
        search().fit(X[one], Y[one])


def test_a_search_that_finds_nothing_says_so():
    rng = np.random.default_rng(0)
    noise = np.ones((60, 2))
    labels = np.where(rng.random(60) < 0.3, "bad", "fine")
    with pytest.warns(ConvergenceWarning, match="'fine' for every sample that was"):
        search(metric="accuracy", hidden=[()], pos_label="bad").fit(noise, labels)


def test_splits_may_be_masks():
    folds = list(StratifiedKFold(3).split(X, Y))
    every = np.arange(len(Y))
    masks = [tuple(np.isin(every, part) for part in fold) for fold in folds]
    expected = search(cv=folds, hidden=[()]).fit(X, Y)
    model = search(cv=masks, hidden=[()]).fit(X, Y)
    np.testing.assert_array_equal(model.oof_rows_, expected.oof_rows_)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


def test_weights_that_leave_one_class_are_refused():
    with pytest.raises(ValueError, match="only one class among the samples of"):
        search().fit(X, Y, sample_weight=1.0 - Y)


def test_the_estimator_is_the_one_that_is_searched_over():
    names = set(AnyLossClassifierCV().get_params()) & set(
        AnyLossClassifier().get_params()
    )
    model = AnyLossClassifierCV(max_epochs=7, class_weight="balanced", pos_label=0)
    base = model._base(len(Y), 0)
    for name in names - {"hidden", "random_state", "verbose", "batch_size"}:
        assert getattr(base, name) == getattr(model, name)
    sizes = [model._base(n, 0).batch_size for n in (100, 1_200, 10**6)]
    assert sizes == [64, 100, 1_024]
    assert AnyLossClassifierCV(batch_size=0.5)._base(100, 0).batch_size == 0.5
