"""Parameters of the estimator that no part of the network would refuse by itself."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from sk_anyloss.modules import check_hidden
from sk_anyloss.optimizers import get_optimizer
from sk_anyloss.rows import batch_rows
from sk_anyloss.steps import Sigmoid, check_threshold, check_thresholds, get_step


def check_params(model: Any) -> None:
    """Refuse parameters that make no sense, before anything is done with them."""
    check_hidden(model.hidden)
    check_thresholds(model.threshold)
    if model.decision_threshold is not None:
        check_threshold(model.decision_threshold, "decision_threshold")
    get_step(model.step)
    if not (isinstance(model.L, str) and model.L == "auto"):
        Sigmoid(model.L)
    batch_rows(model.batch_size, 1)
    for name in ("standardize", "batch_norm", "early_stopping", "warm_start"):
        if not isinstance(getattr(model, name), (bool, np.bool_)):
            raise ValueError(
                f"{name} must be True or False, got {getattr(model, name)!r}."
            )
    get_optimizer(model.optimizer)
    for name, high in (("lr", np.inf), ("validation_fraction", 1)):
        value = getattr(model, name)
        if not isinstance(value, numbers.Real) or not 0.0 < float(value) < high:
            raise ValueError(
                f"{name} must be a number above 0 and below {high}, got {value!r}."
            )
    for name in ("max_epochs", "n_iter_no_change", "n_init"):
        value = getattr(model, name)
        if not isinstance(value, numbers.Integral) or value < 1:
            raise ValueError(
                f"{name} must be a whole number of at least 1, got {value!r}."
            )
    bins: Any = model.n_bins
    if bins is not None and (not isinstance(bins, numbers.Integral) or int(bins) < 1):
        raise ValueError(
            f"n_bins must be a whole number of at least 1 or None, got {bins!r}."
        )
    if model.schedule not in (None, "cosine"):
        raise ValueError(f"schedule must be 'cosine' or None, got {model.schedule!r}.")
    whole = isinstance(model.warm_up, numbers.Integral)
    if not whole or not 0 <= model.warm_up < model.max_epochs:
        raise ValueError(
            f"warm_up must be a whole number of at least 0 and below max_epochs="
            f"{model.max_epochs}, of which it is a part; got {model.warm_up!r}."
        )
    if not isinstance(model.memory, numbers.Real) or not 0 <= float(model.memory) < 1:
        raise ValueError(f"memory must be a number in [0, 1), got {model.memory!r}.")
    bias = model.output_bias
    if bias != "prior" and not isinstance(bias, numbers.Real):
        raise ValueError(f"output_bias must be 'prior' or a number, got {bias!r}.")
    if not isinstance(model.tol, numbers.Real) or not float(model.tol) >= 0:
        raise ValueError(f"tol must be a number of at least 0, got {model.tol!r}.")
