"""Parts of a fitted model in the form in which a model file holds them."""

from __future__ import annotations

from copy import copy

import numpy as np
from imblearn.base import SamplerMixin
from sklearn.base import BaseEstimator
from sklearn.model_selection import (
    BaseCrossValidator,
    FixedThresholdClassifier,
    TunedThresholdClassifierCV,
)

from sk_anyloss.plain import PlainClassifier, replace_parts

__all__ = ["strip_training_parts"]


def strip_training_parts(part: object) -> object:
    """Replace what only a fit needs, which can hold training samples."""
    if isinstance(part, BaseEstimator) and "_metadata_request" in vars(part):
        part = copy(part)
        del vars(part)["_metadata_request"]
        return replace_parts(part, strip_training_parts)
    if isinstance(part, PlainClassifier) and not isinstance(part.metric, str):
        part = copy(part).set_params(metric="f1")  # Not used; the facts name it.
        return replace_parts(part, strip_training_parts)
    if isinstance(part, SamplerMixin):
        return "passthrough"
    if isinstance(
        part, (np.random.Generator, np.random.RandomState, BaseCrossValidator)
    ):
        return None
    if isinstance(part, TunedThresholdClassifierCV) and hasattr(part, "estimator_"):
        return _stored_threshold(part)
    return part


def _stored_threshold(model: TunedThresholdClassifierCV) -> FixedThresholdClassifier:
    """The same decisions without the metric and the folds."""
    fixed = FixedThresholdClassifier(
        replace_parts(model.estimator, strip_training_parts),
        threshold=float(model.best_threshold_),
        pos_label=model._curve_scorer._get_pos_label(),
        response_method=model.response_method,
    )
    fixed.estimator_ = replace_parts(model.estimator_, strip_training_parts)
    return fixed
