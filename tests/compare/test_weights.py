"""Weights of samples: in fits, in tunings, in scores, and out of the features."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import (
    confusion_matrix,
    f1_score,
    precision_score,
    recall_score,
    roc_auc_score,
)
from sklearn.neighbors import KNeighborsClassifier

from sk_anyloss.baselines import tuned_threshold
from sk_anyloss.compare import compare, load_model, make_table
from sk_anyloss.compare.cli.main import main
from sk_anyloss.compare.folds.tuning import fit_with_groups
from sk_anyloss.compare.methods.registry import default_methods, get_method
from sk_anyloss.compare.run.models import fit_method
from tests.compare.samples import X, Y

W = np.random.default_rng(0).integers(0, 4, len(Y)).astype(float)


@pytest.fixture(scope="module")
def found():
    return compare(X, Y, methods=["logistic", "histgb_smote"], folds=2, weight=W)


@pytest.mark.parametrize("method", ["logistic", "logistic_balanced"])
def test_a_whole_weight_is_a_number_of_repetitions(method):
    rows = np.repeat(np.arange(len(Y)), W.astype(int))
    weighted = fit_method(make_table(X, Y, weight=W), method, "f1")
    repeated = fit_method(make_table(X[rows], Y[rows]), method, "f1")
    np.testing.assert_allclose(
        weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-3, atol=1e-3
    )


def test_a_threshold_is_tuned_for_the_weighted_metric():
    # The classifier itself takes no weights.
    model = tuned_threshold(KNeighborsClassifier(15), "f1", random_state=0)
    plain = fit_with_groups(model, X, Y).best_threshold_
    heavy = np.where(Y == 1, 1.0, 20.0)
    # A false alarm costs more, so that there should be fewer.
    assert fit_with_groups(model, X, Y, weight=heavy).best_threshold_ > plain


@pytest.mark.parametrize("method", default_methods())
def test_every_method_takes_weights_or_does_without(method):
    heavy = np.where(X[:, 0] > 0, 30.0, 1.0)
    fits = [
        fit_with_groups(get_method(method).build("accuracy", 0), X, Y, weight=weight)
        for weight in (None, heavy)
    ]
    scores = [fit.predict_proba(X)[:, 1] for fit in fits]
    resamples = "smote" in method or "under" in method or method == "easy_ensemble"
    assert (np.abs(scores[0] - scores[1]).max() > 0.01) != resamples


def test_scores_are_those_of_scikit_learn_with_weights(found):
    for fold in found.folds:
        rows = found.results.query("method == @fold.method and fold == @fold.fold")
        scores = rows.set_index("metric")["score"]
        y, w = Y[fold.rows], W[fold.rows]
        expected = roc_auc_score(y, fold.scores, sample_weight=w)
        assert scores["roc_auc"] == pytest.approx(expected, abs=1e-12)
        if fold.method != "logistic":
            continue
        predicted = fold.scores > 0.5
        for name, score in (("f1", f1_score), ("recall", recall_score)):
            expected = score(y, predicted, sample_weight=w)
            assert scores[name] == pytest.approx(expected, abs=1e-12)


def test_tables_count_samples_and_score_weights(found):
    M = found.confusion_matrix("logistic").to_numpy()
    assert M.sum() == len(Y)
    fold = next(fold for fold in found.folds if fold.method == "logistic")
    expected = confusion_matrix(
        Y[fold.rows], fold.scores > 0.5, sample_weight=W[fold.rows]
    )
    np.testing.assert_allclose(fold.weights, expected.ravel(), rtol=1e-12, atol=1e-12)
    at_half = found.thresholds("logistic").query("threshold >= 0.5").iloc[0]
    folds = [fold for fold in found.folds if fold.method == "logistic"]
    rows = np.concatenate([fold.rows for fold in folds])
    decided = np.concatenate([fold.scores for fold in folds]) > 0.5
    assert at_half["tp"] == (decided & (Y[rows] == 1)).sum()
    expected = precision_score(Y[rows], decided, sample_weight=W[rows])
    assert at_half["precision"] == pytest.approx(expected, abs=1e-12)
    share = sum(W[Y == 1]) / sum(W)
    always = found.dummies().loc["all_positive", "precision"]
    assert always == pytest.approx(share, abs=0.05)
    assert always != pytest.approx(Y.mean(), abs=1e-6)


def test_a_weighted_model_is_stored_without_its_requests(found, tmp_path):
    model = load_model(found.save(tmp_path / "model", "logistic"))
    expected = found.best_estimator("logistic")
    np.testing.assert_allclose(
        model.predict_proba(X), expected.predict_proba(X), rtol=1e-9, atol=1e-12
    )


def test_the_command_leaves_the_column_out_of_the_features(tmp_path, capsys):
    frame = pd.DataFrame(X, columns=list("abcde")).assign(w=W, y=Y)
    frame.to_csv(tmp_path / "set.csv", index=False)
    words = ["compare", str(tmp_path / "set.csv"), "--target", "y", "--weight", "w"]
    words += ["--methods", "logistic,histgb", "--folds", "3", "--jobs", "1", "--quiet"]
    words += ["--output", str(tmp_path / "out"), "--time", "a"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "set: 120 samples, 4 columns" in printed
    assert "Samples are weighted by 'w' in fits and scores" in printed
    summary = json.loads((tmp_path / "out" / "summary.json").read_text())
    table = make_table(frame.drop(columns="y"), Y, weight="w", time="a", name="set")
    assert summary["data"][0]["fingerprint"] == table.fingerprint()
    other = make_table(frame.drop(columns=["y", "w"]), Y, time="a", name="set")
    assert table.fingerprint() != other.fingerprint()
    # The weights are in the order of the time.
    np.testing.assert_array_equal(table.weight, W[np.argsort(X[:, 0])])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([-1.0] * 120, "holds -1.0; a weight is a number of at least 0"),
        ([np.nan] * 120, "a weight is a number of at least 0"),
        (["much"] * 120, "holds 'much'; a weight is"),
        ([0.0] * 120, "is 0 for every sample"),
        ([1.0] * 7, "There are 120 samples, but weight has 7 values"),
    ],
    ids=["negative", "missing", "text", "zero", "few"],
)
def test_invalid_weights_are_refused(values, message):
    with pytest.raises(ValueError, match=message):
        make_table(X, Y, weight=values)
    with pytest.raises(ValueError, match="did you mean 'x0'"):
        make_table(X, Y, weight="X0")
