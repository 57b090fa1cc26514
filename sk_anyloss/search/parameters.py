"""Parameters of the search that no candidate would refuse by itself."""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sk_anyloss.estimators.parameters import (
    check_common_params,
    check_flags,
    check_list,
    check_whole,
)

if TYPE_CHECKING:
    from sk_anyloss.search.search import AnyLossClassifierCV

__all__ = ["check_search_params"]


def check_search_params(model: AnyLossClassifierCV) -> None:
    """Refuse parameters of the search that make no sense.

    Those of its candidates are refused with the first candidate.
    """
    check_common_params(model)
    check_flags(model, "ensemble", "drop_early")
    if model.tune_threshold != "auto":
        check_flags(model, "tune_threshold", way_out=" or 'auto'")
    check_list("hidden", model.hidden, "networks to try, such as [(), (32, 32)]")
    for widths in model.hidden:
        if isinstance(widths, numbers.Integral):
            raise ValueError(
                "hidden must be a list of networks to try, each a tuple of widths such "
                f"as ({widths},); got {model.hidden!r}."
            )
    if model.candidates is not None:
        what = "dicts of parameters of AnyLossClassifier, such as [{'L': 5}], and "
        what += "classifiers, such as [HistGradientBoostingClassifier()]"
        check_list("candidates", model.candidates, what)
        for candidate in model.candidates:
            if not isinstance(candidate, Mapping) and (
                isinstance(candidate, type) or not hasattr(candidate, "fit")
            ):
                raise ValueError(f"candidates must hold {what}, got {candidate!r}.")
    check_whole("n_best", model.n_best, 1)
    budget = model.time_budget
    is_number = isinstance(budget, numbers.Real) and not isinstance(budget, bool)
    if budget is not None and not (is_number and 0 < float(budget) < np.inf):
        raise ValueError(
            f"time_budget must be a number of seconds above 0 or None, got {budget!r}."
        )
