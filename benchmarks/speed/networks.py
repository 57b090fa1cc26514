"""Time of a net and of criteria beside the same in plain torch, on cross-entropy."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypedDict

import numpy as np
import torch
from torch import nn

from sk_anyloss import AnyLossNet
from sk_anyloss.losses import AnyLoss

__all__ = ["NetworkRatio", "measure_networks"]


class NetworkRatio(TypedDict):
    """Result of a comparison, as written to ``speed.json``."""

    name: str
    ratio: float
    range: list[float]
    target: float


BATCH = 100
#: Samples and epochs of a training that is over within a second, where the start counts
#: too, and of one of a few seconds.
SHORT, LONG = (1_000, 6), (3_000, 8)


def _make_cnn() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 49, 1),
    )  # fmt: skip


def _make_images(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Images of noise, of which a tenth is brighter in a corner."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 1, 28, 28)).astype("float32")
    y = (rng.random(n) < 0.1).astype(int)
    X[y == 1, :, :14, :14] += 1
    return X, y


def _fit_net(X: np.ndarray, y: np.ndarray, epochs: int, **params: Any) -> None:
    AnyLossNet(
        _make_cnn(), lr=1e-3, max_epochs=epochs, batch_size=BATCH, random_state=0,
        **params,
    ).fit(X, y)  # fmt: skip


def _fit_loop(X: np.ndarray, y: np.ndarray, epochs: int) -> None:
    """The loop that one writes by hand, on cross-entropy."""
    module, criterion = _make_cnn(), nn.BCEWithLogitsLoss()
    inputs, target = torch.from_numpy(X), torch.from_numpy(y).float()
    optimizer = torch.optim.Adam(module.parameters(), lr=1e-3)
    for _ in range(epochs):
        for index in torch.randperm(len(y)).split(BATCH):
            optimizer.zero_grad()
            criterion(module(inputs[index]).squeeze(1), target[index]).backward()
            optimizer.step()


def _step(criterion: nn.Module, logits: torch.Tensor, y: torch.Tensor) -> None:
    """Forward and backward pass of a criterion, a thousand times."""
    for _ in range(1000):
        logits.grad = None
        criterion(logits, y).backward()


def _alternating(
    ours: Callable[[], None], theirs: Callable[[], None], repeats: int
) -> list[float]:
    """Ratios of CPU times of two calls in turn; the first pair is dropped."""
    ratios = []
    for _ in range(repeats + 1):
        times = []
        for call in (ours, theirs):
            start = time.process_time()
            call()
            times.append(time.process_time() - start)
        ratios.append(times[0] / times[1])
    return sorted(ratios[1:])


def measure_networks(repeats: int) -> list[NetworkRatio]:
    """Time the comparisons, and print a line for each."""
    one = torch.randn(4096, requires_grad=True)
    several = torch.randn(4096, 10, requires_grad=True)
    binary, classes = (torch.randint(k, (4096,)) for k in (2, 10))
    binary_float = binary.float()
    comparisons: list[tuple[str, Callable[[], None], Callable[[], None], float]] = [
        (
            "4,096 logits: AnyLoss('f1') / BCEWithLogitsLoss",
            lambda: _step(AnyLoss("f1"), one, binary),
            lambda: _step(nn.BCEWithLogitsLoss(), one, binary_float), 1.5,
        ),
        (
            "4,096 x 10 logits: AnyLoss('f1_macro') / CrossEntropyLoss",
            lambda: _step(AnyLoss("f1_macro"), several, classes),
            lambda: _step(nn.CrossEntropyLoss(), several, classes), 1.5,
        ),
    ]  # fmt: skip
    for n, epochs in (SHORT, LONG):
        X, y = _make_images(n)
        loop = partial(_fit_loop, X, y, epochs)
        comparisons += [
            (
                f"CNN, {n:,} images, {epochs} epochs: AnyLossNet / loop on BCE",
                partial(_fit_net, X, y, epochs), loop, 1.02,
            ),
            (
                "the same: AnyLossNet on torch's BCE / loop on BCE",
                partial(_fit_net, X, y, epochs, criterion=nn.BCEWithLogitsLoss), loop,
                1.02,
            ),
        ]  # fmt: skip
    results: list[NetworkRatio] = []
    for name, ours, theirs, target in comparisons:
        ratios = _alternating(ours, theirs, repeats)
        ratio, span = statistics.median(ratios), [ratios[0], ratios[-1]]
        results.append({"name": name, "ratio": ratio, "range": span, "target": target})
        mark = "" if ratio <= target else "  not reached"
        text = f"{ratio:>7.3f}{span[0]:>9.3f}-{span[1]:.3f}{target:>8}"
        print(f"{name:<67}{text}{mark}", flush=True)
    return results
