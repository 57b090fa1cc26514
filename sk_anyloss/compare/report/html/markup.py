"""Pieces of HTML, in which all text is escaped."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping

__all__ = [
    "anchor_of",
    "bullets",
    "cell",
    "definitions",
    "figure",
    "heading",
    "prose",
    "sortable",
]

#: An option of the command and its value, which browsers would break at a hyphen.
OPTION = re.compile(r"--[a-z][a-z-]*(?: [^\s;,]{1,24}(?![^\s;,]))?")


def anchor_of(data: str, part: str = "") -> str:
    """Name by which a section of the page is linked.

    Parameters
    ----------
    data : str
        Name of the data set.
    part : str, default=''
        Part of its section.

    Returns
    -------
    anchor : str
        Lower-case ASCII letters, digits and hyphens.

    Examples
    --------
    >>> from sk_anyloss.compare.report.html.markup import anchor_of
    >>> anchor_of("breast cancer, 10:1", "checks")
    'breast-cancer-10-1-checks'
    """
    name = re.sub(r"[^a-z0-9]+", "-", data.lower()).strip("-") or "data"
    return f"{name}-{part}" if part else name


def heading(text: str, anchor: str, level: int = 3) -> str:
    """A heading with a link to itself.

    Parameters
    ----------
    text, anchor : str
        The heading, and the name by which it is linked.
    level : int, default=3
        2 for a section, 3 for a part of it.

    Returns
    -------
    heading : str
        HTML.
    """
    name = html.escape(anchor)
    return (
        f'<h{level} id="{name}">{html.escape(text)} '
        f'<a class="link" href="#{name}" aria-label="link to this section">#</a>'
        f"</h{level}>"
    )


def prose(sentence: str) -> str:
    """A sentence, in which options of the command stay on one line.

    Parameters
    ----------
    sentence : str
        Text.

    Returns
    -------
    text : str
        HTML.

    Examples
    --------
    >>> from sk_anyloss.compare.report.html.markup import prose
    >>> prose("use --drop a & b")
    'use <span class="option">--drop a</span> &amp; b'
    """
    return OPTION.sub(r'<span class="option">\g<0></span>', html.escape(sentence))


def bullets(title: str, sentences: list[str]) -> str:
    """A list of sentences below a title.

    Parameters
    ----------
    title : str
        A heading; none if it is empty.
    sentences : list of str
        The items.

    Returns
    -------
    part : str
        HTML; empty without sentences.
    """
    if not sentences:
        return ""
    head = f"<h3>{html.escape(title)}</h3>" if title else ""
    items = "".join(f"<li>{prose(sentence)}</li>" for sentence in sentences)
    return f"{head}<ul>{items}</ul>"


def definitions(items: Mapping[str, object]) -> str:
    """Names and values in two columns.

    Parameters
    ----------
    items : dict
        Values by their names.

    Returns
    -------
    part : str
        HTML.
    """
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


def figure(light: bytes, dark: bytes, caption: str, is_large: bool = False) -> str:
    """A picture for a light and one for a dark page.

    Parameters
    ----------
    light, dark : bytes
        The picture as SVG.
    caption : str
        What it shows.
    is_large : bool, default=False
        Whether it needs the whole width of the page.

    Returns
    -------
    figure : str
        HTML, with the pictures in it.
    """
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


def sortable(
    heads: list[str], rows: list[str], meanings: Mapping[str, str] | None = None
) -> str:
    """A table that the page sorts by a click on a heading, which says what it means.

    Parameters
    ----------
    heads : list of str
        Headings of the columns.
    rows : list of str
        Rows in HTML.
    meanings : dict of str to str, default=None
        What columns mean, by their headings.

    Returns
    -------
    table : str
        HTML, with a list of the meanings below.
    """
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
    summary = "<summary>What the columns mean; a click on a heading sorts</summary>"
    return f"{table}<details>{summary}{definitions(known)}</details>"


def cell(text: str, key: float) -> str:
    """A cell, and the number by which the page sorts it.

    Parameters
    ----------
    text : str
        Content in HTML.
    key : float
        The number.

    Returns
    -------
    cell : str
        HTML.
    """
    return f'<td data-key="{key}">{text}</td>'
