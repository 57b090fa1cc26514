"""The plots of the study."""

import itertools

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.study.scores import TABLE_METRICS
from benchmarks.study.steepness import Curves
from benchmarks.study.tables.aggregate import Scores, sign_test
from sk_anyloss.compare.verdict import judge_many

COLOURS = {"better": "#d1600f", "equivalent": "#c9ced6", "worse": "#2f4b6e"}
LINES = ["#0072b2", "#d1600f", "#009e73", "#cc79a7", "#5d5d5d"]


def _figure(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")


def _hide_spines(panel: Axes) -> None:
    panel.spines[["top", "right"]].set_visible(False)


def _legend_below(figure: Figure, panel: Axes) -> None:
    handles, labels = panel.get_legend_handles_labels()
    figure.legend(
        handles[:3], [f"AnyLoss {label}" for label in labels[:3]],
        loc="outside lower center", ncols=3, frameon=False,
    )  # fmt: skip


def plot_sign_tests(scores: Scores) -> Figure:
    """Figure 4: probabilities that AnyLoss is better, equivalent or worse, stacked."""
    figure = _figure(11, 3.6)
    kinds = [(network, rope) for network in scores for rope in (0.01, 0.05)]
    panels = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
    for panel, (network, rope) in zip(panels, kinds, strict=True):
        labels = []
        for x, (metric, other) in enumerate(
            itertools.product(TABLE_METRICS, ("MSE", "BCE"))
        ):
            own, _ = scores[network][metric]
            found = judge_many(own["AnyLoss"], own[other], rope)
            bottom = 0.0
            for name, height in reversed(list(zip(COLOURS, found, strict=True))):
                panel.bar(x, height, 0.8, bottom, color=COLOURS[name], label=name)
                bottom += height
            labels.append(f"{metric}\n{other}" if x % 2 == 0 else f"\n{other}")
        panel.set_xticks(range(len(labels)), labels, fontsize=8)
        panel.set_title(f"{network}, ROPE {rope:g}", fontsize=10)
        _hide_spines(panel)
    panels[0].set_ylabel("probability")
    _legend_below(figure, panels[0])
    return figure


def plot_methods(scores: Scores, rope: float = 0.01) -> Figure:
    """Sign tests of AnyLoss against every method, by network and metric."""
    metrics = ("F1", "Gmean", "BAcc")
    figure = _figure(11, 6.2)
    panels = figure.subplots(len(scores), len(metrics), sharex=True, squeeze=False)
    for row, network in zip(panels, scores, strict=True):
        for panel, metric in zip(row, metrics, strict=True):
            own, _ = scores[network][metric]
            others = own.columns.drop("AnyLoss")
            found = {name: sign_test(own, name, rope) for name in others}
            order = sorted(found, key=lambda name: found[name][0] - found[name][2])
            for y, name in enumerate(order):
                left = 0.0
                for label, width in zip(COLOURS, found[name], strict=True):
                    panel.barh(y, width, 0.8, left, color=COLOURS[label], label=label)
                    left += width
            panel.set_yticks(range(len(order)), order, fontsize=8)
            panel.set_title(f"{network}, {metric}", fontsize=10)
            panel.set_xlim(0, 1)
            _hide_spines(panel)
    _legend_below(figure, panels[0, 0])
    return figure


def plot_scores_by_L(means: pd.DataFrame) -> Figure:
    """Mean score by L, for each learning rate and dtype."""
    own = means[~means["paper_id"].str.startswith("four")]
    metrics = [metric for metric in TABLE_METRICS if metric in set(own["aim"])]
    figure = _figure(11, 4)
    panels = figure.subplots(1, len(metrics), squeeze=False)[0]
    for panel, metric in zip(panels, metrics, strict=True):
        part = own[own["aim"] == metric]
        for colour, (lr, at_lr) in zip(LINES, part.groupby("lr"), strict=False):
            for dtype, style in (("float64", "-"), ("float32", ":")):
                curve = at_lr[at_lr["dtype"] == dtype].groupby("L")["score"].mean()
                label = f"lr {lr:g}" if dtype == "float64" else None
                panel.plot(curve.index, curve, style, color=colour, label=label)
                if dtype == "float64":
                    best = curve.idxmax()
                    panel.plot(best, curve[best], "o", color=colour)
        panel.axvline(73, color="0.6", linewidth=1)
        panel.annotate(
            "73", (73, 1), (0, 2), xycoords=("data", "axes fraction"),
            textcoords="offset points", ha="center", fontsize=8, color="0.4",
        )  # fmt: skip
        panel.set(xscale="log", xlabel="L", title=metric)
        panel.set_xticks(
            [1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"]
        )
        panel.minorticks_off()
        _hide_spines(panel)
    panels[0].set_ylabel(f"mean score, {own['set'].nunique()} data sets")
    panels[0].legend(frameon=False, fontsize=9)
    figure.suptitle(
        "solid: float64, dotted: float32; dots: the best L of a learning rate",
        fontsize=10,
    )
    return figure


def plot_loss_curves(curves: Curves) -> Figure:
    """Figure 3: training loss by L; dotted, with 1 - A(p) by subtraction."""
    kinds = list(dict.fromkeys((lr, dtype) for lr, dtype, _ in curves))
    figure = _figure(11, 3.8)
    panels = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
    for panel, kind in zip(panels, kinds, strict=True):
        own = {key[2]: pair for key, pair in curves.items() if key[:2] == kind}
        for colour, (L, (ours, subtracted)) in zip(LINES, own.items(), strict=False):
            panel.plot(ours, color=colour, label=f"L {L}", linewidth=1.5)
            panel.plot(subtracted, ":", color="black", linewidth=1)
        lr, dtype = kind
        panel.set(title=f"lr {lr:g}, {dtype}", xlabel="step", yscale="log")
        panel.title.set_fontsize(10)
        _hide_spines(panel)
    panels[0].set_ylabel("loss, 1 - soft F1")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=len(labels), frameon=False
    )
    return figure


def plot_gain_by_imbalance(scores: Scores, proportions: pd.Series) -> Figure:
    """AnyLoss minus BCE by proportion of the larger class, a dot for each data set."""
    metrics = ("F1", "BAcc")
    figure = _figure(11, 3.8)
    panels = figure.subplots(1, len(metrics), squeeze=False)[0]
    for panel, metric in zip(panels, metrics, strict=True):
        for colour, network in zip(LINES, scores, strict=False):
            own, _ = scores[network][metric]
            gain = own["AnyLoss"] - own["BCE"]
            x = proportions[gain.index]
            panel.plot(x, gain, "o", color=colour, alpha=0.5, markersize=4)
            for low, high in itertools.pairwise((0.6, 0.7, 0.8, 0.9, 1.0)):
                inside = (x > low) & (x <= high)
                if inside.any():
                    label = network if low == 0.6 else None
                    mean = [gain[inside].mean()] * 2
                    panel.plot([low, high], mean, color=colour, lw=2.5, label=label)
        panel.axhline(0, color="0.6", linewidth=1)
        panel.set(title=metric, xlabel="proportion of the larger class")
        _hide_spines(panel)

    panels[0].set_ylabel("AnyLoss minus BCE")
    panels[0].legend(frameon=False)
    return figure
