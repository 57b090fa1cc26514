"""A picture of the mean ranks."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.quality.methods import METRICS
from benchmarks.quality.report import keep_complete, scores_by_dataset


def plot_ranks(
    table: pd.DataFrame,
    path: Path,
    metrics: Sequence[str] = METRICS,
    common: bool = False,
) -> None:
    """Mean ranks with their standard errors, a panel for each metric.

    Methods without results on some of the data sets are left out; with ``common``,
    the data sets instead.
    """
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    found = {
        metric: keep_complete(scores_by_dataset(table, metric), common)
        for metric in metrics
    }
    found = {metric: scores for metric, scores in found.items() if not scores.empty}
    n_columns = min(2, len(found))
    n_rows = -(-len(found) // n_columns)
    figure, panels = plt.subplots(
        n_rows, n_columns, figsize=(6 * n_columns, 4.5 * n_rows), layout="constrained",
        squeeze=False,
    )  # fmt: skip
    for panel in panels.ravel()[len(found) :]:
        panel.axis("off")
    for panel, (metric, scores) in zip(panels.ravel(), found.items(), strict=False):
        ranks = scores.rank(axis=1, ascending=False)
        order = ranks.mean().sort_values(ascending=False).index
        colours = [
            "#c1440e" if name.startswith("AnyLoss") else "0.45" for name in order
        ]
        error = ranks[order].std() / np.sqrt(len(ranks))
        panel.hlines(order, 1, ranks[order].mean(), color="0.88", linewidth=1)
        for name, colour in zip(order, colours, strict=True):
            mean = ranks[name].mean()
            panel.errorbar(mean, name, xerr=error[name], fmt="o", color=colour)
            panel.annotate(
                f"{scores[name].mean():.3f}", (mean + error[name], name),
                xytext=(4, 0), textcoords="offset points", va="center",
                fontsize=8, color=colour,
            )  # fmt: skip
        # Room for the labels at the right.
        panel.margins(x=0.12, y=0.05)
        panel.set_title(f"{metric}, {len(scores)} data sets")
        panel.set_xlabel("mean rank and its standard error; labels: mean score")
        panel.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=100)
