"""Steps by name."""

from __future__ import annotations

from sk_anyloss._names import unknown
from sk_anyloss.losses.steps.base import Step
from sk_anyloss.losses.steps.piecewise import Cosine, Identity, Linear, Uniform
from sk_anyloss.losses.steps.sigmoid import LogitSigmoid, Sigmoid

__all__ = ["get_step", "is_builtin", "step_names"]

_STEPS: dict[str, type[Step]] = {
    "sigmoid": Sigmoid,
    "identity": Identity,
    "linear": Linear,
    "cosine": Cosine,
    "uniform": Uniform,
    "logit": LogitSigmoid,
}


def step_names() -> list[str]:
    """Names that :func:`get_step` takes.

    Returns
    -------
    names : list of str
        In alphabetical order.

    Examples
    --------
    >>> from sk_anyloss.losses.steps import step_names
    >>> step_names()
    ['cosine', 'identity', 'linear', 'logit', 'sigmoid', 'uniform']
    """
    return sorted(_STEPS)


def get_step(step: str | Step, **params: float) -> Step:
    """Look up a step by name; a :class:`Step` is returned unchanged.

    Parameters
    ----------
    step : str or Step
        A name, or an instance such as ``Linear(delta=0.2)``.
    **params : float
        Parameters of a step given by name, such as ``L=10``.

    Returns
    -------
    step : Step
        The step.

    Examples
    --------
    >>> from sk_anyloss.losses.steps import get_step
    >>> get_step("sigmoid", L=10)
    Sigmoid(L=10)
    """
    if isinstance(step, Step):
        return step
    if isinstance(step, str) and step in _STEPS:
        return _STEPS[step](**params)
    otherwise = "or pass an instance of sk_anyloss.losses.steps.Step."
    raise ValueError(unknown("step", step, _STEPS, otherwise))


def is_builtin(step: Step) -> bool:
    """Whether a step is one of this package, whose parameters can be stacked.

    Parameters
    ----------
    step : Step
        Any step.

    Returns
    -------
    is_builtin : bool
        False for a user's own class, also for a subclass of one of this package.

    Examples
    --------
    >>> from sk_anyloss.losses.steps import Sigmoid, is_builtin
    >>> is_builtin(Sigmoid(5))
    True
    """
    return type(step) in _STEPS.values()
