"""The images, as two-class tasks or with a long tail, and the networks for them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

__all__ = ["MODULES", "Split", "long_tail", "one_against_rest"]


@dataclass(frozen=True)
class Split:
    """Samples to train on, to tune on and to test on."""

    X: np.ndarray
    y: np.ndarray
    X_valid: np.ndarray
    y_valid: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


@cache
def _load(path: Path, side: int) -> tuple[np.ndarray, np.ndarray]:
    """Images of shape (n, 1, side, side), of mean 0 and variance 1, and classes."""
    with np.load(path) as data:
        X, y = torch.from_numpy(data["X"]).float()[:, None], data["y"].astype(int)
    if side != X.shape[-1]:
        X = nn.functional.avg_pool2d(X, X.shape[-1] // side)
    X = (X - X.mean()) / X.std()
    return X.numpy(), y


def one_against_rest(
    path: Path, side: int, digit: int, n: int, imbalance: float, seed: int
) -> Split:
    """One class against the others.

    Parameters
    ----------
    path : path
        File with ``X`` and ``y``.
    side : int
        Images are averaged down to this many pixels.
    digit : int
        The positive class.
    n : int
        Number of training samples; a third as many are for tuning.
    imbalance : float
        Negatives for each positive in all parts; 0 leaves the frequencies.
    seed : int
        Of the split.
    """
    X, classes = _load(path, side)
    y, rng = (classes == digit).astype(int), np.random.default_rng(seed)
    order = rng.permutation(len(y))
    if imbalance:
        negatives, positives = order[y[order] == 0], order[y[order] == 1]
        total = min(len(negatives), int(len(positives) * imbalance))
        keep = np.r_[negatives[:total], positives[: round(total / imbalance)]]
        order = rng.permutation(keep)
    parts = _stratified(y, order, (n, n // 3, 3 * n))
    return Split(*(value for part in parts for value in (X[part], y[part])))


def _stratified(
    y: np.ndarray, order: np.ndarray, sizes: tuple[int, ...]
) -> list[np.ndarray]:
    """Parts of these sizes, or their proportions, with the same class frequencies."""
    factor = min(1.0, len(order) / sum(sizes))
    parts: list[list[np.ndarray]] = [[] for _ in sizes]
    for label in np.unique(y[order]):
        own = order[y[order] == label]
        share = len(own) / len(order)
        edges = np.cumsum([round(size * factor * share) for size in sizes])
        for part, rows in zip(parts, np.split(own, edges)[: len(sizes)], strict=True):
            part.append(rows)
    return [np.concatenate(part) for part in parts]


def long_tail(path: Path, side: int, n: int, ratio: float, seed: int) -> Split:
    """Ten classes, whose frequencies fall geometrically from 1 to 1 / ratio.

    The largest class has n training samples. The parts for tuning and testing have the
    same frequencies, the test part those of three times as many samples.
    """
    X, y = _load(path, side)
    rng = np.random.default_rng(seed)
    parts: list[list[np.ndarray]] = [[], [], []]
    for rank, label in enumerate(rng.permutation(10)):
        own = rng.permutation(np.flatnonzero(y == label))
        size = n * ratio ** (-rank / 9)
        edges = np.cumsum([max(2, round(size * f)) for f in (1, 1 / 3, 3)])
        for part, rows in zip(parts, np.split(own, edges)[:3], strict=True):
            part.append(rows)
    found = [np.concatenate(part) for part in parts]
    return Split(*(value for part in found for value in (X[part], y[part])))


def small_cnn(side: int, n_outputs: int = 1) -> nn.Module:
    """Two convolutions of stride 2, and a linear layer."""
    last = -(-side // 4)
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, 3, stride=2, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(32 * last * last, n_outputs),
    )


class Block(nn.Module):
    """A residual block with batch norm (He et al. 2016)."""

    def __init__(self, before: int, width: int) -> None:
        super().__init__()
        stride = 1 if before == width else 2
        self.body = nn.Sequential(
            nn.Conv2d(before, width, 3, stride, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride > 1:
            self.shortcut = nn.Conv2d(before, width, 1, stride, bias=False)

    def forward(self, X: Tensor) -> Tensor:
        """The block."""
        return torch.relu(self.body(X) + self.shortcut(X))


def small_resnet(side: int, n_outputs: int = 1) -> nn.Module:
    """Eight layers: a convolution, three residual blocks, mean pooling, linear.

    As in the networks of He et al. (2016), stride and pooling at the start make large
    images a quarter as wide; 77,000 parameters with one output.
    """
    is_large = side > 14
    return nn.Sequential(
        nn.Conv2d(1, 16, 3, stride=2 if is_large else 1, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2) if is_large else nn.Identity(),
        Block(16, 16),
        Block(16, 32),
        Block(32, 64),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(64, n_outputs),
    )


#: Networks by name, made for a number of pixels and of outputs.
MODULES = {"cnn": small_cnn, "resnet": small_resnet}
