"""Parquet files that hold what no table should: one sentence, and no wait."""

import os
import threading

import numpy as np
import pandas as pd
import pytest

from tests.robustness.comparisons import X, Y

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")
feather = pytest.importorskip("pyarrow.feather")

N = len(Y)
FAST = ["--methods", "logistic", "--folds", 2, "--jobs", 1, "--quiet", "--no-explain"]
LABELS = np.where(Y == 1, "yes", "no")
BYTES = pa.array([b"tea", b"caf\xe9"] * (N // 2))
#: Text whose bytes nobody has checked.
NO_TEXT = BYTES.view(pa.string())


def table(**columns):
    frame = pd.DataFrame(X, columns=list("abcd")).assign(y=LABELS)
    found = pa.Table.from_pandas(frame, preserve_index=False)
    for name, column in columns.items():
        found = found.append_column(name, column)
    return found


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A model of the honest columns."""
    from sk_anyloss.compare.cli.main import main

    folder = tmp_path_factory.mktemp("trained")
    pq.write_table(table(), folder / "a.parquet")
    words = ["train", str(folder), "--target", "y", "--save", str(folder / "model")]
    assert main([*words, "--epochs", "1", "--quiet"]) == 0
    return folder / "model.skops"


@pytest.fixture
def call(command, trained, tmp_path):
    """A command on a table, as a file or as a folder with this file."""

    def run(name, content, suffix=".parquet"):
        folder = tmp_path / "data"
        folder.mkdir(exist_ok=True)
        write = feather.write_feather if suffix == ".feather" else pq.write_table
        file = folder / f"a{suffix}"
        write(content, str(file))
        out = tmp_path / "out"
        words = {
            "compare": [file, "--target", "y", *FAST, "--output", out],
            "train": [folder, "--target", "y", "--save", out, "--epochs", 1, "--quiet"],
            "predict": [trained, folder, "--output", out.with_suffix(".parquet")],
            "evaluate": [trained, folder, "--target", "y"],
        }
        return command(name, *words[name])

    return run


@pytest.mark.parametrize("name", ["compare", "train"])
@pytest.mark.parametrize(
    "values",
    [
        pa.array([{"k": 1}] * N),
        pa.array([[1, 2]] * N),
        pa.array([[("k", 1)]] * N, pa.map_(pa.string(), pa.int8())),
    ],
    ids=["struct", "list", "map"],
)
def test_nested_columns_are_named(call, name, values):
    ended = call(name, table(tags=values))
    assert ended.says("'tags'", "no method can learn from", "--drop tags")


@pytest.mark.parametrize("name", ["train", "evaluate"])
def test_a_nested_target_is_named(call, name):
    nested = (
        table().drop_columns(["y"]).append_column("y", pa.array([[1], [2]] * (N // 2)))
    )
    assert call(name, nested).says("list" if name == "train" else "[1]")


@pytest.mark.parametrize("name", ["compare", "train"])
@pytest.mark.parametrize("values", [NO_TEXT, BYTES], ids=["text", "bytes"])
def test_text_that_is_not_utf8_is_named(call, name, values):
    assert call(name, table(tea=values)).says("'tea'", "not UTF-8", "drop")


@pytest.mark.parametrize("name", ["compare", "train", "evaluate"])
def test_labels_that_are_not_utf8_are_named(call, name):
    ended = call(name, table().drop_columns(["y"]).append_column("y", NO_TEXT))
    assert ended.says("'y'", "not UTF-8", "a.parquet")


def test_bytes_of_text_are_text_in_a_folder_too(call, tmp_path, command):
    colour = pa.array([b"red" if label == "yes" else b"blue" for label in LABELS])
    assert call("train", table(colour=colour)).code == 0
    model, data = tmp_path / "out.skops", tmp_path / "data"
    ended = command("predict", model, data, "--output", tmp_path / "p.parquet")
    assert ended.code == 0, ended.err
    ended = command(
        "predict", model, data / "a.parquet", "--output", tmp_path / "p.csv"
    )
    assert ended.code == 0, ended.err
    one, two = pd.read_parquet(tmp_path / "p.parquet"), pd.read_csv(tmp_path / "p.csv")
    np.testing.assert_allclose(one["score"], two["score"], atol=1e-6)


@pytest.mark.parametrize("name", ["compare", "train", "predict", "evaluate"])
def test_columns_of_one_name_are_named(call, name):
    ended = call(name, table(a=pa.array(X[:, 0])))
    assert ended.says("a.parquet", "twice: 'a'", "rename")


def test_columns_of_one_name_in_a_feather_file(call):
    ended = call("compare", table(a=pa.array(X[:, 0])), ".feather")
    assert ended.says("twice: 'a'", "rename")


@pytest.fixture
def pipe(tmp_path):
    """A pipe with the name of a Parquet file, to which nobody writes for a while."""
    if not hasattr(os, "mkfifo"):
        pytest.skip("There are no named pipes.")
    path = tmp_path / "pipes" / "a.parquet"
    path.parent.mkdir()
    os.mkfifo(path)
    # Whoever reads the pipe waits until it is opened and closed here.
    release = threading.Timer(20, lambda: os.close(os.open(path, os.O_RDWR)))
    release.start()
    yield path
    release.cancel()


@pytest.mark.parametrize(
    ("name", "as_folder"),
    [
        ("compare", False),
        ("train", False),
        ("train", True),
        ("predict", True),
        ("evaluate", False),
    ],
)
def test_a_pipe_is_refused(command, trained, pipe, tmp_path, name, as_folder):
    data = pipe.parent if as_folder else pipe
    words = {
        "compare": [data, "--target", "y"],
        "train": [data, "--target", "y", "--save", tmp_path / "m"],
        "predict": [trained, data, "--output", tmp_path / "out.parquet"],
        "evaluate": [trained, data, "--target", "y"],
    }
    assert command(name, *words[name]).says("a.parquet", "regular file")


def test_hidden_files_are_ignored(command, trained, tmp_path):
    folder = tmp_path / "_data"
    (folder / ".cache").mkdir(parents=True)
    (folder / "_temporary").mkdir()
    (folder / "part.parquet").mkdir()
    for name in ("._x", "_metadata", ".cache/x", "_temporary/x"):
        (folder / f"{name}.parquet").write_bytes(b"no Parquet")
    words = ["evaluate", trained, folder, "--target", "y"]
    assert command(*words).says("no files", ".parquet", "'_'")
    pq.write_table(table(), folder / "part.parquet" / "0.parquet")
    assert command(*words).code == 0
