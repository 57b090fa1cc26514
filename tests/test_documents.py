"""The code of the README and the examples runs, and the documents are consistent."""

import re
from pathlib import Path

import pytest

import sk_anyloss
from sk_anyloss import baselines, compare, losses, metrics, plain
from sk_anyloss.baselines import get_baseline
from sk_anyloss.losses import loss_names
from sk_anyloss.losses.steps import step_names
from sk_anyloss.metrics import curve_names, metric_names
from sk_anyloss.search import displays

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
def test_examples_are_pages_with_a_picture(script):
    """``make docs`` runs them."""
    text = script.read_text(encoding="utf-8")
    assert script.stem.startswith("plot_")
    assert re.match(r'"""\n.+\n=+\n\n', text), "a docstring with a title"
    assert "plt.show()" in text
    compile(text, script, "exec")


def test_the_reference_has_every_public_name():
    pages = (ROOT / "docs" / "api").glob("*.rst")
    documented = set()
    for page in pages:
        documented |= set(re.findall(r"^   (\w+)$", page.read_text(), re.M))
    for module in (sk_anyloss, baselines, compare, displays, losses, metrics, plain):
        assert set(module.__all__) - {"__version__"} <= documented, module.__name__
