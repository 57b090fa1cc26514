"""Input that cannot be used ends with a sentence, before any work is done."""

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from sk_anyloss.compare import compare


@pytest.fixture
def small(tmp_path):
    """A CSV file with a feature, a category and a target."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    frame = pd.DataFrame({"x": x, "w": rng.choice(["u", "v"], 60)})
    path = tmp_path / "small.csv"
    frame.assign(y=(x > 0.7).astype(int)).to_csv(path, index=False)
    return path


def words(path, *more):
    usual = ["--target", "y", "--methods", "logistic_balanced", "--folds", "2"]
    output = ["--output", path.parent / "output"]
    return [
        "compare",
        path,
        *usual,
        "--jobs",
        "1",
        "--quiet",
        "--no-explain",
        *output,
        *more,
    ]


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--rope", "nan", "rope"),
        ("--rope", "-0.1", "rope"),
        ("--rope", "1.5", "rope"),
        ("--folds", "1", "folds must be a whole number of at least 2, got 1"),
        ("--repeats", "0", "repeats"),
        ("--seed", "-1", "seed must be a whole number of at least 0, got -1"),
        ("--seed", str(2**32), "seed must be below"),
        ("--jobs", "0", "jobs"),
        ("--time-limit", "nan", "time-limit"),
        ("--time-limit", "-1", "time-limit"),
        ("--metric", "f-one", "Unknown metric 'f-one'"),
        ("--methods", ",", "no method to compare"),
        ("--also", "rock_auc", "Unknown metric 'rock_auc'"),
    ],
)
def test_options_are_checked_before_the_work(command, small, option, value, message):
    # The file is not there: what is wrong with the options is said first.
    small.unlink()
    assert command(*words(small, f"{option}={value}")).says(message)
    assert not (small.parent / "output").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (bytes(range(256)) * 20, "not text in UTF-8"),
        ("x,y\né\x01,1\n".encode("latin-1"), "not text in UTF-8"),
        (b"x,y\n1,0\n1,2,3,4\n", "line 3"),
        (b"x,y\n" + b"5,1,0\n6,2,1\n" * 9, "more cells than its header"),
    ],
)
def test_files_that_cannot_be_read(command, tmp_path, content, message):
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    assert command(*words(path)).says("a.csv", message)


def test_a_directory_is_not_a_table(command, tmp_path):
    (tmp_path / "a.csv").mkdir()
    assert command(*words(tmp_path / "a.csv")).says("it is a directory")


@pytest.mark.parametrize(
    "arrays",
    [{"X": np.zeros(4), "y": np.zeros(4)}, {"X": np.zeros((4, 1)), "y": np.zeros(3)}],
)
def test_arrays_of_the_wrong_shape_in_a_file(command, tmp_path, arrays):
    np.savez(tmp_path / "a.npz", **arrays)
    assert command(*words(tmp_path / "a.npz")).says("X of shape (n, d)")


def test_metrics_over_all_thresholds_beside_the_one_compared_by(command, small):
    more = ["--also", "roc_auc, average_precision"]
    ended = command(*words(small, *more))
    assert ended.code == 0, ended.err
    frame = pd.read_csv(small)
    found = compare(
        frame[["x", "w"]], frame["y"], methods=["logistic_balanced"], folds=2,
        also=["roc_auc", "average_precision"],
    )  # fmt: skip
    (table,) = found.tables
    for metric, score in (
        ("roc_auc", roc_auc_score),
        ("average_precision", average_precision_score),
    ):
        expected = [score(table.y[f.rows], f.scores) for f in found.folds]
        assert found.table[metric].iloc[0] == pytest.approx(np.mean(expected))


def few_positives(path, positives):
    """A table; over-sampling needs more than four positive samples in a fold."""
    x = np.random.default_rng(0).normal(size=60)
    y = (np.arange(60) < positives).astype(int)
    pd.DataFrame({"x": x, "y": y}).to_csv(path, index=False)
    return path


def test_when_every_method_failed_the_reasons_are_said(command, tmp_path):
    path = few_positives(tmp_path / "few.csv", 4)
    smote = ["--methods", "logistic_smote,histgb_smote", "--save", "model"]
    ended = command(*words(path, *smote))
    assert ended.says("Every method failed", "n_neighbors", "HistGB", "logistic")
    assert ended.err.count("n_neighbors <=") == 1
    left = {path.name for path in (tmp_path / "output").iterdir()}
    assert not left & {"report.html", "results.csv", "pictures", "model.skops"}


def test_a_data_set_on_which_every_method_failed_beside_one_that_works(
    command, tmp_path
):
    few = few_positives(tmp_path / "few.csv", 4)
    many = few_positives(tmp_path / "many.csv", 20)
    smote = words(few, "--methods", "logistic_smote,histgb_smote")
    ended = command("compare", many, *smote[1:])
    assert ended.code == 0, ended.err
    assert "n_neighbors" in ended.out
    page = (tmp_path / "output" / "report.html").read_text(encoding="utf-8")
    assert page.count("<picture>") == 6
    assert "n_neighbors" in page


def test_a_data_set_that_the_time_did_not_suffice_for(command, tmp_path, monkeypatch):
    # Reading takes no time, so that the first fit is started.
    clock = SimpleNamespace(monotonic=lambda: 0.0)
    monkeypatch.setattr("sk_anyloss.compare.cli.compare.time", clock)
    paths = [few_positives(tmp_path / f"{name}.csv", 20) for name in "abcdef"]
    asked = words(paths[0], "--methods", "histgb,logistic", "--time-limit", "0.1")
    ended = command("compare", *paths[1:], *asked[1:])
    assert ended.code == 0, ended.err
    assert "Time was over" in ended.out
    assert "failed" not in ended.out
    assert (tmp_path / "output" / "report.html").exists()


def test_an_unexpected_error_ends_with_a_sentence(command, small, monkeypatch):
    def fail(*_, **__):
        raise RuntimeError("the disk\nis on fire")

    monkeypatch.setattr(pd.DataFrame, "to_parquet", fail)
    ended = command(*words(small))
    assert ended.code == 1
    assert ended.err.count("\n") == 1
    assert "RuntimeError: the disk is on fire" in ended.err
    assert "SK_ANYLOSS_DEBUG" in ended.err
    assert not (small.parent / "output" / "report.html").exists()
    assert not (small.parent / "output" / "results.csv").exists()
    monkeypatch.setenv("SK_ANYLOSS_DEBUG", "1")
    with pytest.raises(RuntimeError):
        command(*words(small))


def in_a_process(path, *more, **environment):
    """The command in a process of its own, with changes to the environment."""
    changed = {**os.environ, **environment}
    return subprocess.run(
        [sys.executable, "-m", "sk_anyloss", *map(str, words(path, *more))],
        env={name: value for name, value in changed.items() if value is not None},
        capture_output=True,
        timeout=300,
        check=False,
    )


def test_a_home_that_cannot_be_written_to(small):
    free = {"SKB_DATA_DIRECTORY": None, "MPLCONFIGDIR": None, "XDG_CONFIG_HOME": None}
    ended = in_a_process(small, HOME="/proc/nonexistent", XDG_CACHE_HOME=None, **free)
    assert ended.returncode == 0, ended.stderr.decode()
    assert ended.stderr == b""


def test_a_terminal_that_has_only_ascii(tmp_path):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    frame = pd.DataFrame({"größe": x, "y": np.where(x > 0.7, "日本", "é")})
    path = tmp_path / "table.csv"
    frame.to_csv(path, index=False)
    ended = in_a_process(path, PYTHONIOENCODING="ascii")
    assert ended.returncode == 0, ended.stderr.decode()
    assert b"are ??" in ended.stdout
    assert b" +/- " in ended.stdout
    assert "日本" in (tmp_path / "output" / "report.html").read_text(encoding="utf-8")


def test_an_output_that_is_read_no_further():
    process = subprocess.Popen(
        [sys.executable, "-m", "sk_anyloss", "compare", "--list"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    process.stdout.close()
    error = process.stderr.read()
    process.stderr.close()
    assert process.wait(300) == 141
    assert b"Traceback" not in error
