"""Pictures of a comparison, in light and in dark."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from sk_anyloss.compare.methods import get_method

if TYPE_CHECKING:
    from sk_anyloss.compare.results import Results

__all__ = ["PICTURES", "as_png", "as_svg"]

OURS = "#d1600f"
#: Text, lines in the background, and methods that are not ours.
LIGHT = {"text": "#222222", "faint": "#dddddd", "other": "#4a6078"}
DARK = {"text": "#e6e6e6", "faint": "#4a4a4a", "other": "#9fb6cc"}
#: Told apart also by those who do not see all colours.
LINES = ["#0072b2", "#009e73", "#cc79a7", "#e0a800", "#7a6bd6", "#5d5d5d"]
OUR_LINES = [OURS, "#8a3b00", "#f2a06a", "#b5651d", "#e07b39", "#6b2f00"]


@contextmanager
def _plain_text() -> Iterator[None]:
    """Names and labels are text: "$" begins no formula, whatever the user has set."""
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
        # Letters that the font lacks are drawn as boxes.
        warnings.filterwarnings("ignore", "Glyph .* missing from")
        yield


def printable(text: object) -> str:
    """Text for a picture: characters that SVG cannot hold are replaced.

    Examples
    --------
    >>> from sk_anyloss.compare.report.pictures import printable
    >>> len(printable("a" + chr(0))), printable("a b")
    (2, 'a b')
    """
    return "".join(
        c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text)
    )


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), layout="constrained")
    figure.patch.set_alpha(0)
    return figure


def _dress(panel: Any, theme: dict[str, str]) -> None:
    panel.patch.set_alpha(0)
    panel.spines[["top", "right"]].set_visible(False)
    for spine in panel.spines.values():
        spine.set_color(theme["text"])
    panel.tick_params(colors=theme["text"], labelsize=10)
    for text in (panel.xaxis.label, panel.yaxis.label, panel.title):
        text.set_color(theme["text"])
        text.set_fontsize(11)


def _colour(method: str, theme: dict[str, str]) -> str:
    return OURS if get_method(method).ours else theme["other"]


@_plain_text()
def scores(
    comparison: Results, data: str | None = None, theme: dict[str, str] = LIGHT
) -> Figure:
    """A dot a fold and the mean, a line a method, the best one on top."""
    table, folds = comparison.table_of(data), comparison.scores(data)
    known = [name for name in table.index if folds[name].notna().any()]
    figure = _figure(7.2, 0.9 + 0.36 * len(known))
    panel = figure.subplots()
    jitter = np.random.default_rng(0)
    for place, name in enumerate(reversed(known)):
        values, colour = folds[name].dropna().to_numpy(), _colour(name, theme)
        where = place + jitter.uniform(-0.17, 0.17, len(values))
        panel.plot(values, where, "o", color=colour, alpha=0.3, markersize=4)
        panel.plot(values.mean(), place, "|", color=colour, markersize=17, mew=3)
        panel.annotate(
            f"{values.mean():.3f}", (1.01, place), va="center", fontsize=10,
            xycoords=("axes fraction", "data"), color=colour,
        )  # fmt: skip
    titles = [printable(table.loc[name, "title"]) for name in reversed(known)]
    panel.set_yticks(range(len(known)), titles)
    name = printable(comparison.name)
    panel.set_xlabel(f"{name}: folds as dots, means as bars and numbers")
    panel.grid(axis="x", color=theme["faint"], linewidth=0.6)
    panel.set_axisbelow(True)
    _dress(panel, theme)
    return figure


@_plain_text()
def precision_recall(
    comparison: Results, data: str | None = None, theme: dict[str, str] = LIGHT
) -> Figure:
    """Curves of the best methods over all folds, and where each of them decides."""
    from sklearn.metrics import precision_recall_curve

    table = comparison.table_of(data).dropna(subset="mean")
    figure = _figure(7.2, 5.2)
    panel = figure.subplots()
    y = {item.name: item.y for item in comparison.tables}
    ours, others = iter(OUR_LINES), iter(LINES)
    for name in table.index[:6]:
        colour = next(ours if get_method(name).ours else others)
        own = [
            fold
            for fold in comparison.folds
            if fold.method == name and not fold.failed and fold.data == data
        ]
        truth = np.concatenate([y[fold.data][fold.rows] for fold in own])
        found = np.concatenate([fold.scores for fold in own])
        precision, recall, _ = precision_recall_curve(truth, found)
        # The last point, precision 1 at recall 0, is not one of the model's.
        panel.plot(recall[:-1], precision[:-1], color=colour, linewidth=1.4, alpha=0.8)
        _, fp, fn, tp = np.sum([fold.counts for fold in own], axis=0)
        point = tp / max(tp + fn, 1), tp / max(tp + fp, 1)
        title = printable(table.loc[name, "title"])
        # A legend leaves out what begins with an underscore.
        label = f" {title}" if title.startswith("_") else title
        panel.plot(*point, "o", color=colour, markersize=9, label=label)
    panel.set(xlabel="recall", ylabel="precision", xlim=(0, 1.02), ylim=(0, 1.02))
    panel.set_title("dots: where a method decides; the best six methods")
    panel.grid(color=theme["faint"], linewidth=0.6)
    legend = panel.legend(loc="lower left", fontsize=10, framealpha=0.6)
    legend.get_frame().set_facecolor("none")
    legend.get_frame().set_edgecolor("none")
    for text in legend.get_texts():
        text.set_color(theme["text"])
    _dress(panel, theme)
    return figure


@_plain_text()
def confusion(
    comparison: Results, data: str | None = None, theme: dict[str, str] = LIGHT
) -> Figure:
    """A confusion matrix a method, over all folds; colours by share of the class."""
    table = comparison.table_of(data).dropna(subset="mean")
    rows = -(-len(table) // 4)
    figure = _figure(7.2, 1.95 * rows)
    panels = figure.subplots(rows, 4, squeeze=False).ravel()
    (of,) = [item for item in comparison.tables if item.name == data]
    labels = [printable(label)[:10] for label in (of.negative, of.positive)]
    for panel, (name, row) in zip(panels, table.iterrows(), strict=False):
        counts = np.array([[row["tn"], row["fp"]], [row["fn"], row["tp"]]])
        share = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        panel.imshow(share, cmap="Oranges", vmin=0, vmax=1.3)
        for i, j in np.ndindex(2, 2):
            text = f"{counts[i, j]:,.0f}\n{share[i, j]:.0%}"
            panel.text(j, i, text, ha="center", va="center", fontsize=9, color="#222")
        panel.set_title(printable(row["title"]), fontsize=9)
        panel.set_xticks([0, 1], labels)
        panel.set_yticks([0, 1], labels, rotation=90, va="center")
        _dress(panel, theme)
        panel.tick_params(labelsize=7, length=0)
        panel.title.set_fontsize(9)
        panel.title.set_color(_colour(str(name), theme))
    for panel in panels[len(table) :]:
        panel.axis("off")
    figure.supxlabel("predicted", fontsize=10, color=theme["text"])
    figure.supylabel("true", fontsize=10, color=theme["text"])
    return figure


@_plain_text()
def time_and_score(
    comparison: Results, data: str | None = None, theme: dict[str, str] = LIGHT
) -> Figure:
    """Time of a fit against the mean score."""
    table = comparison.table_of(data).dropna(subset="mean")
    figure = _figure(7.2, 4.6)
    panel = figure.subplots()
    for name, row in table.iterrows():
        colour = _colour(str(name), theme)
        panel.plot(row["seconds"], row["mean"], "o", color=colour, markersize=7)
    panel.set_xscale("log")
    panel.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.xaxis.set_major_formatter("{x:g}")
    panel.xaxis.set_minor_locator(NullLocator())
    panel.margins(0.12)
    figure.draw_without_rendering()
    _label_points(panel, table, theme)
    panel.set_xlabel("seconds of a fit (median)")
    panel.set_ylabel(f"mean {printable(comparison.name)}")
    panel.grid(color=theme["faint"], linewidth=0.6)
    _dress(panel, theme)
    return figure


def _label_points(panel: Any, table: Any, theme: dict[str, str]) -> None:
    """Names beside the points, moved down where they would lie on each other."""
    taken: list[tuple[float, float]] = []
    left, right = panel.get_xlim()
    for name, row in table.sort_values("mean", ascending=False).iterrows():
        x, y = panel.transData.transform((row["seconds"], row["mean"]))
        shift = 0.0
        while any(abs(y + shift - b) < 13 and abs(x - a) < 150 for a, b in taken):
            shift -= 13
        taken.append((x, y + shift))
        beyond = np.log(row["seconds"] / left) > 0.72 * np.log(right / left)
        panel.annotate(
            printable(row["title"]), (row["seconds"], row["mean"]),
            xytext=(-7 if beyond else 7, shift * 0.72), textcoords="offset points",
            ha="right" if beyond else "left", va="center", fontsize=9,
            color=_colour(str(name), theme),
        )  # fmt: skip


#: Name and caption of each picture of a data set.
PICTURES: dict[str, tuple[Callable[..., Figure], str]] = {
    "scores": (scores, "Scores of the folds"),
    "precision_recall": (precision_recall, "Precision and recall"),
    "confusion": (confusion, "Confusion matrices over all folds"),
    "time": (time_and_score, "Time against score"),
}


def as_svg(figure: Figure) -> bytes:
    """The picture as SVG, the same bytes for the same picture."""
    stream = io.BytesIO()
    with _plain_text():
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return stream.getvalue()


def as_png(figure: Figure) -> bytes:
    """The picture as PNG, on white."""
    stream = io.BytesIO()
    with _plain_text():
        figure.savefig(stream, format="png", dpi=120, facecolor="white")
    return stream.getvalue()
