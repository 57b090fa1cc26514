"""From the parameters of an estimator to its loss and its nets."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from scipy.special import logit, softmax
from torch import nn

from sk_anyloss._names import spelled
from sk_anyloss.estimators.fitting.encoding import Encoding
from sk_anyloss.estimators.fitting.plan import Plan
from sk_anyloss.losses import AnyLoss, get_loss, loss_names
from sk_anyloss.losses.base import Loss
from sk_anyloss.losses.registry import LossLike
from sk_anyloss.losses.steepness import auto_L, valid_L_range
from sk_anyloss.losses.steps import Step, get_step, step_names
from sk_anyloss.metrics.derivatives.differentiable import check_metric
from sk_anyloss.training.callbacks import SetLearningRate, StopOnScore
from sk_anyloss.training.data.batches import FULL_BATCH_SAMPLES, resolve_batch_size
from sk_anyloss.training.data.dataset import Subset
from sk_anyloss.training.data.source import Source
from sk_anyloss.training.net import AnyLossNet
from sk_anyloss.training.network.mlp import MLP, check_hidden
from sk_anyloss.training.optimizers import get_optimizer
from sk_anyloss.training.schedules import initial_rate
from sk_anyloss.training.targets import TargetType

if TYPE_CHECKING:
    from sk_anyloss.estimators.classifier import AnyLossClassifier

__all__ = [
    "build_loss",
    "build_net",
    "steepness",
]


def steepness(model: AnyLossClassifier, sample: Subset, target: TargetType) -> float:
    """The L of a training; ``'auto'`` by the rule of :func:`auto_L`."""
    n = len(sample.target)
    dtype = np.dtype(float) if n <= FULL_BATCH_SAMPLES else sample.target.dtype
    if not isinstance(model.L, str):
        _, high = valid_L_range(0.1, dtype)
        is_used = spelled(model.step, step_names()) == "sigmoid"
        # 73 is the paper's own, and what was not chosen is not warned of.
        if high < model.L and model.L != 73 and is_used:
            warnings.warn(
                f"L={model.L} lies above the valid range for {dtype}, which ends at "
                f"{high:.1f}: samples that are decided have next to no gradient, and "
                "the model may predict one class only. L='auto' takes one that "
                "suits the training.",
                UserWarning,
                stacklevel=6,
            )
        return model.L
    n_batches = math.ceil(n / resolve_batch_size(model.batch_size, n))
    width = max(check_hidden(model.hidden), default=2)
    n_classes = target.n_classes if target.name == "multiclass" else 2
    steps = model.max_epochs * n_batches
    return auto_L(initial_rate(model.lr), steps, width, dtype, n_classes)


def build_loss(
    model: AnyLossClassifier, L: float, sample: Subset, target: TargetType
) -> nn.Module:
    """The criterion that an estimator trains on."""
    if target.name == "multiclass" and model.threshold != 0.5:
        raise ValueError(
            f"threshold={model.threshold!r} is for two classes or several labels; of "
            f"{target.n_outputs} classes the one with the largest score is predicted. "
            "Leave it out; TunedDecisionClassifier tunes an offset for each class."
        )
    step = spelled(model.step, step_names())
    metric = target.goal(model.metric)
    goal = (
        metric,
        get_step(step, L=L) if step == "sigmoid" else get_step(step),
        model.threshold,
    )
    loss: LossLike = AnyLoss
    if model.loss is not None:
        loss = spelled(model.loss, loss_names())
        if target.name == "binary":
            check_metric(metric)
    criterion = get_loss(loss, *goal, target_type=target.name, classes=target.classes)
    if isinstance(criterion, Loss):
        if criterion is model.loss:
            criterion = copy.deepcopy(criterion)
        if target.name == "binary":
            weight = 1.0 if sample.weight is None else sample.weight
            positives = float(np.sum(sample.target * weight))
            criterion.prepare(float(np.sum(weight * (1 - sample.target))), positives)
    return criterion


def build_net(
    model: AnyLossClassifier,
    source: Source,
    plan: Plan,
    encoding: Encoding,
    criterion: nn.Module,
    target: TargetType,
    first: nn.Module | None,
) -> AnyLossNet:
    """A new net, initialised where its first loss has a gradient."""
    is_small = len(plan.sample.target) <= FULL_BATCH_SAMPLES
    is_double = source.dtype == np.float64 or is_small
    # MPS has no float64.
    is_double = is_double and torch.device(model.device).type != "mps"
    callbacks = [
        *(model.callbacks or []),
        ("learning_rate", SetLearningRate()),
        ("early_stopping", StopOnScore()),
    ]
    net = AnyLossNet(
        MLP,
        module__n_features=source.shape[1],
        module__hidden=check_hidden(model.hidden),
        module__activation=model.activation,
        module__batch_norm=model.batch_norm,
        module__mean=encoding.mean,
        module__scale=encoding.scale,
        module__bin_features=encoding.bin_features,
        module__output_bias=_initial_logits(first, plan.sample, target),
        module__n_outputs=target.n_outputs,
        module__dtype=torch.float64 if is_double else torch.float32,
        module__random_state=plan.seeds[0],
        metric=model.metric,
        threshold=model.threshold,
        target_type=target,
        process_group=None,  # Estimators train by themselves, wherever they are.
        criterion=criterion,
        optimizer=get_optimizer(model.optimizer),
        lr=initial_rate(model.lr),
        batch_size=model.batch_size,
        callbacks=callbacks,
        device=model.device,
        random_state=plan.seeds[1],
        verbose=model.verbose,
    )
    return net.initialize()


def _initial_logits(
    criterion: nn.Module | None, sample: Subset, target: TargetType
) -> float | np.ndarray:
    """Those of the class frequencies, kept where soft decisions have a gradient."""
    if target.name == "multiclass":
        return _initial_class_logits(criterion, sample, target.n_outputs)
    if target.name == "binary":
        return _initial_logit(criterion, sample.target, sample.weight)
    loss = getattr(criterion, "loss", criterion)  # Of each label.
    return np.array([_initial_logit(loss, y, sample.weight) for y in sample.target.T])


def _initial_class_logits(
    criterion: nn.Module | None, sample: Subset, n_classes: int
) -> np.ndarray:
    """Logarithms of the class frequencies, shrunk until the amplifier is not flat."""
    frequencies = np.bincount(sample.target.astype(int), sample.weight, n_classes)
    logits = np.log(np.maximum(frequencies / frequencies.sum(), 1e-6))
    logits -= logits.mean()
    step: Step | None = getattr(criterion, "step", None)
    if step is None:
        return logits
    low, high = step.open_range(0.5)
    factors = np.linspace(0, 1, 101)[:, None]
    p = softmax(factors * logits, axis=1)
    is_open = p.max(axis=1) - p.min(axis=1) <= high - low
    return factors[np.flatnonzero(is_open)[-1]] * logits


def _initial_logit(
    criterion: nn.Module | None, target: np.ndarray, weight: np.ndarray | None
) -> float:
    """Log-odds of the prevalence, kept where the soft decision has a gradient."""
    prevalence = float(np.average(target, weights=weight))
    low, high = 1e-6, 1 - 1e-6
    step: Step | None = getattr(criterion, "step", None)
    if step is not None:
        thresholds: Sequence[float] = getattr(criterion, "thresholds", ())
        ranges = [step.open_range(threshold) for threshold in thresholds]
        low = max(low, min(start for start, _ in ranges))
        high = min(high, max(end for _, end in ranges))
    return float(logit(np.clip(prevalence, low, high)))
