"""What the tests of robustness share: the command, run as a user runs it."""

from dataclasses import dataclass

import pytest

from sk_anyloss.__main__ import main
from tests.robustness.comparisons import save_csv
from tests.robustness.stored import store, write_csv


@dataclass
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    def says(self, *words):
        """Whether it ended with exit code 2 and one sentence that has all words."""
        lines = [line for line in self.err.splitlines() if line.strip()]
        one = len(lines) == 1 and "Traceback" not in self.err
        return self.code == 2 and one and all(word in self.err for word in words)


@pytest.fixture
def command(capsys):
    """``python -m sk_anyloss <words>``, in this process."""

    def run(*words):
        capsys.readouterr()
        try:
            code = main([str(word) for word in words])
        except SystemExit as error:  # argparse ends in this way.
            code = int(error.code or 0)
        out, err = capsys.readouterr()
        return Ended(code, out, err)

    return run


@pytest.fixture(scope="session")
def honest(tmp_path_factory):
    """An honest file for each of two methods, and new samples."""
    folder = tmp_path_factory.mktemp("honest")
    found = {"data": write_csv(folder)}
    for method in ("logistic_balanced", "histgb", "balanced_forest"):
        found[method] = store(folder / method, found["data"], method)
    return found


@pytest.fixture
def words(tmp_path):
    """A quick comparison of one method on three folds."""
    path = save_csv(tmp_path / "data.csv")
    return [
        "compare", path, "--target", "y", "--methods", "logistic_balanced",
        "--folds", 3, "--jobs", 1, "--quiet", "--no-explain",
        "--output", tmp_path / "out",
    ]  # fmt: skip
