"""The report: one self-contained HTML page, and results and figures as files."""

from __future__ import annotations

import html
import io
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import pandas as pd

from sk_anyloss._files import check_replaceable
from sk_anyloss.compare.report.drawing import (
    DARK,
    LIGHT,
    Plot,
    as_png,
    as_svg,
    recolour,
)
from sk_anyloss.compare.report.html.findings import (
    html_checks,
    html_recommendation,
)
from sk_anyloss.compare.report.html.markup import (
    anchor_of,
    bullets,
    definitions,
    figure,
    heading,
)
from sk_anyloss.compare.report.html.tables import (
    html_classes,
    html_table,
    html_verdicts,
)
from sk_anyloss.compare.report.pictures import EXPLAINED, figures
from sk_anyloss.compare.report.summary import summarize, to_json
from sk_anyloss.compare.report.thresholds import html_thresholds
from sk_anyloss.compare.report.versions import versions
from sk_anyloss.compare.run.files import make_folder, write
from sk_anyloss.compare.run.names import file_name

if TYPE_CHECKING:
    from sk_anyloss.compare.results.results import Results
    from sk_anyloss.compare.tables.table import Table

__all__ = ["write_report"]

#: First characters of cells that a spreadsheet evaluates as formulas.
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")

#: Parts of the section of a data set, by the ends of their links.
PARTS = {
    "checks": "Checks",
    "ranking": "Ranking",
    "thresholds": "Other thresholds",
    "pictures": "Pictures",
    "data": "Data",
}
#: The link of the section on all data sets.
OVERALL = "all-data-sets"


def write_report(comparison: Results, folder: Path) -> Path:
    """Write the page, the results and the figures into a folder.

    Everything is made before anything is written, and the page is written last.

    Parameters
    ----------
    comparison : Results
        The results.
    folder : Path
        The output folder, which is created if needed.

    Returns
    -------
    page : Path
        The path of the page.
    """
    contents: dict[str, bytes] = {}
    results = comparison.results
    contents["results.csv"] = _escape_formulas(results).to_csv(index=False).encode()
    stream = io.BytesIO()
    results.to_parquet(stream, index=False)
    contents["results.parquet"] = stream.getvalue()
    contents["summary.json"] = to_json(summarize(comparison))
    sections = [_section(comparison, table, contents) for table in comparison.tables]
    if len(comparison.tables) > 1:
        sections.append(_overall_section(comparison))
    template = Template(
        (files("sk_anyloss.compare.report.html") / "template.html").read_text(
            encoding="utf-8"
        )
    )
    page = template.substitute(
        title=f"{html.escape(comparison.metric_title)}: method comparison",
        sections="\n".join(sections),
        nav=_navigation(comparison),
        failures=bullets("Failures", comparison.failures()),
        command=_command(comparison.settings),
        settings=definitions(
            {k: v for k, v in comparison.settings.items() if k != "command"}
        ),
        versions=definitions(versions()),
    )
    contents["report.html"] = page.encode(errors="replace")
    for name in contents:
        check_replaceable(folder / name, root=folder)
    make_folder(folder / "pictures")
    for name, content in contents.items():
        write(folder / name, content, folder)
    return folder / "report.html"


def _command(settings: Mapping[str, object]) -> str:
    """The command that the results were made by, if it was one."""
    command = settings.get("command")
    if not command:
        return ""
    return f"<h3>Command</h3><pre>{html.escape(str(command))}</pre>"


def _escape_formulas(results: pd.DataFrame) -> pd.DataFrame:
    """Prefix text that a spreadsheet would evaluate as a formula with an apostrophe."""
    columns = results.select_dtypes(["object", "string"]).columns
    return results.assign(
        **{
            name: results[name].map(
                lambda t: f"'{t}" if t.startswith(FORMULA_STARTS) else t
            )
            for name in columns
        }
    )


def _navigation(comparison: Results) -> str:
    """Links to the sections: the parts of the only data set, or all data sets."""
    names = [table.name for table in comparison.tables]
    if len(names) == 1:
        links = [(anchor_of(names[0], key), title) for key, title in PARTS.items()]
        if not comparison.tables[0].is_binary:
            links = [link for link in links if link[1] != PARTS["thresholds"]]
    else:
        links = [(anchor_of(name), name) for name in names]
        links.append((OVERALL, f"All {len(names)} data sets"))
    links.append(("reproducibility", "Reproducibility"))
    items = "".join(
        f'<a href="#{html.escape(anchor)}">{html.escape(title)}</a>'
        for anchor, title in links
    )
    return f"<nav>{items}</nav>"


def _section(comparison: Results, table: Table, contents: dict[str, bytes]) -> str:
    """The section of a data set; its figures are added to the files to write."""
    name = table.name

    def part(key: str, content: str) -> str:
        if not content:
            return ""
        return heading(PARTS[key], anchor_of(name, key)) + content

    ranking = html_table(comparison, name) + html_verdicts(comparison, name)
    partial = comparison.partial(name)
    drawn = {}
    if comparison.scores(name).notna().any(axis=None):
        extra = EXPLAINED if name in comparison.explanations else {}
        drawn = {**figures(table), **extra}
    explained = comparison.explanations.get(name) or comparison.unexplained.get(name)
    sentence = f"<p>{html.escape(str(explained))}</p>" if explained else ""
    pictures = [
        _drawn(comparison, table, key, draw, caption, contents)
        for key, (draw, caption) in drawn.items()
    ]
    figure_grid = f'<div class="figures">{"".join(pictures)}</div>' if drawn else ""
    parts = [
        heading(table.describe(), anchor_of(name), 2),
        f'<p class="partial">{html.escape(partial)}</p>' if partial else "",
        html_recommendation(comparison, name),
        part("checks", html_checks(comparison, name)),
        bullets("Notes", table.notes),
        part("ranking", ranking),
        part("thresholds", html_thresholds(comparison, name)),
        html_classes(comparison, name),
        part("pictures", sentence + figure_grid),
        part("data", definitions(table.facts())),
    ]
    return "<section>" + "\n".join(parts) + "</section>"


def _drawn(
    comparison: Results,
    table: Table,
    key: str,
    draw: Plot,
    caption: str,
    contents: dict[str, bytes],
) -> str:
    """A figure in both themes, also as files."""
    prefix = f"{file_name(table.name)}." if len(comparison.tables) > 1 else ""
    drawn = draw(comparison, table.name, LIGHT)
    svg = as_svg(drawn)
    contents[f"pictures/{prefix}{key}.png"] = as_png(drawn)
    contents[f"pictures/{prefix}{key}.svg"] = svg
    # The matrix of many classes needs the whole width.
    is_large = drawn.get_figwidth() > 8
    return figure(svg, recolour(svg, LIGHT, DARK), caption, is_large)


def _overall_section(comparison: Results) -> str:
    title = heading(f"All {len(comparison.tables)} data sets", OVERALL, 2)
    return (
        f"<section>{title}"
        f"{html_recommendation(comparison, None)}"
        f"{html_table(comparison, None)}{html_verdicts(comparison, None)}</section>"
    )
