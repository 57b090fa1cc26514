"""Runs that are killed, interrupted or go on twice at once, and workers that die."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from sk_anyloss.compare import compare, register_method
from tests.robustness.comparisons import X, Y, fold_files, parts, results

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


@pytest.mark.skipif(os.name != "posix", reason="Other systems have no SIGKILL.")
def test_the_workers_of_a_killed_run_end(words, tmp_path):
    psutil = pytest.importorskip("psutil")
    words[words.index("logistic_balanced")] = "slow"
    words[words.index("--jobs") + 1] = 2
    process = start(tmp_path, [*words, "--folds", 8], SLOW)
    wait_until(lambda: len(fold_files(tmp_path / "out")) >= 2, process)
    children = psutil.Process(process.pid).children(recursive=True)
    assert len(children) >= 2
    process.kill()
    process.wait(60)
    process.stderr.close()
    left = psutil.wait_procs(children, timeout=20)[1]
    for child in left:
        child.kill()
    assert left == []


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
