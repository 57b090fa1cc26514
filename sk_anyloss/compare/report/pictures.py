"""Figures of a comparison, for light and dark pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from sk_anyloss.compare.methods.registry import get_method
from sk_anyloss.compare.report.confusion import plot_all_confusions, plot_confusion
from sk_anyloss.compare.report.drawing import (
    HIGHLIGHT,
    LIGHT,
    Plot,
    Theme,
    make_figure,
    method_colour,
    plain_text,
    printable,
    style,
)

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from sk_anyloss.compare.results import Results

__all__ = ["figures", "plot_scores"]

#: Distinguishable with colour vision deficiency.
LINES = ["#0072b2", "#009e73", "#cc79a7", "#e0a800", "#7a6bd6", "#5d5d5d"]
HIGHLIGHT_LINES = [HIGHLIGHT, "#8a3b00", "#f2a06a", "#b5651d", "#e07b39", "#6b2f00"]
#: Methods in the precision-recall figure; there are as many colours.
MAX_CURVES = 6


@plain_text()
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
    figure = make_figure(7.2, 0.9 + 0.36 * len(scored))
    axes = figure.subplots()
    jitter = np.random.default_rng(0)
    for position, name in enumerate(reversed(scored)):
        values, colour = folds[name].dropna().to_numpy(), method_colour(name, theme)
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
    style(axes, theme)
    return figure


@plain_text()
def plot_precision_recall(
    comparison: Results, data: str | None = None, theme: Theme = LIGHT
) -> Figure:
    """Precision-recall curves of the best methods, and their decision thresholds."""
    from sklearn.metrics import precision_recall_curve

    ranking = comparison.ranking(data).dropna(subset="mean")
    figure = make_figure(7.2, 5.2)
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
    style(axes, theme)
    return figure


@plain_text()
def plot_time(
    comparison: Results, data: str | None = None, theme: Theme = LIGHT
) -> Figure:
    """Mean score against the time of a fit."""
    ranking = comparison.ranking(data).dropna(subset="mean")
    figure = make_figure(7.2, 4.6)
    axes = figure.subplots()
    for name, row in ranking.iterrows():
        colour = method_colour(str(name), theme)
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
    style(axes, theme)
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
            color=method_colour(str(name), theme),
        )  # fmt: skip


#: Function and caption of each figure of a data set, by the name of its file.
FIGURES: dict[str, tuple[Plot, str]] = {
    "scores": (plot_scores, "Scores of the folds"),
    "precision_recall": (plot_precision_recall, "Precision and recall"),
    "confusion": (plot_all_confusions, "Confusion matrices over all folds"),
    "time": (plot_time, "Mean score against the time of a fit"),
}


def figures(n_classes: int) -> dict[str, tuple[Plot, str]]:
    """The figures of a data set.

    Parameters
    ----------
    n_classes : int
        Its number of classes.

    Returns
    -------
    figures : dict of str to (function, str)
        Function and caption of each figure, by the name of its file.

    Examples
    --------
    >>> from sk_anyloss.compare.report.pictures import figures
    >>> list(figures(2)), list(figures(3))
    (['scores', 'precision_recall', 'confusion', 'time'],
     ['confusion', 'scores', 'time'])
    """
    if n_classes == 2:
        return FIGURES
    caption = "Confusion matrix of the best method over all folds"
    return {
        "confusion": (plot_confusion, caption),
        "scores": FIGURES["scores"],
        "time": FIGURES["time"],
    }
