"""Parameters of the estimators that no part of the network would refuse by itself.

And what all fits have in common: one that fails leaves the estimator as it was.
"""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from sklearn.base import BaseEstimator
from skorch.callbacks import Callback

from sk_anyloss._names import spelled
from sk_anyloss.losses.steps import (
    Sigmoid,
    check_threshold,
    get_step,
    step_names,
)
from sk_anyloss.metrics import depends_on_prevalence, metric_name
from sk_anyloss.training.callbacks import EarlyStopping
from sk_anyloss.training.data.batches import resolve_batch_size
from sk_anyloss.training.network.mlp import check_hidden
from sk_anyloss.training.optimizers import get_optimizer
from sk_anyloss.training.schedules import LearningRate, initial_rate

if TYPE_CHECKING:
    from sk_anyloss.estimators.classifier import AnyLossClassifier


def check_params(model: AnyLossClassifier) -> None:
    """Refuse parameters that make no sense, before anything is done with them."""
    check_hidden(model.hidden)
    check_common_params(model)
    check_callbacks(model.callbacks)
    check_threshold(model.threshold)
    get_step(spelled(model.step, step_names()))
    if not (isinstance(model.L, str) and model.L == "auto"):
        Sigmoid(cast("float", model.L))
    resolve_batch_size(model.batch_size, 1)
    fraction = model.warm_up
    is_fraction = isinstance(fraction, numbers.Real) and 0 <= float(fraction) < 1
    if isinstance(fraction, bool) or not (is_fraction or fraction == "auto"):
        raise ValueError(
            f"warm_up must be a number in [0, 1) or 'auto', got {fraction!r}."
        )
    check_flags(model, "standardize", "batch_norm", "warm_start")
    if not isinstance(model.early_stopping, EarlyStopping):
        check_flags(model, "early_stopping", way_out=" or an EarlyStopping")
    get_optimizer(model.optimizer)
    check_learning_rate(model.lr)
    for name in ("max_epochs", "n_init"):
        check_whole(name, getattr(model, name), 1)
    if model.n_bins is not None:
        check_whole("n_bins", model.n_bins, 1, way_out=" or None")


def check_whole(name: str, value: Any, least: int, way_out: str = "") -> None:
    """Refuse what is not a whole number, or too small; True would count as 1."""
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_whole or value < least:
        raise ValueError(
            f"{name} must be a whole number of at least {least}{way_out}, got "
            f"{value!r}."
        )


def check_learning_rate(lr: LearningRate) -> None:
    """Refuse what is not a positive number, or a schedule that starts at one."""
    initial = initial_rate(lr)
    is_number = isinstance(initial, numbers.Real) and not isinstance(initial, bool)
    if not is_number or not 0.0 < float(initial) < np.inf:
        raise ValueError(
            "lr must be a number above 0 and below inf, or a CosineDecay from one; got "
            f"{lr!r}."
        )


def check_common_params(model: BaseEstimator) -> None:
    """Refuse what is wrong in parameters that both estimators have."""
    check_device(model.device)
    check_random_state(model.random_state)
    if not isinstance(model.verbose, (bool, np.bool_)):
        check_whole("verbose", model.verbose, 0)
    if model.pos_label is not None and np.ndim(model.pos_label) != 0:
        raise ValueError(
            f"pos_label must be one of the labels or None, got {model.pos_label!r}."
        )


def check_flags(model: BaseEstimator, *names: str, way_out: str = "") -> None:
    """Refuse anything but True and False: the string 'False' would count as True."""
    for name in names:
        value = getattr(model, name)
        if not isinstance(value, (bool, np.bool_)):
            raise ValueError(f"{name} must be True or False{way_out}, got {value!r}.")


def check_list(name: str, value: object, what: str) -> None:
    """Refuse what is not a list: a number or a string where several are meant."""
    if isinstance(value, (str, Mapping)) or not isinstance(
        value, (Sequence, np.ndarray)
    ):
        raise ValueError(f"{name} must be a list of {what}; got {value!r}.")


def check_device(device: Any) -> None:
    """Refuse a device that torch does not know or does not have here."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        why = (str(error).splitlines() or [""])[0].rstrip(".")
        raise ValueError(
            f"device={device!r} cannot be used here; take device='cpu'. torch says: "
            f"{why}."
        ) from error


def check_random_state(random_state: object) -> None:
    """Refuse what is neither a seed nor a generator."""
    seed = isinstance(random_state, numbers.Integral) and int(random_state) >= 0
    seed = seed and not isinstance(random_state, bool)
    kinds = (np.random.RandomState, np.random.Generator)
    if not (random_state is None or seed or isinstance(random_state, kinds)):
        raise ValueError(
            "random_state must be None, a whole number of at least 0, or a generator "
            f"of numpy; got {random_state!r}."
        )


def check_callbacks(callbacks: Any) -> None:
    """Refuse what skorch would stumble over only later."""
    if callbacks is None:
        return
    what = "skorch callbacks, or pairs of a name and a callback"
    check_list("callbacks", callbacks, what)
    for entry in callbacks:
        callback = entry[1] if isinstance(entry, tuple) and len(entry) == 2 else entry
        kind = callback if isinstance(callback, type) else type(callback)
        if not issubclass(kind, Callback):
            raise ValueError(
                f"callbacks must be a list of {what}; got {entry!r} in it."
            )


def check_partial_class_weight(model: AnyLossClassifier) -> None:
    """Refuse to balance the samples of each partial fit by themselves."""
    weight = model.class_weight
    if isinstance(weight, str) and weight == "balanced":
        raise ValueError(
            "class_weight='balanced' would balance the samples of each partial_fit by "
            "themselves. Compute the weights once, from representative labels, by "
            "sklearn.utils.class_weight.compute_class_weight('balanced', "
            "classes=classes, y=y), and pass them as a dict of labels and weights."
        )


def warn_of_class_weight(model: AnyLossClassifier) -> None:
    """Warn of weights of classes that the metric does not depend on."""
    if model.class_weight is None or model.loss is not None:
        return
    if model.target_type_ != "binary":
        return
    if not depends_on_prevalence(model._labels.target.goal(model.metric)):
        warnings.warn(
            f"class_weight={model.class_weight!r} has no effect on metric="
            f"{metric_name(model.metric)!r}: it is made of the rates within each "
            "class, which no weight of a class changes. Leave class_weight out, or "
            "take a metric that depends on prevalence, such as 'f1' or 'mcc'.",
            UserWarning,
            stacklevel=4,
        )


@contextmanager
def restored_on_error(estimator: BaseEstimator) -> Iterator[None]:
    """Restore all attributes of an estimator if its fit fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise
