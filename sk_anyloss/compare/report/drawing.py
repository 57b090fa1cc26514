"""Themes, axes and files of the figures."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeAlias

import matplotlib
from matplotlib.figure import Figure

from sk_anyloss.compare.methods.registry import get_method

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sk_anyloss.compare.results.results import Results

__all__ = [
    "DARK",
    "HIGHLIGHT",
    "LIGHT",
    "Plot",
    "Theme",
    "as_png",
    "as_svg",
    "make_figure",
    "method_colour",
    "plain_text",
    "printable",
    "recolour",
    "style",
]

#: Colours by their use.
Theme: TypeAlias = dict[str, str]
#: Methods that optimise the metric.
HIGHLIGHT = "#d1600f"
#: Text, grid lines, and the other methods.
#: These of the light theme are used for nothing else, so that they can be replaced.
LIGHT: Theme = {"text": "#222222", "faint": "#dddddd", "other": "#4a6078"}
DARK: Theme = {"text": "#e6e6e6", "faint": "#4a4a4a", "other": "#9fb6cc"}


class Plot(Protocol):
    """A function that draws a figure of a comparison on one data set."""

    def __call__(
        self, comparison: Results, data: str | None = None, theme: Theme = LIGHT
    ) -> Figure:
        """Draw the figure."""


@contextmanager
def plain_text() -> Iterator[None]:
    """Draw names and labels literally: "$" starts no formula, in any configuration."""
    with (
        matplotlib.rc_context(
            {
                "text.parse_math": False,
                "text.usetex": False,
                "svg.hashsalt": "sk_anyloss",
            }
        ),
        warnings.catch_warnings(),
    ):
        # Characters that the font lacks are drawn as boxes.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        yield


def printable(text: object) -> str:
    """Text for a figure, with characters replaced that SVG cannot represent.

    Parameters
    ----------
    text : object
        Converted to a string.

    Returns
    -------
    text : str
        Printable characters only.

    Examples
    --------
    >>> from sk_anyloss.compare.report.drawing import printable
    >>> len(printable("a" + chr(0))), printable("a b")
    (2, 'a b')
    """
    return "".join(
        c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text)
    )


def make_figure(width: float, height: float) -> Figure:
    """A transparent figure of a size in inches."""
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_alpha(0)
    return figure


def style(axes: Axes, theme: Theme) -> None:
    """Apply the colours of a theme, and remove what carries no data."""
    axes.patch.set_alpha(0)
    axes.spines[["top", "right"]].set_visible(False)
    for spine in axes.spines.values():
        spine.set_color(theme["text"])
    axes.tick_params(colors=theme["text"], labelsize=10)
    for text in (axes.xaxis.label, axes.yaxis.label, axes.title):
        text.set_color(theme["text"])
        text.set_fontsize(11)


def method_colour(method: str, theme: Theme) -> str:
    """The colour of a method, by whether it optimises the metric."""
    return HIGHLIGHT if get_method(method).optimizes_metric else theme["other"]


def as_svg(figure: Figure) -> bytes:
    """A figure as SVG; the same bytes for the same figure."""
    stream = io.BytesIO()
    with plain_text():
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()


def recolour(svg: bytes, theme: Theme, other: Theme) -> bytes:
    """An SVG of one theme in the colours of another, without drawing it again.

    Parameters
    ----------
    svg : bytes
        From :func:`as_svg`.
    theme, other : dict
        The colours that it has, and those that it gets.

    Returns
    -------
    svg : bytes
        The same shapes.

    Examples
    --------
    >>> from sk_anyloss.compare.report.drawing import DARK, LIGHT, recolour
    >>> recolour(b"fill: #222222", LIGHT, DARK)
    b'fill: #e6e6e6'
    """
    for use, colour in theme.items():
        svg = svg.replace(colour.encode(), other[use].encode())
    return svg


def as_png(figure: Figure) -> bytes:
    """A figure as PNG, on white."""
    stream = io.BytesIO()
    with plain_text():
        figure.savefig(stream, format="png", dpi=120, facecolor="white")
    return stream.getvalue()
