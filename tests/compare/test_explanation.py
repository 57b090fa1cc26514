"""Importances, learning curves, and runs that are marked as partial."""

from __future__ import annotations

import html

import numpy as np
import pandas as pd
import pytest
from sklearn.naive_bayes import GaussianNB

from sk_anyloss.compare import Comparison, compare, compare_tables, make_table
from sk_anyloss.compare import explanation as explanations
from sk_anyloss.compare.explanation import MAX_COLUMNS, Explanation
from tests.compare.samples import X, Y, mixed


def test_the_column_that_holds_the_signal_is_the_most_important_one():
    rng = np.random.default_rng(0)
    signal = rng.normal(size=300)
    frame = pd.DataFrame(
        rng.normal(size=(300, 45)), columns=[f"n{i}" for i in range(45)]
    )
    frame["colour"] = np.where(signal > 0.8, "red", "blue")
    y = (signal > 0.8).astype(int)
    found = compare(frame, y, methods=["logistic"], folds=3)
    explanation = found.explain()
    strongest = explanation.importances.iloc[0]
    assert strongest["column"] == "colour"
    assert strongest["mean"] > 0.5
    assert (explanation.importances["mean"][1:] < 0.1).all()
    assert len(explanation.importances) == MAX_COLUMNS
    assert explanation.n_columns == 46
    assert explanation.learning["samples"].tolist() == [50, 100, 200]
    assert "relies most on colour" in found.text()
    (stored,) = found.summary()["data"]
    assert stored["explanation"]["importances"][0]["column"] == "colour"


def curve(*means, metric="F1"):
    learning = pd.DataFrame({"samples": [50, 100], "mean": means, "std": [0.1, 0.1]})
    importances = pd.DataFrame({"column": ["a"], "mean": [0.1], "std": [0.0]})
    return str(Explanation("logistic", metric, importances, 1, learning))


def test_the_learning_curve_says_whether_more_samples_are_likely_to_help():
    assert curve(0.7, 0.75) == (
        "logistic relies most on a. On 100 instead of 50 training samples it has F1 "
        "0.750 instead of 0.700: more samples are likely to help."
    )
    assert "0.699 instead of 0.700: more samples are unlikely" in curve(0.7, 0.699)
    # Below 0 is by how much a constraint is missed.
    missed = curve(-0.1, 0.3, metric="precision@recall>=0.8")
    assert missed == "logistic relies most on a."


class NeedsSamples(GaussianNB):
    def fit(self, X, y, sample_weight=None):
        if len(X) < 30:
            raise ValueError("too few samples")
        return super().fit(X, y)


def test_a_part_of_the_samples_that_cannot_be_fitted_is_left_out():
    found = compare(X, Y, methods=[("fussy", NeedsSamples())], folds=3)
    explanation = found.explain()
    assert explanation.learning["samples"].tolist() == [40, 80]
    assert len(explanation.importances) == X.shape[1]


def test_groups_time_and_several_classes_are_explained():
    frame = mixed()
    y = frame.pop("left")
    groups = np.repeat(np.arange(30), 4)
    for options in ({"groups": groups}, {"time": "bought"}):
        found = compare(frame, y, methods=["logistic_threshold"], folds=3, **options)
        assert "size" in set(found.explain().importances["column"].head(2))
    labels = np.resize(["a", "b", "c"], len(X))
    found = compare(X, labels, methods=["logistic"], folds=3)
    assert 0 < found.explain().learning["mean"].iloc[-1] < 1


def test_an_explanation_ends_when_its_time_is_over(tmp_path, monkeypatch):
    found = compare(X, Y, methods=["logistic"], folds=3, output=tmp_path / "folds")
    with pytest.raises(TimeoutError, match="time_limit=0 is too short"):
        found.explain(time_limit=0)
    clock = iter([0, 0, 100, 200, 300])
    monkeypatch.setattr(explanations, "monotonic", lambda: next(clock))
    first = found.explain(time_limit=150)
    sentence = "Time was over after 2 of 3 folds."
    assert str(first).endswith(sentence)
    assert sentence in found.text()
    page = found.report(tmp_path).read_text(encoding="utf-8")
    assert sentence in page
    # It is not stored, so that there are all folds when there is time.
    clock = iter(range(10))
    assert sentence not in str(found.explain(time_limit=150))


@pytest.fixture
def partial():
    table = make_table(X, Y)
    found = compare_tables([table], methods=["logistic", "logistic_balanced"], folds=3)
    some = [fold for fold in found.folds if fold.fold == 0 or fold.method == "logistic"]
    settings = found.settings
    return Comparison([table], some, found.methods, "f1", settings=settings)


def test_a_partial_run_says_what_is_missing_everywhere(partial, tmp_path):
    sentence = "4 of 6 fits are finished. Missing: logistic, balanced 2."
    assert sentence in partial.partial()
    page = partial.report(tmp_path).read_text(encoding="utf-8")
    assert f'<p class="partial">{html.escape(partial.partial())}</p>' in page
    assert sentence in partial.summary()["data"][0]["partial"]


def test_a_resumed_run_has_the_explanation_of_the_first(tmp_path, monkeypatch):
    found = compare(X, Y, methods=["logistic"], folds=3, output=tmp_path)
    first = found.explain()
    monkeypatch.setattr(explanations, "_explain_fold", None)  # Nothing is fitted again.
    again = compare(X, Y, methods=["logistic"], folds=3, output=tmp_path).explain()
    assert str(again) == str(first)
    for name in ("importances", "learning"):
        one, other = getattr(again, name), getattr(first, name)
        pd.testing.assert_frame_equal(one, other, rtol=1e-12, atol=1e-12)
    (path,) = (tmp_path / "folds").glob("*.json")
    path.write_text(path.read_text().replace('"settings": "', '"settings": "x'))
    with pytest.raises(TypeError):
        compare(X, Y, methods=["logistic"], folds=3, output=tmp_path).explain()
