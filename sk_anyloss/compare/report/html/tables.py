"""Rankings, verdicts and scores of classes as tables of the page."""

from __future__ import annotations

import html
from collections.abc import Mapping
from typing import TYPE_CHECKING

from sk_anyloss.compare.methods.registry import get_method
from sk_anyloss.compare.report.classes import class_section
from sk_anyloss.compare.report.html.markup import bullets, cell, sortable
from sk_anyloss.compare.report.html.meanings import metric_meaning
from sk_anyloss.compare.report.text import (
    constraint_text,
    metric_title,
    number_text,
    other_texts,
)

if TYPE_CHECKING:
    from sk_anyloss.compare.results.results import Results
    from sk_anyloss.compare.verdict import Verdict

__all__ = ["html_classes", "html_table", "html_verdicts"]


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
    recommendation = comparison.recommendation(data)
    recommended = None if recommendation is None else recommendation.method
    rows = []
    for rank, (name, row) in enumerate(ranking.iterrows(), 1):
        mark = " <small>(recommended)</small>" if name == recommended else ""
        numbers = [row[other] for other in others]
        cells = [
            cell(str(rank), rank),
            f'<th scope="row">{html.escape(row["title"])}{mark}</th>',
            cell(_mean_and_std(row), row["mean"]),
            cell(number_text(row["rank"], 1), row["rank"]),
            *map(cell, other_texts(comparison, data, row, str(name)), numbers),
            cell(number_text(row["seconds"], 2), row["seconds"]),
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
    return sortable(heads, rows, meanings)


def _dummy_rows(comparison: Results, data: str | None, judged: bool) -> list[str]:
    """Rows of the predictions that need no model, without rank and time."""
    rows = []
    for _, row in comparison.dummies(data).iterrows():
        numbers = [row[other] for other in comparison.other_metrics]
        cells = [
            "<td></td>",
            f'<th scope="row">{html.escape(row["title"])}</th>',
            cell(_mean_and_std(row), row["mean"]),
            "<td></td>",
            *map(cell, other_texts(comparison, data, row), numbers),
            *["<td></td>"] * (2 if judged else 1),
        ]
        rows.append(f'<tr class="dummy">{"".join(cells)}</tr>')
    return rows


def _mean_and_std(row: Mapping[str, float]) -> str:
    if missed := constraint_text(row):
        return missed
    std = number_text(row["std"])
    return number_text(row["mean"]) + (f" <small>± {std}</small>" if std else "")


def _probabilities(verdict: Verdict | None) -> str:
    """The three probabilities of a verdict as numbers and as a bar."""
    if verdict is None:
        return cell("", -1)
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
    return cell(f"{text}{bar}", verdict.better)


def html_verdicts(comparison: Results, data: str | None) -> str:
    """The verdict, and those against every method to unfold.

    Parameters
    ----------
    comparison : Results
        The results.
    data : str or None
        Name of a data set; None for all.

    Returns
    -------
    part : str
        HTML, in which all names are escaped.
    """
    sentences = [str(verdict) for verdict in comparison.verdicts(data).values()]
    text = bullets("", sentences)
    verdict = f"<p>{html.escape(comparison.verdict(data))}</p>"
    if not sentences:
        return verdict
    summary = "<summary>Verdicts against every method</summary>"
    return f"{verdict}<details>{summary}{text}</details>"


def html_classes(comparison: Results, data: str) -> str:
    """Scores of each class or label by the recommended method.

    Parameters
    ----------
    comparison : Results
        The results.
    data : str
        Name of a data set.

    Returns
    -------
    part : str
        HTML, in which all names are escaped; empty for a target of two classes.
    """
    section = class_section(comparison, data)
    if section is None:
        return ""
    title = f"{section.kind}, by {section.method} over all folds"
    one = "label" if section.matrix is None else "class"
    heads = ["", one, "precision", "recall", "F1", "support"]
    heads += [] if section.matrix is None else ["mistaken for"]
    rows = []
    for place, (label, row) in enumerate(section.report.iterrows(), 1):
        numbers = [float(row[name]) for name in ("precision", "recall", "f1")]
        cells = [
            cell(str(place), place),
            f'<th scope="row">{html.escape(str(label))}</th>',
            *(cell(number_text(number), number) for number in numbers),
            cell(f"{row['support']:,.0f}", row["support"]),
        ]
        if section.matrix is not None:
            cells.append(f"<td>{html.escape(row['mistaken'])}</td>")
        rows.append(f"<tr>{''.join(cells)}</tr>")
    note = f"<p>{html.escape(section.note)}</p>" if section.note else ""
    return f"<h3>{html.escape(title)}</h3>{note}{sortable(heads, rows)}"
