"""Ratios of times: sk_anyloss against other implementations, alternating."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypedDict

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.speed.implementations import (
    Fit,
    fit_anyloss,
    fit_bce,
    fit_fifty,
    fit_metric_only,
    fit_mlp_classifier,
    fit_skorch,
    fit_slp,
    fit_slp_numpy,
    fit_through_classes,
    fit_torch,
)
from benchmarks.speed.workloads import (
    LARGE,
    LARGE_BATCH,
    MEDIUM,
    SLP,
    SMALL,
    TEN_CLASSES,
    Workload,
    make_data,
)


class Comparison(NamedTuple):
    """Two implementations of a workload, and the ratio of times to reach."""

    baseline: str
    workload: Workload
    fit: Fit
    fit_baseline: Fit
    target: float


class Ratio(TypedDict):
    """Result of a comparison, as written to ``speed.json``."""

    baseline: str
    workload: str
    ratio: float
    range: list[float]
    target: float
    seconds: float
    baseline_seconds: float


def make_comparisons() -> list[Comparison]:
    """All comparisons."""
    comparisons = [
        Comparison("plain skorch", MEDIUM, fit_anyloss, fit_skorch, 0.08),
        Comparison("plain skorch", LARGE_BATCH, fit_anyloss, fit_skorch, 0.04),
        Comparison("MLPClassifier", SMALL, fit_anyloss, fit_mlp_classifier, 0.7),
        Comparison("MLPClassifier", MEDIUM, fit_anyloss, fit_mlp_classifier, 0.7),
        Comparison("MLPClassifier", LARGE, fit_anyloss, fit_mlp_classifier, 0.6),
    ]
    for workload, target in (
        (SMALL, 0.5),
        (MEDIUM, 0.5),
        (LARGE_BATCH, 1.0),
        (LARGE, 1.0),
    ):
        comparisons += [
            Comparison("our BCE", workload, fit_anyloss, fit_bce, 1.05),
            Comparison("plain torch loop", workload, fit_anyloss, fit_torch, target),
        ]
    for kind, name in (
        ("settings", "50 fits, 50 settings"),
        ("folds", "50 fits, 10 folds x 5 L"),
        ("seeds", "50 fits, 50 seeds"),
    ):
        comparisons.append(Comparison(name, SMALL, *fit_fifty(kind), 0.15))
    comparisons += [
        Comparison("MLPClassifier", TEN_CLASSES, fit_anyloss, fit_mlp_classifier, 1.3),
        Comparison("our BCE", TEN_CLASSES, fit_anyloss, fit_bce, 1.1),
        Comparison("our BCE, no warm-up", TEN_CLASSES, fit_metric_only, fit_bce, 1.1),
        Comparison(
            "2 classes, binary path", MEDIUM, fit_through_classes, fit_anyloss, 1.5
        ),
    ]
    comparisons.append(Comparison("SLP in numpy", SLP, fit_slp, fit_slp_numpy, 0.8))
    return comparisons


#: Seconds that have passed, or those in which this process has computed.
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def time_call(
    function: Callable[..., object], *args: object, clock: str = "wall"
) -> float:
    """Seconds that a call takes."""
    start = CLOCKS[clock]()
    function(*args)
    return CLOCKS[clock]() - start


def time_alternating(
    comparison: Comparison, repeats: int, clock: str
) -> list[list[float]]:
    """Pairs of times, more of them where the fits are short."""
    X, y = make_data(comparison.workload)
    times: list[list[float]] = []
    is_stack = comparison.baseline.startswith("50")
    minimum = max(2, repeats // 2) if is_stack else repeats
    # The first pair, which includes imports and warm-up, is dropped.
    while len(times) <= minimum or (
        len(times) < 5 * minimum and np.sum(times) < 1.5 * minimum
    ):
        fits = (comparison.fit, comparison.fit_baseline)
        work = comparison.workload
        times.append([time_call(fit, work, X, y, clock=clock) for fit in fits])
    return times[1:]


def measure_ratios(repeats: int, only: str = "", clock: str = "wall") -> list[Ratio]:
    """Time the comparisons with a text in their names, and print a line for each."""
    results: list[Ratio] = []
    print(f"{'baseline':<25}{'workload':<42}{'ratio':>7}{'range':>15}{'target':>8}")
    for comparison in make_comparisons():
        baseline, workload, _, _, target = comparison
        if only not in f"{baseline}: {workload}":
            continue
        times = time_alternating(comparison, repeats, clock)
        ratios = sorted(a / b for a, b in times)
        ratio = statistics.median(ratios)
        results.append(
            {
                "baseline": baseline,
                "workload": str(workload),
                "ratio": ratio,
                "range": [ratios[0], ratios[-1]],
                "target": target,
                "seconds": statistics.median(a for a, _ in times),
                "baseline_seconds": statistics.median(b for _, b in times),
            }
        )
        span = f"{ratios[0]:.3f}-{ratios[-1]:.3f}"
        mark = "" if ratio <= target else "  not reached"
        print(
            f"{baseline:<25}{workload!s:<42}{ratio:>7.3f}{span:>15}{target:>8}{mark}",
            flush=True,
        )
    return results


def plot_ratios(results: list[Ratio], path: Path) -> None:
    """Ratios with their range and target."""
    figure, axes = plt.subplots(figsize=(9, 0.36 * len(results) + 1.2))
    for i, result in enumerate(results):
        low, high = result["range"]
        color = "#2a7f62" if result["ratio"] <= result["target"] else "#c0504d"
        axes.barh(i, result["ratio"], color=color, height=0.6)
        axes.plot([low, high], [i, i], color="black", lw=1)
        axes.plot([result["target"]] * 2, [i - 0.4, i + 0.4], color="#e0a030", lw=2.5)
        right = max(high, result["target"]) * 1.08
        axes.text(right, i, f"{result['ratio']:.2f}", va="center", fontsize=8)
    names = [f"{result['baseline']}: {result['workload']}" for result in results]
    axes.set_yticks(range(len(results)), names, fontsize=8)
    axes.invert_yaxis()
    axes.set_xscale("log")
    ticks = [0.03, 0.1, 0.3, 1]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.axvline(1, color="grey", lw=0.8)
    axes.set_xlabel(
        "time of our fit / time of the baseline (line: range, gold: target)"
    )
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)
