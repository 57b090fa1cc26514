"""The pictures of the study."""

import itertools

from matplotlib.figure import Figure

from benchmarks.study.scores import AIMS
from benchmarks.study.tables import beside
from sk_anyloss.compare.verdict import judge_many

SHADES = {"better": "#d1600f", "alike": "#c9ced6", "worse": "#2f4b6e"}
RATES = ["#0072b2", "#d1600f", "#009e73", "#cc79a7", "#5d5d5d"]


def _figure(width, height):
    return Figure(figsize=(width, height), layout="constrained")


def _bare(panel):
    panel.spines[["top", "right"]].set_visible(False)


def sign_bars(found):
    """Figure 4: probabilities that AnyLoss is better, alike or worse, stacked."""
    figure = _figure(11, 3.6)
    kinds = [(structure, rope) for structure in found for rope in (0.01, 0.05)]
    panels = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
    for panel, (structure, rope) in zip(panels, kinds, strict=True):
        labels = []
        for place, (metric, other) in enumerate(
            (metric, other) for metric in AIMS for other in ("MSE", "BCE")
        ):
            scores, _ = found[structure][metric]
            better, alike, worse = judge_many(scores["AnyLoss"], scores[other], rope)
            bottom = 0.0
            for word, height in (
                ("worse", worse),
                ("alike", alike),
                ("better", better),
            ):
                panel.bar(place, height, 0.8, bottom, color=SHADES[word], label=word)
                bottom += height
            labels.append(f"{metric}\n{other}" if place % 2 == 0 else f"\n{other}")
        panel.set_xticks(range(len(labels)), labels, fontsize=8)
        panel.set_title(f"{structure}, rope {rope:g}", fontsize=10)
        _bare(panel)
    panels[0].set_ylabel("probability")
    handles, words = panels[0].get_legend_handles_labels()
    figure.legend(
        handles[:3], [f"AnyLoss {word}" for word in words[:3]],
        loc="outside lower center", ncols=3, frameon=False,
    )  # fmt: skip
    return figure


def against_all(found, rope=0.01):
    """AnyLoss against every baseline, a panel a metric and structure."""
    metrics = ("F1", "Gmean", "BAcc")
    figure = _figure(11, 6.2)
    panels = figure.subplots(len(found), len(metrics), sharex=True, squeeze=False)
    for line, structure in zip(panels, found, strict=True):
        for panel, metric in zip(line, metrics, strict=True):
            scores, _ = found[structure][metric]
            others = scores.columns.drop("AnyLoss")
            gaps = {name: beside(scores, name, rope) for name in others}
            order = sorted(gaps, key=lambda name: gaps[name][0] - gaps[name][2])
            for place, name in enumerate(order):
                left = 0.0
                for word, width in zip(SHADES, gaps[name], strict=True):
                    panel.barh(place, width, 0.8, left, color=SHADES[word], label=word)
                    left += width
            panel.set_yticks(range(len(order)), order, fontsize=8)
            panel.set_title(f"{structure}, {metric}", fontsize=10)
            panel.set_xlim(0, 1)
            _bare(panel)
    handles, words = panels[0, 0].get_legend_handles_labels()
    figure.legend(
        handles[:3], [f"AnyLoss {word}" for word in words[:3]],
        loc="outside lower center", ncols=3, frameon=False,
    )  # fmt: skip
    return figure


def which_L(means):
    """Mean score by L: which one to take at which learning rate."""
    own = means[~means["paper_id"].str.startswith("four")]
    metrics = [metric for metric in AIMS if metric in set(own["aim"])]
    figure = _figure(11, 4)
    panels = figure.subplots(1, len(metrics), squeeze=False)[0]
    for panel, metric in zip(panels, metrics, strict=True):
        part = own[own["aim"] == metric]
        for colour, (lr, of_rate) in zip(RATES, part.groupby("lr"), strict=False):
            for dtype, style in (("float64", "-"), ("float32", ":")):
                curve = of_rate[of_rate["dtype"] == dtype].groupby("L")["score"].mean()
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
        _bare(panel)
    panels[0].set_ylabel(f"mean score, {own['set'].nunique()} sets")
    panels[0].legend(frameon=False, fontsize=9)
    figure.suptitle(
        "solid: float64, dotted: float32; a dot marks the best L of a learning rate",
        fontsize=10,
    )
    return figure


def learning_curves(curves):
    """Figure 3: loss by step and L, ours and with 1 - A(p) by subtraction."""
    kinds = list(dict.fromkeys((lr, dtype) for lr, dtype, _ in curves))
    figure = _figure(11, 3.8)
    panels = figure.subplots(1, len(kinds), sharey=True, squeeze=False)[0]
    for panel, kind in zip(panels, kinds, strict=True):
        own = {key[2]: pair for key, pair in curves.items() if key[:2] == kind}
        for colour, (L, (ours, theirs)) in zip(RATES, own.items(), strict=False):
            panel.plot(ours, color=colour, label=f"L {L}", linewidth=1.5)
            panel.plot(theirs, ":", color="black", linewidth=1)
        lr, dtype = kind
        panel.set(title=f"lr {lr:g}, {dtype}", xlabel="step", yscale="log")
        panel.title.set_fontsize(10)
        _bare(panel)
    panels[0].set_ylabel("loss, 1 - soft F1")
    handles, words = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, words, loc="outside lower center", ncols=len(words), frameon=False
    )
    return figure


def gaps_by_imbalance(found, shares):
    """AnyLoss less BCE against the share of the larger class, a dot a set."""
    metrics = ("F1", "BAcc")
    figure = _figure(11, 3.8)
    panels = figure.subplots(1, len(metrics), squeeze=False)[0]
    for panel, metric in zip(panels, metrics, strict=True):
        for colour, structure in zip(RATES, found, strict=False):
            scores, _ = found[structure][metric]
            gap = scores["AnyLoss"] - scores["BCE"]
            x = shares[gap.index]
            panel.plot(x, gap, "o", color=colour, alpha=0.5, markersize=4)
            for low, high in itertools.pairwise((0.6, 0.7, 0.8, 0.9, 1.0)):
                inside = (x > low) & (x <= high)
                if inside.any():
                    label = structure if low == 0.6 else None
                    mean = [gap[inside].mean()] * 2
                    panel.plot([low, high], mean, color=colour, lw=2.5, label=label)
        panel.axhline(0, color="0.6", linewidth=1)
        panel.set(title=metric, xlabel="share of the larger class")
        _bare(panel)
    panels[0].set_ylabel("AnyLoss less BCE")
    panels[0].legend(frameon=False)
    return figure
