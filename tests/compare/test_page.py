"""The report in a browser."""

import re
import shutil

import pytest

from sk_anyloss.compare import compare
from sk_anyloss.compare.report.drawing import DARK, LIGHT, as_svg, recolour
from sk_anyloss.compare.report.pictures import figures
from tests.compare.samples import FAST, X, Y

COLOUR = re.compile(rb"#[0-9a-f]{6}\b(?!\")")


@pytest.fixture(scope="module")
def found():
    found = compare(X, Y, methods=[*FAST, "histgb"], folds=3)
    found.explain("logistic_balanced")
    return found


@pytest.fixture(scope="module")
def page(found, tmp_path_factory):
    """A report, open in a browser."""
    binary = shutil.which("chromium") or shutil.which("chromium-browser")
    driver = shutil.which("chromedriver")
    if binary is None or driver is None:
        pytest.skip("There is no Chromium with its driver on this machine.")
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    service = webdriver.ChromeService(executable_path=driver)
    path = found.report(tmp_path_factory.mktemp("results"))
    browser = webdriver.Chrome(options=options, service=service)
    browser.get(path.as_uri())
    yield browser
    browser.quit()


def test_the_page_has_no_error_in_a_browser(page):
    assert page.get_log("browser") == []


def test_every_figure_is_visible(page):
    figures = page.find_elements("tag name", "img")
    assert len(figures) == 8
    for figure in figures:
        assert figure.is_displayed()
        assert page.execute_script("return arguments[0].naturalWidth", figure) > 100


def test_a_click_on_a_heading_sorts_the_table(page):
    def column(number):
        cells = page.find_elements(
            "css selector", f".sortable tbody td:nth-child({number})"
        )
        return [float(cell.get_attribute("data-key")) for cell in cells]

    heads = page.find_elements("css selector", "thead th")
    heads[4].click()
    assert column(5) == sorted(column(5), reverse=True)
    heads[4].click()
    assert column(5) == sorted(column(5))
    assert heads[4].get_attribute("aria-sort") == "ascending"
    heads[1].click()
    names = [e.text for e in page.find_elements("css selector", ".sortable tbody th")]
    assert names == sorted(names, key=str.lower, reverse=True)


def test_the_slider_shows_what_a_threshold_does(page, found):
    table = found.thresholds()
    slider = page.find_element("css selector", ".thresholds input")
    output = page.find_element("css selector", ".thresholds output")
    assert int(slider.get_attribute("max")) == len(table) - 1
    move = "arguments[0].value = arguments[1];"
    move += "arguments[0].dispatchEvent(new Event('input'))"
    for place in (0, len(table) // 2, len(table) - 1):
        page.execute_script(move, slider, place)
        row = table.iloc[place]
        text = output.text
        assert f"it finds {row['tp']:.0f}, with {row['fp']:.0f} false alarms" in text
        for name, title in (
            ("precision", "precision"),
            ("recall", "recall"),
            ("f1", "F1"),
        ):
            shown = float(text.split(f"{title} ")[1].split(" ")[0])
            assert shown == pytest.approx(row[name], abs=6e-4)


@pytest.mark.parametrize("width", [390, 1200])
def test_the_page_fits_the_width_of_the_window(page, width):
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": True}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    wide = page.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width
    page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_links_lead_to_sections_and_headings_say_what_they_mean(page):
    links = page.find_elements("css selector", "nav a, a.link")
    targets = [link.get_attribute("href").partition("#")[2] for link in links]
    assert {"data-ranking", "data-checks", "reproducibility"} <= set(targets)
    for target in set(targets):
        assert len(page.find_elements("id", target)) == 1
    heads = page.find_elements("css selector", ".sortable th[title]")
    meanings = {head.text: head.get_attribute("title") for head in heads}
    assert "Harmonic mean" in meanings["F1"]
    assert {"ROC AUC", "average precision", "rank", "MCC"} <= set(meanings)


def test_a_dark_figure_is_the_light_one_in_other_colours(found):
    comparison, name = found, "data"
    for draw, _ in (
        figures(found.tables[0])[key] for key in ("scores", "roc", "confusion")
    ):
        light, dark = (as_svg(draw(comparison, name, t)) for t in (LIGHT, DARK))
        # Names of shapes are digests, of their colours too.
        colours = [COLOUR.findall(svg) for svg in (recolour(light, LIGHT, DARK), dark)]
        assert colours[0] == colours[1]
        assert light != dark
