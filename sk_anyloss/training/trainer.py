"""The trainer: tasks in, trained nets out; those of one shape train together.

Networks as small as these leave a processor idle most of the time: it waits for the
next operation, not for its result. A stack of networks of one shape goes through every
operation together, and takes little longer than one of them alone. A task whose shape
no other one has, or whose net has no gradient in closed form, is trained by itself.
"""

from __future__ import annotations

import copy
import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace

import numpy as np
from sklearn.utils import gen_batches
from skorch.callbacks import Callback, EpochTimer
from skorch.helper import predefined_split
from torch import nn

from sk_anyloss.metrics import Metric
from sk_anyloss.metrics.derivatives.differentiable import NotFiniteError
from sk_anyloss.training.callbacks import (
    EarlyStopping,
    QuietPrintLog,
    SetLearningRate,
    StopOnScore,
)
from sk_anyloss.training.data.batches import resolve_batch_size
from sk_anyloss.training.data.dataset import Subset
from sk_anyloss.training.data.source import Source, as_tensor
from sk_anyloss.training.data.stacked_batches import CHUNK_SIZE, Group, StackedBatches
from sk_anyloss.training.loop import Lockstep, Run, restored_net_on_error, run_epochs
from sk_anyloss.training.net import AnyLossNet
from sk_anyloss.training.network.stacked_parameters import has_flat_step
from sk_anyloss.training.schedules import LearningRate, initial_rate
from sk_anyloss.training.threads import single_thread

__all__ = ["Task", "train"]


@dataclass(eq=False)
class Task:
    """A net to train, and how.

    Parameters
    ----------
    net : AnyLossNet
        Initialised, with the callbacks ``'early_stopping'`` and ``'learning_rate'``.
    source : Source
        All samples.
    sample : Subset
        Those to train on.
    held_out : Subset or None
        Those to score each epoch on.
    criterion : torch.nn.Module
        The loss.
    metric : str or callable
        What to score by.
    threshold : float
        Probability above which the positive class is predicted.
    epochs : int
        Number of passes over the samples.
    lr : float or CosineDecay
        Learning rate.
    batch_size : int, float or 'auto'
        As :func:`sk_anyloss.training.data.batches.resolve_batch_size` takes it.
    early_stopping : EarlyStopping
        Patience and tolerance, if samples are held out.
    verbose : int, default=0
        If 1, prints a line an epoch.
    seed : int, default=0
        Tasks with the same one, on the same samples, see the same batches.
    warm_up : int, default=0
        How many epochs are trained on another loss before the others.
    warm_up_criterion : torch.nn.Module, default=None
        That loss.
    schedule : tuple of two ints, default=None
        Epochs that lie behind, and all epochs, for the learning rate; by default 0 and
        ``epochs``.
    """

    net: AnyLossNet
    source: Source
    sample: Subset
    held_out: Subset | None
    criterion: nn.Module
    metric: str | Metric
    threshold: float
    epochs: int
    lr: LearningRate
    batch_size: int | float | str
    early_stopping: EarlyStopping
    verbose: int = 0
    seed: int = 0
    warm_up: int = 0
    warm_up_criterion: nn.Module | None = None
    schedule: tuple[int, int] | None = None

    def parts(self) -> list[Task]:
        """The parts of the training: on another loss first, if there is a warm-up."""
        if not self.warm_up or self.warm_up_criterion is None:
            return [self]
        first = replace(
            self,
            criterion=self.warm_up_criterion,
            epochs=self.warm_up,
            held_out=None,
            warm_up=0,
            schedule=(0, self.epochs),
        )
        rest = self.epochs - self.warm_up
        then = replace(
            self, epochs=rest, warm_up=0, schedule=(self.warm_up, self.epochs)
        )
        return [first, then]

    @property
    def outcome(self) -> float:
        """How good the training was: the best validation score, or else by its loss."""
        if self.held_out is not None:
            return dict(self.net.callbacks_)["early_stopping"].best_score_
        # An epoch that was interrupted has no loss.
        losses = [e["train_loss"] for e in self.net.history if "train_loss" in e]
        return -losses[-1] if losses else -math.inf

    @property
    def n_batches(self) -> int:
        """Number of batches in an epoch."""
        n = len(self.sample.target)
        return math.ceil(n / resolve_batch_size(self.batch_size, n))

    def configure(self) -> None:
        """Set the net and its callbacks as the task says."""
        net = self.net
        net.set_goal(self.criterion, self.metric, self.threshold)
        net.batch_size, net.verbose = self.batch_size, self.verbose
        rate = initial_rate(self.lr)
        if net.lr != rate:
            net.set_params(lr=rate)
        net.max_epochs = self.epochs
        callbacks = dict(net.callbacks_)
        stop, set_rate = callbacks["early_stopping"], callbacks["learning_rate"]
        stop.patience = self.early_stopping.patience
        stop.tol = self.early_stopping.tol
        set_rate.lr = self.lr
        set_rate.start, set_rate.total = self.schedule or (0, self.epochs)


def train(tasks: Sequence[Task]) -> None:
    """Train the nets of all tasks, in stacks where they have one shape.

    Parameters
    ----------
    tasks : sequence of Task
        Their nets are trained in place; one that was trained before keeps its weights
        if its training fails.
        An interruption ends the training of all of them; a net that is the only one
        keeps what it has learned.
    """
    parts = [task.parts() for task in tasks]
    warm_ups = [own[0] for own in parts if len(own) == 2]
    if warm_ups:
        _train_part(warm_ups)
    if len(tasks) > 1 or not tasks[0].net.interrupted_ or not warm_ups:
        _train_part([own[-1] for own in parts])


def _train_part(tasks: Sequence[Task]) -> None:
    """Train the nets of all tasks on one loss each."""
    if len(tasks) == 1:
        _train_alone(tasks[0])
        return
    for task in tasks:
        task.configure()
    shared = _shared_callbacks(tasks)
    alone: list[Task] = []
    by_shape: dict[Hashable, list[Task]] = defaultdict(list)
    for task in tasks:
        shape = _shape(task)
        if shape is None or shared & _callback_ids(task):
            alone.append(task)
        else:
            by_shape[shape].append(task)
    stacks = [stack for same in by_shape.values() for stack in _stacks(same)]
    for stack in [*([[task]] for task in alone), *stacks]:
        if len(stack) == len(stack[0]) == 1:
            (task,) = stack[0]
            _train_alone(task)
            if task.net.interrupted_:
                raise KeyboardInterrupt  # Not only of this net.
        else:
            _train_together(stack)


def _callback_ids(task: Task) -> set[int]:
    return {id(callback) for _, callback in task.net.callbacks_}


def _shared_callbacks(tasks: Sequence[Task]) -> set[int]:
    """Callbacks that several nets have, which they cannot notify in turns."""
    counts = Counter(i for task in tasks for i in _callback_ids(task))
    return {i for i, n in counts.items() if n > 1}


@contextmanager
def _cause_named(task: Task) -> Iterator[None]:
    """Name the likely cause of a training that diverges."""
    try:
        yield
    except NotFiniteError as error:
        raise NotFiniteError(f"{error.what}: {_why_not_finite(task)}") from error


def _why_not_finite(task: Task) -> str:
    """What made a training diverge, and the way out."""
    weight = task.sample.weight
    if task.net.module_.scale is None:
        chunks = (block for block, _ in task.sample.chunks(task.source))
        largest = max(float(np.abs(block).max()) for block in chunks if block.size)
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
    return f"lower the learning rate (lr={task.lr})."


def _train_alone(task: Task) -> None:
    """Let the net run its epochs; one that was trained before continues from there."""
    net = task.net
    # A net that has learned nothing yet has nothing to lose.
    restored = restored_net_on_error(net) if net.history else nullcontext()
    try:
        with restored, _cause_named(task):
            task.configure()
            if task.held_out is not None:
                net.train_split = predefined_split(task.held_out.dataset(task.source))
            net.partial_fit(task.sample.dataset(task.source))
    finally:
        # Held-out samples are not part of the model, and would be pickled with it.
        net.train_split = None


def _shape(task: Task) -> Hashable:
    """What tasks of a stack have in common; None for one that trains alone."""
    net = task.net
    if (
        task.verbose
        or net.is_observed()
        or not net.has_closed_form()
        or not has_flat_step(net.optimizer_)
        or any(map(_reads_results, net.callbacks_))
    ):
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
        task.epochs,
        task.held_out is None,
        module.mean is None,
        None if module.bin_features is None else tuple(module.bin_features.tolist()),
        task.n_batches,
    )


def _reads_results(named: tuple[str, Callback]) -> bool:
    """Whether a callback of the user's looks at the net after an epoch."""
    callback = named[1]
    own = (StopOnScore, SetLearningRate, EpochTimer, QuietPrintLog)
    return not isinstance(callback, own) and any(
        getattr(type(callback), event) is not getattr(Callback, event)
        for event in ("on_epoch_end", "on_train_end")
    )


def _group_key(task: Task) -> Hashable:
    """The same for all tasks that see the same batches."""
    return (*task.sample.key(), task.seed)


def _at_once(task: Task) -> int:
    """How many tasks like this one can take a step together within the memory."""
    n = math.ceil(len(task.sample.target) / task.n_batches)
    return max(1, CHUNK_SIZE // (n * max(task.net.module_.widths)))


def _stacks(tasks: list[Task]) -> list[list[list[Task]]]:
    """Sort tasks of one shape into stacks: groups with the same kinds of losses."""
    by_group: dict[Hashable, list[Task]] = defaultdict(list)
    for task in tasks:
        by_group[_group_key(task)].append(task)
    by_kinds: dict[Hashable, list[list[Task]]] = defaultdict(list)
    for group in by_group.values():
        # A batch of all that are trained at once has to fit into the memory.
        at_once = _at_once(group[0])
        group = _by_kind(group)
        for part in gen_batches(len(group), at_once):
            kinds = tuple(task.criterion.kind for task in group[part])
            by_kinds[kinds].append(group[part])
    stacks = []
    for groups in by_kinds.values():
        at_once = max(1, _at_once(groups[0][0]) // len(groups[0]))
        stacks += [groups[part] for part in gen_batches(len(groups), at_once)]
    return stacks


def _by_kind(group: list[Task]) -> list[Task]:
    """The tasks in an order in which those with the same kind of loss are together."""
    kinds = [task.criterion.kind for task in group]
    order = sorted(range(len(group)), key=lambda i: kinds.index(kinds[i]))
    return [group[i] for i in order]


def _group_of(task: Task) -> Group:
    """The samples of a task and its group."""
    sample, module, weight = task.sample, task.net.module_, None
    if sample.weight is not None:
        weight = as_tensor(sample.weight).to(task.net.dtype_)
    return Group(
        sample.target,
        task.net.rng_,
        sample.index,
        weight,
        module.mean,
        module.scale,
        module.bin_features,
    )


def _train_together(groups: list[list[Task]]) -> None:
    """Train the nets of a stack in lockstep."""
    tasks = [task for group in groups for task in group]
    first = tasks[0]
    batches = StackedBatches(
        first.source,
        [_group_of(group[0]) for group in groups],
        first.n_batches,
        len(tasks) * max(first.net.module_.widths[1:]),
        first.net.module_.layers[0].weight.dtype,
        first.net.device_,
        max(first.net.module_.widths[-1], 2),
    )
    runs = []
    for task in tasks:
        held_out = None if task.held_out is None else task.held_out.dataset(task.source)
        runs.append(Run(task.net, task.sample.dataset(task.source), held_out))
        task.net.stopped_ = task.net.interrupted_ = False
        task.net.notify("on_train_begin", X=None, y=None)
    lockstep = Lockstep(runs, batches, first.n_batches, len(groups))
    try:
        # The cause is one for all: they have the samples in common.
        with single_thread(), _cause_named(first):
            run_epochs(runs, lockstep, first.epochs)
    finally:
        lockstep.release()
    for task in tasks:
        task.net.notify("on_train_end", X=None, y=None)
    for head, *others in groups:
        for task in others:  # They have drawn the same orders.
            task.net.rng_ = copy.deepcopy(head.net.rng_)
