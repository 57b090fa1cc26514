"""The same table in every format, encoding and kind of frame."""

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from scipy.sparse import csr_array

from sk_anyloss.compare import TableError, compare, make_table, read_table
from sk_anyloss.compare.cli.main import main
from sk_anyloss.compare.tables.reading.files import read_frame
from tests.compare.samples import X, Y, mixed


def shop():
    """Numbers, categories with letters beyond ASCII, gaps and labels such as NA."""
    frame = mixed()
    frame["colour"] = frame["colour"].replace("green", "grün")
    frame["whole"] = np.arange(len(frame)) % 7
    return frame.assign(left=np.where(frame["left"] == "yes", "NA", "01"))


def write_tsv(frame, path):
    frame.to_csv(path, sep="\t", index=False)


def write_excel(frame, path):
    frame.to_excel(path, index=False)


def write_lines(frame, path):
    frame.to_json(path, orient="records", lines=True, double_precision=15)


def write_list(frame, path):
    frame.to_json(path, orient="records", double_precision=15)


WRITERS = {
    "a.csv": lambda frame, path: frame.to_csv(path, index=False),
    "a.tsv": write_tsv,
    "a.tab": write_tsv,
    "a.txt": write_tsv,
    "a.xlsx": write_excel,
    "a.jsonl": write_lines,
    "a.ndjson": write_lines,
    "a.json": write_list,
    "a.parquet": lambda frame, path: frame.to_parquet(path),
    "a.feather": lambda frame, path: frame.to_feather(path),
}


@pytest.mark.parametrize("name", WRITERS)
def test_every_format_gives_the_same_table(tmp_path, name):
    WRITERS[name](shop(), tmp_path / name)
    table = read_table(tmp_path / name, target="left", positive="NA")
    expected = make_table(shop().drop(columns="left"), shop()["left"], "NA")
    assert table.classes == ["01", "NA"]
    np.testing.assert_array_equal(table.y, expected.y)
    assert list(table.X.columns) == list(expected.X.columns)
    for column in ("size", "gaps", "whole"):
        np.testing.assert_allclose(table.X[column], expected.X[column], atol=1e-12)
    for column in ("colour", "bought"):
        assert table.X[column].dropna().tolist() == expected.X[column].dropna().tolist()


@pytest.mark.parametrize("name", ["a.xlsx", "a.jsonl", "a.feather"])
def test_whole_labels_stay_whole_beside_a_missing_one(tmp_path, name):
    frame = mixed().assign(left=np.where(mixed()["left"] == "yes", 1.0, 0.0))
    frame.loc[5, "left"] = np.nan
    WRITERS[name](frame, tmp_path / name)
    table = read_table(tmp_path / name, target="left")
    assert table.classes == [0, 1]
    assert table.describe().endswith("are 1")
    assert table.n_unlabelled == 1


def test_words_for_missing_values_are_missing_in_the_features_of_excel(tmp_path):
    frame = mixed().assign(left=np.where(mixed()["left"] == "yes", "NA", "no"))
    frame["size"] = frame["size"].astype(object).where(frame.index != 4, "N/A")
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    table = read_table(tmp_path / "a.xlsx", target="left", positive="NA")
    assert table.X["size"].dtype == float
    assert np.flatnonzero(table.X["size"].isna()).tolist() == [4]


def test_the_first_of_several_sheets_is_read_and_named(tmp_path):
    with pd.ExcelWriter(tmp_path / "a.xlsx") as book:
        mixed().to_excel(book, sheet_name="customers", index=False)
        mixed().head(3).to_excel(book, sheet_name="other", index=False)
    table = read_table(tmp_path / "a.xlsx", target="left")
    assert len(table.y) == 120
    assert "Of 2 sheets the first one, 'customers', was read" in table.notes[0]


def test_duplicate_columns_of_excel_are_refused(tmp_path):
    frame = pd.DataFrame([[1, 2, "a"], [3, 4, "b"]], columns=["x", "x", "y"])
    frame.to_excel(tmp_path / "a.xlsx", index=False)
    with pytest.raises(TableError, match="Column names come twice: 'x'"):
        read_table(tmp_path / "a.xlsx", target="y")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1, "y": 0}\n{"a": 2,\n', "Line 2 is not JSON"),
        ("[1, 2]", "must hold objects such as"),
        ("3\n4\n", "must hold objects such as"),
    ],
    ids=["truncated", "numbers", "lines"],
)
def test_json_that_is_no_table_is_refused(tmp_path, text, message):
    (tmp_path / "a.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(TableError, match=message):
        read_table(tmp_path / "a.jsonl", target="y")


@pytest.mark.parametrize(
    ("encoding", "guess"),
    [
        ("utf-8", None),
        ("utf-8-sig", None),
        ("cp1252", "cp1252"),
        ("utf-16", "utf-16"),
        ("utf-16-le", "utf-16-le"),
        ("utf-16-be", "utf-16-be"),
    ],
)
def test_encodings_are_guessed_and_named(tmp_path, encoding, guess):
    path = tmp_path / "a.csv"
    shop().to_csv(path, index=False, encoding=encoding)
    table = read_table(path, target="left", positive="NA")
    assert "grün" in set(table.X["colour"])
    assert table.X.columns[0] == "size"
    named = [note for note in table.notes if "is read as" in note]
    assert len(named) == (guess is not None)
    if guess:
        assert f"is read as {guess};" in named[0]
    again = read_table(path, target="left", positive="NA", encoding=encoding)
    pd.testing.assert_frame_equal(again.X, table.X)
    assert not [note for note in again.notes if "is read as" in note]


def test_an_encoding_that_is_asked_for_is_used_or_refused(tmp_path):
    path = tmp_path / "a.csv"
    shop().to_csv(path, index=False, encoding="cp1250")
    chosen = read_table(path, target="left", positive="NA", encoding="cp1250")
    assert "grün" in set(chosen.X["colour"])
    with pytest.raises(TableError, match=r"is not text in utf-8; leave --encoding out"):
        read_table(path, target="left", encoding="utf-8")
    with pytest.raises(TableError, match=r"Unknown encoding 'utf8x'. Did you mean"):
        read_table(path, target="left", encoding="utf8x")


def test_predict_reads_the_same_formats(tmp_path):
    shop().to_excel(tmp_path / "a.xlsx", index=False)
    shop().to_csv(tmp_path / "a.csv", index=False, encoding="cp1252")
    with pytest.warns(UserWarning, match="read as cp1252"):
        text = read_frame(tmp_path / "a.csv")
    assert read_frame(tmp_path / "a.xlsx")["colour"].equals(text["colour"])


@pytest.mark.parametrize("make", [polars.from_pandas, pyarrow.Table.from_pandas])
def test_frames_of_other_libraries_keep_their_names(make):
    frame = mixed().drop(columns="left")
    table = make_table(make(frame), polars.Series(mixed()["left"].tolist()))
    assert list(table.X.columns) == list(frame.columns)
    np.testing.assert_allclose(table.X["size"], frame["size"])
    assert table.X["colour"].dropna().tolist() == frame["colour"].dropna().tolist()
    numbers = pd.DataFrame(X[:, :3], columns=["one", "two", "three"])
    found = compare(make(numbers), Y, methods=["logistic"], folds=2)
    model = found.best_estimator()
    assert list(model.columns) == ["one", "two", "three"]
    shuffled = make(numbers[["three", "one", "two"]])
    assert model.predict(shuffled).tolist() == model.predict(numbers).tolist()


def test_a_sparse_frame_keeps_its_names_and_a_matrix_is_made_dense():
    rng = np.random.default_rng(0)
    dense = rng.normal(size=(60, 3)) * (rng.random((60, 3)) < 0.5)
    frame = pd.DataFrame.sparse.from_spmatrix(csr_array(dense), columns=["a", "b", "c"])
    table = make_table(frame, [0, 1] * 30)
    assert list(table.X.columns) == ["a", "b", "c"]
    np.testing.assert_array_equal(table.X.to_numpy(), dense)
    matrix = make_table(csr_array(dense), [0, 1] * 30)
    np.testing.assert_array_equal(np.asarray(matrix.X), dense)
    found = compare(csr_array(dense), [0, 1] * 30, methods=["logistic"], folds=2)
    model = found.best_estimator()
    assert model.predict(csr_array(dense)).tolist() == model.predict(dense).tolist()


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--target", "LEFT"], "did you mean 'left'?"),
        (["--target", "left", "--drop", "Colour"], "did you mean 'colour'?"),
        (["--target", "left", "--keep", "Colours"], "did you mean 'colour'?"),
        (["--target", "left", "--groups", "SIZE"], "did you mean 'size'?"),
        (["--target", "left", "--time", "Bought"], "did you mean 'bought'?"),
        (["--target", "left", "--metric", "G-Mean"], "Did you mean 'gmean'?"),
    ],
    ids=["target", "drop", "keep", "groups", "time", "metric"],
)
def test_names_in_another_spelling_have_a_hint(tmp_path, capsys, words, hint):
    mixed().to_csv(tmp_path / "a.csv", index=False)
    assert main(["compare", str(tmp_path / "a.csv"), *words]) == 2
    assert hint in capsys.readouterr().err


def test_every_table_has_an_output_folder_of_its_own(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    words = [
        "--target",
        "left",
        "--methods",
        "logistic",
        "--folds",
        "2",
        "--quiet",
        "--no-explain",
    ]
    for name in ("shop", "other shop"):
        mixed().to_csv(f"{name}.csv", index=False)
        assert main(["compare", f"{name}.csv", "--jobs", "1", *words]) == 0
    assert (tmp_path / "results" / "shop" / "report.html").is_file()
    assert (tmp_path / "results" / "other_shop" / "summary.json").is_file()
    assert "Report: results/shop/report.html" in capsys.readouterr().out
