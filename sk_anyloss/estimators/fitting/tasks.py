"""The trainings of an estimator: nets, losses and epochs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from torch import nn

from sk_anyloss.estimators.fitting.encoding import Encoding, fit_encoding
from sk_anyloss.estimators.fitting.networks import build_loss, build_net, steepness
from sk_anyloss.estimators.fitting.plan import Plan
from sk_anyloss.losses.registry import get_loss, trains_on_metric
from sk_anyloss.training.callbacks import EarlyStopping
from sk_anyloss.training.data.dataset import Subset
from sk_anyloss.training.data.source import Source
from sk_anyloss.training.net import AnyLossNet
from sk_anyloss.training.network.mlp import check_hidden
from sk_anyloss.training.targets import TargetType
from sk_anyloss.training.trainer import Task

if TYPE_CHECKING:
    from sk_anyloss.estimators.classifier import AnyLossClassifier

__all__ = ["build_criterion", "build_task", "new_tasks"]

#: Fraction of the epochs that a network for several classes is trained on
#: cross-entropy first, by ``warm_up='auto'``.
WARM_UP = 0.5


def build_criterion(model: AnyLossClassifier, sample: Subset) -> nn.Module:
    """The loss of a training, whose steepness the estimator keeps."""
    model.L_ = steepness(model, sample, model._labels.target)
    return build_loss(model, model.L_, sample, model._labels.target)


def new_tasks(
    model: AnyLossClassifier,
    source: Source,
    plan: Plan,
    encoding: Encoding | None = None,
    n_init: int | None = None,
    epochs: int | None = None,
) -> list[Task]:
    """New nets to train: one, or several from different initial weights."""
    if encoding is None:
        encoding = fit_encoding(source, plan.sample, model.standardize, model.n_bins)
    # What cannot be changed in a warm start.
    fixed = ("activation", "batch_norm", "standardize", "n_bins", "optimizer")
    model._network = {name: getattr(model, name) for name in fixed}
    model._network["hidden"] = check_hidden(model.hidden)
    tasks = []
    for start in plan.starts(n_init or model.n_init):
        criterion = build_criterion(model, start.sample)
        target, n_epochs, warm_up = model._labels.target, epochs, 0
        if n_epochs is None:
            n_epochs = model.max_epochs
            warm_up = _warm_up_epochs(model, target, n_epochs)
        # It starts from the class frequencies, where the first loss has a gradient.
        first = None if warm_up else criterion
        net = build_net(model, source, start, encoding, criterion, target, first)
        task = build_task(model, net, criterion, source, start, n_epochs, warm_up)
        tasks.append(task)
    return tasks


def build_task(
    model: AnyLossClassifier,
    net: AnyLossNet,
    criterion: nn.Module,
    source: Source,
    plan: Plan,
    epochs: int,
    warm_up: int = 0,
) -> Task:
    """The training of a net, by the parameters that the estimator has now."""
    stopping = model.early_stopping
    target = net.target_
    assert target is not None  # As build_net has set it.
    cross_entropy = None
    if warm_up:
        cross_entropy = get_loss("cross_entropy", target_type=target.name)
    return Task(
        net,
        source,
        plan.sample,
        plan.held_out,
        criterion,
        model.metric,
        model.threshold,
        epochs,
        model.lr,
        model.batch_size,
        stopping if isinstance(stopping, EarlyStopping) else EarlyStopping(),
        model.verbose,
        plan.seeds[1],
        warm_up,
        cross_entropy,
    )


def _warm_up_epochs(model: AnyLossClassifier, target: TargetType, epochs: int) -> int:
    """Number of epochs on cross-entropy before those on the metric."""
    if not trains_on_metric(model.loss):
        return 0
    fraction = model.warm_up
    if isinstance(fraction, str):
        # Early stopping may end a training before its second half.
        is_used = target.name == "multiclass" and not model.early_stopping
        fraction = WARM_UP if is_used else 0.0
    return min(round(fraction * epochs), epochs - 1)
