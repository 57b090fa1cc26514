"""The picture of the thinned images: methods minus tuned cross-entropy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from benchmarks.networks.report import TUNED, task_differences

__all__ = ["plot_surrogate"]

HIGHLIGHTED = {"AnyLossNet": "#c1440e", "surrogate": "#0072b2"}


def plot_surrogate(table: pd.DataFrame, path: Path) -> None:
    """Mean differences over sets, digits and metrics, a panel for each imbalance.

    Bars are standard errors over the pairs of set and digit.
    """
    difference = task_differences(table).drop(columns=TUNED)
    order = difference.mean().sort_values().index
    ratios = sorted(table["imbalance"].unique())
    figure = Figure(figsize=(3.6 * len(ratios) + 1, 3.6), layout="constrained")
    panels = figure.subplots(1, len(ratios), sharey=True, squeeze=False)[0]
    for panel, ratio in zip(panels, ratios, strict=True):
        own = difference.xs(ratio, level="imbalance").groupby(["set", "digit"]).mean()
        error = own.std() / np.sqrt(len(own))
        panel.axvline(0, color="0.6", linewidth=1)
        for y, name in enumerate(order):
            colour = HIGHLIGHTED.get(name, "0.35")
            panel.errorbar(own[name].mean(), y, xerr=error[name], fmt="o", color=colour)
        panel.set_yticks(range(len(order)), order)
        panel.set_title(f"1:{ratio:g}")
        panel.spines[["top", "right"]].set_visible(False)
    figure.supxlabel(f"mean F-score minus that of {TUNED}", fontsize=10)
    figure.savefig(path, dpi=100)
