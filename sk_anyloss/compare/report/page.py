"""The report: one self-contained HTML page, and results and figures as files."""

from __future__ import annotations

import base64
import html
import io
import platform
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING

import pandas as pd

from sk_anyloss import __version__
from sk_anyloss.compare.methods.registry import get_method
from sk_anyloss.compare.report.classes import class_section
from sk_anyloss.compare.report.drawing import (
    DARK,
    LIGHT,
    Plot,
    as_png,
    as_svg,
    recolour,
)
from sk_anyloss.compare.report.meanings import metric_meaning
from sk_anyloss.compare.report.pictures import EXPLAINED, figures
from sk_anyloss.compare.report.summary import summarize, to_json
from sk_anyloss.compare.report.text import metric_title
from sk_anyloss.compare.report.thresholds import html_thresholds
from sk_anyloss.compare.run.files import make_folder, write
from sk_anyloss.compare.run.names import file_name

if TYPE_CHECKING:
    from sk_anyloss.compare.results.results import Results
    from sk_anyloss.compare.tables.table import Table
    from sk_anyloss.compare.verdict import Verdict

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

__all__ = [
    "html_checks",
    "html_recommendation",
    "html_table",
    "versions",
    "write_report",
]


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that the results depend on.

    Returns
    -------
    versions : dict of str to str
        By the name of the package.

    Examples
    --------
    >>> from sk_anyloss.compare.report.page import versions
    >>> list(versions())[:3]
    ['python', 'sk_anyloss', 'scikit-learn']
    """
    installed = {"python": platform.python_version(), "sk_anyloss": __version__}
    names = "scikit-learn imbalanced-learn torch skorch skrub numpy pandas"
    for name in names.split():
        try:
            installed[name] = version(name)
        except PackageNotFoundError:
            installed[name] = "not installed"
    return installed


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
        (files("sk_anyloss.compare.report") / "template.html").read_text(
            encoding="utf-8"
        )
    )
    page = template.substitute(
        title=f"{html.escape(comparison.metric_title)}: method comparison",
        sections="\n".join(sections),
        nav=_navigation(comparison),
        failures=_list("Failures", comparison.failures()),
        command=_command(comparison.settings),
        settings=_definitions(
            {k: v for k, v in comparison.settings.items() if k != "command"}
        ),
        versions=_definitions(versions()),
    )
    contents["report.html"] = page.encode(errors="replace")
    make_folder(folder / "pictures")
    for name, content in contents.items():
        write(folder / name, content)
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


def html_recommendation(comparison: Results, data: str | None) -> str:
    """The recommendation as a paragraph that stands out.

    Parameters
    ----------
    comparison : Results
        The results.
    data : str or None
        Name of a data set; None for all.

    Returns
    -------
    paragraph : str
        HTML, in which all names are escaped.
    """
    return f'<p class="recommendation">{html.escape(comparison.advice(data))}</p>'


def html_checks(comparison: Results, data: str) -> str:
    """What the checks have found, and all checks to unfold.

    Parameters
    ----------
    comparison : Results
        The results.
    data : str
        Name of a data set.

    Returns
    -------
    section : str
        HTML, in which all names are escaped.
    """
    findings = comparison.checks(data)
    found = _list("To check", comparison.warnings(data))
    rows = "".join(
        f'<tr><th scope="row">{one.code} {html.escape(one.title)}</th>'
        f"<td>{one.severity}</td><td>{one.status}</td>"
        f'<td class="text">{html.escape(one.sentence)}</td></tr>'
        for one in findings
    )
    passed = sum(one.status == "passed" for one in findings)
    summary = f"{passed} of {len(findings)} checks passed"
    return (
        f"{found}<details><summary>{summary}</summary>"
        f'<div class="wide"><table>{rows}</table></div></details>'
    )


def html_table(comparison: Results, data: str | None) -> str:
    """The ranking as an HTML table, with the probabilities of the verdicts.

    Parameters
    ----------
    comparison : Results
        The results.
    data : str or None
        Name of a data set; None for all.

    Returns
    -------
    table : str
        HTML, in which all names are escaped.
    """
    ranking = comparison.ranking(data)
    others = comparison.other_metrics
    verdicts = comparison.verdicts(data)
    judged = next(iter(verdicts.values())).method if verdicts else ""
    metric, titles = comparison.metric_title, map(metric_title, others)
    heads = ["", "method", metric, "rank", *titles, "s / fit"]
    if judged:
        heads.append(f"{judged} better / equivalent / worse")
    rows = []
    for rank, (name, row) in enumerate(ranking.iterrows(), 1):
        numbers = [row[other] for other in others]
        cells = [
            _cell(str(rank), rank),
            f'<th scope="row">{html.escape(row["title"])}</th>',
            _cell(_mean_and_std(row), row["mean"]),
            _cell(_number(row["rank"], 1), row["rank"]),
            *(_cell(_number(number), number) for number in numbers),
            _cell(_number(row["seconds"], 2), row["seconds"]),
        ]
        if judged:
            cells.append(_probabilities(verdicts.get(str(name))))
        optimizes = get_method(str(name)).optimizes_metric
        highlight = ' class="highlight"' if optimizes else ""
        rows.append(f"<tr{highlight}>{''.join(cells)}</tr>")
    rows += _dummy_rows(comparison, data, bool(judged))
    meanings = {
        heads[2]: metric_meaning(comparison.metric),
        **{metric_title(other): metric_meaning(other) for other in others},
        **{head: metric_meaning(head) for head in ("rank", "s / fit")},
    }
    return _sortable(heads, rows, meanings)


def _dummy_rows(comparison: Results, data: str | None, judged: bool) -> list[str]:
    """Rows of the predictions that need no model, without rank and time."""
    rows = []
    for row in comparison.dummies(data).to_dict("records"):
        numbers = [row[other] for other in comparison.other_metrics]
        cells = [
            "<td></td>",
            f'<th scope="row">{html.escape(row["title"])}</th>',
            _cell(_mean_and_std(row), row["mean"]),
            "<td></td>",
            *(_cell(_number(number), number) for number in numbers),
            *["<td></td>"] * (2 if judged else 1),
        ]
        rows.append(f'<tr class="dummy">{"".join(cells)}</tr>')
    return rows


def _mean_and_std(row: Mapping[str, float]) -> str:
    spread = f" <small>± {_number(row['std'])}</small>" if _number(row["std"]) else ""
    return _number(row["mean"]) + spread


def _sortable(
    heads: list[str], rows: list[str], meanings: Mapping[str, str] | None = None
) -> str:
    """A table that the page sorts by a click on a heading, which says what it means."""
    head = ""
    for text in heads:
        meaning = (meanings or {}).get(text, "")
        title = f' title="{html.escape(meaning)}"' if meaning else ""
        head += f'<th scope="col"{title}>{html.escape(text)}</th>'
    table = (
        f'<div class="wide"><table class="sortable"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
    if not meanings:
        return table
    known = {name: meaning for name, meaning in meanings.items() if meaning}
    summary = "<summary>What the columns mean</summary>"
    return f"{table}<details>{summary}{_definitions(known)}</details>"


def _number(value: float, digits: int = 3) -> str:
    return "" if value != value else f"{value:.{digits}f}"


def _cell(text: str, key: float) -> str:
    """A cell, and the number by which the page sorts it."""
    return f'<td data-key="{key}">{text}</td>'


def _probabilities(verdict: Verdict | None) -> str:
    """The three probabilities of a verdict as numbers and as a bar."""
    if verdict is None:
        return _cell("", -1)
    parts = [
        f'<span class="{kind}" style="flex:{max(probability, 0.0):.3f}"></span>'
        for kind, probability in (
            ("better", verdict.better),
            ("equivalent", verdict.equivalent),
            ("worse", verdict.worse),
        )
    ]
    text = f"{verdict.better:.2f} / {verdict.equivalent:.2f} / {verdict.worse:.2f}"
    bar = f'<div class="bar" role="img" aria-label="{text}">{"".join(parts)}</div>'
    return _cell(f"{text}{bar}", verdict.better)


def _anchor(data: str, part: str = "") -> str:
    """Name by which a section of the page is linked."""
    name = re.sub(r"[^a-z0-9]+", "-", data.lower()).strip("-") or "data"
    return f"{name}-{part}" if part else name


def _heading(text: str, anchor: str, level: int = 3) -> str:
    """A heading with a link to itself."""
    name = html.escape(anchor)
    return (
        f'<h{level} id="{name}">{html.escape(text)} '
        f'<a class="link" href="#{name}" aria-label="link to this section">#</a>'
        f"</h{level}>"
    )


def _navigation(comparison: Results) -> str:
    """Links to the sections: the parts of the only data set, or all data sets."""
    names = [table.name for table in comparison.tables]
    if len(names) == 1:
        links = [(_anchor(names[0], key), title) for key, title in PARTS.items()]
        if comparison.tables[0].n_classes > 2:
            links = [link for link in links if link[1] != PARTS["thresholds"]]
    else:
        links = [(_anchor(name), name) for name in names]
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
        return _heading(PARTS[key], _anchor(name, key)) + content

    ranking = html_table(comparison, name) + _all_verdicts(comparison, name)
    partial = comparison.partial(name)
    drawn = {}
    if comparison.scores(name).notna().any(axis=None):
        extra = EXPLAINED if name in comparison.explanations else {}
        drawn = {**figures(table.n_classes), **extra}
    explained = comparison.explanations.get(name)
    sentence = f"<p>{html.escape(str(explained))}</p>" if explained else ""
    pictures = [
        _drawn(comparison, table, key, draw, caption, contents)
        for key, (draw, caption) in drawn.items()
    ]
    figure_grid = f'<div class="figures">{"".join(pictures)}</div>' if drawn else ""
    parts = [
        _heading(table.describe(), _anchor(name), 2),
        f'<p class="partial">{html.escape(partial)}</p>' if partial else "",
        html_recommendation(comparison, name),
        part("checks", html_checks(comparison, name)),
        _list("Notes", table.notes),
        part("ranking", ranking),
        part("thresholds", html_thresholds(comparison, name)),
        _class_table(comparison, name),
        part("pictures", sentence + figure_grid),
        part("data", _definitions(table.facts())),
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
    figure = draw(comparison, table.name, LIGHT)
    svg = as_svg(figure)
    contents[f"pictures/{prefix}{key}.png"] = as_png(figure)
    contents[f"pictures/{prefix}{key}.svg"] = svg
    # The matrix of many classes needs the whole width.
    is_large = figure.get_figwidth() > 8
    return _figure(svg, recolour(svg, LIGHT, DARK), caption, is_large)


def _overall_section(comparison: Results) -> str:
    heading = _heading(f"All {len(comparison.tables)} data sets", OVERALL, 2)
    return (
        f"<section>{heading}"
        f"{html_recommendation(comparison, None)}"
        f"{html_table(comparison, None)}{_all_verdicts(comparison, None)}</section>"
    )


def _all_verdicts(comparison: Results, data: str | None) -> str:
    sentences = [str(verdict) for verdict in comparison.verdicts(data).values()]
    text = _list("", sentences)
    verdict = f"<p>{html.escape(comparison.verdict(data))}</p>"
    if not sentences:
        return verdict
    summary = "<summary>Verdicts against every method</summary>"
    return f"{verdict}<details>{summary}{text}</details>"


def _class_table(comparison: Results, data: str) -> str:
    """Scores of each class by the best method, for more than two classes."""
    section = class_section(comparison, data)
    if section is None:
        return ""
    title = f"Classes, by {section.method} over all folds"
    heads = ["", "class", "precision", "recall", "F1", "support", "mistaken for"]
    rows = []
    for place, (label, row) in enumerate(section.report.iterrows(), 1):
        numbers = [float(row[name]) for name in ("precision", "recall", "f1")]
        cells = [
            _cell(str(place), place),
            f'<th scope="row">{html.escape(str(label))}</th>',
            *(_cell(_number(number), number) for number in numbers),
            _cell(f"{row['support']:,}", row["support"]),
            f"<td>{html.escape(row['mistaken'])}</td>",
        ]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    note = f"<p>{html.escape(section.note)}</p>" if section.note else ""
    return f"<h3>{html.escape(title)}</h3>{note}{_sortable(heads, rows)}"


def _figure(light: bytes, dark: bytes, caption: str, is_large: bool = False) -> str:
    source, fallback = (
        "data:image/svg+xml;base64," + base64.b64encode(image).decode()
        for image in (dark, light)
    )
    kind = ' class="large"' if is_large else ""
    return (
        f"<figure{kind}><figcaption>{html.escape(caption)}</figcaption>"
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


def _definitions(items: Mapping[str, object]) -> str:
    rows = "".join(
        f"<dt>{html.escape(str(name))}</dt><dd>{html.escape(_inline(value))}</dd>"
        for name, value in items.items()
    )
    return f"<dl>{rows}</dl>"


def _inline(value: object) -> str:
    """A setting as text; that of the only data set without its name."""
    if not isinstance(value, Mapping):
        return str(value)
    if len(value) == 1:
        return str(next(iter(value.values())))
    return "; ".join(f"{name}: {part}" for name, part in value.items())
