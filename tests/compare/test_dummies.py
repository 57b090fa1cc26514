"""Scores without a model, beside those of scikit-learn's dummies."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.dummy import DummyClassifier
from sklearn.metrics import f1_score, matthews_corrcoef, recall_score

from sk_anyloss.compare import compare, compare_tables, make_table
from tests.compare.samples import X, Y


@pytest.fixture(scope="module")
def found():
    return compare(X, Y, methods=["logistic"], folds=3, also=["roc_auc"])


@pytest.mark.parametrize(("name", "label"), [("all_positive", 1), ("all_negative", 0)])
def test_one_class_for_all_scores_as_the_dummy_of_scikit_learn(found, name, label):
    dummy = DummyClassifier(strategy="constant", constant=label).fit(X, Y)
    scores = []
    for fold in found.folds:
        rows = fold.rows
        predicted = dummy.predict(X[rows])
        scores.append(
            [
                f1_score(Y[rows], predicted, zero_division=0),
                recall_score(Y[rows], predicted),
                matthews_corrcoef(Y[rows], predicted),
            ]
        )
    row = found.dummies().loc[name]
    means = row[["mean", "recall", "mcc"]].astype(float)
    np.testing.assert_allclose(means, np.mean(scores, axis=0), atol=1e-12)
    assert row["std"] == pytest.approx(np.std(scores, axis=0, ddof=1)[0], abs=1e-12)
    assert row["title"] == f"always {label}"
    assert row["roc_auc"] == 0.5


def test_random_classes_score_as_many_draws_do(found):
    draws = np.random.default_rng(0).random((3000, len(Y))) < Y.mean()
    rows = found.folds[0].rows
    recalls = [draw[rows][Y[rows] == 1].mean() for draw in draws]
    dummies = found.dummies()
    assert dummies.loc["prior", "recall"] == pytest.approx(np.mean(recalls), abs=0.01)
    assert dummies["mean"].is_monotonic_decreasing


def test_several_classes_have_the_most_frequent_one():
    X, y = load_wine(return_X_y=True)
    found = compare(X, y, methods=["logistic"], folds=2)
    dummies = found.dummies()
    assert set(dummies.index) == {"most_frequent", "prior"}
    assert dummies.loc["most_frequent", "title"] == "always 1"
    constant = np.ones(len(y), dtype=int)
    reference = [
        f1_score(y[fold.rows], constant[fold.rows], average="macro", zero_division=0)
        for fold in found.folds
    ]
    assert dummies.loc["most_frequent", "mean"] == pytest.approx(np.mean(reference))


def test_dummies_are_in_every_output(found, tmp_path):
    text, page = found.text(), found.report(tmp_path).read_text(encoding="utf-8")
    for title in ("always 1", "always 0", "at random, by proportions"):
        assert title in text
        assert title in page
        assert title in found._repr_html_()
    named = [row["method"] for row in found.summary()["data"][0]["dummies"]]
    assert sorted(named) == ["all_negative", "all_positive", "prior"]
    assert list(found.table.index) == ["logistic"]


def test_tables_of_different_labels_share_their_dummies():
    one = make_table(X, np.where(Y, "a", "b"), "a", name="one")
    two = make_table(X, np.where(Y, "c", "d"), "c", name="two")
    dummies = compare_tables([one, two], methods=["logistic"], folds=2).dummies()
    assert dummies.loc["all_positive", "title"] == "always the positive class"
