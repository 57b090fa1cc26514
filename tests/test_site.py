"""What the documentation's own Sphinx extension does: links, formulas, order."""

import re
import runpy
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parent.parent
EXTENSION = runpy.run_path(str(ROOT / "docs" / "_ext" / "site_pages.py"))


@pytest.fixture
def site(tmp_path):
    (tmp_path / "guide").mkdir()
    (tmp_path / "index.html").write_text(
        '<a href="guide/use.html#here">1</a> <a href="https://example.org/none">2</a>'
        '<a href="#top">3</a> <h1 id="top"></h1>'
    )
    (tmp_path / "guide" / "use.html").write_text('<p id="here"></p>')
    return tmp_path


def test_a_site_without_broken_links(site):
    assert EXTENSION["broken_links"](site) == []


@pytest.mark.parametrize(
    "link", ["none.html", "../index.html#none", "#none", "picture.png"]
)
def test_broken_links_are_named_with_their_page(site, link):
    attribute = "src" if link.endswith("png") else "href"
    page = site / "guide" / "use.html"
    page.write_text(f'<p id="here"><a {attribute}="{link}"></a></p>')
    assert EXTENSION["broken_links"](site) == [f"guide/use.html: {link}"]


def test_the_gallery_is_in_reading_order_and_others_follow():
    scripts = {path.name for path in (ROOT / "examples").glob("plot_*.py")}
    order = EXTENSION["READING_ORDER"]
    assert {f"plot_{name}.py" for name in order} <= scripts
    place = EXTENSION["ReadingOrder"]("examples")
    assert sorted(scripts, key=place)[0] == "plot_quick_start.py"
    assert place("plot_new.py") > place(f"plot_{order[-1]}.py")


def test_a_formula_is_a_drawing_with_its_source_as_text():
    svg = EXTENSION["formula"](r"h = \frac{1}{1 + e^{-L (p - t)}} < 1")
    root = ElementTree.fromstring(svg)
    assert root.get("aria-label") == r"h = \frac{1}{1 + e^{-L (p - t)}} < 1"
    (path,) = root
    assert path.get("fill") == "currentColor"  # As the text, in both themes.
    left, top, width, height = map(float, root.get("viewBox").split())
    numbers = [float(number) for number in re.findall(r"-?\d+\.\d+", path.get("d"))]
    assert left <= min(numbers[::2]) <= max(numbers[::2]) <= left + width
    assert top <= min(numbers[1::2]) <= max(numbers[1::2]) <= top + height


def test_a_formula_that_cannot_be_drawn_is_an_error():
    with pytest.raises(ValueError, match="nonsense"):
        EXTENSION["formula"](r"\nonsense{x}")
