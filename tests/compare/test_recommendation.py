"""The recommendation, and that every output has the same one."""

import html
import json

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_wine
from sklearn.ensemble import HistGradientBoostingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_anyloss.compare import (
    Comparison,
    compare,
    compare_tables,
    make_table,
    unregister_method,
)
from sk_anyloss.compare.methods.own import register_estimator
from sk_anyloss.compare.methods.registry import method_names
from sk_anyloss.compare.methods.simplicity import complexity
from sk_anyloss.compare.report.html.tables import html_table
from sk_anyloss.compare.run.store import Fold
from sk_anyloss.compare.verdict import judge
from tests.compare.samples import FAST, X, Y


class OwnClassifier(ClassifierMixin, BaseEstimator):
    """One of a user, alone or around another."""

    def __init__(self, estimator=None):
        self.estimator = estimator


def comparison(scores, alarms=0, metric="balanced_accuracy", seconds=(), **settings):
    """A comparison with given numbers of true positives out of ten a fold."""
    table = make_table(X, np.where(Y == 1, "left", "stayed"), "left")
    times = dict(seconds)
    folds = [
        Fold(
            "data",
            method,
            k,
            times.get(method, 0.1),
            [20 - alarms, alarms, 10 - tp, tp],
        )
        for method, hits in scores.items()
        for k, tp in enumerate(hits)
    ]
    return Comparison([table], folds, list(scores), metric, settings=settings)


def better(one, other):
    """Probability that the first has the better balanced accuracy."""
    return judge(np.array(one) / 20, np.array(other) / 20)[0]


def test_a_clear_leader_is_recommended_in_numbers_of_samples():
    hits = {"logistic": [5, 5, 4, 5], "anyloss": [9, 8, 9, 8], "bce": [1, 2, 1, 1]}
    found = comparison(hits, alarms=3).recommendation()
    p = better([9, 8, 9, 8], [5, 5, 4, 5])
    assert p > 0.8
    assert str(found) == (
        "Use AnyLoss. Of 40 held-out samples labelled left it finds 34, with 12 false "
        "alarms (balanced accuracy 0.850; next: logistic 0.663, probability that it is "
        f"really better {p:.2f})."
    )
    assert (found.method, found.leader, found.next) == ("anyloss",) * 2 + ("logistic",)
    assert found.is_clear
    assert found.beats_dummy
    assert found.not_clearly_worse == ["anyloss"]
    assert found.probability == pytest.approx(p, abs=1e-12)


def test_a_simpler_method_of_about_the_same_score_is_recommended():
    hits = {
        "anyloss_cv": [9, 7, 8, 8, 9, 8, 8, 8],
        "histgb": [8, 8, 7, 9, 8, 8, 9, 7],
        "bce_threshold": [6, 9, 5, 9, 9, 9, 6, 9],
        "logistic": [7, 8, 8, 9, 8, 8, 9, 7],
        "bce": [1, 1, 2, 1, 1, 1, 1, 1],
    }
    found = comparison(hits).recommendation()
    assert not found.is_clear
    assert (found.leader, found.method) == ("anyloss_cv", "logistic")
    assert set(found.not_clearly_worse) == set(hits) - {"bce"}
    # The probability is that of the leader against the recommended method.
    p = better(hits["anyloss_cv"], hits["logistic"])
    assert str(found) == (
        "Use logistic, which is simpler than AnyLossCV and not clearly worse. Of 80 "
        "held-out samples labelled left it finds 64, with 0 false alarms (balanced "
        "accuracy 0.900; best mean: AnyLossCV 0.906, probability that it is really "
        f"better {p:.2f}). Not clearly worse either: HistGB; BCE, tuned threshold."
    )


def test_a_simpler_method_with_a_lower_mean_is_named_but_not_recommended():
    hits = {"histgb": [9, 4, 8, 8, 9], "logistic": [6, 8, 5, 8, 7], "bce": [1] * 5}
    found = comparison(hits).recommendation()
    assert (found.method, found.is_clear) == ("histgb", False)
    p = better(hits["histgb"], hits["logistic"])
    assert p < 0.8
    assert str(found) == (
        "Use HistGB. Of 50 held-out samples labelled left it finds 38, with 0 false "
        "alarms (balanced accuracy 0.880, the best mean; next: logistic 0.840, "
        f"probability that it is really better {p:.2f}). Not clearly worse: logistic."
    )
    assert "equal" not in comparison(hits).text()


def test_seconds_count_beside_simplicity():
    hits = {"anyloss": [9, 8, 9], "logistic": [8, 9, 9], "histgb": [9, 9, 8]}
    slow = {"anyloss": 40.0, "logistic": 90.0, "histgb": 0.2}
    found = comparison(hits, seconds=slow).recommendation()
    assert (found.leader, found.method) == ("anyloss", "histgb")
    assert str(found).startswith("Use HistGB, which is faster than AnyLoss and not")
    assert comparison(hits).recommendation().method == "logistic"


def test_what_does_not_beat_a_prediction_without_a_model_is_not_simply_recommended():
    hits = {"logistic": [4, 5, 4], "anyloss": [5, 4, 4]}
    found = comparison(hits, alarms=12, metric="f1").recommendation()
    assert not found.beats_dummy
    assert str(found).startswith(
        "No method is better than predicting always left (F1 0.500). The best one is "
        "logistic. Of 30 held-out samples labelled left it finds 13, with 36 false "
        "alarms (F1 0.329, the best mean"
    )
    assert str(found).endswith("Before you rely on it, see check R1.")
    alone = comparison({"logistic": [4, 5]}, alarms=12, metric="f1")
    assert "The best one is logistic, the only method that" in alone.advice()


def test_a_simple_method_that_does_not_beat_a_dummy_is_not_recommended():
    table = make_table(X, np.where(Y == 1, "left", "stayed"), "left")
    counts = {
        "histgb": [[13, 7, 4, 6], [15, 5, 5, 5]] * 2,
        "logistic": [[12, 8, 4, 6], [10, 10, 3, 7]] * 2,
    }
    folds = [
        Fold("data", name, k, 0.1, own)
        for name, given in counts.items()
        for k, own in enumerate(given)
    ]
    found = Comparison([table], folds, list(counts), "f1")
    means = found.table["mean"]
    least = found.dummies()["mean"].max() + found.rope
    assert means["logistic"] < least < means["histgb"] < means["logistic"] + 0.002
    assert found.recommendation().method == "histgb"
    found.rope = 0.0
    assert found.recommendation().method == "logistic"


def test_the_leader_of_a_partial_run_leads_on_the_folds_in_common():
    hits = {"bce": [9, 9, 8], "logistic": [10, 10, 9, 4, 5, 4]}
    found = comparison(hits, folds=6).recommendation()
    assert (found.leader, found.method) == ("logistic", "logistic")


def test_the_page_marks_the_recommended_method_in_the_ranking():
    hits = {"histgb": [9, 8, 8, 9, 7, 9], "logistic": [8, 9, 9, 8, 9, 6]}
    page = html_table(comparison(hits), None)
    assert "logistic <small>(recommended)</small></th>" in page
    assert page.count("(recommended)") == 1


def test_one_method_and_one_fold_have_sentences_of_their_own():
    alone = comparison({"logistic": [6, 7]}, alarms=1)
    assert str(alone.recommendation()).startswith(
        "Use logistic, the only method that was compared. Of 20 held-out samples"
    )
    assert "is the only method" in alone.verdict()
    single = comparison({"anyloss": [5], "bce": [4]}).recommendation()
    assert str(single) == (
        "Too few finished folds to choose by: AnyLoss has the best mean so far "
        "(balanced accuracy 0.750; next: BCE 0.700)."
    )
    assert single.probability is None
    one_alarm = Fold("data", "logistic", 0, 0.1, [9, 1, 3, 7])
    table = make_table(X, Y)
    text = str(Comparison([table], [one_alarm], ["logistic"], "f1").recommendation())
    assert "with 1 false alarm (" in text


def test_a_recommendation_that_may_not_hold_names_its_checks():
    hits = {"logistic": [10, 10, 10], "bce": [1, 2, 1]}
    found = comparison(hits)
    assert str(found.recommendation()).endswith("Before you rely on it, see check R3.")
    useless = comparison(hits, metric="recall")
    assert useless.advice().endswith("Before you rely on it, see checks R1 and R3.")
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
    order = sorted(method_names(), key=complexity)
    for simple, other in (
        ("logistic", "logistic_balanced"),
        ("logistic_balanced", "logistic_threshold"),
        ("logistic_threshold", "logistic_smote"),
        ("logistic_smote", "bce"),
        ("bce", "bce_class_weight"),
        ("bce_class_weight", "bce_smote"),
        ("anyloss", "histgb"),
        ("histgb", "histgb_smote"),
        ("balanced_forest", "anyloss_cv"),
    ):
        assert order.index(simple) < order.index(other), (simple, other)


def test_an_estimator_is_as_complex_as_what_it_contains():
    trees = HistGradientBoostingClassifier()
    voting = VotingClassifier([("a", LogisticRegression()), ("b", trees)])
    given = [
        ("linear", make_pipeline(StandardScaler(), LogisticRegression())),
        ("logistic wrapper of trees", TunedThresholdClassifierCV(trees)),
        ("voting", voting),
        ("search", GridSearchCV(LogisticRegression(), {"C": [1, 10]})),
        ("unknown", OwnClassifier()),
        ("own of trees", OwnClassifier(trees)),
    ]
    names = [register_estimator(one) for one in given]
    linear, tuned, several, search, unknown, inherited = map(complexity, names)
    assert linear == search == complexity("logistic") == 0
    assert tuned == complexity("histgb_threshold")
    assert inherited == several == complexity("histgb")
    assert unknown > complexity("anyloss_cv")
    assert complexity(names[0], 100.0) > complexity("histgb")
    assert complexity(names[0], 0.01) == linear
    for name in names:
        unregister_method(name)


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
