"""Markup and control characters in labels, columns and file names are shown as text."""

import html
import re

import numpy as np
import pandas as pd
import pytest

from sk_anyloss.compare import compare
from sk_anyloss.compare.cli.main import main

LABELS = ["\x1b[31mred", "<img src=x onerror=1>|`a`"]
COLUMN = "<b>|`size`\x1b[1m\x9b2J"


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    folder = tmp_path_factory.mktemp("shop")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({COLUMN: rng.normal(size=80), "other": rng.normal(size=80)})
    positive = frame[COLUMN] + rng.normal(size=80) > 0.5
    frame["colour"] = np.where(positive, LABELS[1], LABELS[0])
    frame[COLUMN + "2"] = frame[COLUMN]
    path = folder / "\x1b[2J<i>shop.csv"
    frame.to_csv(path, index=False)
    return path


def test_terminals_get_no_control_characters(shop, tmp_path, capsys):
    words = ["compare", str(shop), "--target", "colour", "--methods", "logistic"]
    words += ["--folds", "2", "--jobs", "1", "--quiet", "--no-explain"]
    assert main([*words, "--output", str(tmp_path / "out"), "--save", "m"]) == 0
    model, data = str(tmp_path / "out" / "m.skops"), str(shop)
    assert main(["evaluate", model, data, "--target", "colour"]) == 0
    assert main(["compare", data, "--target", "\x1b[31mcolour"]) == 2
    printed = capsys.readouterr()
    for text in (printed.out, printed.err):
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)
        assert "x1b[31m" in text
    # Predictions are data, of which nothing is replaced.
    assert main(["predict", model, data]) == 0
    assert set(re.findall(r"\x1b\[31mred|<img", capsys.readouterr().out)) == {
        LABELS[0], "<img",
    }  # fmt: skip
    card = (tmp_path / "out" / "m.md").read_text(encoding="utf-8")
    assert_shown_as_text(card)


def test_what_python_prints_has_no_control_characters(shop):
    frame = pd.read_csv(shop)
    y = frame.pop("colour").where(frame["other"] < 1, "third\u202e")
    found = compare(frame, y, methods=["logistic"], folds=2)
    assert not re.search("[\x1b\x9b\u202e]", str(found))
    assert r"\x1b[31mred" in str(found)


def assert_shown_as_text(card):
    """No markup of a label reaches the page that a card is rendered to."""
    assert "\x1b" not in card
    markdown = pytest.importorskip("markdown_it").MarkdownIt("commonmark")
    page = markdown.enable("table").render(card)
    assert not re.search(r"<(img|b|i)\b", page)
    # Not only the code of the label, but the label itself.
    shown = html.unescape(re.sub(r"<[^>]*>", "", page))
    for text in (LABELS[1], r"\x1b[31mred", "<b>|`size`", "<i>shop"):
        assert text in shown
