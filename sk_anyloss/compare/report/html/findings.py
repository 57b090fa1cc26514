"""The recommendation and the checks as parts of the page."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from sk_anyloss.compare.report.html.markup import bullets, prose

if TYPE_CHECKING:
    from sk_anyloss.compare.results.results import Results

__all__ = ["html_checks", "html_recommendation"]


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
    found = bullets("To check", comparison.warnings(data))
    rows = "".join(
        f'<tr><th scope="row">{one.code} {html.escape(one.title)}</th>'
        f"<td>{one.severity}</td><td>{one.status}</td>"
        f'<td class="text">{prose(one.sentence)}</td></tr>'
        for one in findings
    )
    passed = sum(one.status == "passed" for one in findings)
    summary = f"{passed} of {len(findings)} checks passed"
    return (
        f"{found}<details><summary>{summary}</summary>"
        f'<div class="wide"><table>{rows}</table></div></details>'
    )
