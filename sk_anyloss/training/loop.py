"""The loop over epochs: K nets in lockstep, of which a single net is the case K = 1.

There are two ways to a gradient. :class:`Lockstep` has it in closed form, for all nets
of a stack at once. :class:`StepByStep` goes through skorch's ``train_step`` for one
net: autograd for any module, or the closed form where callbacks look at batches.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from skorch import NeuralNet
from torch import Tensor

from sk_anyloss.losses.precision import full_precision
from sk_anyloss.training.data.batches import Chunk
from sk_anyloss.training.distributed.synchronization import average_buffers, spread
from sk_anyloss.training.network.closed_form import ClosedForm
from sk_anyloss.training.network.stacked_parameters import get_stepper

if TYPE_CHECKING:
    from sk_anyloss.training.data.dataset import SizedDataset
    from sk_anyloss.training.net import AnyLossNet

__all__ = [
    "Gradients",
    "Lockstep",
    "Run",
    "StepByStep",
    "restored_net_on_error",
    "run_epochs",
]


class Run:
    """A net in training, with its data.

    Parameters
    ----------
    net : AnyLossNet
        The net, initialised.
    train : dataset
        Samples to train on.
    valid : dataset or None
        Samples to score each epoch on.
    fit_params : dict, default=None
        What skorch hands to ``forward``.
    """

    def __init__(
        self,
        net: AnyLossNet,
        train: SizedDataset,
        valid: SizedDataset | None,
        fit_params: dict[str, Any] | None = None,
    ) -> None:
        self.net, self.fit_params = net, fit_params or {}
        self.datasets = {"dataset_train": train, "dataset_valid": valid}
        self.valid = None
        if valid is not None:
            self.valid = spread(net, net.get_iterator(valid, training=False), False)
        self.is_stopped = False
        self._final: dict[str, Tensor] | None = None

    def begin_epoch(self) -> None:
        """Notify the callbacks, unless the net has stopped."""
        if not self.is_stopped:
            self.net.notify("on_epoch_begin", **self.datasets)

    def end_epoch(self) -> None:
        """Score the epoch and notify the callbacks, of which one may stop the net."""
        if self.is_stopped:
            return
        net = self.net
        net.end_warm_up()
        if not net.processes_.is_alone():
            average_buffers(net.module_, net.processes_)
        if self.valid is not None:
            net.run_single_epoch(
                self.valid, False, "valid", net.validation_step, **self.fit_params
            )
        try:
            net.notify("on_epoch_end", **self.datasets)
        except KeyboardInterrupt:
            if not net.stopped_:
                raise
            self.is_stopped = True
            # The others of its stack train on, and it with them.
            self._final = {
                name: tensor.clone()
                for name, tensor in net.module_.state_dict().items()
            }

    def finish(self) -> None:
        """Restore the weights that the net had when it stopped."""
        if self._final is not None:
            self.net.module_.load_state_dict(self._final)


class Gradients(Protocol):
    """A way to train nets for an epoch."""

    def train_epoch(self) -> None:
        """Take a step for every batch, and record the training loss of each net."""

    def release(self) -> None:
        """Copy parameters and optimiser states out of the memory that they share."""


def run_epochs(runs: Sequence[Run], gradients: Gradients, epochs: int) -> None:
    """Train nets until all epochs are over, or all nets have stopped.

    Parameters
    ----------
    runs : sequence of Run
        The nets.
    gradients : Gradients
        How they are trained.
    epochs : int
        Number of epochs.
    """
    for _ in range(epochs):
        for run in runs:
            run.begin_epoch()
        gradients.train_epoch()
        for run in runs:
            run.end_epoch()
        if all(run.is_stopped for run in runs):
            break
    for run in runs:
        run.finish()


class Lockstep:
    """Epochs of K nets of one shape, whose gradients are in closed form.

    Parameters
    ----------
    runs : sequence of Run
        The nets; those that see the same batches follow each other.
    batches : iterable of batches
        For all of them; each batch is a sequence of chunks.
    n_batches : int
        Their number.
    n_groups : int, default=1
        Number of groups of K / n_groups nets that see the same batches.
    """

    def __init__(
        self,
        runs: Sequence[Run],
        batches: Iterable[Sequence[Chunk]],
        n_batches: int,
        n_groups: int = 1,
    ) -> None:
        self.runs, self.batches, self.n_batches = runs, batches, n_batches
        nets = [run.net for run in runs]
        with torch.inference_mode(False), torch.no_grad():
            modules = [net.module_ for net in nets]
            losses: list[Any] = [net.criterion_ for net in nets]
            self.closed_form = ClosedForm(modules, losses, n_groups)
            optimizers = [net.optimizer_ for net in nets]
            stepper = get_stepper(optimizers, self.closed_form.flat)
        assert stepper is not None  # Nets of which some has none are not stacked.
        self.stepper = stepper

    def train_epoch(self) -> None:
        """Take a step for every batch, and record the loss of the summed statistics."""
        closed_form, step = self.closed_form, self.stepper.step
        processes = self.runs[0].net.processes_
        is_alone, gradients = processes.is_alone(), closed_form.flat.grads
        closed_form.processes = None if is_alone else processes
        device = closed_form.flat.values.device
        total: Any = None
        with torch.inference_mode(), full_precision(device):
            self.stepper.begin()
            for batch in self.batches:
                last, _, S = closed_form(batch)
                if not is_alone:
                    processes.sum_(gradients)
                step()
                total = S if total is None else total + S
            criterion = closed_form.criterion
            loss = criterion.value_and_grad(criterion.reduce(total))[0]
        losses, last_losses = np.atleast_1d(loss).tolist(), np.atleast_1d(last).tolist()
        for run, loss, last in zip(self.runs, losses, last_losses, strict=True):
            if not run.is_stopped:
                # skorch's checkpoints look for the loss of the last batch.
                run.net.history[-1]["batches"].append({"train_loss": last})
                run.net.record_epoch("train", self.n_batches, loss)

    def is_valid(self) -> bool:
        """Whether the closed form still has the modules' parameters, none frozen."""
        return self.closed_form.flat.is_adopted()

    def release(self) -> None:
        """Copy parameters and optimiser states out of the memory that they share."""
        self.closed_form.release()
        self.stepper.release()


class StepByStep:
    """Epochs of one net, in closed form where nothing looks at its batches.

    Parameters
    ----------
    run : Run
        The net.
    """

    def __init__(self, run: Run) -> None:
        self.run, net = run, run.net
        train: Any = run.datasets["dataset_train"]
        self.iterator = spread(net, net.get_iterator(train, training=True), True)
        self.is_observed = net.is_observed()
        self.lockstep: Lockstep | None = None

    def train_epoch(self) -> None:
        """Train the net, by whatever way its module and callbacks allow now."""
        net, fit_params = self.run.net, self.run.fit_params
        # A callback may freeze parameters or replace them in the middle of a training.
        if self.lockstep is not None and not self.lockstep.is_valid():
            self.release()
        if self.lockstep is None:
            if self.is_observed or not net.has_closed_form(fit_params):
                net.run_single_epoch(
                    self.iterator, True, "train", net.train_step, **fit_params
                )
                return
            batches = net.closed_form_batches(self.iterator)
            self.lockstep = Lockstep([self.run], batches, len(self.iterator))
        net.set_training_mode()
        self.lockstep.train_epoch()

    def release(self) -> None:
        """Copy parameters and optimiser state out of the memory that they share."""
        if self.lockstep is not None:
            self.lockstep.release()
            self.lockstep = None


@contextmanager
def restored_net_on_error(net: NeuralNet) -> Iterator[None]:
    """Restore weights, optimiser, loss and history of a net if its training fails."""
    states = {
        part: copy.deepcopy(part.state_dict()) for part in (net.module_, net.optimizer_)
    }
    n_epochs, before = len(net.history), dict(vars(net))
    try:
        yield
    except BaseException:
        vars(net).update(before)
        for part, state in states.items():
            part.load_state_dict(state)
        del net.history[n_epochs:]
        raise
