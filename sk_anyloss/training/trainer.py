"""The trainer: tasks in, trained nets out; those of one shape train in lockstep.

Networks as small as these leave a processor idle most of the time: it waits for the
next operation, not for its result. A stack of networks of one shape goes through every
operation together, and takes little longer than one of them alone. A task that has no
like, or whose net has no gradient in closed form, is trained by skorch's own loop.
"""

from __future__ import annotations

import copy
import math
import time
from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.utils import gen_batches
from skorch.helper import predefined_split
from torch import nn

from sk_anyloss.metrics.binary import Metric
from sk_anyloss.metrics.differentiable import NotFiniteError
from sk_anyloss.training.batches import as_tensor, batch_rows
from sk_anyloss.training.callbacks import FallingRate, StopOnScore
from sk_anyloss.training.closed_form import ClosedForm
from sk_anyloss.training.dataset import Sample, as_rows
from sk_anyloss.training.feed import PIECE_SIZE, Feed, Group
from sk_anyloss.training.net import AnyLossNet, restored_net_on_error, train_epoch
from sk_anyloss.training.parameters import get_stepper, has_flat_step
from sk_anyloss.training.threads import single_thread

__all__ = ["Phase", "Task", "train"]


class Phase(NamedTuple):
    """A part of a training; early stopping may end it if it is watched."""

    criterion: nn.Module
    epochs: int
    watched: bool


@dataclass(eq=False)
class Task:
    """A net to train, and how.

    Parameters
    ----------
    net : AnyLossNet
        Initialised, with the callbacks ``'early_stopping'`` and ``'falling_rate'``.
    X : array or sparse matrix
        All samples.
    sample : Sample
        Those to train on.
    held_out : Sample or None
        Those to score every epoch on.
    phases : list of Phase
        Losses, one after another, and their epochs.
    metric : str or callable
        What to score by.
    threshold : float
        Probability above which the positive class is decided for.
    lr : float
        Learning rate.
    batch_size : int, float or 'auto'
        As :func:`sk_anyloss.training.batches.batch_rows` takes it.
    schedule : str or None
        How the learning rate falls.
    patience, tol
        Of early stopping.
    verbose : int
        If 1, prints a line an epoch.
    seed : int, default=0
        Tasks with the same one, on the same samples, see the same batches.
    is_observed : bool, default=False
        Whether somebody looks at every batch or epoch, so that it trains alone.
    standardized : bool, default=True
        Whether columns are standardised or encoded before the first layer.
    """

    net: AnyLossNet
    X: Any
    sample: Sample
    held_out: Sample | None
    phases: list[Phase]
    metric: str | Metric
    threshold: float
    lr: float
    batch_size: int | float | str
    schedule: str | None
    patience: int
    tol: float
    verbose: int
    seed: int = 0
    is_observed: bool = False
    standardized: bool = True

    def outcome(self) -> float:
        """How good a training was, on what was held out, or else by its loss."""
        if self.held_out is not None:
            return self.stopper.best_score_
        # An epoch that was interrupted has no loss.
        losses = [e["train_loss"] for e in self.net.history if "train_loss" in e]
        return -losses[-1] if losses else -math.inf

    @property
    def stopper(self) -> StopOnScore:
        """The callback that ends the training."""
        return dict(self.net.callbacks_)["early_stopping"]

    @property
    def rate(self) -> FallingRate:
        """The callback that lowers the learning rate."""
        return dict(self.net.callbacks_)["falling_rate"]

    @property
    def n_batches(self) -> int:
        """Number of batches in an epoch."""
        n = len(self.sample.target)
        return math.ceil(n / batch_rows(self.batch_size, n))

    def set_callbacks(self) -> None:
        """Tell the net's own callbacks how the task is set."""
        self.stopper.patience, self.stopper.tol = self.patience, self.tol
        total = sum(phase.epochs for phase in self.phases)
        schedule = self.schedule if self.phases[-1].watched else None
        self.rate.begin(schedule, total)


def train(tasks: Sequence[Task]) -> None:
    """Train the nets of all tasks, in stacks where they have one shape.

    Parameters
    ----------
    tasks : sequence of Task
        Their nets are trained in place; one whose training fails keeps its weights.
        An interruption ends the training of all of them; a net that is the only one
        keeps what it has learned.
    """
    alone = [task for task in tasks if len(tasks) == 1 or _shape(task) is None]
    for task in alone:
        _train_alone(task)
        if task.net.interrupted_ and len(tasks) > 1:
            raise KeyboardInterrupt  # Not only of this net.
    together = [_Member(task) for task in tasks if task not in alone]
    for stack in _stacks(together):
        if len(stack) == len(stack[0]) == 1:
            _train_alone(stack[0][0].task)
            if stack[0][0].net.interrupted_:
                raise KeyboardInterrupt
        else:
            _train_together(stack)


@contextmanager
def _cause_named(task: Task) -> Iterator[None]:
    """Say why a training did not stay finite, as far as the data tell."""
    try:
        yield
    except NotFiniteError as error:
        raise NotFiniteError(f"{error.what}: {_why_not_finite(task)}") from error


def _why_not_finite(task: Task) -> str:
    """What made a training diverge, and the way out."""
    weight = task.sample.weight
    if not task.standardized:
        chunks = (rows for rows, _ in task.sample.chunks(task.X))
        largest = max(float(np.abs(rows).max()) for rows in chunks if rows.size)
        if largest > 1e6:
            return (
                f"X has values up to {largest:.3g} that enter the network as they are; "
                "use standardize=True, or scale the columns."
            )
    if weight is not None:
        spread = weight.max() / weight[weight > 0].min()
        if spread > 1e6:
            return (
                f"the weights of the samples, with those of their classes, differ by "
                f"a factor of {spread:.3g}; bring sample_weight and class_weight "
                "closer together."
            )
    return f"lower the learning rate (lr={task.lr:g})."


def _train_alone(task: Task) -> None:
    """Let skorch run the epochs; a net that was trained before goes on from there."""
    net = task.net
    try:
        with restored_net_on_error(net), _cause_named(task):
            net.batch_size, net.verbose = task.batch_size, task.verbose
            if net.lr != task.lr:
                net.set_params(lr=task.lr)
            task.set_callbacks()
            for phase in task.phases:
                net.follow(phase.criterion, task.metric, task.threshold)
                net.set_params(max_epochs=phase.epochs)
                if phase.watched and task.held_out is not None:
                    net.train_split = predefined_split(task.held_out.dataset(task.X))
                net.partial_fit(task.sample.dataset(task.X))
                if net.interrupted_:
                    break
    finally:
        # Held-out samples are not part of the model, and would be pickled with it.
        net.train_split = None


class _Member:
    """A task on its way through a stack."""

    def __init__(self, task: Task) -> None:
        self.task, self.net = task, task.net
        task.set_callbacks()
        task.stopper.on_train_begin(task.net)
        self.stopped = False
        self.watched: Any = None

    def group(self) -> Hashable:
        """The same for all that see the same batches."""
        sample = self.task.sample
        parts = (sample.rows, sample.target, sample.weight)
        keys = [None if part is None else hash(part.tobytes()) for part in parts]
        return (*keys, self.task.seed)

    def at_once(self) -> int:
        """How many like this one can take a step together within the memory."""
        n = math.ceil(len(self.task.sample.target) / self.task.n_batches)
        layers = self.net.module_.layers
        width = max(max(layer.in_features, layer.out_features) for layer in layers)
        return max(1, PIECE_SIZE // (n * width))

    def feed_group(self) -> Group:
        """The samples of this member and its group."""
        sample, module, weight = self.task.sample, self.net.module_, None
        if sample.weight is not None:
            weight = as_tensor(sample.weight).to(self.net.dtype_)
        return Group(
            sample.target,
            self.net.rng_,
            sample.rows,
            weight,
            module.mean,
            module.scale,
            module.pieces,
        )

    def end_epoch(
        self, n_batches: int, loss: float, last: float, seconds: float, watched: bool
    ) -> None:
        """Write down the epoch, and see whether it was one too many."""
        if self.stopped:
            return
        net = self.net
        net.history.append({"batches": [{"train_loss": last}]})
        net.history.record("epoch", len(net.history))
        net.record_epoch("train", n_batches, loss)
        if watched and self.task.held_out is not None:
            if self.watched is None:
                samples = self.task.held_out.dataset(self.task.X)
                self.watched = net.get_iterator(samples, training=False)
            net.run_single_epoch(self.watched, False, "valid", net.validation_step)
            try:
                self.task.stopper.on_epoch_end(net, self.watched.dataset)
            except KeyboardInterrupt:  # How it ends a training.
                self.stopped = True
        net.history.record("dur", seconds)


def _shape(task: Task) -> Hashable:
    """What tasks of a stack have in common; None for one that trains alone."""
    net = task.net
    if task.is_observed or not net.by_hand_ or not has_flat_step(net.optimizer_):
        return None
    module = net.module_
    options = dict(net.optimizer_.param_groups[0], params=None, lr=None)
    return (
        tuple(parameter.shape for parameter in module.parameters()),
        net.dtype_,
        net.device_,
        module.activation,
        type(net.optimizer_),
        repr(options),
        tuple((phase.epochs, phase.watched) for phase in task.phases),
        task.held_out is None,
        module.mean is None,
        None if module.pieces is None else tuple(module.pieces.tolist()),
        task.n_batches,
    )


def _stacks(members: list[_Member]) -> list[list[list[_Member]]]:
    """Sort into stacks: lists of groups with the same kinds of losses each."""
    alike: dict[Hashable, dict[Hashable, list[_Member]]] = defaultdict(dict)
    for member in members:
        by_group = alike[_shape(member.task)]
        by_group.setdefault(member.group(), []).append(member)
    stacks = []
    for by_group in alike.values():
        by_kinds = defaultdict(list)
        for group in by_group.values():
            # A batch of all that are trained at once has to fit into the memory.
            at_once = group[0].at_once()
            group = _by_kind(group)
            for part in gen_batches(len(group), at_once):
                kinds = tuple(member.net.criterion_.kind for member in group[part])
                by_kinds[kinds].append(group[part])
        for kinds, groups in by_kinds.items():
            at_once = max(1, groups[0][0].at_once() // len(kinds))
            stacks += [groups[part] for part in gen_batches(len(groups), at_once)]
    return stacks


def _by_kind(group: list[_Member]) -> list[_Member]:
    """Members with one kind of loss behind each other."""
    kinds = [member.net.criterion_.kind for member in group]
    order = sorted(range(len(group)), key=lambda i: kinds.index(kinds[i]))
    return [group[i] for i in order]


def _train_together(groups: list[list[_Member]]) -> None:
    """Train the members of a stack in lockstep."""
    members = [member for group in groups for member in group]
    nets, first = [member.net for member in members], members[0]
    feed = Feed(
        as_rows(first.task.X),
        [group[0].feed_group() for group in groups],
        first.task.n_batches,
        len(members) * max(layer.out_features for layer in first.net.module_.layers),
        first.net.dtype_,
        first.net.device_,
    )
    for i, phase in enumerate(first.task.phases):
        for member in members:
            task = member.task
            criterion = task.phases[i].criterion
            member.net.follow(criterion, task.metric, task.threshold)
        with torch.no_grad():
            modules = [net.module_ for net in nets]
            engine = ClosedForm(modules, [net.criterion_ for net in nets], len(groups))
            stepper = get_stepper([net.optimizer_ for net in nets], engine.flat)
        assert stepper is not None  # _shape has seen to that.
        try:
            # One of the stack for all: they have the samples in common.
            with single_thread(), _cause_named(first.task):
                _run_epochs(members, engine, stepper, feed, phase)
        finally:
            engine.release()
            stepper.release()
    for member in members:
        member.task.stopper.on_train_end(member.net)
        member.task.rate.on_train_end(member.net)
    for head, *others in groups:
        for member in others:  # They have drawn the same orders.
            member.net.rng_ = copy.deepcopy(head.net.rng_)


def _run_epochs(
    members: list[_Member], engine: ClosedForm, stepper: Any, feed: Feed, phase: Phase
) -> None:
    """Train until the phase is over, or nobody needs any more of it."""
    rates = [member.task.rate for member in members]
    for _ in range(phase.epochs):
        start = time.time()
        for member, rate in zip(members, rates, strict=True):
            rate.on_epoch_begin(member.net)
        with torch.inference_mode():
            losses = train_epoch(engine, stepper, feed)
        seconds = time.time() - start
        for member, loss, last in zip(members, *losses, strict=True):
            member.end_epoch(
                len(feed), float(loss), float(last), seconds, phase.watched
            )
        if all(member.stopped for member in members):
            return
