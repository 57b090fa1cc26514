"""The predict command: where it writes to, awkward input, and the labels."""

import errno
import io
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from tests.robustness.stored import N_SAMPLES, samples, store, write_csv


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A stored model and the data it was fitted on."""
    folder = tmp_path_factory.mktemp("stored")
    data = write_csv(folder)
    return store(folder, data, "logistic_balanced"), data


def _run(words, **environment):
    words = [sys.executable, "-m", "sk_anyloss", *map(str, words)]
    environment = {**os.environ, **environment}
    return subprocess.run(words, env=environment, capture_output=True, check=False)


@pytest.mark.parametrize(
    ("output", "words"),
    [
        ("none/new.csv", ["none", "does not exist"]),
        (".", ["--output", "folder"]),
        ("data.csv/new.csv", ["--output"]),
    ],
)
def test_an_output_that_cannot_be_written(output, words, stored, command, tmp_path):
    model, data = stored
    write_csv(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    ended = command(
        "predict", model, data,
        "--output", tmp_path / output,
    )  # fmt: skip
    assert ended.says(*words)
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="There is no full device.")
def test_an_output_that_runs_full(stored, command):
    model, data = stored
    ended = command("predict", model, data, "--output", "/dev/full")
    assert ended.says("/dev/full", os.strerror(errno.ENOSPC))


def test_new_data_without_a_sample(stored, command, tmp_path):
    model, _ = stored
    new = tmp_path / "new.csv"
    new.write_text("a,b,c\n")
    ended = command("predict", model, new)
    assert (ended.code, ended.out, ended.err) == (0, "label,score,threshold\n", "")
    ended = command("predict", model, new, "--output", tmp_path / "out.csv")
    assert ended.code == 0
    assert (tmp_path / "out.csv").read_text() == "label,score,threshold\n"
    new.write_text("")
    assert command("predict", model, new).says("new.csv")


@pytest.mark.parametrize("labels", [("007", "010"), ("1", "0"), ("True", "False")])
def test_labels_come_back_as_they_were_written(labels, command, tmp_path):
    frame, y = samples()
    y = np.where(y == "yes", *labels)
    y[0] = ""  # A number with a gap would be read as 1.0.
    frame.assign(y=y).to_csv(tmp_path / "data.csv", index=False)
    data = tmp_path / "data.csv"
    path = store(tmp_path, data, "logistic_balanced", allow_missing_labels=True)
    out = command("predict", path, data).out
    found = pd.read_csv(io.StringIO(out), dtype=str)["label"]
    assert len(found) == N_SAMPLES
    assert set(found) == set(labels)
    assert (found == y)[1:].mean() > 0.7


def test_a_terminal_that_cannot_show_a_label_and_one_that_is_closed(tmp_path):
    frame, y = samples()
    y = np.where(y == "yes", "café", "thé")
    data = tmp_path / "data.csv"
    frame.assign(y=y).to_csv(data, index=False)
    path = store(tmp_path, data, "logistic_balanced")
    run = _run(["predict", path, data], PYTHONIOENCODING="ascii", LC_ALL="C")
    assert (run.returncode, run.stderr) == (0, b"")
    assert len(run.stdout.splitlines()) == N_SAMPLES + 1
    assert len({line.split(b",")[0] for line in run.stdout.splitlines()[1:]}) == 2

    # Whoever reads the output has ended before the first line.
    reader, writer = os.pipe()
    os.close(reader)
    words = [sys.executable, "-m", "sk_anyloss", "predict", str(path), str(data)]
    with subprocess.Popen(words, stdout=writer, stderr=subprocess.PIPE) as process:
        os.close(writer)
        assert process.communicate()[1] == b""
