"""Steps: from a probability p to a soft decision h = H(p; t) in [0, 1].

A step is a differentiable approximation of the decision "p > t". Each gives its value
and its derivative in closed form, and all of them have the symmetry
``1 - H(p; t) = H(1 - p; 1 - t)``, which computes ``1 - h`` to full precision where
``h`` rounds to 1.
"""

from sk_anyloss.losses.steps.base import Step, Threshold
from sk_anyloss.losses.steps.piecewise import Cosine, Identity, Linear, Uniform
from sk_anyloss.losses.steps.registry import get_step, is_builtin, step_names
from sk_anyloss.losses.steps.sigmoid import LogitSigmoid, Sigmoid
from sk_anyloss.losses.steps.stacking import stack_steps, stack_values
from sk_anyloss.losses.steps.thresholds import check_threshold, check_thresholds

__all__ = [
    "Cosine",
    "Identity",
    "Linear",
    "LogitSigmoid",
    "Sigmoid",
    "Step",
    "Threshold",
    "Uniform",
    "check_threshold",
    "check_thresholds",
    "get_step",
    "is_builtin",
    "stack_steps",
    "stack_values",
    "step_names",
]
