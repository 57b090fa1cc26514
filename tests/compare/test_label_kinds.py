"""Labels of every kind: the same from every file, numbers of many values, an order."""

import numpy as np
import pandas as pd
import polars
import pytest

from sk_anyloss.compare import compare, load_model, make_table, read_table
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
