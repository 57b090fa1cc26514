"""The end of a fit: attributes, and a decision tuned where the metric needs that."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from skorch import NeuralNet

from sk_anyloss.losses.base import Loss
from sk_anyloss.losses.registry import trains_on_metric
from sk_anyloss.metrics import AtLeast, Metric, metric_name
from sk_anyloss.metrics.arithmetic import Count
from sk_anyloss.metrics.curves import Curve
from sk_anyloss.metrics.decision import Decision
from sk_anyloss.metrics.evaluation import evaluate_logits
from sk_anyloss.metrics.tuning import best_threshold
from sk_anyloss.training.data.dataset import Subset
from sk_anyloss.training.data.source import Source
from sk_anyloss.training.fit_callbacks import copy_of_net
from sk_anyloss.training.net import AnyLossNet
from sk_anyloss.training.trainer import Task

if TYPE_CHECKING:
    from sk_anyloss.estimators.classifier import AnyLossClassifier

__all__ = ["as_if_fitted", "finish", "take_over"]


def take_over(model: AnyLossClassifier, task: Task) -> None:
    """Take over a trained net and its history."""
    model.net_ = net = task.net
    # An epoch that was interrupted has no loss.
    model.loss_curve_ = _of_epochs(net, "train_loss")
    model.n_iter_ = len(model.loss_curve_)
    is_validated = task.held_out is not None
    model.validation_scores_ = _of_epochs(net, "valid_score") if is_validated else None
    model.decision_ = Decision.at(model.threshold)


def as_if_fitted(model: AnyLossClassifier, net: NeuralNet) -> dict[str, object]:
    """Attributes with which an estimator predicts as if the fit had ended."""
    return {"net_": copy_of_net(net), "decision_": Decision.at(model.threshold)}


def finish(model: AnyLossClassifier, task: Task) -> None:
    """Take over a net; tune its threshold where the metric needs that."""
    take_over(model, task)
    source, sample = task.source, task.sample
    criterion = model.net_.criterion_
    if isinstance(criterion, Loss):
        criterion.reset()
    goal = getattr(criterion, "goal", None)
    if model.target_type_ != "binary":
        _tune_offsets(model, source, sample)
    elif isinstance(goal, AtLeast):
        _tune_threshold(model, goal, source, sample)
    elif isinstance(goal, Curve):
        # It says nothing of a threshold: as many as there are positives, by
        # weights that include those of the classes.
        by_class = replace(sample, own=sample.weight)
        _tune_threshold(model, _prevalence_error, source, by_class)
    _warn_if_constant(model, source, sample)


def _tune_threshold(
    model: AnyLossClassifier, goal: Metric, source: Source, sample: Subset
) -> None:
    """Move the output bias so that the threshold is best on the training samples.

    Training aims at soft counts of batches, which come close to a constraint; this
    meets it. Of all thresholds that do, the one that is best for the metric.
    ``predict_proba`` then agrees with ``predict`` at the given threshold.
    """
    logits = np.concatenate([model._log_odds(X) for X, _ in sample.chunks(source)])
    best, _ = best_threshold(goal, logits, sample.target, sample.own)
    offset = float(model.decision_.offset)
    with torch.no_grad():
        model.net_.module_.layers[-1].bias.add_(offset - best)
    if not isinstance(goal, AtLeast):
        return
    logits += logits.dtype.type(offset - best)  # As it is after rounding.
    value = evaluate_logits(goal, logits, sample.target, sample.own, offset)
    if value < 0:
        warnings.warn(
            f"{metric_name(goal)} cannot be met on the training samples: the best "
            f"{metric_name(goal.constraint)} is {goal.floor + value:.3f}, "
            f"{-value:.3f} short of {goal.floor:g}. Lower the floor, or train a "
            "larger network for longer.",
            ConvergenceWarning,
            stacklevel=5,
        )


def _tune_offsets(model: AnyLossClassifier, source: Source, sample: Subset) -> None:
    """Move the output biases so that a constraint is met on the training samples.

    The same for several classes or labels as :func:`_tune_threshold` for two.
    """
    has_constraint = isinstance(model.metric_, str) and "@" in model.metric_
    if not has_constraint or not trains_on_metric(model.loss):
        return
    outputs = np.concatenate([model._log_odds(X) for X, _ in sample.chunks(source)])
    decision, value = model._labels.target.best_decision(
        model.metric_, outputs, sample.target, sample.own
    )
    with torch.no_grad():
        bias = model.net_.module_.layers[-1].bias
        moved = model.decision_.offset - np.asarray(decision.offset)
        bias.add_(torch.as_tensor(moved, dtype=bias.dtype))
    if value < 0:
        warnings.warn(
            f"{model.metric_} cannot be met on the training samples: the best "
            f"decision is {-value:.3f} short of the floor. Lower the floor, or "
            "train a larger network for longer.",
            ConvergenceWarning,
            stacklevel=5,
        )


def _warn_if_constant(model: AnyLossClassifier, source: Source, sample: Subset) -> None:
    if model.target_type_ == "multilabel-indicator":
        return
    decided: set[int] = set()
    for X, _ in sample.chunks(source):
        margin = model._decide(X)
        index = margin > 0 if margin.ndim == 1 else margin.argmax(axis=1)
        decided.update(np.unique(index).tolist())
        if len(decided) > 1:
            return
    label = model.classes_.tolist()[int(decided.pop())]
    less_steep = ""
    if model.loss is None:
        less_steep = "a smaller L (5 to 20) or step='identity', "
    warnings.warn(
        f"The model predicts {label!r} for every training sample. Try another "
        f"learning rate (lr={model.lr}), more epochs (max_epochs="
        f"{model.max_epochs}), {less_steep}class_weight='balanced' or another "
        "random_state.",
        ConvergenceWarning,
        stacklevel=5,
    )


def _prevalence_error(tn: Count, fp: Count, fn: Count, tp: Count) -> Count:
    """Best where as many samples are predicted positive as there are positives."""
    return -abs(fp - fn)


def _of_epochs(net: AnyLossNet, name: str) -> list[float]:
    return [epoch[name] for epoch in net.history if name in epoch]
