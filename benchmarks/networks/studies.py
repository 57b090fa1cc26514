"""The studies: which tasks, and what is done in each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import NamedTuple

from benchmarks.networks.images import MODULES, one_against_rest
from benchmarks.networks.long_tail import run_long_tail
from benchmarks.networks.methods import run_methods
from benchmarks.networks.soft_sets import CRITERIA, MAIN, run_trial
from benchmarks.networks.store import Record, Task

__all__ = ["STUDIES", "Study"]

SETS = ("mnist", "fashion_mnist")


class Study(NamedTuple):
    """Makes its tasks, of full or reduced size, and runs one."""

    tasks: Callable[[bool], list[Task]]
    run: Callable[[Task, Path], list[Record]]


def _size(quick: bool) -> Task:
    """Pixels of a side, samples, epochs and batches of the CNN."""
    if quick:
        return {"side": 14, "samples": 3000, "epochs": 8, "batch": 100, "lr": 0.01}
    return {"side": 28, "samples": 20_000, "epochs": 20, "batch": 256, "lr": 0.01}


def _resnet_size(quick: bool) -> Task:
    """The same of the ResNet."""
    if quick:
        return {"side": 28, "samples": 3000, "epochs": 8, "batch": 100, "lr": 0.003}
    return {"side": 28, "samples": 20_000, "epochs": 20, "batch": 256, "lr": 0.003}


def _collapse_tasks(quick: bool) -> list[Task]:
    """The ResNet on MNIST is fitted by the study of Table 10."""
    cells = list(product(range(3), range(10), SETS, ("cnn",)))
    cells += product(range(3), range(10), SETS[1:], ("resnet",))
    return [
        {"set": name, "digit": digit, "network": network,
         **(_size if network == "cnn" else _resnet_size)(quick), "seed": seed}
        for seed, digit, name, network in cells
    ]  # fmt: skip


def _table10_tasks(quick: bool) -> list[Task]:
    return [
        {"set": "mnist", "digit": digit, "network": "resnet", **_resnet_size(quick),
         "seed": seed}
        for seed in range(3)
        for digit in range(10)
    ]  # fmt: skip


def _surrogate_tasks(quick: bool) -> list[Task]:
    """At 1:200, a batch has one or two positives: they are larger for that."""
    size = _resnet_size(quick)
    if quick:
        size |= {"samples": 5000, "epochs": 6, "batch": 200}
    return [
        {"set": name, "digit": digit, "network": "resnet", **size,
         "imbalance": imbalance, "seed": seed}
        for seed in range(1 if quick else 3)
        for digit in ((8, 6, 3, 0) if quick else range(10))
        for imbalance in (50, 10, 200)
        for name in SETS
    ]  # fmt: skip


def _run_images(
    task: Task, data: Path, methods: Mapping[str, Sequence[str]]
) -> list[Record]:
    side, seed = int(task["side"]), int(task["seed"])
    split = one_against_rest(
        data / "images" / f"{task['set']}.npz", side, int(task["digit"]),
        int(task["samples"]), float(task.get("imbalance", 0)), seed,
    )  # fmt: skip
    return run_methods(
        methods, partial(MODULES[str(task["network"])], side), split, seed,
        int(task["epochs"]), float(task["lr"]), int(task["batch"]), ("cross-entropy",),
    )  # fmt: skip


def _run_collapse(task: Task, data: Path) -> list[Record]:
    names = ("cross-entropy", "AnyLossNet", "bare AnyLoss", "bare AnyLoss, L=73")
    return _run_images(task, data, dict.fromkeys(names, ("f1",)))


def _run_table10(task: Task, data: Path) -> list[Record]:
    metrics = ("accuracy", "f1", "balanced_accuracy")
    methods: dict[str, Sequence[str]] = {}
    methods |= dict.fromkeys(("MSE", "cross-entropy", "AnyLossNet"), metrics)
    methods |= dict.fromkeys(("bare AnyLoss", "bare AnyLoss, L=73"), ("f1",))
    return _run_images(task, data, methods)


def _run_surrogate(task: Task, data: Path) -> list[Record]:
    names = (
        "cross-entropy", "class weights", "focal", "surrogate", "AnyLossNet",
        "soft sets, linear", "SOL, cosine", "hybrid",
    )  # fmt: skip
    return _run_images(task, data, dict.fromkeys(names, ("f1", "f0.5", "f2")))


def _soft_sets_tasks(quick: bool) -> list[Task]:
    size: Task = {"epochs": 5000, "patience": 100}
    if quick:
        size = {"epochs": 300, "patience": 30}
    return [
        {"split": split, "trial": trial, **size, "method": method}
        for trial in range(10)
        for split in ("stratified", "random")
        for method in (MAIN if quick else CRITERIA)
    ]


def _run_soft_sets(task: Task, data: Path) -> list[Record]:
    return run_trial(task, data / "large" / "mammography.npz")


def _long_tail_tasks(quick: bool) -> list[Task]:
    return [
        {"set": "fashion_mnist", "network": "cnn", **_size(quick), "lr": 0.003,
         "ratio": 100, "seed": seed}
        for seed in range(5)
    ]  # fmt: skip


STUDIES: dict[str, Study] = {
    "collapse": Study(_collapse_tasks, _run_collapse),
    "table10": Study(_table10_tasks, _run_table10),
    "soft_sets": Study(_soft_sets_tasks, _run_soft_sets),
    "surrogate": Study(_surrogate_tasks, _run_surrogate),
    "long_tail": Study(_long_tail_tasks, run_long_tail),
}
