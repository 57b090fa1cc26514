"""Output folders that are damaged, crowded, full or gone."""

import errno
import json
import os
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from sk_anyloss.compare import compare, register_method
from tests.robustness.comparisons import X, Y, fold_files, parts, results, save_csv

# Damaged files.


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def empty(path):
    path.write_bytes(b"")


def fill_with_garbage(path):
    path.write_bytes(b"PK\x03\x04" + bytes(range(256)))


def take_a_part_out(path):
    with np.load(path) as file:
        parts = dict(file)
    del parts["scores"]
    np.savez(path, **parts)


def shorten_the_scores(path):
    with np.load(path) as file:
        parts = dict(file)
    np.savez(path, **{**parts, "scores": parts["scores"][:-1]})


def put_another_fold_in(path):
    path.write_bytes(fold_files(path.parents[1])[1].read_bytes())


def put_a_pickle_in(path):
    with np.load(path) as file:
        parts = dict(file)
    np.savez(path, **{**parts, "scores": np.array([Unpickled()], dtype=object)})


def write_words_for(name):
    def damage(path):
        with np.load(path) as file:
            parts = dict(file)
        facts = {**json.loads(str(parts["facts"])), name: "soon"}
        np.savez(path, **{**parts, "facts": json.dumps(facts)})

    return damage


class Unpickled:
    """Leaves a trace if it is ever loaded."""

    def __reduce__(self):
        return os.putenv, ("SK_ANYLOSS_UNPICKLED", "1")


CALL = {"methods": ["logistic_balanced"], "folds": 3}


def same(one, other):
    columns = ["data", "method", "fold", "metric", "score", "failed"]
    pd.testing.assert_frame_equal(one.results[columns], other.results[columns])
    return True


@pytest.mark.parametrize(
    "damage",
    [
        truncate,
        empty,
        fill_with_garbage,
        take_a_part_out,
        shorten_the_scores,
        put_another_fold_in,
        put_a_pickle_in,
        write_words_for("seconds"),
        write_words_for("train_counts"),
    ],
)
def test_a_damaged_fold_counts_as_not_done_and_is_named(tmp_path, damage):
    before = compare(X, Y, **CALL, output=tmp_path)
    first, second, third = fold_files(tmp_path)
    damage(first)
    times = second.stat().st_mtime_ns, third.stat().st_mtime_ns
    with pytest.warns(UserWarning, match=re.escape(first.name)) as noted:
        assert same(compare(X, Y, **CALL, output=tmp_path), before)
    assert len(noted) == 1
    assert (second.stat().st_mtime_ns, third.stat().st_mtime_ns) == times
    assert same(compare(X, Y, **CALL, output=tmp_path), before)


@pytest.mark.parametrize("content", [b"", b'{"data": {"da', b"[]", b"\xff\xfe\x00"])
def test_damaged_settings_are_written_anew_and_finished_folds_are_kept(
    tmp_path, content
):
    before = compare(X, Y, **CALL, output=tmp_path)
    times = [path.stat().st_mtime_ns for path in fold_files(tmp_path)]
    (tmp_path / "settings.json").write_bytes(content)
    with pytest.warns(UserWarning, match=r"settings\.json"):
        assert same(compare(X, Y, **CALL, output=tmp_path), before)
    assert [path.stat().st_mtime_ns for path in fold_files(tmp_path)] == times
    assert same(compare(X, Y, **CALL, output=tmp_path), before)


def test_folds_of_other_settings_are_not_taken_where_the_settings_are_lost(tmp_path):
    compare(X, Y, **CALL, output=tmp_path)
    (tmp_path / "settings.json").unlink()
    with pytest.warns(UserWarning, match="other settings"):
        found = compare(X, Y, **CALL, seed=1, output=tmp_path)
    assert same(found, compare(X, Y, **CALL, seed=1))


@pytest.mark.filterwarnings("default")
def test_the_command_names_damaged_files_in_notes(command, words, tmp_path):
    assert command(*words).code == 0
    first = fold_files(tmp_path / "out")[0]
    truncate(first)
    ended = command(*words)
    assert ended.code == 0
    assert ended.err.startswith("Note: ")
    assert first.name in ended.err
    assert len(ended.err.splitlines()) == 1


# Names.


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a b.csv", "a_b.csv"),
        ("d1/data.csv", "d2/data.csv"),
        ("d1/Data.csv", "d2/data.csv"),
        ("売上.csv", "顧客.csv"),
        ("n" * 244 + "1.csv", "n" * 244 + "2.csv"),
    ],
)
def test_tables_never_share_a_file(command, words, tmp_path, one, other):
    paths = [save_csv(tmp_path / one), save_csv(tmp_path / other, shift=50.0)]
    ended = command(words[0], *paths, *words[2:])
    assert ended.code == 0, ended.err
    out = tmp_path / "out"
    assert len({path.name.lower() for path in fold_files(out)}) == 6
    pictures = list((out / "pictures").iterdir())
    assert len({path.name.lower() for path in pictures}) == 24
    assert all(path.name.isascii() for path in [*fold_files(out), *pictures])
    assert results(out)["data"].nunique() == 2


def test_a_file_given_twice_is_refused(command, words, tmp_path):
    ended = command(words[0], words[1], *words[1:])
    assert ended.says("'data'", "more than once")
    assert not (tmp_path / "out").exists()


# A folder that cannot be written to any more.


def test_a_full_disk_ends_the_run_with_a_sentence(
    command, words, tmp_path, monkeypatch
):
    sync = os.fsync

    def fail_later(number):
        if len(fold_files(tmp_path / "out")) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(number)

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", fail_later)
        ended = command(*words)
    assert ended.says(str(tmp_path / "out"), os.strerror(errno.ENOSPC))
    assert len(fold_files(tmp_path / "out")) == 2
    assert parts(tmp_path) == []
    assert not (tmp_path / "out" / "report.html").exists()
    assert command(*words).code == 0
    assert len(fold_files(tmp_path / "out")) == 3


def remove(folder):
    folder.rename(folder.with_name("elsewhere"))


def replace_by_a_file(folder):
    remove(folder)
    folder.write_text("")


@pytest.mark.parametrize(("change", "jobs"), [(remove, 1), (replace_by_a_file, 2)])
def test_a_folder_that_is_gone_in_the_middle(command, words, tmp_path, change, jobs):
    folds = tmp_path / "out" / "folds"

    class Changes(LogisticRegression):
        def fit(self, X, y):
            if fold_files(tmp_path / "out"):
                change(folds)
            return super().fit(X, y)

    register_method("changes", lambda metric, seed: Changes())
    words[words.index("logistic_balanced")] = "changes"
    words[words.index("--jobs") + 1] = jobs
    ended = command(*words, "--folds", 9)
    assert ended.says(str(folds))
    assert len(list((tmp_path / "out" / "elsewhere").glob("*.npz"))) >= 1
    assert not (tmp_path / "out" / "report.html").exists()
