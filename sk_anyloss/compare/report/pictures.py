"""Figures of a comparison, for light and dark pages."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, TypeAlias

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from sk_anyloss.compare.methods import get_method

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from sk_anyloss.compare.results import Results

__all__ = ["DARK", "FIGURES", "LIGHT", "as_png", "as_svg", "plot_scores"]

#: Colours by their use.
Theme: TypeAlias = dict[str, str]
#: Methods that optimise the metric.
HIGHLIGHT = "#d1600f"
#: Text, grid lines, and the other methods.
LIGHT: Theme = {"text": "#222222", "faint": "#dddddd", "other": "#4a6078"}
DARK: Theme = {"text": "#e6e6e6", "faint": "#4a4a4a", "other": "#9fb6cc"}
#: Distinguishable with colour vision deficiency.
LINES = ["#0072b2", "#009e73", "#cc79a7", "#e0a800", "#7a6bd6", "#5d5d5d"]
HIGHLIGHT_LINES = [HIGHLIGHT, "#8a3b00", "#f2a06a", "#b5651d", "#e07b39", "#6b2f00"]
#: Methods in the precision-recall figure; there are as many colours.
MAX_CURVES = 6


class Plot(Protocol):
    """A function that draws a figure of a comparison on one data set."""

    def __call__(
        self, comparison: Results, data: str | None = None, theme: Theme = LIGHT
    ) -> Figure:
        """Draw the figure."""


@contextmanager
def _plain_text() -> Iterator[None]:
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
    >>> from sk_anyloss.compare.report.pictures import printable
    >>> len(printable("a" + chr(0))), printable("a b")
    (2, 'a b')
    """
    return "".join(
        c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text)
    )


def _make_figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_alpha(0)
    return figure


def _style(axes: Axes, theme: Theme) -> None:
    """Apply the colours of a theme, and remove what carries no data."""
    axes.patch.set_alpha(0)
    axes.spines[["top", "right"]].set_visible(False)
    for spine in axes.spines.values():
        spine.set_color(theme["text"])
    axes.tick_params(colors=theme["text"], labelsize=10)
    for text in (axes.xaxis.label, axes.yaxis.label, axes.title):
        text.set_color(theme["text"])
        text.set_fontsize(11)


def _method_colour(method: str, theme: Theme) -> str:
    return HIGHLIGHT if get_method(method).optimizes_metric else theme["other"]


@_plain_text()
def plot_scores(
    comparison: Results, data: str | None = None, theme: Theme = LIGHT
) -> Figure:
    """Scores of the folds and their mean, one line per method, the best one at the top.

    Parameters
    ----------
    comparison : Results
        The results.
    data : str, default=None
        Name of a data set; all by default.
    theme : dict, default=LIGHT
        Colours.

    Returns
    -------
    figure : matplotlib.figure.Figure
        To show or save.
    """
    ranking, folds = comparison.ranking(data), comparison.scores(data)
    scored = [name for name in ranking.index if folds[name].notna().any()]
    figure = _make_figure(7.2, 0.9 + 0.36 * len(scored))
    axes = figure.subplots()
    jitter = np.random.default_rng(0)
    for position, name in enumerate(reversed(scored)):
        values, colour = folds[name].dropna().to_numpy(), _method_colour(name, theme)
        height = position + jitter.uniform(-0.17, 0.17, len(values))
        axes.plot(values, height, "o", color=colour, alpha=0.3, markersize=4)
        axes.plot(values.mean(), position, "|", color=colour, markersize=17, mew=3)
        axes.annotate(
            f"{values.mean():.3f}", (1.01, position), va="center", fontsize=10,
            xycoords=("axes fraction", "data"), color=colour,
        )  # fmt: skip
    titles = [printable(ranking.loc[name, "title"]) for name in reversed(scored)]
    axes.set_yticks(range(len(scored)), titles)
    metric = printable(comparison.metric_title)
    axes.set_xlabel(f"{metric}: folds as dots, means as bars and numbers")
    axes.grid(axis="x", color=theme["faint"], linewidth=0.6)
    axes.set_axisbelow(True)
    _style(axes, theme)
    return figure


@_plain_text()
def plot_precision_recall(
    comparison: Results, data: str | None = None, theme: Theme = LIGHT
) -> Figure:
    """Precision-recall curves of the best methods, and their decision thresholds."""
    from sklearn.metrics import precision_recall_curve

    ranking = comparison.ranking(data).dropna(subset="mean")
    figure = _make_figure(7.2, 5.2)
    axes = figure.subplots()
    y = {item.name: item.y for item in comparison.tables}
    highlights, others = iter(HIGHLIGHT_LINES), iter(LINES)
    for name in ranking.index[:MAX_CURVES]:
        highlight = get_method(name).optimizes_metric
        colour = next(highlights if highlight else others)
        own = [
            fold
            for fold in comparison.folds
            if fold.method == name and not fold.failed and fold.data == data
        ]
        y_true = np.concatenate([y[fold.data][fold.rows] for fold in own])
        y_score = np.concatenate([fold.scores for fold in own])
        precision, recall, _ = precision_recall_curve(y_true, y_score)
        # The last point, precision 1 at recall 0, is added by scikit-learn.
        axes.plot(recall[:-1], precision[:-1], color=colour, linewidth=1.4, alpha=0.8)
        _, fp, fn, tp = np.sum([fold.counts for fold in own], axis=0)
        point = tp / max(tp + fn, 1), tp / max(tp + fp, 1)
        title = printable(ranking.loc[name, "title"])
        # A legend omits labels that start with an underscore.
        label = f" {title}" if title.startswith("_") else title
        axes.plot(*point, "o", color=colour, markersize=9, label=label)
    axes.set(xlabel="recall", ylabel="precision", xlim=(0, 1.02), ylim=(0, 1.02))
    axes.set_title("dots: predictions at the decision threshold; best six methods")
    axes.grid(color=theme["faint"], linewidth=0.6)
    legend = axes.legend(loc="lower left", fontsize=10, framealpha=0.6)
    legend.get_frame().set_facecolor("none")
    legend.get_frame().set_edgecolor("none")
    for text in legend.get_texts():
        text.set_color(theme["text"])
    _style(axes, theme)
    return figure


@_plain_text()
def plot_confusion(
    comparison: Results, data: str | None = None, theme: Theme = LIGHT
) -> Figure:
    """Confusion matrices summed over all folds, coloured by fraction of the class."""
    ranking = comparison.ranking(data).dropna(subset="mean")
    rows = -(-len(ranking) // 4)
    figure = _make_figure(7.2, 1.95 * rows)
    all_axes = figure.subplots(rows, 4, squeeze=False).ravel()
    (table,) = [item for item in comparison.tables if item.name == data]
    labels = [printable(label)[:10] for label in (table.negative, table.positive)]
    for axes, (name, row) in zip(all_axes, ranking.iterrows(), strict=False):
        counts = np.array([[row["tn"], row["fp"]], [row["fn"], row["tp"]]])
        fraction = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        axes.imshow(fraction, cmap="Oranges", vmin=0, vmax=1.3)
        for i, j in np.ndindex(2, 2):
            text = f"{counts[i, j]:,.0f}\n{fraction[i, j]:.0%}"
            axes.text(j, i, text, ha="center", va="center", fontsize=9, color="#222")
        axes.set_title(printable(row["title"]), fontsize=9)
        axes.set_xticks([0, 1], labels)
        axes.set_yticks([0, 1], labels, rotation=90, va="center")
        _style(axes, theme)
        axes.tick_params(labelsize=7, length=0)
        axes.title.set_fontsize(9)
        axes.title.set_color(_method_colour(str(name), theme))
    for axes in all_axes[len(ranking) :]:
        axes.axis("off")
    figure.supxlabel("predicted", fontsize=10, color=theme["text"])
    figure.supylabel("true", fontsize=10, color=theme["text"])
    return figure


@_plain_text()
def plot_time(
    comparison: Results, data: str | None = None, theme: Theme = LIGHT
) -> Figure:
    """Mean score against the time of a fit."""
    ranking = comparison.ranking(data).dropna(subset="mean")
    figure = _make_figure(7.2, 4.6)
    axes = figure.subplots()
    for name, row in ranking.iterrows():
        colour = _method_colour(str(name), theme)
        axes.plot(row["seconds"], row["mean"], "o", color=colour, markersize=7)
    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.margins(0.12)
    figure.draw_without_rendering()
    _label_points(axes, ranking, theme)
    axes.set_xlabel("median time of a fit in seconds")
    axes.set_ylabel(f"mean {printable(comparison.metric_title)}")
    axes.grid(color=theme["faint"], linewidth=0.6)
    _style(axes, theme)
    return figure


def _label_points(axes: Axes, ranking: pd.DataFrame, theme: Theme) -> None:
    """Write titles beside the points, moved down where they would overlap."""
    taken: list[tuple[float, float]] = []
    left, right = axes.get_xlim()
    for name, row in ranking.sort_values("mean", ascending=False).iterrows():
        x, y = axes.transData.transform((row["seconds"], row["mean"]))
        shift = 0.0
        while any(abs(y + shift - b) < 13 and abs(x - a) < 150 for a, b in taken):
            shift -= 13
        taken.append((x, y + shift))
        on_right = np.log(row["seconds"] / left) > 0.72 * np.log(right / left)
        axes.annotate(
            printable(row["title"]), (row["seconds"], row["mean"]),
            xytext=(-7 if on_right else 7, shift * 0.72), textcoords="offset points",
            ha="right" if on_right else "left", va="center", fontsize=9,
            color=_method_colour(str(name), theme),
        )  # fmt: skip


#: Function and caption of each figure of a data set, by the name of its file.
FIGURES: dict[str, tuple[Plot, str]] = {
    "scores": (plot_scores, "Scores of the folds"),
    "precision_recall": (plot_precision_recall, "Precision and recall"),
    "confusion": (plot_confusion, "Confusion matrices over all folds"),
    "time": (plot_time, "Mean score against the time of a fit"),
}


def as_svg(figure: Figure) -> bytes:
    """A figure as SVG; the same bytes for the same figure."""
    stream = io.BytesIO()
    with _plain_text():
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()


def as_png(figure: Figure) -> bytes:
    """A figure as PNG, on white."""
    stream = io.BytesIO()
    with _plain_text():
        figure.savefig(stream, format="png", dpi=120, facecolor="white")
    return stream.getvalue()
