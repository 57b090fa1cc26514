"""The same training in sk_anyloss, scikit-learn, skorch, torch and numpy."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import torch
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold
from sklearn.neural_network import MLPClassifier
from skorch import NeuralNetBinaryClassifier
from torch import nn

from benchmarks.speed import workloads
from benchmarks.speed.workloads import LARGE, TEN_CLASSES, Workload, make_data
from benchmarks.study.paper import ZeroStart
from sk_anyloss import AnyLossClassifier, fit_stack
from sk_anyloss.losses import MulticlassAnyLoss
from sk_anyloss.losses.steps import Sigmoid

Fit: TypeAlias = Callable[[Workload, np.ndarray, np.ndarray], object]


def make_anyloss(work: Workload, **params: Any) -> AnyLossClassifier:
    """Our estimator with the plain network that the others train as well."""
    return AnyLossClassifier(
        hidden=work.hidden,
        # A wide network needs a smaller L.
        L=10 if work in (LARGE, TEN_CLASSES) else 73,
        batch_size=work.batch,
        max_epochs=work.epochs,
        batch_norm=False,
        standardize=False,
        random_state=0,
        **params,
    )


def fit_anyloss(work: Workload, X: np.ndarray, y: np.ndarray) -> None:
    """Our estimator, with F1 as the loss."""
    make_anyloss(work).fit(X, y)


def fit_bce(work: Workload, X: np.ndarray, y: np.ndarray) -> None:
    """Our estimator on cross-entropy."""
    make_anyloss(work, loss="bce").fit(X, y)


def fit_metric_only(work: Workload, X: np.ndarray, y: np.ndarray) -> None:
    """Our estimator for several classes, on the metric from the first epoch on."""
    make_anyloss(work, warm_up=0).fit(X, y)


class OfTwoClasses(MulticlassAnyLoss):
    """The loss of C classes for one output, the log-odds of the second class."""

    thresholds = (0.5,)


def fit_through_classes(work: Workload, X: np.ndarray, y: np.ndarray) -> None:
    """Our estimator for two classes, with the loss of C classes."""
    make_anyloss(work, loss=OfTwoClasses("f1[1]", Sigmoid(73))).fit(X, y)


def fit_mlp_classifier(work: Workload, X: np.ndarray, y: np.ndarray) -> None:
    """scikit-learn's MLPClassifier."""
    MLPClassifier(
        work.hidden,
        activation="logistic",
        batch_size=work.batch,
        learning_rate_init=0.01,
        max_iter=work.epochs,
        n_iter_no_change=work.epochs,
        random_state=0,
    ).fit(X, y)


def make_module(work: Workload) -> nn.Module:
    """The network in plain torch."""
    widths = [work.d, *work.hidden]
    layers: list[nn.Module] = []
    for n_in, n_out in pairwise(widths):
        layers += [nn.Linear(n_in, n_out), nn.Sigmoid()]
    return nn.Sequential(*layers, nn.Linear(widths[-1], 1), nn.Flatten(0)).double()


def fit_skorch(work: Workload, X: np.ndarray, y: np.ndarray) -> None:
    """Plain skorch, on cross-entropy."""
    NeuralNetBinaryClassifier(
        make_module(work),
        optimizer=torch.optim.Adam,
        lr=0.01,
        max_epochs=work.epochs,
        batch_size=work.batch,
        iterator_train__shuffle=True,
        train_split=None,
        verbose=0,
    ).fit(X, y.astype(float))


def fit_torch(work: Workload, X: np.ndarray, y: np.ndarray) -> None:
    """A training loop in torch: soft F1 with the amplifier, by autograd."""
    inputs, targets = torch.from_numpy(X), torch.from_numpy(y).double()
    module = make_module(work)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    for _ in range(work.epochs):
        for batch in torch.randperm(work.n).split(int(work.batch)):
            p = torch.sigmoid(module(inputs[batch]))
            h, yi = torch.sigmoid(73 * (p - 0.5)), targets[batch]
            loss = 1 - 2 * (yi * h).sum() / (yi.sum() + h.sum())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def fit_slp(work: Workload, X: np.ndarray, y: np.ndarray) -> list[float]:
    """Our single-layer perceptron, full batch, gradient descent; the loss curve."""
    model = make_anyloss(work, optimizer="sgd", lr=0.5, callbacks=[ZeroStart()])
    return model.fit(X, y).loss_curve_


def fit_slp_numpy(work: Workload, X: np.ndarray, y: np.ndarray) -> list[float]:
    """The same training loop in numpy, with the gradient of soft F1; its loss curve."""
    w, b, losses = np.zeros(work.d), 0.0, []
    for _ in range(work.epochs):
        p = 1 / (1 + np.exp(-(X @ w + b)))
        h = 1 / (1 + np.exp(-73 * (p - 0.5)))
        tp, fp, fn = (y * h).sum(), ((1 - y) * h).sum(), (y * (1 - h)).sum()
        denominator = 2 * tp + fp + fn
        losses.append(1 - 2 * tp / denominator)
        grad_h = -2 * (y * denominator - tp) / denominator**2
        grad_z = grad_h * 73 * h * (1 - h) * p * (1 - p)
        w -= 0.5 * (X.T @ grad_z)
        b -= 0.5 * grad_z.sum()
    return losses


def fifty_models(
    kind: str,
) -> tuple[list[AnyLossClassifier], list[np.ndarray] | None]:
    """Fifty estimators and the indices of their training samples.

    ``kind`` is ``'settings'`` (on the same samples), ``'folds'`` (times five settings)
    or ``'seeds'``.
    """
    work = workloads.SMALL
    base = AnyLossClassifier(batch_size=100, max_epochs=work.epochs, random_state=0)
    X, y = make_data(work)
    if kind == "settings":
        grid = [(L, lr) for L in np.linspace(5, 73, 10) for lr in (0.003, 0.01, 0.03)]
        grid += [(L, 0.1) for L in np.linspace(5, 73, 20)]
        return [clone(base).set_params(L=L, lr=lr) for L, lr in grid], None
    if kind == "folds":
        folds = [train for train, _ in StratifiedKFold(10).split(X, y)]
        Ls = [L for L in (5, 10, 20, 40, 73) for _ in folds]
        return [clone(base).set_params(L=L) for L in Ls], folds * 5
    return [clone(base).set_params(random_state=seed) for seed in range(50)], None


def fit_fifty(kind: str) -> tuple[Fit, Fit]:
    """Two ways to fit fifty estimators: in one stack, and one by one."""
    models, indices = fifty_models(kind)

    def fit_together(work: Workload, X: np.ndarray, y: np.ndarray) -> None:
        fit_stack([clone(model) for model in models], X, y, rows=indices)

    def fit_one_by_one(work: Workload, X: np.ndarray, y: np.ndarray) -> None:
        for k, model in enumerate(models):
            train = slice(None) if indices is None else indices[k]
            clone(model).fit(X[train], y[train])

    return fit_together, fit_one_by_one
