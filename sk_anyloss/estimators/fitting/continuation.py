"""What a training that continues keeps, and what it refuses."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from torch import nn

from sk_anyloss.losses.base import Loss
from sk_anyloss.training.network.mlp import check_hidden

if TYPE_CHECKING:
    from sk_anyloss.estimators.classifier import AnyLossClassifier

__all__ = ["check_same_classes", "check_same_network", "resumed"]


def check_same_classes(model: AnyLossClassifier, y: np.ndarray, partial: bool) -> None:
    """Refuse labels that a fitted network has no output for."""
    has_labels = model.target_type_ == "multilabel-indicator"
    if has_labels or y.ndim > 1:
        if not has_labels or y.ndim < 2 or y.shape[1] != len(model.classes_):
            what = "labels" if has_labels else "classes"
            raise ValueError(
                f"A model of {len(model.classes_)} {what} cannot continue with y of "
                f"the shape {y.shape}; fit a new model."
            )
        return
    check_classification_targets(y)
    labels = np.unique(y)
    strange = np.setdiff1d(labels, model.classes_).tolist()
    if strange or not (partial or len(labels) == len(model.classes_)):
        raise ValueError(
            f"A model of the classes {model.classes_.tolist()} cannot continue with "
            f"samples of the class {(strange or labels.tolist())[0]!r}; for other "
            "classes, fit a new model."
        )
    if model.pos_label is not None and model.pos_label != model.pos_label_:
        raise ValueError(
            f"A model whose positive class is {model.pos_label_!r} cannot continue "
            f"with pos_label={model.pos_label!r}; fit a new model for that."
        )


def check_same_network(model: AnyLossClassifier) -> None:
    """Refuse parameters of another network than the fitted one."""
    for name, value in model._network.items():
        now = getattr(model, name)
        if name == "hidden":
            now = check_hidden(now)
        if now != value:
            raise ValueError(
                f"A model with {name}={value!r} cannot continue with {name}={now!r}; "
                "fit a new model for that."
            )


def resumed(model: AnyLossClassifier, criterion: nn.Module) -> nn.Module:
    """The loss of the net with its moving average, unless it is now another one."""
    before = model.net_.criterion_
    if not isinstance(before, Loss) or repr(before) != repr(criterion):
        return criterion
    if before.goal != criterion.goal:
        return criterion
    return copy.deepcopy(before)  # A training that fails leaves the old one.
