"""Numerical accuracy of metrics and gradients.

    python -m benchmarks.mathematics

Prints the largest difference between each metric and scikit-learn or imbalanced-learn
over 1,000 random confusion matrices; the largest difference between each gradient and
central differences; and that between gradients and the paper's formulas.
"""

import numpy as np
import torch

from sk_anyloss.losses import AnyLoss
from sk_anyloss.losses.steps import step_names
from sk_anyloss.metrics import get_metric, metric_names
from tests.losses.test_losses import batch, paper_gradient
from tests.metrics.test_binary import REFERENCE


def make_labels(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Labels and predictions with the counts ``[tn, fp, fn, tp]``."""
    return np.repeat([0, 0, 1, 1], matrix), np.repeat([0, 1, 0, 1], matrix)


def compare_with_references(n_matrices: int = 1000) -> None:
    """Print the largest difference between each metric and its reference."""
    rng = np.random.default_rng(0)
    matrices = rng.integers(1, 60, size=(n_matrices, 4))
    print(f"metric               largest difference over {n_matrices} matrices")
    for name in metric_names():
        metric, reference = get_metric(name), REFERENCE[name]
        worst = max(abs(metric(*m) - reference(*make_labels(m))) for m in matrices)
        print(f"{name:<20} {worst:.1e}")


def compare_with_central_differences() -> None:
    """Print the largest relative error of each gradient."""
    z, y, w = batch(spread=0.15)
    eps = 1e-6
    print("\ngradient, relative difference to central differences; gradcheck passes")
    print(f"{'metric':<20}" + "".join(f"{step:>12}" for step in step_names()))
    for metric in metric_names():
        line = f"{metric:<20}"
        for step in step_names():
            loss = AnyLoss(metric, step)
            assert torch.autograd.gradcheck(lambda z, loss=loss: loss(z, y, w), z)
            (gradient,) = torch.autograd.grad(loss(z, y, w), z)
            with torch.no_grad():
                shifts = eps * torch.eye(len(z), dtype=z.dtype)
                difference = loss(z + shifts, y, w) - loss(z - shifts, y, w)
            error = (gradient - difference / (2 * eps)).abs().max()
            line += f"{(error / gradient.abs().max()).item():>12.1e}"
        print(line)


def compare_with_paper() -> None:
    """Print the largest relative difference to the paper's gradients."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(200, 5)), (rng.random(200) < 0.2).astype(float)
    W = rng.normal(size=5) * 0.05
    p = 1 / (1 + np.exp(-X @ W))
    yh = 1 / (1 + np.exp(-73 * (p - 0.5)))
    dyh = (73 * yh * (1 - yh) * p * (1 - p))[:, None] * X
    print("\nrelative difference to the paper's gradient with respect to the weights")
    for equation, metric, name in (
        ("eq. 13", "accuracy", "accuracy"),
        ("eq. 17", "f1", "f"),
        ("eq. 20 over 4", "gmean", "gmean"),
        ("eq. 23", "balanced_accuracy", "balanced_accuracy"),
    ):
        weights = torch.from_numpy(W).requires_grad_()
        loss = AnyLoss(metric)(torch.from_numpy(X) @ weights, torch.from_numpy(y))
        (gradient,) = torch.autograd.grad(loss, weights)
        expected = paper_gradient(name, y, yh, dyh)
        worst = abs(gradient.numpy() - expected).max() / abs(expected).max()
        print(f"{equation:<14} {metric:<20} {worst:.1e}")


if __name__ == "__main__":
    compare_with_references()
    compare_with_central_differences()
    compare_with_paper()
