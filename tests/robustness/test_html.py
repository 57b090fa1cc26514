"""Names and labels are text wherever they are shown: they run and format nothing."""

import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from sk_anyloss.compare import compare

SCRIPT = "<script>alert(1)</script>"
FAST = ["logistic_balanced", "logistic"]


def signal():
    x = np.random.default_rng(0).normal(size=(60, 2))
    return x, x[:, 0] > 0.7


def score(tn, fp, fn, tp):
    return (tp - fp) / (tp + fp + fn)


@pytest.fixture
def metric():
    """A metric with a name that is no identifier."""
    before, score.__name__ = score.__name__, f"={SCRIPT}$m^$"
    yield score
    score.__name__ = before


def tags(page):
    """All tags of a page that are not those of its own pictures."""
    return set(re.findall(r"<([a-z]+)", re.sub(r'"data:[^"]*"', "", page)))


def test_a_script_in_a_name_is_shown_as_text(metric, tmp_path):
    X, y = signal()
    X = pd.DataFrame(X, columns=[f"<b>{SCRIPT}", "constant"]).assign(constant=SCRIPT)
    found = compare(
        X, np.where(y, SCRIPT, "<i>no</i>"), metric, methods=FAST,
        folds=2, name=SCRIPT, also=["f1", metric], drop=["constant"],
    )  # fmt: skip
    page = found.report(tmp_path).read_text(encoding="utf-8")
    for text in (page, found._repr_html_()):
        assert SCRIPT not in text
        assert "<b>" not in text
        assert "<i>" not in text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    plain = compare(*signal(), methods=FAST, folds=2)
    assert tags(page) == tags(plain.report(tmp_path).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("positive", "negative"),
    [
        ("$x^$", "a_b\\"),
        ("\\frac{", "$"),
        ("-->", "<!--"),
        ("a\0b", "日本"),
        ("&amp;", "\n\t"),
    ],
)
def test_pictures_of_labels_with_any_characters(tmp_path, metric, positive, negative):
    X, y = signal()
    found = compare(
        X, np.where(y, positive, negative), metric, methods=FAST,
        folds=2, positive=positive, name="$a^_\\",
    )  # fmt: skip
    found.report(tmp_path)
    pictures = list((tmp_path / "pictures").glob("*.svg"))
    assert len(pictures) == 6
    for picture in pictures:
        assert not ElementTree.parse(picture).findall(".//{*}script")
    found.plot("$a^_\\").canvas.draw()


def test_text_in_results_is_no_formula_and_numbers_stay_numbers(tmp_path, metric):
    X, y = signal()
    # The labels have nothing to do with the features, so scores are below 0.
    y = np.random.default_rng(1).permutation(y)
    found = compare(
        X, y, metric, methods=["logistic_balanced"], folds=2, name="=1+1", also=["mcc"]
    )
    found.report(tmp_path)
    table = pd.read_csv(tmp_path / "results.csv", keep_default_na=False)
    raw = pd.read_parquet(tmp_path / "results.parquet")
    assert set(raw["data"]) == {"=1+1"}
    assert {metric.__name__, "mcc"} < set(raw["metric"])
    assert set(table["data"]) == {"'=1+1"}
    assert {f"'{metric.__name__}", "mcc"} < set(table["metric"])
    assert (raw["score"] < 0).any()
    np.testing.assert_allclose(table["score"], raw["score"])


@pytest.mark.parametrize("start", ["=", "-"])
def test_names_of_files_are_no_formulas(command, tmp_path, start):
    X, y = signal()
    path = tmp_path / f"{start}cmd.csv"
    pd.DataFrame(X, columns=["a", "b"]).assign(y=y).to_csv(path, index=False)
    ended = command(
        "compare",
        path,
        "--target",
        "y",
        "--methods",
        FAST[0],
        "--folds",
        "2",
        "--jobs",
        "1",
        "--quiet",
        "--no-explain",
        "--output",
        tmp_path / "o",
    )
    assert ended.code == 0, ended.err
    lines = (tmp_path / "o" / "results.csv").read_text(encoding="utf-8").splitlines()
    assert all(line.startswith(f"'{start}cmd,") for line in lines[1:])
