"""Figures over all thresholds: precision and recall, ROC, calibration."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import numpy as np
from matplotlib.figure import Figure

from sk_anyloss.compare.methods.registry import get_method
from sk_anyloss.compare.report.drawing import (
    HIGHLIGHT,
    LIGHT,
    Theme,
    make_figure,
    plain_text,
    printable,
    style,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from sk_anyloss.compare.results.results import Results

__all__ = ["plot_calibration", "plot_precision_recall", "plot_roc"]

#: Where a legend stands.
Place: TypeAlias = Literal["lower left", "lower right", "upper left"]
#: Distinguishable with colour vision deficiency.
LINES = ["#0072b2", "#009e73", "#cc79a7", "#e0a800", "#7a6bd6", "#5d5d5d"]
HIGHLIGHT_LINES = [HIGHLIGHT, "#8a3b00", "#f2a06a", "#b5651d", "#e07b39", "#6b2f00"]
#: Methods in a figure; there are as many colours.
MAX_CURVES = 6
#: Bins of a calibration curve, each with as many samples.
MAX_BINS, SAMPLES_A_BIN = 10, 20


class _Line(NamedTuple):
    """Held-out scores and decisions of a method, and how it is drawn."""

    title: str
    colour: str
    y: np.ndarray
    scores: np.ndarray
    counts: np.ndarray


def _lines(comparison: Results, data: str | None) -> Iterator[_Line]:
    """The best methods on a data set, among them the recommended one."""
    ranking = comparison.ranking(data).dropna(subset="mean")
    table = comparison.table_of(data)
    highlights, others = iter(HIGHLIGHT_LINES), iter(LINES)
    recommended = comparison.chosen_method(None, table.name)
    names = list(ranking.index[:MAX_CURVES])
    if recommended not in names:
        names[-1] = recommended
    for name in names:
        own = [
            fold
            for fold in comparison.folds
            if (fold.data, fold.method) == (table.name, name) and not fold.failed
        ]
        title = printable(ranking.loc[name, "title"])
        title += " (recommended)" if name == recommended else ""
        highlight = get_method(name).optimizes_metric
        yield _Line(
            # A legend omits labels that start with an underscore.
            title=f" {title}" if title.startswith("_") else title,
            colour=next(highlights if highlight else others),
            y=np.concatenate([table.y[fold.rows] for fold in own]),
            scores=np.concatenate([fold.scores for fold in own]),
            counts=np.sum([fold.counts for fold in own], axis=0),
        )


def _axes(figure: Figure, xlabel: str, ylabel: str, title: str) -> Axes:
    axes: Axes = figure.subplots()
    axes.set(xlabel=xlabel, ylabel=ylabel, xlim=(0, 1.02), ylim=(0, 1.02))
    axes.set_title(title)
    return axes


def _finish(axes: Axes, theme: Theme, place: Place) -> None:
    axes.grid(color=theme["faint"], linewidth=0.6)
    legend = axes.legend(loc=place, fontsize=10, framealpha=0.6)
    legend.get_frame().set_facecolor("none")
    legend.get_frame().set_edgecolor("none")
    for text in legend.get_texts():
        text.set_color(theme["text"])
    style(axes, theme)


@plain_text()
def plot_precision_recall(
    comparison: Results, data: str | None = None, theme: Theme = LIGHT
) -> Figure:
    """Precision-recall curves of the best methods, and their decision thresholds."""
    from sklearn.metrics import precision_recall_curve

    figure = make_figure(7.2, 5.2)
    dots = "dots: predictions at the decision threshold; of the best methods"
    axes = _axes(figure, "recall", "precision", dots)
    for line in _lines(comparison, data):
        precision, recall, _ = precision_recall_curve(line.y, line.scores)
        # The last point, precision 1 at recall 0, is added by scikit-learn.
        axes.plot(recall[:-1], precision[:-1], color=line.colour, lw=1.4, alpha=0.8)
        _, fp, fn, tp = line.counts
        point = tp / max(tp + fn, 1), tp / max(tp + fp, 1)
        axes.plot(*point, "o", color=line.colour, markersize=9, label=line.title)
    _finish(axes, theme, "lower left")
    return figure


@plain_text()
def plot_roc(
    comparison: Results, data: str | None = None, theme: Theme = LIGHT
) -> Figure:
    """ROC curves of the best methods, and their decision thresholds."""
    from sklearn.metrics import roc_curve

    figure = make_figure(7.2, 5.2)
    axes = _axes(
        figure,
        "false positives, of all negatives",
        "true positives, of all positives",
        "dots: predictions at the decision threshold; dashed: at random",
    )
    axes.plot([0, 1], [0, 1], "--", color=theme["faint"], linewidth=1.2)
    for line in _lines(comparison, data):
        fpr, tpr, _ = roc_curve(line.y, line.scores)
        axes.plot(fpr, tpr, color=line.colour, linewidth=1.4, alpha=0.8)
        tn, fp, fn, tp = line.counts
        point = fp / max(tn + fp, 1), tp / max(tp + fn, 1)
        axes.plot(*point, "o", color=line.colour, markersize=9, label=line.title)
    _finish(axes, theme, "lower right")
    return figure


@plain_text()
def plot_calibration(
    comparison: Results, data: str | None = None, theme: Theme = LIGHT
) -> Figure:
    """Fractions of positives by score: on the dashed line, scores are probabilities."""
    from sklearn.calibration import calibration_curve

    figure = make_figure(7.2, 5.2)
    axes = _axes(
        figure,
        "mean score of the samples in a bin",
        "fraction of them that is positive",
        "on the dashed line, scores are probabilities",
    )
    axes.plot([0, 1], [0, 1], "--", color=theme["other"], linewidth=1.2)
    for line in _lines(comparison, data):
        if line.scores.min() < 0 or line.scores.max() > 1:
            continue  # A decision function, which is not meant as a probability.
        bins = int(np.clip(len(line.y) // SAMPLES_A_BIN, 2, MAX_BINS))
        found, expected = calibration_curve(
            line.y, line.scores, n_bins=bins, strategy="quantile"
        )
        axes.plot(
            expected, found, "o-", color=line.colour, lw=1.4, ms=5, alpha=0.8,
            label=line.title,
        )  # fmt: skip
    if axes.get_legend_handles_labels()[0]:
        _finish(axes, theme, "upper left")
    else:
        style(axes, theme)
    return figure
