"""What the README and the examples show is what runs."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

import sk_anyloss
from sk_anyloss.baselines import get_baseline
from sk_anyloss.losses import loss_names
from sk_anyloss.losses.steps import step_names
from sk_anyloss.metrics import curve_names, metric_names

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
LOSSES = (ROOT / "docs" / "losses.md").read_text(encoding="utf-8")
SEARCH = (ROOT / "docs" / "search.md").read_text(encoding="utf-8")
STUDY = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


@pytest.mark.parametrize("block", range(len(BLOCKS)))
def test_code_in_the_readme_runs(block):
    exec(compile(BLOCKS[block], f"README block {block}", "exec"), {})


def test_the_readme_names_every_metric():
    assert all(name in README for name in metric_names() + curve_names())


def test_the_page_on_losses_names_every_step_and_loss():
    assert all(f"| {name} |" in LOSSES for name in step_names())
    assert all(f"`'{name}'`" in LOSSES for name in loss_names())


def test_pictures_in_the_readme_exist():
    pictures = re.findall(r"!\[.*?\]\((.*?)\)", README)
    assert len(pictures) == 4
    assert all((ROOT / picture).exists() for picture in pictures)
    for page, number in ((LOSSES, 1), (SEARCH, 1), (STUDY, 5)):
        pictures = re.findall(r"!\[.*?\]\((.*?)\)", page)
        assert len(pictures) == number
        assert all((ROOT / "docs" / picture).exists() for picture in pictures)


def test_commands_in_the_readme_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert {"demo", "test"} <= set(re.findall(r"^(\w+):", makefile, flags=re.MULTILINE))
    pages = README + LOSSES + SEARCH + STUDY
    for module in re.findall(r"python -m (benchmarks\.\w+)", pages):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists()
    for name in re.findall(r"get_baseline\(.(\w+).", README):
        assert get_baseline(name)


def test_every_table_of_the_study_is_there():
    tables = re.findall(r"<!-- begin: (.*?) -->\n(.*?)<!-- end: \1 -->", STUDY, re.S)
    assert len(tables) == STUDY.count("<!-- begin:") == 20
    assert all(text.strip() for _, text in tables)


def test_the_changelog_has_a_place_for_the_next_change():
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.fullmatch(r"\d+\.\d+\.\d+", sk_anyloss.__version__)


@pytest.mark.parametrize(
    "script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem
)
@pytest.mark.filterwarnings("ignore:L=.* lies above the valid range")
def test_examples_run_and_make_a_picture(script, tmp_path, monkeypatch):
    if script.stem == "quick_start":  # One as a user starts it.
        command = [sys.executable, str(script), str(tmp_path)]
        run = subprocess.run(command, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
    else:  # The others here, where torch and scikit-learn are imported already.
        monkeypatch.setattr(sys, "argv", [str(script), str(tmp_path)])
        with matplotlib.rc_context():
            runpy.run_path(str(script), run_name="__main__")
            plt.close("all")
    assert (tmp_path / f"{script.stem}.png").stat().st_size > 10_000
