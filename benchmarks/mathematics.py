"""Numerical accuracy of metrics and gradients.

    python -m benchmarks.mathematics

Prints the largest difference between each metric and scikit-learn or imbalanced-learn
over 1,000 random confusion matrices, of two classes and of 2 to 9 with and without
weights; the largest difference between each gradient and central differences, and
between gradients in closed form and by autograd for several classes and several labels;
that between gradients and the paper's formulas; and that of a whole training for two
classes with the loss of two classes and with that of C.
"""

import warnings

import numpy as np
import torch

from benchmarks.speed.implementations import OfTwoClasses, make_anyloss
from benchmarks.speed.workloads import SMALL, make_data
from sk_anyloss.losses import AnyLoss, MulticlassAnyLoss
from sk_anyloss.losses.steps import Sigmoid, step_names
from sk_anyloss.metrics import get_metric, metric_names
from tests.losses import test_multiclass, test_multiclass_pointwise
from tests.losses.test_losses import batch, paper_gradient
from tests.metrics.multiclass.test_against_references import (
    REFERENCES,
    WITHOUT_WEIGHTS,
    values,
)
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


def compare_classes_with_references(n_matrices: int = 1000) -> None:
    """Print the largest difference between each metric of classes and its reference."""
    print(f"\n2 to 9 classes{'':<11}largest difference over {n_matrices} matrices")
    for name in REFERENCES:
        found, expected = values(name, n_matrices)
        weights = "without weights" if name in WITHOUT_WEIGHTS else "half with weights"
        print(f"{name:<24} {abs(found - expected).max():.1e}  {weights}")


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
                pairs = [(loss(z + s, y, w), loss(z - s, y, w)) for s in shifts]
            difference = torch.stack([above - below for above, below in pairs])
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


def compare_classes_with_autograd() -> None:
    """Print the largest difference of gradients in closed form to those by autograd."""
    print("\nfour classes, gradient in closed form less that by autograd")
    print(f"{'metric':<36}" + "".join(f"{s:>12}" for s in test_multiclass.STEPS))
    for metric in test_multiclass.METRICS:
        line = f"{str(metric)[:35]:<36}"
        for step, decide in test_multiclass.STEPS.values():
            logits, y, weight = test_multiclass.samples(4)
            loss = MulticlassAnyLoss(metric, step)(logits, y, weight)
            expected = test_multiclass.by_autograd(metric, decide, logits, y, weight)
            pair = (torch.autograd.grad(value, logits)[0] for value in (loss, expected))
            line += f"{largest(*pair):>12.1e}"
        print(line)
    for name, (loss, by_hand) in test_multiclass_pointwise.LOSSES.items():
        logits, y, weight = test_multiclass_pointwise.batch()
        values = loss(logits, y, weight), by_hand(logits, y, weight)
        pair = (torch.autograd.grad(value, logits)[0] for value in values)
        print(f"{name:<36}{largest(*pair):>12.1e}")


def largest(a: torch.Tensor, b: torch.Tensor) -> float:
    """The largest difference."""
    return float((a - b).abs().max())


def compare_trainings() -> None:
    """Print how far apart two trainings end for two classes."""
    X, y = make_data(SMALL)
    binary = make_anyloss(SMALL).fit(X, y)
    of_classes = OfTwoClasses("f1[1]", Sigmoid(73))
    found = make_anyloss(SMALL, loss=of_classes).fit(X, y)
    difference = abs(binary.predict_proba(X) - found.predict_proba(X)).max()
    steps = binary.n_iter_ * SMALL.n // SMALL.batch
    print(
        f"\ntwo classes with the loss of C classes: probabilities differ by "
        f"{difference:.1e} after {steps:,} steps"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # References warn of what is never predicted.
    compare_with_references()
    compare_classes_with_references()
    compare_with_central_differences()
    compare_classes_with_autograd()
    compare_with_paper()
    compare_trainings()
