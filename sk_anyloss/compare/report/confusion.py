"""Figures of confusion matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from sk_anyloss.compare.report.classes import shown_classes
from sk_anyloss.compare.report.drawing import (
    LIGHT,
    Theme,
    make_figure,
    method_colour,
    plain_text,
    printable,
    style,
)

if TYPE_CHECKING:
    from sk_anyloss.compare.results.results import Results

__all__ = ["plot_all_confusions", "plot_confusion"]

#: Text on cells, which are bright in all themes.
CELL_TEXT = "#202020"
#: Of more classes than this, cells hold counts only, and none where it is 0.
MAX_WITH_PERCENTAGES = 12
#: Characters of a label.
MAX_LABEL = 20


@plain_text()
def plot_all_confusions(
    comparison: Results, data: str | None = None, theme: Theme = LIGHT
) -> Figure:
    """Confusion matrices summed over all folds, coloured by fraction of the class."""
    ranking = comparison.ranking(data).dropna(subset="mean")
    rows = -(-len(ranking) // 4)
    figure = make_figure(7.2, 1.95 * rows)
    all_axes = figure.subplots(rows, 4, squeeze=False).ravel()
    table = comparison.table_of(data)
    labels = [printable(label)[:10] for label in table.classes]
    for axes, (name, row) in zip(all_axes, ranking.iterrows(), strict=False):
        counts = comparison.confusion_matrix(str(name), data).to_numpy()
        fraction = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
        axes.imshow(fraction, cmap="Oranges", vmin=0, vmax=1.3)
        for i, j in np.ndindex(2, 2):
            text = f"{counts[i, j]:,.0f}\n{fraction[i, j]:.0%}"
            axes.text(j, i, text, ha="center", va="center", fontsize=9, color=CELL_TEXT)
        axes.set_title(printable(row["title"]), fontsize=9)
        axes.set_xticks([0, 1], labels)
        axes.set_yticks([0, 1], labels, rotation=90, va="center")
        style(axes, theme)
        axes.tick_params(labelsize=7, length=0)
        axes.title.set_fontsize(9)
        axes.title.set_color(method_colour(str(name), theme))
    for axes in all_axes[len(ranking) :]:
        axes.axis("off")
    figure.supxlabel("predicted", fontsize=10, color=theme["text"])
    figure.supylabel("true", fontsize=10, color=theme["text"])
    return figure


@plain_text()
def plot_confusion(
    comparison: Results, data: str | None = None, theme: Theme = LIGHT
) -> Figure:
    """Confusion matrix of the recommended method, summed over all folds.

    Cells are coloured by their fraction of the true class, of which there may be
    samples in classes that are not shown.

    Parameters
    ----------
    comparison : Results
        The results.
    data : str, default=None
        Name of a data set; may be omitted if there is only one.
    theme : dict, default=LIGHT
        Colours.

    Returns
    -------
    figure : matplotlib.figure.Figure
        To show or save.
    """
    table, ranking = comparison.table_of(data), comparison.ranking(data)
    method = comparison.chosen_method(None, table.name)
    shown = shown_classes(table)
    M = comparison.confusion_matrix(method, data).to_numpy()
    fraction = (M / np.maximum(M.sum(axis=1, keepdims=True), 1))[np.ix_(shown, shown)]
    counts, n = M[np.ix_(shown, shown)], len(shown)
    labels = [_short(table.classes[code]) for code in shown]
    few, longest = n <= MAX_WITH_PERCENTAGES, max(map(len, labels))
    cell = 0.62 if few else 0.38
    size = max(cell * n, 2.4)
    figure = make_figure(max(7.2, size + 2.2), size + 1.1 + 0.07 * longest)
    axes = figure.subplots()
    axes.imshow(fraction, cmap="Oranges", vmin=0, vmax=1.5)
    for i, j in np.argwhere(counts > 0):
        text = f"{counts[i, j]:,}"
        if few:
            text += f"\n{fraction[i, j]:.0%}"
        axes.text(j, i, text, ha="center", va="center", fontsize=8, color=CELL_TEXT)
    # Labels that fit the width of a cell are horizontal.
    fits = 0.085 * longest < size / n
    axes.set_xticks(range(n), labels, rotation=0 if fits else 90)
    axes.set_yticks(range(n), labels)
    axes.set_title(printable(ranking.loc[method, "title"]))
    axes.set(xlabel="predicted", ylabel="true")
    style(axes, theme)
    axes.tick_params(labelsize=9, length=0)
    axes.title.set_color(method_colour(method, theme))
    return figure


def _short(label: object) -> str:
    text = printable(label)
    return text if len(text) <= MAX_LABEL else f"{text[: MAX_LABEL - 3]}..."
