"""Outputs replace only what the package has written, and never what is read."""

import os

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sk_anyloss.compare import compare
from tests.robustness.comparisons import X, Y, results
from tests.robustness.stored import store, write_csv

MINE = b"Not to be lost.\n"


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A stored model and the data it was fitted on."""
    folder = tmp_path_factory.mktemp("stored")
    data = write_csv(folder)
    return store(folder, data, "logistic_balanced"), data


@pytest.fixture
def data(tmp_path):
    return write_csv(tmp_path)


def files_in(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


# Files of the user's own.


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("report.html", MINE),
        ("summary.json", MINE),
        ("results.csv", MINE),
        ("results.parquet", MINE),
        ("settings.json", MINE),
        ("settings.json", b'{"editor.tabSize": 4}'),
        ("m.skops", MINE),
        ("m.md", MINE),
        ("m.onnx", MINE),
    ],
)
def test_a_comparison_replaces_no_other_file_and_fits_nothing(
    name, content, command, words, tmp_path
):
    mine = tmp_path / "out" / name
    mine.parent.mkdir()
    mine.write_bytes(content)
    ended = command(*words, "--save", "m", "--onnx")
    assert ended.says(name, "delete it")
    assert files_in(tmp_path / "out") == {mine: content}


def test_a_report_replaces_no_other_picture_and_is_written_as_a_whole(tmp_path):
    found = compare(X, Y, methods=["logistic_balanced"], folds=2)
    (tmp_path / "pictures").mkdir()
    (tmp_path / "pictures" / "roc.png").write_bytes(MINE)
    with pytest.raises(ValueError, match=r"roc\.png"):
        found.report(tmp_path)
    assert files_in(tmp_path) == {tmp_path / "pictures" / "roc.png": MINE}


@pytest.mark.parametrize("how", ["plain", "symbolic", "hard"])
@pytest.mark.parametrize("name", ["predict", "evaluate", "train"])
def test_an_output_that_someone_else_has_written(
    name, how, stored, command, data, tmp_path
):
    model, _ = stored
    mine, output = tmp_path / "mine", tmp_path / "new.skops"
    mine.write_bytes(MINE)
    if how == "plain":
        output = mine.rename(output)
    else:
        (output.symlink_to if how == "symbolic" else output.hardlink_to)(mine)
    pq.write_table(pa.table(pd.read_csv(data)), tmp_path / "d.parquet")
    before = files_in(tmp_path)
    ended = command(*{
        "predict": ["predict", model, data, "--output", output],
        "evaluate": ["evaluate", model, data, "--target", "y", "--output", output],
        "train": ["train", tmp_path / "d.parquet", "--target", "y", "--save", output],
    }[name])  # fmt: skip
    assert ended.says("new.skops", "delete it")
    assert files_in(tmp_path) == before


def test_predictions_in_parquet_replace_no_other_file(stored, command, data, tmp_path):
    new, output = tmp_path / "d.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.table(pd.read_csv(data)), new)
    for path in (output, tmp_path / "out.parquet.tmp"):
        path.write_bytes(MINE)
    words = ["predict", stored[0], new, "--output", output]
    assert command(*words).says("out.parquet", "delete it")
    output.unlink()
    for _ in range(2):
        assert command(*words).code == 0
        assert len(pd.read_parquet(output)) == 60
    assert (tmp_path / "out.parquet.tmp").read_bytes() == MINE


def test_unfinished_files_of_other_programs_stay(command, words, tmp_path):
    (tmp_path / "out").mkdir()
    mine = tmp_path / "out" / "download.part"
    mine.write_bytes(MINE)
    os.utime(mine, (0, 0))
    assert command(*words).code == 0
    assert mine.read_bytes() == MINE


# What is read.


@pytest.mark.parametrize("how", ["plain", "symbolic", "hard"])
@pytest.mark.parametrize("name", ["predict", "evaluate"])
def test_the_model_is_not_replaced_by_what_it_predicts(
    name, how, command, data, tmp_path
):
    model = store(tmp_path, data, "logistic_balanced")
    output, before = model, model.read_bytes()
    if how != "plain":
        output = model.with_name("other")
        (output.symlink_to if how == "symbolic" else output.hardlink_to)(model)
    words = [name, model.with_suffix(""), data, "--output", output]
    ended = command(*words, *(["--target", "y"] if name == "evaluate" else []))
    assert ended.says(output.name, "is an input")
    assert model.read_bytes() == before


def test_results_that_are_compared_are_not_replaced(command, words, tmp_path):
    assert command(*words).code == 0
    before = files_in(tmp_path)
    words[1] = tmp_path / "out" / "results.csv"
    words[words.index("--target") + 1] = "metric"
    ended = command(*words, "--positive", "f1")
    assert ended.says("results.csv", "is an input")
    assert files_in(tmp_path) == before


# What the package has written.


def test_a_repeated_comparison_replaces_its_own_files(
    command, words, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for output in ("out", tmp_path / "out"):
        words[words.index("--output") + 1] = output
        ended = command(*words, "--save", "m")
        assert ended.code == 0, ended.err
    assert len(results(tmp_path / "out"))


def test_repeated_commands_replace_their_own_files(stored, command, data, tmp_path):
    pq.write_table(pa.table(pd.read_csv(data)), tmp_path / "d.parquet")
    for words in (
        ["predict", stored[0], data, "--output", tmp_path / "o.csv"],
        ["evaluate", stored[0], data, "--target", "y", "--output", tmp_path / "o.json"],
        ["train", tmp_path / "d.parquet", "--target", "y", "--save", tmp_path / "m"],
    ):
        for _ in range(2):
            assert command(*words, *(["--quiet"] * (words[0] == "train"))).code == 0


def test_what_was_changed_since_is_not_replaced(stored, command, data, tmp_path):
    output = tmp_path / "labelled.csv"
    words = ["predict", stored[0], data, "--output", output]
    assert command(*words).code == 0
    changed = output.read_bytes() + b"corrected,by,hand\n"
    output.write_bytes(changed)
    assert command(*words).says("labelled.csv", "delete it")
    assert output.read_bytes() == changed


def test_an_empty_file_and_the_target_of_a_link_are_filled(
    stored, command, data, tmp_path
):
    empty, link = tmp_path / "empty.csv", tmp_path / "link.csv"
    empty.touch()
    link.symlink_to(empty)
    for _ in range(2):
        assert command("predict", stored[0], data, "--output", link).code == 0
    assert link.is_symlink()
    assert len(pd.read_csv(empty)) == 60
