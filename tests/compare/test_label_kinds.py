"""Labels of every kind: the same from every file, numbers of many values, an order."""

import json

import numpy as np
import pandas as pd
import polars
import pytest
from sklearn.metrics import cohen_kappa_score

from sk_anyloss.compare import (
    TableError,
    compare,
    load_model,
    make_table,
    read_table,
)
from sk_anyloss.compare.cli.main import main
from tests.compare.samples import X
from tests.compare.test_formats import WRITERS

NUMBERS = pd.DataFrame(X).add_prefix("x")
NAMES = ["a.csv", "a.tsv", "a.xlsx", "a.jsonl", "a.json", "a.parquet", "a.feather"]
CODES = np.arange(120) % 3
#: What a program writes, and what the classes are.
KINDS = {
    "whole": (CODES + 9, [9, 10, 11]),
    "whole floats": (CODES - 1.0, [-1, 0, 1]),
    "whole with a gap": (np.where(np.arange(120) == 7, np.nan, CODES), [0, 1, 2]),
    "fractions": (CODES / 2, [0.0, 0.5, 1.0]),
    "truth values": (CODES > 0, [True, False]),
    "truth values with a gap": ([None, *(CODES > 0)[1:].tolist()], [True, False]),
    "text": (np.array(["007", "01", "x"])[CODES], ["007", "01", "x"]),
}


def typed(labels):
    return [(type(label), label) for label in labels]


@pytest.mark.parametrize("kind", KINDS)
def test_a_label_is_the_same_from_every_file_and_frame(tmp_path, kind):
    labels, classes = KINDS[kind]
    frame = NUMBERS.assign(left=labels)
    for name in NAMES:
        WRITERS[name](frame, tmp_path / name)
        table = read_table(tmp_path / name, target="left")
        assert typed(table.classes) == typed(classes), name
    for y in (frame["left"], polars.Series(frame["left"]), frame["left"].tolist()):
        assert typed(make_table(NUMBERS, y).classes) == typed(classes)


@pytest.mark.parametrize("kind", ["whole with a gap", "truth values"])
def test_a_model_of_one_file_type_is_evaluated_on_every_other(tmp_path, capsys, kind):
    frame = NUMBERS.assign(left=KINDS[kind][0])
    frame.to_parquet(tmp_path / "a.parquet")
    words = ["compare", str(tmp_path / "a.parquet"), "--target", "left", "--folds", "2"]
    words += ["--methods", "logistic", "--jobs", "1", "--quiet", "--no-explain"]
    assert main([*words, "--output", str(tmp_path), "--save", "model"]) == 0
    printed = set()
    for name in NAMES:
        WRITERS[name](frame, tmp_path / name)
        words = ["evaluate", str(tmp_path / "model"), str(tmp_path / name)]
        capsys.readouterr()
        assert main([*words, "--target", "left"]) == 0, name
        printed.add(capsys.readouterr().out)
    assert len(printed) == 1
    predicted = load_model(tmp_path / "model.skops").predict(frame)
    assert set(predicted) <= {str(label) for label in KINDS[kind][1]}


@pytest.mark.parametrize(
    ("fitted", "new"), [([0, 1], ["0.0", "1.00"]), ([True, False], ["TRUE", "FALSE"])]
)
def test_labels_in_another_spelling_are_known_to_the_model(tmp_path, fitted, new):
    places = (CODES > 0).astype(int)
    found = compare(NUMBERS, np.array(fitted)[places], methods=["logistic"], folds=2)
    path = found.save(tmp_path / "model")
    NUMBERS.assign(left=np.array(new)[places]).to_parquet(tmp_path / "new.parquet")
    data = str(tmp_path / "new.parquet")
    assert main(["evaluate", str(path), data, "--target", "left"]) == 0


# Numbers that may be no classes.

MANY = np.arange(120) % 53 + 17


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl"])
def test_many_distinct_numbers_are_questioned(tmp_path, capsys, name):
    WRITERS[name](NUMBERS.assign(age=MANY), tmp_path / name)
    assert main(["compare", str(tmp_path / name), "--target", "age"]) == 2
    says = capsys.readouterr().err
    assert "The target is continuous: 53 distinct numbers from 17 to 69" in says
    assert "such as low, medium and high" in says
    assert "--order ascending (order='ascending')" in says
    table = read_table(tmp_path / name, target="age", order="ascending")
    assert list(table.classes) == list(range(17, 70))


def test_many_distinct_numbers_that_are_said_to_be_classes():
    text = MANY.astype(str)
    for y in (pd.Categorical(MANY), pd.Series(text), text):
        assert len(make_table(NUMBERS, y).classes) == 53
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))[np.arange(120) % 26]
    assert len(make_table(NUMBERS, letters).classes) == 26
    assert make_table(NUMBERS, MANY, positive=69).classes == ["others", 69]
    assert len(make_table(NUMBERS, np.arange(120) % 20 / 10).classes) == 20
    with pytest.raises(TableError, match="continuous: 53 distinct numbers"):
        make_table(NUMBERS, MANY)


# Ordered classes.

GRADES = ["low", "medium", "high"]
#: What a feature and noise tell of them.
NOISE = np.random.default_rng(0).normal(size=120)
GRADE = np.array(GRADES)[np.digitize(X[:, 0] + 0.7 * NOISE, [-0.5, 0.5])]


@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_an_order_of_classes_is_compared_stored_and_evaluated(tmp_path, capsys, name):
    WRITERS[name](NUMBERS.assign(grade=GRADE), tmp_path / name)
    data = [str(tmp_path / name), "--target", "grade"]
    words = ["compare", *data, "--order", "low,medium,high", "--folds", "3"]
    words += ["--metric", "kappa_quadratic", "--methods", "logistic", "--jobs", "1"]
    words += ["--quiet", "--no-explain", "--output", str(tmp_path), "--save", "model"]
    assert main(words) == 0
    printed = capsys.readouterr()
    assert "ordered: 'low', 'medium', 'high'" in printed.out
    assert "in this order" not in printed.err
    path = str(tmp_path / "model")
    predicted = load_model(tmp_path / "model.skops").predict(NUMBERS)
    places = [[GRADES.index(label) for label in y] for y in (GRADE, predicted)]
    expected = cohen_kappa_score(*places, weights="quadratic")
    alphabetical = cohen_kappa_score(GRADE, predicted, weights="quadratic")
    assert abs(expected - alphabetical) > 0.01
    out = str(tmp_path / "scores.json")
    words = ["evaluate", path, *data, "--metric", "kappa_quadratic", "--output", out]
    assert main(words) == 0
    found = json.loads((tmp_path / "scores.json").read_text(encoding="utf-8"))
    assert found["classes"] == GRADES
    assert found["scores"]["kappa_quadratic"] == pytest.approx(expected, abs=1e-12)


def test_the_kappa_of_a_comparison_follows_the_order():
    options = {"methods": ["logistic"], "folds": 3}
    found = compare(NUMBERS, GRADE, "kappa_quadratic", order=GRADES, **options)
    scores = found.results.query("metric == 'kappa_quadratic'").set_index("fold")
    for fold in found.folds:
        counts, places = np.array(fold.counts), np.indices((3, 3)).reshape(2, 9)
        y, predicted = (place.repeat(counts) for place in places)
        expected = cohen_kappa_score(y, predicted, weights="quadratic")
        assert scores.loc[fold.fold, "score"] == pytest.approx(expected, abs=1e-12)
    assert list(found.tables[0].classes) == GRADES
    with pytest.warns(UserWarning, match="'high', 'low', 'medium', in this order"):
        compare(NUMBERS, GRADE, "kappa_quadratic", **options)


@pytest.mark.parametrize("kind", ["pandas", "polars", "a.parquet", "a.feather"])
def test_ordered_categories_bring_their_order(tmp_path, kind):
    ordered = pd.CategoricalDtype(["none", *GRADES], ordered=True)
    frame = NUMBERS.assign(grade=pd.Series(GRADE).astype(ordered))
    if kind.startswith("a."):
        WRITERS[kind](frame, tmp_path / kind)
        table = read_table(tmp_path / kind, target="grade")
    elif kind == "pandas":
        table = make_table(NUMBERS, frame["grade"])
    else:
        y = polars.Series(GRADE, dtype=polars.Enum(GRADES))
        table = make_table(NUMBERS, y)
    assert list(table.classes) == GRADES
    counts = pd.Series(GRADE).value_counts()
    assert table.class_counts.tolist() == counts[GRADES].tolist()


@pytest.mark.parametrize(
    ("order", "y", "message"),
    [
        (
            np.array(["low", "high"]),
            GRADE,
            "names 'low', 'high' of 'high', 'low'",
        ),
        ("low,medium,high,low", GRADE, "names 'low', 'medium', 'high', 'low' of"),
        ("low,tall,high", GRADE, "order 'tall' is not in the target"),
        ("b,a", np.where(X[:, 0] > 0, "a", "b"), "more than two classes"),
        ("a,b", np.column_stack((X[:, 0] > 0, X[:, 1] > 0)), "each label by itself"),
    ],
)
def test_an_order_that_is_none_is_refused(order, y, message):
    with pytest.raises(TableError, match=message):
        make_table(NUMBERS, y, order=order)
