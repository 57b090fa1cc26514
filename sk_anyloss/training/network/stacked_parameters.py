"""The parameters of a stack of networks in one vector, and optimiser steps on it.

Networks of one shape put their parameters behind each other in one vector, so that an
optimiser takes a step for all of them in a handful of operations. The networks and
their torch optimisers stay what they were: while they are adopted, their tensors are
views of the vector.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from sk_anyloss._compat import fused_adam

__all__ = ["FlatModules", "get_stepper", "has_flat_step", "needs_closure"]


class FlatModules:
    """Parameters and buffers of K modules of one shape, stacked.

    Parameters
    ----------
    modules : sequence of torch.nn.Module
        Modules with parameters of the same names, shapes and dtype.

    Attributes
    ----------
    values, grads : tensor of one dimension
        All parameters and their gradients: the first parameter of all modules, then
        the second of all, and so on.
    parameters, gradients : dict of tensors of shape (K, ...)
        Views of them by name.
    buffers : dict of tensors of shape (K, ...)
        The running statistics of batch norm; others are left where they are.
    """

    def __init__(self, modules: Sequence[nn.Module]) -> None:
        self.modules = list(modules)
        own = [dict(module.named_parameters()) for module in modules]
        self.sources = own
        first = own[0]
        K = len(own)
        like = next(iter(first.values()))
        size = sum(parameter.numel() for parameter in first.values())
        self.values = torch.empty(K * size, dtype=like.dtype, device=like.device)
        self.grads = torch.zeros_like(self.values)
        self.parameters = self.split(self.values)
        self.gradients = self.split(self.grads)
        self.buffers = {
            name: torch.stack([module.get_buffer(name) for module in modules])
            for name, _ in modules[0].named_buffers()
            if "running" in name
        }
        for name, stacked in self.parameters.items():
            for mine, parameter in zip(stacked, (o[name] for o in own), strict=True):
                mine.copy_(parameter.detach())

    def split(self, flat: Tensor) -> dict[str, Tensor]:
        """Views of a vector, by name, each of shape (K, ...)."""
        views, start = {}, 0
        for name, parameter in self.sources[0].items():
            stop = start + len(self.sources) * parameter.numel()
            views[name] = flat[start:stop].view(len(self.sources), *parameter.shape)
            start = stop
        return views

    def spread(self, numbers: Sequence[float]) -> Tensor:
        """Repeat one number per module for each of its parameters."""
        column = self.values.new_tensor(numbers)
        flat = torch.empty_like(self.values)
        for view in self.split(flat).values():
            view.copy_(column.view(-1, *[1] * (view.dim() - 1)).expand_as(view))
        return flat

    def adopt(self) -> None:
        """Make the modules' parameters, gradients and running statistics views."""
        for k, parameters in enumerate(self.sources):
            for name, parameter in parameters.items():
                parameter.data = self.parameters[name][k]
                parameter.grad = self.gradients[name][k]
            for name, stacked in self.buffers.items():
                path, _, last = name.rpartition(".")
                setattr(self.modules[k].get_submodule(path), last, stacked[k])
        self._adopted = [
            (p, p.data_ptr()) for own in self.sources for p in own.values()
        ]

    def is_adopted(self) -> bool:
        """Whether the modules' parameters are still the views, and none is frozen."""
        return all(p.data_ptr() == at and p.requires_grad for p, at in self._adopted)

    def release(self) -> None:
        """Replace the views by copies, which belong to the modules alone."""
        for k, parameters in enumerate(self.sources):
            for parameter in parameters.values():
                parameter.data, parameter.grad = parameter.data.clone(), None
            for name, stacked in self.buffers.items():
                path, _, last = name.rpartition(".")
                setattr(self.modules[k].get_submodule(path), last, stacked[k].clone())


class _TorchStep:
    """The step of a single torch optimiser of any type."""

    def __init__(self, optimizers: Sequence[torch.optim.Optimizer]) -> None:
        (self.optimizer,) = optimizers

    def begin(self) -> None:
        """Nothing to look up."""

    def step(self) -> None:
        self.optimizer.step()

    def release(self) -> None:
        """There is nothing to give back."""


class _FlatStep:
    """A torch optimiser's step, on the vector of all parameters at once.

    The state is read from the optimisers at the start, lives in views that they hold,
    and is theirs again after ``release``; so a checkpoint, or a training that goes
    through the optimiser itself, continues from there.
    """

    #: Names of the optimiser's tensors that have the shape of a parameter.
    state_names: tuple[str, ...] = ()
    #: Options that must have these values for the flat step to be the same.
    plain: ClassVar[dict[str, Any]] = {}

    def __init__(
        self, optimizers: Sequence[torch.optim.Optimizer], flat: FlatModules
    ) -> None:
        self.groups = [optimizer.param_groups[0] for optimizer in optimizers]
        self.flat = flat
        self.scratch = torch.empty_like(flat.values)
        self.state = {name: torch.zeros_like(flat.values) for name in self.state_names}
        views = {name: flat.split(tensor) for name, tensor in self.state.items()}
        #: An optimiser, one of its parameters, and the parts of its state, as views.
        self.held = [
            (optimizer, parameter, {part: views[part][name][k] for part in views})
            for k, optimizer in enumerate(optimizers)
            for name, parameter in flat.sources[k].items()
        ]

    def begin(self) -> None:
        """Look up what may have changed since the last epoch: state and rates."""
        for optimizer, parameter, views in self.held:
            state = optimizer.state[parameter]
            for part, view in views.items():
                if state.get(part) is not view:
                    view.copy_(state.get(part, torch.zeros_like(view)))
                    state[part] = view
        rates = [float(group["lr"]) for group in self.groups]
        self.rate = rates[0] if len(set(rates)) == 1 else self.flat.spread(rates)
        self.decay = float(self.groups[0]["weight_decay"])

    def step(self) -> None:
        """Take a step along the gradients."""
        raise NotImplementedError

    def move(self, direction: Tensor, factor: float) -> None:
        """Add the direction, times the learning rate and a factor."""
        if isinstance(self.rate, float):
            self.flat.values.add_(direction, alpha=self.rate * factor)
        else:
            self.flat.values.addcmul_(direction, self.rate, value=factor)

    def release(self) -> None:
        """Replace the views by copies, which belong to the optimisers alone."""
        for optimizer, parameter, _ in self.held:
            state = optimizer.state[parameter]
            state.update({part: tensor.clone() for part, tensor in state.items()})


class _FlatAdam(_FlatStep):
    state_names = ("exp_avg", "exp_avg_sq")
    plain: ClassVar = {
        "amsgrad": False,
        "maximize": False,
        "capturable": False,
        "differentiable": False,
    }
    decoupled = False

    def begin(self) -> None:
        super().begin()
        self.betas = self.groups[0]["betas"]
        self.eps = self.groups[0]["eps"]
        self.fused = fused_adam(self.decoupled, self.flat.values.device)
        states = [optimizer.state[parameter] for optimizer, parameter, _ in self.held]
        self.taken = int(states[0].get("step", 0))
        self.count = torch.tensor(float(self.taken), device=self.flat.values.device)
        for state in states:
            state["step"] = self.count
        tensors = (self.flat.values, self.flat.grads, *self.state.values())
        self.lists = [*[[tensor] for tensor in tensors], [], [self.count]]
        self.options = {
            "lr": self.rate,
            "beta1": self.betas[0],
            "beta2": self.betas[1],
            "weight_decay": self.decay,
            "eps": self.eps,
            "amsgrad": False,
            "maximize": False,
        }

    def step(self) -> None:
        self.taken += 1
        self.count.fill_(self.taken)
        if isinstance(self.rate, float) and self.fused is not None:
            self.fused(*self.lists, **self.options)
            return
        beta1, beta2 = self.betas
        mean, square = self.state["exp_avg"], self.state["exp_avg_sq"]
        grads = self.flat.grads
        if self.decay and self.decoupled:
            self.move(self.flat.values, -self.decay)
        elif self.decay:
            grads = torch.add(grads, self.flat.values, alpha=self.decay)
        mean.lerp_(grads, 1 - beta1)
        square.mul_(beta2).addcmul_(grads, grads, value=1 - beta2)
        scale = math.sqrt(1 - beta2**self.taken)
        torch.sqrt(square, out=self.scratch)
        self.scratch.add_(self.eps * scale)
        torch.div(mean, self.scratch, out=self.scratch)
        self.move(self.scratch, -scale / (1 - beta1**self.taken))


class _FlatAdamW(_FlatAdam):
    decoupled = True


class _FlatSGD(_FlatStep):
    state_names = ()
    plain: ClassVar = {"momentum": 0, "maximize": False, "differentiable": False}

    def step(self) -> None:
        grads = self.flat.grads
        if self.decay:
            grads = torch.add(grads, self.flat.values, alpha=self.decay)
        self.move(grads, -1.0)


_FLAT: dict[type[torch.optim.Optimizer], type[_FlatStep]] = {
    torch.optim.Adam: _FlatAdam,
    torch.optim.AdamW: _FlatAdamW,
    torch.optim.SGD: _FlatSGD,
}


def get_stepper(
    optimizers: Sequence[torch.optim.Optimizer], flat: FlatModules
) -> _FlatStep | _TorchStep | None:
    """What takes the steps of the modules' optimisers, one optimiser a module.

    Parameters
    ----------
    optimizers : sequence of torch.optim.Optimizer
        The optimisers, of one type.
    flat : FlatModules
        The modules.

    Returns
    -------
    stepper
        An object with ``begin``, ``step`` and ``release``. None if there is no step
        without evaluating the loss again, as in LBFGS, or none for all modules at once.
    """
    if all(has_flat_step(optimizer) for optimizer in optimizers):
        return _FLAT[type(optimizers[0])](optimizers, flat)
    if len(optimizers) > 1 or needs_closure(optimizers[0]):
        return None
    return _TorchStep(optimizers)


def has_flat_step(optimizer: torch.optim.Optimizer) -> bool:
    """Whether the optimiser's step is known here, with the options that it has.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.training.network.stacked_parameters import has_flat_step
    >>> parameters = [torch.nn.Parameter(torch.zeros(2))]
    >>> has_flat_step(torch.optim.Adam(parameters))
    True
    >>> has_flat_step(torch.optim.RMSprop(parameters))
    False
    """
    flat_step = _FLAT.get(type(optimizer))
    group, *others = optimizer.param_groups
    return (
        flat_step is not None
        and not others
        and all(group[name] == value for name, value in flat_step.plain.items())
        and not isinstance(group["lr"], Tensor)
    )


def needs_closure(optimizer: torch.optim.Optimizer) -> bool:
    """Whether a step needs a closure that evaluates the loss again, as in LBFGS."""
    parameters = inspect.signature(optimizer.step).parameters.values()
    return any(parameter.default is inspect.Parameter.empty for parameter in parameters)
