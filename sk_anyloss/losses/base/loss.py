"""The base class of all losses, and the function that autograd differentiates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Generic, TypeAlias

import numpy as np
import torch
from torch import Tensor, nn

from sk_anyloss._compat import in_transform
from sk_anyloss.losses.base.inputs import align, check_binary
from sk_anyloss.losses.base.options import options_key
from sk_anyloss.losses.base.statistics import Cache, Gradient, Statistics
from sk_anyloss.losses.distributed.processes import Processes, ProcessGroup
from sk_anyloss.losses.precision import full_precision
from sk_anyloss.metrics.arithmetic import FloatOrArray, Metric
from sk_anyloss.metrics.class_weights import AnyWeights, ClassWeights

__all__ = ["Arranged", "Loss"]

#: The loss of a kind of target with the logits and samples of a batch.
Arranged: TypeAlias = "tuple[Loss, Tensor, AnyWeights]"


class Loss(nn.Module, Generic[Statistics, Cache, Gradient]):
    """Base class of the losses: three pure steps, and a torch criterion made of them.

    A subclass defines ``statistics`` and ``value_and_grad``, and ``backward`` unless
    its gradient with respect to a logit is the cached derivative times a factor for
    each class.

    Parameters
    ----------
    process_group : 'world', torch.distributed.ProcessGroup or None, default='world'
        The processes that a batch is spread over. By default all of them, once
        :mod:`torch.distributed` is initialised: in training, the loss is then that of
        the samples of all processes together, which all have to call it, and its
        gradient is exact under ``DistributedDataParallel`` and FSDP. After ``.eval()``
        or without gradients, the loss is that of this process alone, which need not
        wait for any other. None is this process alone, always.
    """

    #: Whether the loss of several batches together follows from the sum of their
    #: statistics.
    is_additive = True

    #: The metric that the loss optimises, if there is one.
    goal: Metric | None = None

    def __init__(self, *, process_group: ProcessGroup = "world") -> None:
        super().__init__()
        #: Shared with the forms for several classes or labels.
        self.processes = Processes(process_group)
        #: The same loss for several classes or labels, once it was asked for. Not a
        #: module of its own: it has no parameters.
        self._forms: dict[str, Loss] = {}

    @property
    def process_group(self) -> ProcessGroup:
        """The processes that a batch is spread over."""
        return self.processes.group

    @process_group.setter
    def process_group(self, group: ProcessGroup) -> None:
        self.set_processes(Processes(group, self.processes.gradients))

    def set_processes(self, processes: Processes) -> None:
        """Sum over these processes from now on."""
        self.processes = processes
        for form in self._forms.values():
            form.set_processes(processes)

    def statistics(self, logits: Tensor, samples: Any) -> tuple[Statistics, Cache]:
        """Statistics of a batch.

        Parameters
        ----------
        logits : tensor of shape (K, n)
            Logits of K models.
        samples : ClassWeights
            Labels and weights of the samples.

        Returns
        -------
        S : Statistics
            Additive over samples.
        cache : Cache
            What :meth:`backward` needs of each sample.
        """
        raise NotImplementedError

    def value_and_grad(self, S: Statistics) -> tuple[FloatOrArray, Gradient]:
        """The loss as a function of the statistics, and its gradient.

        Parameters
        ----------
        S : Statistics
            Of one batch, or the sum over several.

        Returns
        -------
        loss : float or ndarray of shape (K,)
            The loss of each model; a float for one.
        grad : Gradient
            As :meth:`backward` takes it.
        """
        raise NotImplementedError

    def backward(self, cache: Cache, grad: Gradient, samples: Any, out: Tensor) -> None:
        """Write the gradient with respect to the logits into a tensor.

        Parameters
        ----------
        cache : Cache
            From :meth:`statistics`; by default, the derivative of each sample.
        grad : Gradient
            From :meth:`value_and_grad`; by default, the factors of the two classes.
        samples : ClassWeights
            Labels and weights of the samples.
        out : tensor of shape (K, n)
            Where to write.
        """
        torch.mul(cache, samples.scale(*grad), out=out)

    def reduce(self, S: Statistics) -> Statistics:
        """Add the statistics of the other processes, if there are any.

        No gradient goes through this sum: :meth:`backward` of each process is the
        part of its own samples in the gradient of the whole loss.

        Parameters
        ----------
        S : Statistics
            Of the samples in this process.

        Returns
        -------
        S : Statistics
            Of all samples of the batch.
        """
        return self.processes.sum(S, self)

    def average(self, S: Statistics) -> Statistics:
        """The statistics at which the gradient is taken; by default, the batch's own.

        Parameters
        ----------
        S : Statistics
            Of the batch.

        Returns
        -------
        S : Statistics
            Averaged with those of earlier batches.
        """
        return S

    def for_target(
        self, target_type: str, classes: Sequence[object] | None = None
    ) -> Loss:
        """The same loss for another kind of target.

        Parameters
        ----------
        target_type : {'binary', 'multiclass', 'multilabel-indicator'}
            As :func:`sklearn.utils.multiclass.type_of_target` gives it.
        classes : sequence, default=None
            The labels, for a metric that names one.

        Returns
        -------
        loss : Loss
            For logits of shape (K, C, n) of C classes or labels; itself for two
            classes.

        Examples
        --------
        >>> from sk_anyloss.losses import BCE
        >>> BCE().for_target("multiclass")
        CrossEntropy()
        """
        if target_type == "binary":
            return self
        is_multiclass = target_type == "multiclass"
        form = self.for_classes(classes) if is_multiclass else self.for_labels()
        form.set_processes(self.processes)
        return form

    def for_classes(self, classes: Sequence[object] | None = None) -> Loss:
        """The same loss for three classes or more."""
        raise ValueError(
            f"{type(self).__name__} is a loss of two classes and has no form for more; "
            "choose loss=None to train on the metric, or 'cross_entropy', "
            "'weighted_cross_entropy', 'focal', 'mse' or 'hybrid'."
        )

    def for_labels(self) -> Loss:
        """The same loss for several labels."""
        raise ValueError(
            f"{type(self).__name__} has no form for several labels; choose loss=None "
            "to train on the metric, or 'cross_entropy', 'weighted_cross_entropy', "
            "'focal', 'mse' or 'hybrid'."
        )

    def reset(self) -> None:
        """Discard the statistics of earlier batches, before a new training."""
        self.processes.reset()
        for form in self._forms.values():
            form.reset()

    def prepare(self, negatives: float, positives: float) -> None:
        """Set what depends on the class frequencies of the training set.

        Parameters
        ----------
        negatives, positives : float
            Total weight of the two classes.
        """

    @property
    def kind(self) -> tuple[object, ...]:
        """Key that losses must have in common to be stacked.

        By default, class and options. A loss whose :meth:`stack` combines different
        options leaves these out.
        """
        return type(self), options_key(self)

    @classmethod
    def stack(cls, losses: Sequence[Any], like: Tensor) -> Loss:
        """Combine losses of one kind into one, for logits of shape (K, n).

        Parameters
        ----------
        losses : sequence of K losses
            The loss of each model; all of this class.
        like : tensor
            A tensor with the dtype and device of the logits.

        Returns
        -------
        loss : Loss
            Applies ``losses[k]`` to row k.
        """
        return losses[0]

    def forward(
        self, logits: Tensor, y: Tensor, sample_weight: Tensor | None = None
    ) -> Tensor:
        """Loss of a batch.

        Parameters
        ----------
        logits : tensor of shape (n,), (n, 1), (n, C) or (n, Q)
            Output of the network for each sample, before any sigmoid or softmax: one
            for two classes, one for each of C classes, or one for each of Q labels.
        y : tensor of shape (n,), (n, 1) or (n, Q)
            Labels, 0 or 1; or classes, 0 to C - 1; or a matrix of labels. Of any dtype.
        sample_weight : tensor of shape (n,), default=None
            Weights, finite and not negative; a sample of weight 2 counts as two.

        Returns
        -------
        loss : tensor of shape ()
            The loss.
        """
        loss, logits, samples = self.arrange(logits, y, sample_weight)
        return loss.apply_steps(logits, samples).squeeze(0)

    def arrange(
        self, logits: Tensor, y: Tensor, sample_weight: Tensor | None = None
    ) -> Arranged:
        """Validate a batch, and arrange it as the three steps take it.

        Parameters
        ----------
        logits, y, sample_weight
            As :meth:`forward` takes them.

        Returns
        -------
        loss : Loss
            The loss of this kind of target.
        logits : tensor of shape (K, n) or (K, C, n)
            Its logits.
        samples : ClassWeights or LabelWeights
            Its labels and weights.
        """
        if logits.dim() == 2 and logits.shape[1] > 1:
            if y.shape == (len(logits), 1):
                y = y.squeeze(1)
            name = "multilabel-indicator" if y.dim() == 2 else "multiclass"
            if name not in self._forms:
                self._forms[name] = self.for_target(name)
            form = self._forms[name].train(self.training)
            return form.arrange(logits, y, sample_weight)
        if logits.dim() > 2:
            raise ValueError(
                "A loss takes logits of shape (n,) or (n, 1) for two classes, (n, C) "
                f"for C classes or labels; got {tuple(logits.shape)}."
            )
        logits, y, sample_weight = align(logits, y, sample_weight)
        check_binary(y)
        return self, logits[None], ClassWeights.of(y, sample_weight)

    def of_batch(self, logits: Tensor, samples: Any) -> Tensor:
        """Loss of a batch whose labels and weights have been validated.

        Parameters
        ----------
        logits : tensor of shape (..., n)
            Logits.
        samples : ClassWeights
            Labels and weights.

        Returns
        -------
        loss : tensor of shape (...)
            Differentiable, if the logits require a gradient.
        """
        flat = logits.reshape(math.prod(logits.shape[:-1]), logits.shape[-1])
        return self.apply_steps(flat, samples).reshape(logits.shape[:-1])

    def apply_steps(
        self, logits: Tensor, samples: Any, collected: list[Any] | None = None
    ) -> Tensor:
        """The three steps as one differentiable function.

        Parameters
        ----------
        logits : tensor of shape (K, ..., n)
            As :meth:`statistics` takes them.
        samples : ClassWeights
            Labels and weights.
        collected : list, default=None
            The statistics of these samples are appended to it.

        Returns
        -------
        loss : tensor of shape (K,)
            The loss of each model.
        """
        with full_precision(logits.device):
            if not torch.compiler.is_compiling() and in_transform():
                return self.plain(logits, samples)
            return _LossFunction.apply(logits, self, samples, self.trains(), collected)

    def plain(self, logits: Tensor, samples: Any) -> Tensor:
        """The same in operations of torch, where they have to be differentiated."""
        if self.trains() and not self.processes.is_alone():
            raise NotImplementedError(
                "Second derivatives and torch.func see the samples of one process; set "
                f"process_group=None for {self!r}."
            )
        models = len(logits) // samples.groups
        losses = [
            self.of_one(z, samples.table[k // models]) for k, z in enumerate(logits)
        ]
        return torch.stack(losses)

    def of_one(self, logits: Tensor, table: Tensor) -> Tensor:
        """The loss of one model, in operations of torch, by :meth:`differentiable`."""
        # A subclass that changes a step would have the derivatives of its base class.
        if "differentiable" not in vars(type(self)):
            raise NotImplementedError(
                f"{type(self).__name__} has no second derivatives and does not run "
                "under torch.func; AnyLoss does, and so do the losses of torch.nn. For "
                "a loss of your own, define its method differentiable(logits, table)."
            )
        decay: Any = getattr(self, "decay", 0.0)
        if decay and self.trains():
            raise NotImplementedError(
                "Second derivatives and torch.func have no moving average over the "
                f"batches, but decay={decay}; use decay=0 or .eval()."
            )
        return self.differentiable(logits, table)

    def differentiable(self, logits: Tensor, table: Tensor) -> Tensor:
        """The loss of a model in operations of torch, which autograd follows.

        Used for second derivatives, and under the transforms of :mod:`torch.func`.

        Parameters
        ----------
        logits : tensor of shape (..., n)
            Logits of one model.
        table : tensor of shape (2, n), (C, n) or (Q, 2, n)
            Weights of the samples by class.

        Returns
        -------
        loss : tensor of shape ()
            The loss.
        """
        raise NotImplementedError

    def trains(self) -> bool:
        """Whether this is a step of a training, which all processes take together."""
        return self.training and torch.is_grad_enabled()


class _LossFunction(torch.autograd.Function):
    """The three steps as one function of the logits, of shape (K, ..., n)."""

    @staticmethod
    def forward(
        ctx: Any,
        logits: Tensor,
        loss: Loss,
        samples: ClassWeights,
        trains: bool,
        collected: list[Any] | None,
    ) -> Tensor:
        S, cache = loss.statistics(logits, samples)
        if collected is not None:
            collected.append(S)
        if trains:
            S = loss.average(loss.reduce(S))
        value, grad = loss.value_and_grad(S)
        if ctx.needs_input_grad[0]:
            by_logits = torch.empty_like(logits)
            loss.backward(cache, grad, samples, by_logits)
            ctx.factor = loss.processes.gradient_factor if trains else 1
            ctx.save_for_backward(logits, by_logits)
            ctx.rest = loss, samples
        if isinstance(value, np.ndarray):
            return torch.from_numpy(np.atleast_1d(value)).to(logits)
        # Not new_tensor, of which torch.compile makes a copy with a warning.
        return logits.new_full((1,), value)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None, None, None]:
        logits, by_logits = ctx.saved_tensors
        scale = grad.view(-1, *[1] * (by_logits.dim() - 1))
        if ctx.factor != 1:
            scale = scale * ctx.factor
        if not torch.is_grad_enabled():
            return scale * by_logits, None, None, None, None
        loss, samples = ctx.rest  # Second derivatives are asked for.
        try:
            value = loss.plain(logits, samples)
        except NotImplementedError as error:
            found = _OnceDifferentiable.apply(scale * by_logits, logits, str(error))
        else:
            (found,) = torch.autograd.grad(value, logits, grad, create_graph=True)
        return found, None, None, None, None


class _OnceDifferentiable(torch.autograd.Function):
    """A gradient that says why it cannot be differentiated, if it is."""

    @staticmethod
    def forward(ctx: Any, gradient: Tensor, logits: Tensor, why: str) -> Tensor:
        ctx.why = why
        return gradient.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        raise NotImplementedError(ctx.why)
