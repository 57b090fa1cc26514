"""Results for a terminal: titles of metrics, and the ranking in columns."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from sk_anyloss.metrics import Metric, metric_name

if TYPE_CHECKING:
    from sk_anyloss.compare.results import Results

__all__ = ["format_results", "metric_title"]

TITLES = {
    "f1": "F1",
    "gmean": "G-mean",
    "balanced_accuracy": "balanced accuracy",
    "mcc": "MCC",
}


def metric_title(metric: str | Metric) -> str:
    """The name of a metric in sentences, tables and figures.

    Parameters
    ----------
    metric : str or callable
        The metric.

    Returns
    -------
    title : str
        Its name without underscores.

    Examples
    --------
    >>> from sk_anyloss.compare.report.text import metric_title
    >>> metric_title("gmean"), metric_title("recall")
    ('G-mean', 'recall')
    """
    name = metric_name(metric)
    return TITLES.get(name, name.replace("_", " "))


def format_results(results: Results) -> str:
    """Ranking and verdict of every data set, and of all of them together.

    Parameters
    ----------
    results : Results
        Results on one or more data sets.

    Returns
    -------
    text : str
        Several lines.
    """
    lines = []
    for table in results.tables:
        lines += [table.describe(), "", _format_ranking(results, table.name), ""]
        lines += [results.verdict(table.name), ""]
    if len(results.tables) > 1:
        lines += [f"All {len(results.tables)} data sets", ""]
        lines += [_format_ranking(results, None), "", results.verdict(), ""]
    return "\n".join(lines + results.failures()).rstrip()


def _format_ranking(results: Results, data: str | None) -> str:
    ranking, sign = results.ranking(data), _plus_minus()
    width = max(len(title) for title in ranking["title"])
    others = results.other_metrics
    heads = [results.metric_title, "rank", *map(metric_title, others), "s/fit"]
    widths = [15, 6, *(max(len(head), 6) + 2 for head in heads[2:])]
    lines = ["  " + " " * width + _align(heads, widths)]
    for row in ranking.to_dict("records"):
        cells = [f"{row['mean']:.3f} {sign} {row['std']:.3f}", f"{row['rank']:.1f}"]
        cells += [f"{row[name]:.3f}" for name in others]
        cells.append(f"{row['seconds']:.2f}")
        failed = f"  {row['failed']} failed" if row["failed"] else ""
        lines.append(f"  {row['title']:<{width}}{_align(cells, widths)}{failed}")
    return "\n".join(lines)


def _align(cells: list[str], widths: list[int]) -> str:
    pairs = zip(cells, widths, strict=True)
    return "".join(f"{cell:>{width}}" for cell, width in pairs)


def _plus_minus() -> str:
    """The sign, or ASCII for a terminal whose encoding lacks it."""
    try:
        "±".encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeError, LookupError):
        return "+/-"
    return "±"
