"""scikit-learn's callbacks, notified of the epochs of a network."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import copy, deepcopy
from typing import Any

from sklearn.base import BaseEstimator
from skorch import NeuralNet
from skorch.callbacks import Callback

from sk_anyloss._compat import has_callbacks

__all__ = ["EpochTasks", "copy_of_net", "epochs_as_tasks"]

NAME = "scikit_learn_callbacks"


class EpochTasks(Callback):
    """Make every epoch a task of the callbacks of an estimator.

    Parameters
    ----------
    model : estimator
        The estimator that is fitted.
    context : sklearn.callback.CallbackContext
        That of its fit.
    data : mapping
        ``X``, ``y`` and ``metadata`` of the fit.
    fitted : callable
        From the net to the attributes of an estimator as if the fit had ended.
    may_stop : bool
        Whether a callback can end the training.
    """

    def __init__(
        self,
        model: BaseEstimator,
        context: Any,
        data: Mapping[str, Any],
        fitted: Callable[[NeuralNet], dict[str, Any]],
        may_stop: bool,
    ) -> None:
        self.model, self.context, self.data = model, context, data
        self.fitted, self.may_stop = fitted, may_stop

    def on_epoch_begin(self, net: NeuralNet, **kwargs: object) -> None:
        """Begin the task of the epoch."""
        self.task_ = self.context.subcontext(task_name="epoch")
        self.task_.call_on_fit_task_begin(
            estimator=self.model,
            **self.data,
            reconstruction_attributes=lambda: self.fitted(net),
        )

    def on_epoch_end(self, net: NeuralNet, **kwargs: object) -> None:
        """End it, and the training if a callback asks for that."""
        stops = self.task_.call_on_fit_task_end(
            estimator=self.model,
            **self.data,
            reconstruction_attributes=lambda: self.fitted(net),
        )
        if stops and self.may_stop:
            raise KeyboardInterrupt  # How skorch's callbacks end a training.


@contextmanager
def epochs_as_tasks(
    nets: Sequence[NeuralNet],
    model: BaseEstimator,
    context: Any,
    n_epochs: int,
    data: Mapping[str, Any],
    fitted: Callable[[NeuralNet], dict[str, Any]],
) -> Iterator[None]:
    """Notify the callbacks of an estimator of the epochs of its nets, in one training.

    Parameters
    ----------
    nets : sequence of NeuralNet
        Initialised. Where there are several, one after the other is trained, and
        callbacks cannot end the training.
    model, context, data, fitted
        As for :class:`EpochTasks`. Without callbacks, nothing is done.
    n_epochs : int
        Number of epochs of all nets together.

    Yields
    ------
    None
    """
    if not has_callbacks(context):
        yield
        return
    for net in nets:
        tasks = EpochTasks(model, context, data, fitted, may_stop=len(nets) == 1)
        net.callbacks_.append((NAME, tasks))
    context.max_subtasks = n_epochs
    context.call_on_fit_task_begin(estimator=model, **data)
    try:
        yield
    finally:  # They hold the estimator and its samples, which are not part of a model.
        for net in nets:
            net.callbacks_ = [named for named in net.callbacks_ if named[0] != NAME]


def copy_of_net(net: NeuralNet) -> NeuralNet:
    """A net with a module of its own, to predict with while the other one trains.

    Parameters
    ----------
    net : NeuralNet
        Initialised.

    Returns
    -------
    net : NeuralNet
        With the weights as they are now.
    """
    twin = copy(net)
    twin.module_ = deepcopy(net.module_)
    return twin
