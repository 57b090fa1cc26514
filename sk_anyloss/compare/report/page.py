"""The report: one page that needs nothing else, and the pictures beside it."""

from __future__ import annotations

import base64
import html
import io
import platform
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

import pandas as pd

from sk_anyloss import __version__
from sk_anyloss.compare.methods import get_method
from sk_anyloss.compare.report.pictures import DARK, LIGHT, PICTURES, as_png, as_svg
from sk_anyloss.compare.results import shown
from sk_anyloss.compare.run.names import file_name
from sk_anyloss.compare.run.store import make_folder, write

if TYPE_CHECKING:
    from sk_anyloss.compare.results import Results
    from sk_anyloss.compare.tables.table import Table

#: With what a cell begins that a spreadsheet takes for a formula.
FORMULA = ("=", "+", "-", "@", "\t", "\r")

__all__ = ["html_table", "versions", "write_report"]


def versions() -> dict[str, str]:
    """Versions of what the results depend on.

    Examples
    --------
    >>> from sk_anyloss.compare.report.page import versions
    >>> list(versions())[:3]
    ['python', 'sk_anyloss', 'scikit-learn']
    """
    found = {"python": platform.python_version(), "sk_anyloss": __version__}
    names = "scikit-learn imbalanced-learn torch skorch skrub numpy pandas"
    for name in names.split():
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def write_report(comparison: Results, folder: Path) -> Path:
    """Write page, results and pictures into a folder; return the page.

    All of it is made before any of it is written, the page last.
    """
    contents: dict[str, bytes] = {}
    results = comparison.results
    contents["results.csv"] = _for_spreadsheets(results).to_csv(index=False).encode()
    stream = io.BytesIO()
    results.to_parquet(stream, index=False)
    contents["results.parquet"] = stream.getvalue()
    sections = [_section(comparison, table, contents) for table in comparison.tables]
    if len(comparison.tables) > 1:
        sections.append(_together(comparison))
    template = Template(
        (files("sk_anyloss.compare.report") / "template.html").read_text(
            encoding="utf-8"
        )
    )
    page = template.substitute(
        title=f"{html.escape(comparison.name)}: who wins",
        sections="\n".join(sections),
        failures=_list("What failed", comparison.failures()),
        settings=_facts(comparison.settings),
        versions=_facts(versions()),
    )
    contents["report.html"] = page.encode(errors="replace")
    make_folder(folder / "pictures")
    for name, content in contents.items():
        write(folder / name, content)
    return folder / "report.html"


def _for_spreadsheets(results: pd.DataFrame) -> pd.DataFrame:
    """Text that a spreadsheet would run as a formula, made text with an apostrophe."""
    columns = results.select_dtypes(["object", "string"]).columns
    return results.assign(
        **{
            name: results[name].map(lambda t: f"'{t}" if t.startswith(FORMULA) else t)
            for name in columns
        }
    )


def html_table(comparison: Results, data: str | None) -> str:
    """The ranking as an HTML table, with the chances against the method judged."""
    table = comparison.table_of(data)
    others = comparison.others
    chances = comparison.verdicts(data)
    judged = next(iter(chances.values())).one if chances else ""
    heads = ["", "method", comparison.name, "rank", *map(shown, others), "s / fit"]
    if judged:
        heads.append(f"{judged} better / alike / worse")
    rows = []
    for place, (name, row) in enumerate(table.iterrows(), 1):
        numbers = [row[other] for other in others]
        spread = f"{_number(row['mean'])} <small>± {_number(row['std'])}</small>"
        cells = [
            _cell(str(place), place),
            f'<th scope="row">{html.escape(row["title"])}</th>',
            _cell(spread, row["mean"]),
            _cell(f"{row['rank']:.1f}", row["rank"]),
            *(_cell(_number(number), number) for number in numbers),
            _cell(f"{row['seconds']:.2f}", row["seconds"]),
        ]
        if judged:
            cells.append(_chances(chances.get(str(name))))
        ours = ' class="ours"' if get_method(str(name)).ours else ""
        rows.append(f"<tr{ours}>{''.join(cells)}</tr>")
    head = "".join(f'<th scope="col">{html.escape(text)}</th>' for text in heads)
    return (
        f'<div class="wide"><table class="sortable"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _number(value: float) -> str:
    return "" if value != value else f"{value:.3f}"


def _cell(text: str, key: Any) -> str:
    return f'<td data-key="{key}">{text}</td>'


def _chances(verdict: Any) -> str:
    if verdict is None:
        return _cell("", -1)
    parts = [
        f'<span class="{kind}" style="flex:{max(chance, 0.0):.3f}"></span>'
        for kind, chance in (
            ("better", verdict.better),
            ("alike", verdict.alike),
            ("worse", verdict.worse),
        )
    ]
    text = f"{verdict.better:.2f} / {verdict.alike:.2f} / {verdict.worse:.2f}"
    bar = f'<div class="bar" role="img" aria-label="{text}">{"".join(parts)}</div>'
    return _cell(f"{text}{bar}", verdict.better)


def _section(comparison: Results, table: Table, contents: dict[str, bytes]) -> str:
    """A data set; its pictures are added to what is to be written."""
    name = table.name
    parts = [
        f"<h2>{html.escape(table.describe())}</h2>",
        f'<p class="verdict">{html.escape(comparison.verdict(name))}</p>',
        _list("Noticed", table.notes),
        html_table(comparison, name),
        _all_verdicts(comparison, name),
    ]
    several = len(comparison.tables) > 1
    plain = f"{file_name(name)}." if several else ""
    finished = comparison.scores(name).notna().any(axis=None)
    for key, (draw, caption) in PICTURES.items() if finished else ():
        light, dark = (draw(comparison, name, theme) for theme in (LIGHT, DARK))
        contents[f"pictures/{plain}{key}.png"] = as_png(light)
        contents[f"pictures/{plain}{key}.svg"] = as_svg(light)
        parts.append(_picture(as_svg(light), as_svg(dark), caption))
    return "<section>" + "\n".join(parts) + "</section>"


def _together(comparison: Results) -> str:
    return (
        f"<section><h2>All {len(comparison.tables)} data sets</h2>"
        f'<p class="verdict">{html.escape(comparison.verdict())}</p>'
        f"{html_table(comparison, None)}{_all_verdicts(comparison, None)}</section>"
    )


def _all_verdicts(comparison: Results, data: str | None) -> str:
    sentences = [str(verdict) for verdict in comparison.verdicts(data).values()]
    text = _list("", sentences)
    return f"<details><summary>Against every method</summary>{text}</details>"


def _picture(light: bytes, dark: bytes, caption: str) -> str:
    source, fallback = (
        "data:image/svg+xml;base64," + base64.b64encode(image).decode()
        for image in (dark, light)
    )
    return (
        f"<figure><figcaption>{html.escape(caption)}</figcaption>"
        '<div class="wide"><picture>'
        f'<source media="screen and (prefers-color-scheme: dark)" srcset="{source}">'
        f'<img src="{fallback}" alt="{html.escape(caption)}"></picture></div></figure>'
    )


def _list(title: str, sentences: list[str]) -> str:
    if not sentences:
        return ""
    head = f"<h3>{html.escape(title)}</h3>" if title else ""
    items = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in sentences)
    return f"{head}<ul>{items}</ul>"


def _facts(facts: dict[str, Any]) -> str:
    rows = "".join(
        f"<dt>{html.escape(str(name))}</dt><dd>{html.escape(str(value))}</dd>"
        for name, value in facts.items()
    )
    return f"<dl>{rows}</dl>"
