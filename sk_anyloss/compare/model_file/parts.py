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

from sk_anyloss.estimators.tuned_decision import TunedDecisionClassifier
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
    if isinstance(part, TunedDecisionClassifier) and hasattr(part, "estimator_"):
        return _stored_decision(part)
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


def _stored_decision(model: TunedDecisionClassifier) -> PlainClassifier:
    """The same decisions by a class that needs no torch."""
    plain, offset = PlainClassifier(), np.asarray(model.decision_.offset)
    plain.classes_ = np.asarray(model.classes_)
    plain.n_features_in_ = model.n_features_in_
    plain.pos_label_ = getattr(model, "pos_label_", None)
    plain.target_type_ = "binary" if plain.pos_label_ is not None else "multiclass"
    plain.networks_, plain.network_weights_ = [], np.ones(0)
    plain.logit_thresholds_ = np.zeros((0, *offset.shape))
    plain.others_ = [replace_parts(model.estimator_, strip_training_parts)]
    plain.other_thresholds_ = np.zeros((1, *offset.shape))
    plain.other_weights_ = np.ones(1)
    plain.logit_threshold_ = offset if offset.ndim else float(offset)
    return plain
