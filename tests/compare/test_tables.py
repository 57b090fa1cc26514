"""Reading tables: files, labels, columns that are dropped, and messages."""

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from sk_anyloss.compare import TableError, compare_tables, make_table, read_table
from tests.compare.samples import FAST, X, Y, mixed


def test_a_csv_file_of_mixed_columns_is_read_and_compared(tmp_path):
    path = tmp_path / "shop.csv"
    mixed().to_csv(path, index=False)
    table = read_table(path, "left")
    assert (table.name, table.positive, table.negative) == ("shop", "yes", "no")
    assert table.y.sum() == (mixed()["left"] == "yes").sum()
    found = compare_tables([table], methods=FAST, folds=2)
    assert found.failures() == []
    assert found.table["mean"].notna().all()


def test_csv_parquet_and_npz_give_the_same_table(tmp_path):
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(5)]).assign(y=Y)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_csv(tmp_path / "a.csv", index=False)
    np.savez(tmp_path / "a.npz", X=X, y=Y)
    tables = [read_table(tmp_path / f"a.{kind}", "y") for kind in ("parquet", "csv")]
    tables.append(read_table(tmp_path / "a.npz"))
    assert len({table.fingerprint() for table in tables}) == 1
    np.testing.assert_array_equal(tables[2].y, Y)


@pytest.mark.parametrize("sep", [",", ";", "\t", "|"])
def test_the_delimiter_is_detected(tmp_path, sep):
    mixed().to_csv(tmp_path / "a.csv", index=False, sep=sep)
    table = read_table(tmp_path / "a.csv", "left")
    assert list(table.X.columns) == ["size", "colour", "bought", "gaps"]


def test_the_fingerprint_depends_on_all_data():
    table = make_table(X, Y)
    other = X.copy()
    other[5, 2] += 1e-9
    assert make_table(X, Y).fingerprint() == table.fingerprint()
    assert make_table(other, Y).fingerprint() != table.fingerprint()
    assert make_table(X, 1 - Y, positive=1).fingerprint() != table.fingerprint()
    assert make_table(X, Y, groups=Y).fingerprint() != table.fingerprint()


def test_empty_and_constant_columns_are_dropped_with_a_note():
    frame = mixed().assign(same="a", empty=np.nan)
    table = make_table(frame.drop(columns="left"), frame["left"])
    assert list(table.X.columns) == ["size", "colour", "bought", "gaps"]
    assert "one value only: 'same'" in " ".join(table.notes)
    assert "no value at all: 'empty'" in " ".join(table.notes)


def test_samples_without_a_label_are_dropped_if_allowed():
    labels = mixed()["left"].where(np.arange(120) > 4)
    X = mixed().drop(columns="left")
    with pytest.raises(TableError, match=r"5 of 120 labels \(4.2 %\) are missing"):
        make_table(X, labels)
    table = make_table(X, labels, allow_missing_labels=True)
    assert len(table.X) == len(table.y) == 115
    assert "5 samples without a label" in table.notes[0]


def csv_file(text):
    def write(folder):
        path = folder / "a.csv"
        path.write_text(text, encoding="utf-8")
        return path

    return write


SAMPLES = "a,y\n" + "".join(f"{i % 7},{i % 2}\n" for i in range(20))


@pytest.mark.parametrize(
    ("make", "params", "message"),
    [
        (lambda folder: folder / "none.csv", {}, "There is no file .*none.csv"),
        (csv_file(SAMPLES), {}, "Name the column to predict with --target.*'a', 'y'"),
        (csv_file(SAMPLES), {"target": "z"}, "There is no column 'z' .*'a', 'y'"),
        (
            csv_file(SAMPLES),
            {"target": "y", "positive": "9"},
            "'9' is not in the target",
        ),
        (
            csv_file(SAMPLES),
            {"target": "y", "groups": "g"},
            "no column 'g' to group by",
        ),
        (csv_file("a,y\n1,1\n2,1\n"), {"target": "y"}, "one class only, 1"),
        (csv_file("a,a,y\n1,1,1\n2,1,0\n"), {"target": "y"}, "come twice: 'a'"),
        (csv_file("a,y\n1,1\n1,0\n"), {"target": "y"}, "no column left"),
        (csv_file(""), {"target": "y"}, "a.csv' is empty"),
        (csv_file("\n \n"), {"target": "y"}, "a.csv' is empty"),
        (csv_file("a,y\n"), {"target": "y"}, "has no samples"),
        (
            csv_file("a,y\n" + "".join(f"{i % 3},c{i}\n" for i in range(501))),
            {"target": "y"},
            "has 501 classes.*and 493 more, and at most 500 .*--positive",
        ),
        (
            csv_file("a,y\n" + "".join(f"{i % 3},{i}\n" for i in range(501))),
            {"target": "y"},
            "continuous: 501 distinct numbers from 0 to 500; turn it into classes",
        ),
        (
            csv_file("a,y\n" + "".join(f"{i % 3},{i / 7}\n" for i in range(100))),
            {"target": "y"},
            "continuous: 100 distinct numbers from 0 to 14.14",
        ),
        (lambda folder: folder, {"target": "y"}, "There is no file"),
    ],
)
def test_invalid_tables_are_refused_with_one_sentence(tmp_path, make, params, message):
    with pytest.raises(TableError, match=message) as caught:
        read_table(make(tmp_path), **params)
    assert "\n" not in str(caught.value)


def test_unsupported_files_are_refused(tmp_path):
    (tmp_path / "a.sav").write_text("no", encoding="utf-8")
    with pytest.raises(TableError, match=r"ends in '.sav'; .csv, .*feather and .npz"):
        read_table(tmp_path / "a.sav", "y")
    (tmp_path / "a.xls").write_text("no", encoding="utf-8")
    with pytest.raises(TableError, match=r"old format of Excel; save it as .xlsx"):
        read_table(tmp_path / "a.xls", "y")
    (tmp_path / "a.xlsx").write_text("no", encoding="utf-8")
    with pytest.raises(TableError, match=r"a.xlsx' cannot be read"):
        read_table(tmp_path / "a.xlsx", "y")
    np.savez(tmp_path / "a.npz", Z=X)
    with pytest.raises(TableError, match="must hold X and y; it holds 'Z'"):
        read_table(tmp_path / "a.npz")


def test_a_file_too_large_for_the_memory_is_not_read(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text(SAMPLES, encoding="utf-8")
    monkeypatch.setattr("sk_anyloss.compare.tables.reading.delimited.LARGE_FILE", 10)
    monkeypatch.setattr("os.sysconf", lambda name: 1)
    with pytest.raises(TableError, match=r"of memory, and 0.0 GB are free"):
        read_table(path, "y")


def test_one_class_against_all_others():
    labels = np.array(["a", "b", "c"] * 40)
    table = make_table(X, labels, positive="b")
    assert table.y.sum() == 40
    assert table.negative == "others"


def test_openml_data_by_name_and_by_number(monkeypatch):
    calls = []

    def fetch(**what):
        calls.append(what)
        if what.get("name") == "none":
            raise ValueError("No known data set.\nMore.")
        frame = mixed()
        return Bunch(
            data=frame.drop(columns="left"), target=frame["left"],
            details={"name": "shop"},
        )  # fmt: skip

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    assert read_table("openml:shop").name == "shop"
    assert read_table("openml:40", target="left", positive="no").positive == "no"
    assert calls == [
        {"name": "shop", "as_frame": True},
        {"data_id": 40, "target_column": "left", "as_frame": True},
    ]
    with pytest.raises(
        TableError, match="Fetching 'none' from OpenML failed: No known"
    ):
        read_table("openml:none")
