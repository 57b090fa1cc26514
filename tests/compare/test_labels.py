"""Targets of several labels, from the columns of a file to the report."""

import html

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_multilabel_classification
from sklearn.metrics import f1_score, precision_recall_fscore_support

from sk_anyloss.__main__ import main
from sk_anyloss.compare import TableError, compare, compare_tables, make_table
from sk_anyloss.compare.methods.labels import EachLabel
from sk_anyloss.compare.metrics import metric_for_labels

FEATURES, LABELS = make_multilabel_classification(90, 6, n_classes=3, random_state=0)
X = pd.DataFrame(FEATURES).add_prefix("x")
Y = pd.DataFrame(LABELS, columns=["sad", "calm", "angry"])
FAST = ["anyloss", "logistic", "logistic_threshold"]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    output = tmp_path_factory.mktemp("results")
    return compare(X, Y, methods=FAST, folds=3, output=output)


def test_scores_are_averages_over_the_labels(found):
    own = [fold for fold in found.folds if fold.method == "logistic"]
    for fold in own:
        decided = fold.scores >= 0.5
        row = found.results.query("method == 'logistic' and fold == @fold.fold")
        for average in ("macro", "micro", "weighted"):
            expected = f1_score(
                LABELS[fold.rows], decided, average=average, zero_division=0
            )
            score = row.loc[row["metric"] == f"f1_{average}", "score"].item()
            assert score == pytest.approx(expected, abs=1e-12)
    rows = np.concatenate([fold.rows for fold in own])
    decided = np.concatenate([fold.scores for fold in own]) >= 0.5
    report = found.class_report("logistic")
    assert list(report.index) == ["sad", "calm", "angry"]
    expected = precision_recall_fscore_support(LABELS[rows], decided, zero_division=0)
    np.testing.assert_allclose(report.to_numpy().T, expected, rtol=1e-12, atol=1e-12)
    assert sorted(rows) == list(range(90))


def test_predictions_without_a_model_are_those_of_each_label(found):
    dummies = found.dummies()
    sizes = found.label_counts("logistic")[["fn", "tp"]].sum(axis=1).tolist()
    assert sizes == LABELS.sum(axis=0).tolist()
    assert dummies.loc["all_positive", "recall_macro"] == pytest.approx(1, abs=1e-12)
    assert dummies.loc["all_negative", "mean"] == 0
    share = LABELS.mean(axis=0)
    prior = dummies.loc["prior", "precision_macro"]
    assert prior == pytest.approx(share.mean(), abs=1e-9)


def test_the_recommendation_counts_labels_and_names_the_worst(found):
    advice = found.recommendation()
    counts = found.label_counts(advice.method)
    worst = found.class_report(advice.method)["f1"].idxmin()
    assert (
        f"Of {LABELS.sum()} labels on 90 held-out samples it finds "
        f"{counts['tp'].sum()}, with {counts['fp'].sum()} false alarms; it is weakest "
        f"on {worst}, of which it finds {counts.loc[worst, 'tp']} of "
    ) in str(advice)


def test_terminal_and_page_have_every_label(found, tmp_path):
    found.explain("logistic")
    assert "Labels, by" in found.text()
    page = html.unescape(found.report(tmp_path).read_text(encoding="utf-8"))
    assert str(found.recommendation()) in page
    assert '<th scope="row">angry</th>' in page
    assert "Confusion matrix" not in page
    assert 'class="thresholds"' not in page
    assert {finding.status for finding in found.checks()} >= {"not applicable"}


def test_a_finished_run_is_resumed(found):
    again = compare(X, Y, methods=FAST, folds=3, output=found.store.folder)
    pd.testing.assert_frame_equal(again.table, found.table)
    assert [fold.seconds for fold in again.folds] == [f.seconds for f in found.folds]


def test_the_best_estimator_predicts_labels(found):
    for method in ("anyloss", "logistic_threshold"):
        predicted = found.best_estimator(method).predict(X)
        assert predicted.shape == LABELS.shape
        assert f1_score(LABELS, predicted, average="micro") > 0.7


class Majority(ClassifierMixin, BaseEstimator):
    """Refuses one class, and decides otherwise than its scores do."""

    def fit(self, X, y):
        assert len(np.unique(y)) == 2
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return np.ones(len(X), dtype=int)

    def predict_proba(self, X):
        return np.tile([0.8, 0.2], (len(X), 1))


def test_each_label_has_a_classifier_that_decides_by_itself():
    y = np.array([[0, 1, 0], [1, 1, 0]])
    model = EachLabel(Majority()).fit(np.zeros((2, 1)), y)
    assert model.predict(np.zeros((2, 1))).tolist() == [[1, 1, 0]] * 2
    np.testing.assert_allclose(
        model.predict_proba(np.zeros((1, 1))), [[0.2, 1, 0]], rtol=0, atol=1e-12
    )


def test_the_command_takes_several_columns(tmp_path, capsys):
    path = tmp_path / "music.csv"
    frame = X.assign(**Y)
    frame.loc[3, "calm"] = np.nan
    frame.to_csv(path, index=False)
    words = ["compare", str(path), "--methods", "logistic", "--folds", "2", "--quiet"]
    words += ["--jobs", "1", "--no-explain", "--output", str(tmp_path / "out")]
    words += ["--allow-missing-labels", "--target"]
    assert main([*words, "sad, calm,angry"]) == 0
    out = capsys.readouterr().out
    assert "music: 89 samples, 6 columns, 3 labels on" in out
    assert "Dropped 1 samples without a label." in out
    assert main([*words, "sad,clam"]) == 2
    assert "did you mean 'calm'" in capsys.readouterr().err
    assert main([*words, "sad,x0"]) == 2
    assert "'x0' holds" in capsys.readouterr().err
    assert main([*words, "sad,calm", "--save", "model"]) == 2
    assert "best_estimator" in capsys.readouterr().err
    assert main([*words, "sad,calm", "--groups", "x0"]) == 2
    assert "compare each label by itself" in capsys.readouterr().err


def test_what_labels_cannot_have_is_refused(found):
    with pytest.raises(ValueError, match="use 'f1_macro', _micro or _weighted"):
        metric_for_labels("f1_samples")
    with pytest.raises(TableError, match="'label 1' holds 0 only"):
        make_table(FEATURES, np.column_stack((LABELS[:, 0], np.zeros(90))))
    with pytest.raises(TableError, match="--positive names one of several classes"):
        make_table(X, Y, positive="sad")
    few = Y.assign(sad=[1, 1, *[0] * 88])
    with pytest.raises(TableError, match="is on 2; use --folds 2"):
        compare(X, few, methods=["logistic"], folds=3)
    with pytest.raises(ValueError, match="one after the other"):
        compare_tables([make_table(X, Y), make_table(X, Y["sad"], name="two")])
    with pytest.raises(ValueError, match="no confusion matrix"):
        found.confusion_matrix("logistic")
    with pytest.raises(ValueError, match="data has 3 labels; a threshold is for two"):
        found.thresholds()
    with pytest.raises(TableError, match="has no model file"):
        found.save("model")
