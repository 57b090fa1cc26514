"""Conversion of fitted torch networks to numpy arrays."""

from __future__ import annotations

from typing import TypeAlias, TypeVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor, nn

from sk_anyloss.estimators.classifier import AnyLossClassifier
from sk_anyloss.estimators.tuned_decision import TunedDecisionClassifier
from sk_anyloss.plain.classifier import PlainClassifier
from sk_anyloss.plain.network import ACTIVATIONS, NetworkArrays, NormArrays
from sk_anyloss.plain.replacement import replace_parts
from sk_anyloss.search.search import AnyLossClassifierCV

__all__ = ["to_plain"]

#: The estimators that become a :class:`PlainClassifier`.
OwnEstimator: TypeAlias = (
    AnyLossClassifier | AnyLossClassifierCV | TunedDecisionClassifier
)
Part = TypeVar("Part")
#: Fitted attributes that are kept.
FITTED = (
    "classes_",
    "pos_label_",
    "target_type_",
    "n_features_in_",
    "feature_names_in_",
)


def to_plain(model: BaseEstimator) -> BaseEstimator:
    """A copy of a fitted model with its networks as arrays.

    Parameters
    ----------
    model : estimator
        A fitted estimator of this package, or one that contains such, as a pipeline, a
        search or a tuned threshold does.

    Returns
    -------
    model : estimator
        It makes the same predictions, up to rounding, without torch. The scores of
        several labels are one array of shape (n_samples, n_labels), also where a
        :class:`~sk_anyloss.TunedDecisionClassifier` gives a list of arrays.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sk_anyloss import AnyLossClassifier
    >>> from sk_anyloss.plain import to_plain
    >>> X, y = make_classification(200, random_state=0)
    >>> model = AnyLossClassifier(random_state=0).fit(X, y)
    >>> bool((to_plain(model).predict(X) == model.predict(X)).all())
    True
    """
    if isinstance(model, OwnEstimator):
        check_is_fitted(model)
    return replace_parts(model, _convert_part)


def _convert_part(part: Part) -> Part | PlainClassifier:
    if not isinstance(part, OwnEstimator):
        return part
    # An unfitted one is a parameter from which a fitted one was cloned.
    fitted = hasattr(part, "classes_")
    return _convert(part) if fitted else PlainClassifier(part.metric)


def _convert(model: OwnEstimator) -> PlainClassifier:
    plain = PlainClassifier(model.metric)
    for name in FITTED:
        if hasattr(model, name):
            setattr(plain, name, getattr(model, name))
    offset = np.asarray(model.decision_.offset, dtype=float)
    plain.logit_threshold_ = offset if offset.ndim else float(offset)
    if isinstance(model, TunedDecisionClassifier):
        _convert_tuned(model, plain)
    elif isinstance(model, AnyLossClassifierCV):
        _convert_members(model, plain)
    else:
        plain.networks_ = [_network_arrays(model)]
        n_outputs = len(plain.networks_[0]["biases"][-1])
        shape = () if plain.target_type_ == "binary" else (n_outputs,)
        plain.logit_thresholds_ = np.zeros((1, *shape))
        plain.network_weights_ = np.ones(1)
    return plain


def _convert_tuned(model: TunedDecisionClassifier, plain: PlainClassifier) -> None:
    """An ensemble of one member, which takes the samples as they are."""
    plain.classes_ = model._labels.classes
    plain.target_type_ = model._labels.target.name
    plain.validates_samples_ = False
    shape = np.shape(plain.logit_threshold_)
    plain.networks_, plain.network_weights_ = [], np.ones(0)
    plain.logit_thresholds_ = np.zeros((0, *shape))
    plain.others_ = [replace_parts(model.estimator_, _convert_part)]
    plain.other_thresholds_ = np.zeros((1, *shape))
    plain.other_weights_ = np.ones(1)


def _convert_members(model: AnyLossClassifierCV, plain: PlainClassifier) -> None:
    """Networks of an ensemble as arrays, and its other members without torch."""
    is_network = np.array([isinstance(m, AnyLossClassifier) for m in model.estimators_])
    networks = [m for m in model.estimators_ if isinstance(m, AnyLossClassifier)]
    offsets, weights = model.estimator_offsets_, model.estimator_weights_
    plain.networks_ = [_network_arrays(network) for network in networks]
    own = [np.broadcast_to(m.decision_.offset, offsets.shape[1:]) for m in networks]
    plain.logit_thresholds_ = np.reshape(own, (-1, *offsets.shape[1:]))
    plain.logit_thresholds_ = plain.logit_thresholds_ + offsets[is_network]
    plain.network_weights_ = weights[is_network]
    if not is_network.all():
        others = zip(model.estimators_, is_network, strict=True)
        plain.others_ = [
            replace_parts(member, _convert_part)
            for member, is_ours in others
            if not is_ours
        ]
        plain.other_thresholds_ = offsets[~is_network]
        plain.other_weights_ = weights[~is_network]


def _network_arrays(model: AnyLossClassifier) -> NetworkArrays:
    module = model.net_.module_
    if module.activation not in ACTIVATIONS:
        raise ValueError(
            f"activation={module.activation!r} is a function of torch, which cannot be "
            f"stored as arrays; use one of {', '.join(sorted(ACTIVATIONS))}."
        )
    return {
        "activation": module.activation,
        "bin_features": _optional_array(module.bin_features),
        "mean": _optional_array(module.mean),
        "scale": _optional_array(module.scale),
        "weights": [_array(layer.weight) for layer in module.layers],
        "biases": [_array(layer.bias) for layer in module.layers],
        "norms": [_norm_arrays(norm) for norm in module.norms],
    }


def _norm_arrays(norm: nn.BatchNorm1d) -> NormArrays:
    assert norm.running_mean is not None
    assert norm.running_var is not None
    return {
        "eps": norm.eps,
        "running_mean": _array(norm.running_mean),
        "running_var": _array(norm.running_var),
        "weight": _array(norm.weight),
        "bias": _array(norm.bias),
    }


def _array(tensor: Tensor) -> np.ndarray:
    return tensor.detach().cpu().numpy().copy()


def _optional_array(tensor: Tensor | None) -> np.ndarray | None:
    return None if tensor is None else _array(tensor)
