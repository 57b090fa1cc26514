"""Output folders that are damaged, crowded, full or gone, and runs that are ended."""

import errno
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from sk_anyloss.compare import compare, register_method

X, Y = make_classification(120, 4, weights=[0.7], flip_y=0.1, random_state=0)


def save_csv(path, shift=0.0):
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = pd.DataFrame(X + shift, columns=list("abcd")).assign(y=Y)
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def words(tmp_path):
    """A quick comparison of one method on three folds."""
    path = save_csv(tmp_path / "data.csv")
    return [
        "compare", path, "--target", "y", "--methods", "logistic_balanced",
        "--folds", 3, "--jobs", 1, "--quiet", "--no-explain",
        "--output", tmp_path / "out",
    ]  # fmt: skip


def fold_files(folder):
    return sorted((folder / "folds").glob("*.npz"))


def results(folder):
    return pd.read_csv(folder / "results.csv").drop(columns="seconds")


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


# Partly written files.

SCRIPT = """
import os, signal, sys, time
from pathlib import Path
# A shell lets processes in the background ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)
from sk_anyloss.__main__ import main
here = Path(sys.argv[1])
{body}
sys.exit(main(sys.argv[2:]))
"""


def start(tmp_path, words, body="", **options):
    """The command in a process of its own, after some lines of Python."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.format(body=textwrap.dedent(body)), encoding="utf-8")
    call = [sys.executable, str(script), str(tmp_path), *map(str, words)]
    path = os.pathsep.join(filter(None, [os.getcwd(), os.environ.get("PYTHONPATH")]))
    return subprocess.Popen(
        call, env={**os.environ, "PYTHONPATH": path}, stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL, text=True, **options,
    )  # fmt: skip


def wait_until(condition, process, seconds=90):
    end = time.monotonic() + seconds
    while not condition():
        assert process.poll() is None, process.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.01)


def parts(tmp_path):
    return sorted((tmp_path / "out").rglob("*.part"))


# Hooks into what is renamed: the second fold file.
HOOK = """
replace, files = Path.replace, []
def hooked(path, target):
    if Path(target).suffix == ".npz":
        files.append(target)
    if len(files) == 2:
        {action}
    return replace(path, target)
Path.replace = hooked
"""


def test_what_a_killed_run_was_writing_goes(command, words, tmp_path):
    process = start(tmp_path, words, HOOK.format(action="os._exit(9)"))
    assert process.wait(120) == 9
    process.stderr.close()
    assert len(parts(tmp_path)) == 1
    assert len(fold_files(tmp_path / "out")) == 1
    assert command(*words).code == 0
    assert parts(tmp_path) == []
    assert len(fold_files(tmp_path / "out")) == 3


def test_two_runs_in_one_folder_at_once(command, words, tmp_path):
    action = "(here / 'waits').touch()\n" + textwrap.indent(
        "while not (here / 'go').exists():\n    time.sleep(0.01)", " " * 8
    )
    process = start(tmp_path, words, HOOK.format(action=action))
    wait_until((tmp_path / "waits").exists, process)
    writing = parts(tmp_path)
    assert len(writing) == 1
    assert command(*words).code == 0
    assert parts(tmp_path) == writing
    before = results(tmp_path / "out")
    (tmp_path / "go").touch()
    assert process.wait(120) == 0, process.stderr.read()
    process.stderr.close()
    assert parts(tmp_path) == []
    pd.testing.assert_frame_equal(results(tmp_path / "out"), before)


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


# Runs and workers that are ended.

SLOW = """
import time
from sklearn.linear_model import LogisticRegression
from sk_anyloss.compare import register_method
class Slow(LogisticRegression):
    def fit(self, X, y):
        time.sleep(0.2 if len(list((here / "out" / "folds").iterdir())) < 2 else 600)
        return super().fit(X, y)
register_method("slow", lambda metric, seed: Slow())
"""


@pytest.mark.skipif(os.name != "posix", reason="Other systems have no SIGTERM.")
@pytest.mark.parametrize(
    ("number", "jobs"),
    [(signal.SIGTERM, 1), (signal.SIGTERM, 2)],
)
def test_a_terminated_run_leaves_no_process_and_keeps_its_folds(
    words, tmp_path, number, jobs
):
    psutil = pytest.importorskip("psutil")
    words[words.index("logistic_balanced")] = "slow"
    words[words.index("--jobs") + 1] = jobs
    process = start(tmp_path, [*words, "--folds", 8], SLOW)
    wait_until(lambda: len(fold_files(tmp_path / "out")) >= 2, process)
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) >= (0 if jobs == 1 else 2)
    process.send_signal(number)
    assert process.wait(60) == 128 + number
    error = process.stderr.read()
    process.stderr.close()
    assert len(error.split("\n\n")[-1].strip().splitlines()) == 1
    assert "Traceback" not in error
    assert psutil.wait_procs(children, timeout=20)[1] == []
    assert 2 <= len(fold_files(tmp_path / "out")) < 8
    assert parts(tmp_path) == []


@pytest.mark.skipif(os.name != "posix", reason="Other systems have no SIGINT.")
def test_an_interrupted_fit_is_no_finished_fold(words, tmp_path):
    words[words.index("logistic_balanced")] = "endless"
    body = """
    from sk_anyloss import AnyLossClassifier
    from sk_anyloss.compare import register_method
    from skorch.callbacks import Callback
    class Tells(Callback):
        def on_epoch_end(self, net, **_):
            (here / "trains").touch()
    def build(metric, seed):
        return AnyLossClassifier(metric, max_epochs=10**7, callbacks=[Tells()])
    register_method("endless", build)
    """
    with start(tmp_path, words, body) as process:
        try:
            wait_until((tmp_path / "trains").exists, process)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 130
        finally:
            process.kill()  # It would train for ever.
        assert "Traceback" not in process.stderr.read()
    assert fold_files(tmp_path / "out") == []


class Killed(LogisticRegression):
    """Its process is killed in its fit, as many times as there are files to take."""

    def __init__(self, lives=None):
        super().__init__()
        self.lives = lives

    def fit(self, X, y):
        for path in sorted(Path(self.lives).iterdir()):
            path.unlink(missing_ok=True)
            os.kill(os.getpid(), signal.SIGKILL)
        return super().fit(X, y)


@pytest.mark.skipif(os.name != "posix", reason="Other systems have no SIGKILL.")
@pytest.mark.parametrize(("n_deaths", "n_failed"), [(1, 0), (9, 4)])
def test_a_killed_worker_is_replaced_and_its_fit_is_tried_again(
    tmp_path, n_deaths, n_failed
):
    lives = tmp_path / "lives"
    lives.mkdir()
    for k in range(n_deaths):
        (lives / str(k)).touch()
    register_method("killed", lambda metric, seed: Killed(str(lives)))
    methods = ["killed", "logistic_balanced"]
    found = compare(X, Y, methods=methods, folds=4, n_jobs=2, output=tmp_path / "out")
    assert found.table.loc["killed", "failed"] == n_failed
    assert found.table.loc["logistic_balanced", "failed"] == 0
    assert found.scores()["logistic_balanced"].notna().sum() == 4
    assert all("killed" in why and "memory" in why for why in found.failures())
