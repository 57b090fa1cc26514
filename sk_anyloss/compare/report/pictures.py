"""Figures of a comparison, for light and dark pages."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullLocator

from sk_anyloss.compare.report.confusion import plot_all_confusions, plot_confusion
from sk_anyloss.compare.report.curves import (
    plot_calibration,
    plot_precision_recall,
    plot_roc,
)
from sk_anyloss.compare.report.drawing import (
    LIGHT,
    Plot,
    Theme,
    make_figure,
    method_colour,
    plain_text,
    printable,
    style,
)
from sk_anyloss.compare.report.text import score_text

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from sk_anyloss.compare.results.results import Results
    from sk_anyloss.compare.tables.table import Table

__all__ = ["EXPLAINED", "figures", "plot_scores"]

#: Columns in the figure of importances, and characters of their names.
MAX_IMPORTANCES, MAX_NAME = 10, 28
#: Height of a line of small text and width of a character, in pixels.
LINE, CHARACTER = 16, 7.4

#: Left, bottom, right and top, in pixels.
Box: TypeAlias = tuple[float, float, float, float]


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
            score_text(ranking.loc[name]), (1.01, position), va="center", fontsize=10,
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
    """Write titles beside the points, where they cover neither points nor titles."""
    points = axes.transData.transform(ranking[["seconds", "mean"]].to_numpy(float))
    frame = axes.get_window_extent()
    taken = [(x - 8, y - 8, x + 8, y + 8) for x, y in points]
    for i, (name, row) in enumerate(ranking.iterrows()):
        title = printable(row["title"])
        width = CHARACTER * len(title)
        places = [
            (side, shift)
            for shift in sorted(range(-8 * LINE, 9 * LINE, LINE), key=abs)
            for side in (1, -1)
        ]
        x, y = points[i]

        boxes = [_box(x, y + shift, side, width) for side, shift in places]
        free = [
            k
            for k, box in enumerate(boxes)
            if box[0] >= frame.x0 and box[2] <= frame.x1
            if not any(_overlap(box, o) for j, o in enumerate(taken) if j != i)
        ]
        best = free[0] if free else 0
        taken.append(boxes[best])
        side, shift = places[best]
        # A title that is not beside its point is joined to it.
        line = {"arrowstyle": "-", "lw": 0.6, "color": theme["text"], "alpha": 0.5}
        axes.annotate(
            title, (row["seconds"], row["mean"]),
            xytext=(7 * side, shift * 0.72), textcoords="offset points",
            ha="left" if side == 1 else "right", va="center", fontsize=9,
            color=method_colour(str(name), theme),
            arrowprops=line if abs(shift) > LINE else None,
        )  # fmt: skip


def _box(x: float, y: float, side: int, width: float) -> Box:
    """Where a title is written on one side of a point."""
    left = x + 9 if side == 1 else x - 9 - width
    return left, y - LINE / 2, left + width, y + LINE / 2


def _overlap(one: Box, other: Box) -> bool:
    return (
        one[0] < other[2]
        and other[0] < one[2]
        and one[1] < other[3]
        and other[1] < one[3]
    )


@plain_text()
def plot_importance(
    comparison: Results, data: str | None = None, theme: Theme = LIGHT
) -> Figure:
    """By how much the metric falls where the values of a column are permuted."""
    explanation = comparison.explanations[comparison.table_of(data).name]
    rows = explanation.importances.head(MAX_IMPORTANCES)[::-1]
    figure = make_figure(7.2, 0.9 + 0.36 * len(rows))
    axes = figure.subplots()
    axes.barh(
        range(len(rows)), rows["mean"], xerr=rows["std"], height=0.6,
        color=theme["other"], ecolor=theme["text"], error_kw={"lw": 0.8},
    )  # fmt: skip
    names = [printable(name) for name in rows["column"]]
    short = [n if len(n) <= MAX_NAME else f"{n[: MAX_NAME - 3]}..." for n in names]
    axes.set_yticks(range(len(rows)), short)
    metric = printable(explanation.metric)
    axes.set_xlabel(f"fall of {metric} when the column is permuted")
    axes.set_title(printable(explanation.method))
    axes.grid(axis="x", color=theme["faint"], linewidth=0.6)
    axes.set_axisbelow(True)
    style(axes, theme)
    return figure


@plain_text()
def plot_learning(
    comparison: Results, data: str | None = None, theme: Theme = LIGHT
) -> Figure:
    """The metric on held-out samples against the number of training samples."""
    explanation = comparison.explanations[comparison.table_of(data).name]
    rows = explanation.learning
    figure = make_figure(7.2, 4.6)
    axes = figure.subplots()
    axes.errorbar(
        rows["samples"], rows["mean"], yerr=rows["std"].fillna(0.0), fmt="o-",
        color=theme["other"], capsize=4, markersize=7,
    )  # fmt: skip
    axes.set_xticks(rows["samples"], [f"{n:,}" for n in rows["samples"]])
    axes.set_xlabel("training samples")
    axes.set_ylabel(printable(explanation.metric))
    title = f"{explanation.method}: mean and standard deviation over the folds"
    axes.set_title(printable(title))
    axes.grid(color=theme["faint"], linewidth=0.6)
    style(axes, theme)
    return figure


#: Function and caption of each figure of a data set, by the name of its file.
FIGURES: dict[str, tuple[Plot, str]] = {
    "scores": (plot_scores, "Scores of the folds"),
    "precision_recall": (plot_precision_recall, "Precision and recall"),
    "roc": (plot_roc, "ROC curves"),
    "calibration": (plot_calibration, "Calibration of the scores"),
    "confusion": (plot_all_confusions, "Confusion matrices over all folds"),
    "time": (plot_time, "Mean score against the time of a fit"),
}
#: Those of an explanation.
EXPLAINED: dict[str, tuple[Plot, str]] = {
    "importance": (plot_importance, "Permutation importance"),
    "learning": (plot_learning, "Learning curve"),
}


def figures(table: Table) -> dict[str, tuple[Plot, str]]:
    """The figures of a data set.

    Parameters
    ----------
    table : Table
        The data set: of two or more classes, or of several labels.

    Returns
    -------
    figures : dict of str to (function, str)
        Function and caption of each figure, by the name of its file.

    Examples
    --------
    >>> from sk_anyloss.compare import built_in
    >>> from sk_anyloss.compare.report.pictures import figures
    >>> list(figures(built_in()))
    ['scores', 'precision_recall', 'roc', 'calibration', 'confusion', 'time']
    """
    if table.is_binary:
        return FIGURES
    general = {name: FIGURES[name] for name in ("scores", "time")}
    if table.has_labels:
        return general
    caption = "Confusion matrix of the recommended method over all folds"
    return {"confusion": (plot_confusion, caption), **general}
