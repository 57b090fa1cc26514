"""The commands that train on folders of Parquet files and label them."""

import errno
import os
import re

import numpy as np
import pandas as pd
import pytest

from sk_anyloss.compare import load_model
from sk_anyloss.compare.cli.main import main
from sk_anyloss.training.loop import Run
from tests.compare.samples import mixed

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

QUICK = ["--epochs", "4", "--quiet"]


def write_files(folder, frame):
    folder.mkdir()
    for name, part in (("a", frame[:250]), ("b", frame[250:])):
        table = pa.Table.from_pandas(part, preserve_index=False)
        pq.write_table(table, folder / f"{name}.parquet", row_group_size=90)
    return folder


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A folder of files with text, dates and gaps, and a model trained on them."""
    folder = tmp_path_factory.mktemp("shop")
    frame = mixed(500)
    frame["key"] = np.arange(500)
    write_files(folder / "data", frame)
    words = ["train", str(folder / "data"), "--target", "left", "--metric", "f1"]
    words += ["--drop", "key", "--save", str(folder / "model"), *QUICK]
    assert main(words) == 0
    return folder, frame


def test_a_folder_is_labelled_as_its_samples_are_at_once(shop, capsys):
    folder, frame = shop
    output = folder / "predicted.parquet"
    words = ["predict", str(folder / "model"), str(folder / "data")]
    assert main([*words, "--output", str(output), "--keep", "key"]) == 0
    assert "500 samples labelled" in capsys.readouterr().err
    found = pd.read_parquet(output)
    assert found.columns.tolist() == ["key", "label", "score"]
    assert pq.read_metadata(output).num_row_groups == 6
    model = load_model(folder / "model.skops")
    np.testing.assert_array_equal(found["key"], frame["key"])
    np.testing.assert_array_equal(found["label"], model.predict(frame))
    np.testing.assert_allclose(found["score"], model.predict_proba(frame)[:, 1])
    # It has learned something.
    assert (found["label"] == frame["left"]).mean() > 0.7


def test_a_folder_is_evaluated_as_its_samples_are_at_once(shop, tmp_path, capsys):
    folder, frame = shop
    frame = frame.assign(left=frame["left"].where(frame["key"] % 9 > 0))
    assert frame["left"][:90].notna().any()
    write_files(tmp_path / "data", frame)
    frame.to_csv(tmp_path / "data.csv", index=False)
    printed = []
    for data in (tmp_path / "data", tmp_path / "data.csv"):
        words = ["evaluate", str(folder / "model"), str(data), "--target", "left"]
        assert main(words) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    assert "56 samples without a label are left out" in printed[0]
    assert main([*words[:2], str(tmp_path / "data"), "--target", "lft"]) == 2
    assert "Did you mean 'left'" in capsys.readouterr().err
    write_files(tmp_path / "other", frame.assign(left=None))
    assert main([*words[:2], str(tmp_path / "other"), "--target", "left"]) == 2
    assert "no sample with a label" in capsys.readouterr().err


def test_numbers_with_gaps_and_several_classes(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 3)).astype("float32")
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    frame = pd.DataFrame(X, columns=list("abc"))
    frame.loc[::7, "b"] = np.nan
    folder = write_files(tmp_path / "data", frame.assign(y=y, w=rng.uniform(1, 2, 400)))
    last = pq.read_table(folder / "b.parquet").append_column("new", pa.nulls(150))
    pq.write_table(last, folder / "b.parquet")
    words = ["train", str(tmp_path / "data"), "--target", "y", "--weight", "w"]
    words += [
        "--hidden",
        "8",
        "--order",
        "2,1,0",
        "--batch-size",
        "20",
        "--validation",
        "0.25",
    ]
    words += ["--save", str(tmp_path / "model"), *QUICK, "--epochs", "10"]
    assert main(words) == 0
    printed = capsys.readouterr().out
    assert "400 samples (2 " in printed
    assert printed.count("Column 'new' of") == 1
    assert "f1_macro of the held-out samples: 0." in printed
    predicted = load_model(tmp_path / "model").predict(frame)
    assert (predicted.astype(int) == y).mean() > 0.8


def test_a_training_with_text_is_repeated_by_its_seed(tmp_path):
    rng = np.random.default_rng(0)
    frame = mixed(500)
    words = np.array([f"word{i}" for i in range(300)])
    frame["text"] = [" ".join(rng.choice(words, 5)) for _ in range(500)]
    write_files(tmp_path / "data", frame)
    words = ["train", str(tmp_path / "data"), "--target", "left", "--seed"]
    stored = []
    for name, seed in (("a", "3"), ("b", "3"), ("c", "4")):
        path = tmp_path / name
        assert main([*words, seed, "--save", str(path), *QUICK]) == 0
        stored.append(path.with_suffix(".skops").read_bytes())
    assert stored[0] == stored[1]
    assert stored[0] != stored[2]


def test_the_score_is_of_samples_that_early_stopping_did_not_see(tmp_path, capsys):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(600, 6)), columns=list("abcdef"))
    frame["y"] = rng.integers(0, 2, 600)
    write_files(tmp_path / "data", frame)
    words = ["train", str(tmp_path / "data"), "--target", "y", "--metric", "mcc"]
    words += ["--validation", "0.05", "--epochs", "12", "--batch-size", "50", "--quiet"]
    scores = []
    for seed in range(20):
        more = ["--save", str(tmp_path / "model"), "--seed", str(seed)]
        assert main([*words, *more]) == 0
        printed = capsys.readouterr().out
        found = re.search(r"mcc of the held-out samples: (\S+)", printed)
        scores.append(float(found[1]))
    # On noise it is 0 on average; the best of several epochs is not.
    assert abs(np.mean(scores)) < 0.1
    assert "(30 samples that no epoch was chosen by)" in printed
    assert "The rarer label, 0, is taken as the positive class" in printed
    assert main([*words, "--save", str(tmp_path / "m"), "--validation", "0"]) == 0
    assert "held-out" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (["--target", "lft"], "Unknown column 'lft'. Did you mean 'left'"),
        (["--drop", "kee"], "There is no column 'kee' to drop (did you mean 'key'?)"),
        (["--metric", "f11x"], "f11x"),
        (["--positive", "maybe"], "The positive label 'maybe' is not in the target"),
        (["--hidden", "a"], "--hidden must be widths such as 64,32, got 'a'"),
        (["--validation", "2"], "--validation must be in [0, 0.5)"),
        (["--save", "no/folder/model"], "the folder does not exist"),
        (["--target", "size"], "The target is continuous"),
    ],
)
def test_a_training_that_cannot_be_is_one_sentence(shop, changed, message, capsys):
    folder, _ = shop
    words = ["train", str(folder / "data"), "--target", "left", "--drop", "key"]
    words += ["--save", str(folder / "other"), *QUICK, *changed]
    assert main(words) == 2
    printed = capsys.readouterr().err
    assert message in printed
    assert printed.count("\n") == 1
    assert not (folder / "other.skops").exists()


def test_files_that_are_not_there_are_one_sentence(tmp_path, capsys):
    words = ["train", str(tmp_path), "--target", "y", "--save", str(tmp_path / "m")]
    assert main(words) == 2
    assert "that end in .parquet; nothing was" in capsys.readouterr().err


def test_an_interrupted_training_is_stored_and_says_so(
    shop, tmp_path, capsys, monkeypatch
):
    folder, _ = shop
    begin = Run.begin_epoch

    def interrupted(run):
        if len(run.net.history) == 2:
            raise KeyboardInterrupt
        begin(run)

    monkeypatch.setattr(Run, "begin_epoch", interrupted)
    words = ["train", str(folder / "data"), "--target", "left", "--drop", "key"]
    assert main([*words, "--save", str(tmp_path / "model"), *QUICK]) == 0
    printed = capsys.readouterr().out
    assert "Training was interrupted in epoch 2; the model keeps" in printed
    assert "2 epochs." in printed
    assert (tmp_path / "model.skops").exists()


def test_a_full_disk_leaves_no_model(shop, tmp_path, capsys, monkeypatch):
    folder, _ = shop

    def fail(number):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", fail)
    words = ["train", str(folder / "data"), "--target", "left", "--drop", "key"]
    assert main([*words, "--save", str(tmp_path / "model"), *QUICK]) == 2
    printed = capsys.readouterr().err
    assert f"cannot be written to: {os.strerror(errno.ENOSPC)}; repeat" in printed
    assert printed.endswith("; nothing was written.\n")
    assert not list(tmp_path.iterdir())


def test_predictions_do_not_replace_what_they_are_made_of(shop, tmp_path, capsys):
    folder, frame = shop
    data = write_files(tmp_path / "data", frame)
    frame.to_csv(tmp_path / "table.csv", index=False)
    for read, output in [
        (data, data / "b.parquet"),
        (data / "a.parquet", data / "a.parquet"),
        (tmp_path / "table.csv", tmp_path / "table.csv"),
    ]:
        before = output.read_bytes()
        words = ["predict", str(folder / "model"), str(read), "--output", str(output)]
        assert main(words) == 2
        assert "is an input, which the output would replace" in capsys.readouterr().err
        assert output.read_bytes() == before


def test_a_folder_that_cannot_be_labelled_leaves_nothing_behind(shop, tmp_path, capsys):
    folder, frame = shop
    words = ["predict", str(folder / "model"), str(folder / "data")]
    assert main(words) == 2
    assert "name one with --output" in capsys.readouterr().err
    other = write_files(tmp_path / "new", frame.drop(columns="gaps"))
    output = tmp_path / "out.parquet"
    words = ["predict", str(folder / "model"), str(other), "--output", str(output)]
    assert main(words) == 2
    assert "Unknown column 'gaps'" in capsys.readouterr().err
    # The second file is damaged after its first row group.
    path = write_files(tmp_path / "bad", frame) / "b.parquet"
    content = bytearray(path.read_bytes())
    column = pq.read_metadata(path).row_group(1).column(0)
    at = column.dictionary_page_offset or column.data_page_offset
    content[at : at + 50] = b"\xff" * 50
    path.write_bytes(content)
    words[2] = str(path.parent)
    assert main(words) == 2
    assert "Row group 1 of" in capsys.readouterr().err
    assert sorted(file.name for file in tmp_path.iterdir()) == ["bad", "new"]
