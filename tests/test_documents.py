"""The code of the README and the examples runs, and the documents are consistent."""

import re
from pathlib import Path

import pytest

import sk_anyloss
from sk_anyloss import baselines, compare, losses, metrics, plain
from sk_anyloss.losses import loss_names
from sk_anyloss.losses.steps import step_names
from sk_anyloss.metrics import curve_names, metric_names
from sk_anyloss.search import displays
from tests.test_conventions import documented

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
README = (ROOT / "README.md").read_text(encoding="utf-8")
LOSSES = (DOCS / "losses.md").read_text(encoding="utf-8")
STUDY = (DOCS / "study.md").read_text(encoding="utf-8")
#: Pages whose code, but that marked ``py``, runs in one process without other files.
SELF_CONTAINED = [
    ROOT / "README.md",
    *(
        DOCS / f"{name}.md"
        for name in (
            "index",
            "quick_start",
            "questions",
            "pitfalls",
            "losses",
            "classes",
            "compare",
            "networks",
            "scale",
            "search",
        )
    ),
    *sorted((DOCS / "guide").glob("*.md")),
]
ALL_PAGES = [ROOT / "README.md", *DOCS.glob("*.md"), *(DOCS / "guide").glob("*.md")]


def code_of(page):
    return re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL)


@pytest.mark.parametrize(
    "page", [page for page in SELF_CONTAINED if code_of(page)], ids=lambda p: p.stem
)
def test_code_of_the_documents_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for number, block in enumerate(code_of(page)):
        exec(compile(block, f"{page.name}, block {number}", "exec"), names)


def test_the_page_of_metrics_names_every_metric():
    page = (DOCS / "guide" / "metrics.md").read_text(encoding="utf-8")
    assert all(f"'{name}'" in page for name in metric_names() + curve_names())


def test_the_losses_page_names_every_step_and_loss():
    assert all(f"| {name} |" in LOSSES for name in step_names())
    assert all(f"`'{name}'`" in LOSSES for name in loss_names())


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda p: p.stem)
def test_figures_and_commands_of_the_documents_exist(page):
    text = page.read_text(encoding="utf-8")
    for figure in re.findall(r"!\[.*?\]\((.*?)\)", text):
        assert (page.parent / figure).exists(), figure
    for module in re.findall(r"python -m (benchmarks\.\w+)", text):
        path = ROOT / module.replace(".", "/")
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists()
    for example in re.findall(r"examples/(plot_\w+)", text):
        assert (ROOT / "examples" / f"{example}.py").exists(), example


@pytest.mark.parametrize("page", ALL_PAGES, ids=lambda p: p.stem)
def test_what_the_documents_import_is_in_the_reference(page):
    text = page.read_text(encoding="utf-8")
    in_reference = set(documented())
    for module, names in re.findall(r"from (sk_anyloss[\w.]*) import ([\w, ]+)", text):
        for name in names.split(","):
            assert f"{module}.{name.strip()}" in in_reference


def test_the_readme_is_short_and_its_commands_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([\w-]+):", makefile, flags=re.MULTILINE))
    assert {"demo", "test"} <= set(re.findall(r"`make ([\w-]+)`", README)) <= targets
    assert len(README.splitlines()) <= 90
    for link in re.findall(r"\]\(([^):]+)\)", README):
        assert (ROOT / link).exists(), link


def test_the_study_page_has_every_table():
    tables = re.findall(r"<!-- begin: (.*?) -->\n(.*?)<!-- end: \1 -->", STUDY, re.S)
    assert len(tables) == STUDY.count("<!-- begin:") == 20
    assert all(text.strip() for _, text in tables)


def test_the_citation_is_of_this_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {sk_anyloss.__version__}\n" in citation
    doi = re.search(r"doi: (\S+)", citation).group(1)
    assert f"https://doi.org/{doi}" in README


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


def test_no_page_installs_from_an_index_that_does_not_have_the_package():
    pages = [*ALL_PAGES, *(ROOT / "sk_anyloss").rglob("*.py")]
    wrong = [p.name for p in pages if "install 'sk_anyloss" in p.read_text("utf-8")]
    assert not wrong
