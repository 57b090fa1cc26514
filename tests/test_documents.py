"""The code of the README and the examples runs, and the documents are consistent."""

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
CLASSES = (ROOT / "docs" / "classes.md").read_text(encoding="utf-8")
PAGES = README + LOSSES + CLASSES + SEARCH
BLOCKS = re.findall(r"```python\n(.*?)```", PAGES, flags=re.DOTALL)


@pytest.mark.parametrize("block", range(len(BLOCKS)))
def test_code_blocks_of_the_documents_run(block):
    exec(compile(BLOCKS[block], f"block {block}", "exec"), {})


def test_the_readme_names_every_metric():
    assert all(name in README for name in metric_names() + curve_names())


def test_the_losses_page_names_every_step_and_loss():
    assert all(f"| {name} |" in LOSSES for name in step_names())
    assert all(f"`'{name}'`" in LOSSES for name in loss_names())


def test_figures_of_the_documents_exist():
    figures = re.findall(r"!\[.*?\]\((.*?)\)", README)
    assert len(figures) == 4
    assert all((ROOT / figure).exists() for figure in figures)
    for page, n_figures in ((LOSSES, 1), (SEARCH, 1), (STUDY, 5), (CLASSES, 1)):
        figures = re.findall(r"!\[.*?\]\((.*?)\)", page)
        assert len(figures) == n_figures
        assert all((ROOT / "docs" / figure).exists() for figure in figures)


def test_commands_of_the_documents_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert {"demo", "test"} <= set(re.findall(r"^(\w+):", makefile, flags=re.MULTILINE))
    pages = README + LOSSES + SEARCH + STUDY + CLASSES
    for module in re.findall(r"python -m (benchmarks\.\w+)", pages):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists()
    for name in re.findall(r"get_baseline\(.(\w+).", README):
        assert get_baseline(name)


def test_the_study_page_has_every_table():
    tables = re.findall(r"<!-- begin: (.*?) -->\n(.*?)<!-- end: \1 -->", STUDY, re.S)
    assert len(tables) == STUDY.count("<!-- begin:") == 20
    assert all(text.strip() for _, text in tables)


def test_the_changelog_has_an_unreleased_section():
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.fullmatch(r"\d+\.\d+\.\d+", sk_anyloss.__version__)


@pytest.mark.parametrize(
    "script", sorted((ROOT / "examples").glob("*.py")), ids=lambda p: p.stem
)
@pytest.mark.filterwarnings("ignore:L=.* lies above the valid range")
def test_examples_run_and_save_a_figure(script, tmp_path, monkeypatch):
    if script.stem == "quick_start":  # One as a user would start it.
        command = [sys.executable, str(script), str(tmp_path)]
        run = subprocess.run(command, capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
    else:  # The others in this process, which has imported torch already.
        monkeypatch.setattr(sys, "argv", [str(script), str(tmp_path)])
        with matplotlib.rc_context():
            runpy.run_path(str(script), run_name="__main__")
            plt.close("all")
    assert (tmp_path / f"{script.stem}.png").stat().st_size > 10_000
