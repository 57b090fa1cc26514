"""The recommendation, and that every output has the same one."""

import html
import json

import numpy as np
import pytest
from sklearn.datasets import load_wine

from sk_anyloss.compare import Comparison, compare, compare_tables, make_table
from sk_anyloss.compare.methods.registry import method_names
from sk_anyloss.compare.methods.simplicity import simplicity
from sk_anyloss.compare.report.html.tables import html_table
from sk_anyloss.compare.run.store import Fold
from sk_anyloss.compare.verdict import judge
from tests.compare.samples import FAST, X, Y


def comparison(scores, alarms=0, metric="recall", **settings):
    """A comparison with given numbers of true positives out of ten a fold."""
    table = make_table(X, np.where(Y == 1, "left", "stayed"), "left")
    folds = [
        Fold("data", method, k, 0.1, [20 - alarms, alarms, 10 - tp, tp])
        for method, hits in scores.items()
        for k, tp in enumerate(hits)
    ]
    return Comparison([table], folds, list(scores), metric, settings=settings)


def test_a_clear_leader_is_recommended_in_numbers_of_samples():
    hits = {"logistic": [5, 5, 4, 5], "anyloss": [9, 8, 9, 8], "bce": [1, 2, 1, 1]}
    found = comparison(hits, alarms=3).recommendation()
    better, *_ = judge(np.array([9, 8, 9, 8]) / 10, np.array([5, 5, 4, 5]) / 10)
    assert better > 0.8
    assert str(found) == (
        "Use AnyLoss. Of 40 held-out samples labelled left it finds 34, with 12 false "
        "alarms (recall 0.850; next: logistic 0.475, probability that it is really "
        f"better {better:.2f}). Before you rely on it, see check R1."
    )
    assert (found.method, found.leader, found.next) == ("anyloss",) * 2 + ("logistic",)
    assert found.is_clear
    assert found.equals == ["anyloss"]
    assert found.probability == pytest.approx(better, abs=1e-12)


def test_between_equals_the_simplest_is_named():
    hits = {
        "anyloss_cv": [9, 7, 8, 8],
        "histgb": [8, 8, 7, 8],
        "logistic": [7, 8, 8, 7],
        "bce": [1, 1, 2, 1],
    }
    found = comparison(hits).recommendation()
    assert not found.is_clear
    assert found.leader == "anyloss_cv"
    assert found.method == "logistic"
    assert set(found.equals) == {"anyloss_cv", "histgb", "logistic"}
    # The probability is that of the leader against the recommended method.
    better, *_ = judge(np.array(hits["anyloss_cv"]) / 10, np.array([7, 8, 8, 7]) / 10)
    assert str(found).startswith(
        "Too close to call; the simplest of the 3 equals is logistic. Of 40 held-out "
        "samples labelled left it finds 30, with 0 false alarms (recall 0.750; best "
        "mean: AnyLossCV 0.800, probability that it is really better "
        f"{better:.2f})."
    )


def test_the_page_marks_the_recommended_method_in_the_ranking():
    hits = {"histgb": [8, 8, 7, 9], "logistic": [7, 8, 8, 7], "bce": [1, 1, 2, 1]}
    page = html_table(comparison(hits), None)
    assert "logistic <small>(recommended)</small></th>" in page
    assert page.count("(recommended)") == 1


def test_a_leader_can_be_the_simplest_of_the_equals():
    found = comparison({"logistic": [9, 7, 8], "histgb": [8, 8, 7]}).recommendation()
    better, *_ = judge(np.array([9, 7, 8]) / 10, np.array([8, 8, 7]) / 10)
    assert str(found).startswith(
        "Too close to call; the simplest of the 2 equals is logistic. Of 30 held-out "
        "samples labelled left it finds 24, with 0 false alarms (recall 0.800, the "
        "best mean; next: HistGB 0.767, probability that it is really better "
        f"{better:.2f})."
    )


def test_one_method_and_one_fold_have_sentences_of_their_own():
    alone = comparison({"logistic": [6, 7]}, alarms=1)
    assert str(alone.recommendation()).startswith(
        "Use logistic, the only method that was compared. Of 20 held-out samples"
    )
    assert "is the only method" in alone.verdict()
    single = comparison({"anyloss": [5], "bce": [4]}).recommendation()
    assert str(single) == (
        "Too few finished folds to choose by: AnyLoss has the best mean so far (recall "
        "0.500; next: BCE 0.400)."
    )
    assert single.probability is None
    one_alarm = Fold("data", "logistic", 0, 0.1, [9, 1, 3, 7])
    table = make_table(X, Y)
    text = str(Comparison([table], [one_alarm], ["logistic"], "f1").recommendation())
    assert "with 1 false alarm (" in text


def test_a_recommendation_that_may_not_hold_names_its_checks():
    hits = {"logistic": [10, 10, 10], "bce": [1, 2, 1]}
    found = comparison(hits)
    assert str(found.recommendation()).endswith(
        "Before you rely on it, see checks R1 and R3."
    )
    moderate = {"logistic": [8, 9, 7], "bce": [1, 2, 1]}
    found = comparison(moderate, alarms=1, metric="f1")
    assert "Before you rely" not in str(found.recommendation())


def test_repeats_give_means_and_partial_runs_say_so():
    hits = {"anyloss": [9, 8, 9, 8], "bce": [1, 2, 1, 1]}
    repeated = comparison(hits, alarms=2, repeats=2, folds=2).recommendation()
    assert "Of 20 held-out samples labelled left it finds 17 on average" in str(
        repeated
    )
    assert "with 4 false alarms" in str(repeated)
    partial = comparison(hits, folds=5)
    assert partial.unfinished() == (2, 10)
    assert str(partial.recommendation()).endswith(
        "The run is partial: 8 of 10 fits are finished."
    )
    assert "partial" not in str(comparison(hits, folds=4).recommendation())


def test_a_constraint_is_counted_over_the_folds():
    hits = {"anyloss": [9, 8, 7], "bce": [1, 2, 1]}
    found = comparison(hits, alarms=2, metric="precision@recall>=0.8")
    assert (
        "(precision@recall>=0.8 met in 2 of 3 folds; next: BCE met in 0 of 3 folds"
    ) in str(found.recommendation())
    assert "-0." not in str(found.recommendation())
    rows = found.text().splitlines()
    (first,) = (i for i, line in enumerate(rows) if " rank " in line)
    heads, *lines = rows[first : first + 3]
    place = heads.index(" rank") + len(" rank")
    assert all(line[place - 3 : place].strip() in ("1.0", "2.0") for line in lines)
    assert ["met 2/3" in lines[0], "met 0/3" in lines[1]] == [True, True]
    assert found.table["mean"].iloc[1] < 0
    kept = comparison({"anyloss": [9, 8, 8]}, alarms=1, metric="precision@recall>=0.8")
    assert "precision@recall>=0.8 0.89" in str(kept.recommendation())


def test_the_weakest_of_several_classes_is_named():
    X, y = load_wine(return_X_y=True)
    found = compare(X[:, :4], y, methods=["logistic", "histgb"], folds=3)
    advice = found.recommendation()
    M = found.confusion_matrix(advice.method).to_numpy()
    recalls = M.diagonal() / M.sum(axis=1)
    weak = int(recalls.argmin())
    assert f"it labels {M.diagonal().sum()} correctly" in str(advice)
    assert (
        f"it is weakest on {weak}, of which it finds {M[weak, weak]} of "
        f"{M[weak].sum()}" in str(advice)
    )


def test_terminal_page_notebook_and_json_say_the_same(tmp_path):
    found = compare(X, Y, methods=FAST, folds=3)
    sentence = str(found.recommendation())
    assert sentence in " ".join(found.text().split())
    assert found.text().splitlines()[2].startswith(sentence[:20])
    page = html.unescape(found.report(tmp_path).read_text(encoding="utf-8"))
    assert sentence in page
    assert sentence in html.unescape(found._repr_html_())
    stored = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert stored["recommendation"]["sentence"] == sentence
    assert stored["data"][0]["recommendation"] == stored["recommendation"]
    assert [row["method"] for row in stored["data"][0]["ranking"]] == list(
        found.table.index
    )
    assert stored == json.loads(json.dumps(found.summary(), default=str))


def test_several_data_sets_have_a_recommendation_each_and_one_together():
    tables = [make_table(X + i, Y, name=f"set {i}") for i in range(3)]
    found = compare_tables(tables, methods=FAST, folds=2)
    words = " ".join(found.text().split())
    for data in ("set 0", "set 1", "set 2", None):
        assert str(found.recommendation(data)) in words
    assert "means over 3 data sets" in str(found.recommendation())


def test_failures_of_every_method_leave_no_recommendation():
    table = make_table(X, Y)
    folds = [Fold("data", "bce", k, failed="ValueError: no") for k in range(2)]
    found = Comparison([table], folds, ["bce"], "f1")
    assert found.recommendation() is None
    assert "Every method failed." in found.text()
    assert found.summary()["recommendation"] is None


def test_simpler_models_and_smaller_additions_come_first():
    order = sorted(["own", *method_names()], key=simplicity)
    for simple, other in (
        ("logistic", "logistic_balanced"),
        ("logistic_balanced", "logistic_threshold"),
        ("logistic_threshold", "logistic_smote"),
        ("logistic_smote", "bce"),
        ("bce", "bce_class_weight"),
        ("bce_class_weight", "bce_smote"),
        ("anyloss", "histgb"),
        ("histgb_smote", "balanced_forest"),
        ("balanced_forest", "anyloss_cv"),
        ("anyloss_cv", "own"),
    ):
        assert order.index(simple) < order.index(other), (simple, other)


def test_the_common_metrics_stay_beside_those_asked_for():
    found = compare(X, Y, methods=["logistic"], folds=2, also=["roc_auc"])
    assert {"gmean", "mcc", "recall", "roc_auc"} <= set(found.table.columns)


def test_labels_that_come_equally_often_have_no_rarer_one():
    table = make_table(X[:40], ["yes", "no"] * 20)
    assert table.classes == ["no", "yes"]
    assert table.notes == [
        "Both labels come 20 times; 'yes', the last in order, is taken as the positive "
        "class."
    ]
