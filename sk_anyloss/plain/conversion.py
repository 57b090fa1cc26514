"""From fitted networks of torch to plain arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sk_anyloss.estimators.classifier import AnyLossClassifier
from sk_anyloss.plain import ACTIVATIONS, PlainClassifier, replace_parts
from sk_anyloss.search.search import AnyLossClassifierCV

__all__ = ["to_plain"]


def to_plain(model: Any) -> Any:
    """A copy of a fitted model with its networks as arrays.

    Parameters
    ----------
    model : estimator
        Fitted: one of this package, or one that has such inside, as a pipeline, a
        search or a tuned threshold has.

    Returns
    -------
    model : estimator
        Predicts the same, to rounding, and holds nothing of torch.

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
    if isinstance(model, (AnyLossClassifier, AnyLossClassifierCV)):
        return _plain(model)
    return replace_parts(model, _plain_part)


def _plain_part(value: Any) -> Any:
    if isinstance(value, (AnyLossClassifier, AnyLossClassifierCV)):
        return _plain(value) if hasattr(value, "classes_") else _unfitted(value)
    return value


def _unfitted(model: Any) -> PlainClassifier:
    """In place of a model that another one was made from."""
    return PlainClassifier(model.metric)


def _plain(model: AnyLossClassifier | AnyLossClassifierCV) -> PlainClassifier:
    check_is_fitted(model)
    plain = PlainClassifier(model.metric)
    for name in ("classes_", "pos_label_", "n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(plain, name, getattr(model, name))
    if isinstance(model, AnyLossClassifier):
        networks, plain.cuts_, plain.shares_ = [model], np.zeros(1), np.ones(1)
    else:
        networks = model.estimators_
        own = np.array([network.decision_.offset for network in networks])
        plain.cuts_ = own + model.estimator_offsets_
        plain.shares_ = model.estimator_weights_
    plain.networks_ = [_arrays(network) for network in networks]
    plain.cut_ = model.decision_.offset
    return plain


def _arrays(model: AnyLossClassifier) -> dict[str, Any]:
    module = model.net_.module_

    def array(tensor: Any) -> Any:
        return None if tensor is None else tensor.detach().cpu().numpy().copy()

    if module.activation not in ACTIVATIONS:
        raise ValueError(
            f"activation={module.activation!r} is a function of torch, which cannot be "
            f"stored as arrays; use one of {', '.join(sorted(ACTIVATIONS))}."
        )
    return {
        "activation": module.activation,
        "pieces": array(module.bin_features),
        "mean": array(module.mean),
        "scale": array(module.scale),
        "weights": [array(layer.weight) for layer in module.layers],
        "biases": [array(layer.bias) for layer in module.layers],
        "norms": [
            {
                "eps": norm.eps,
                **{
                    name: array(getattr(norm, name))
                    for name in ("running_mean", "running_var", "weight", "bias")
                },
            }
            for norm in module.norms
        ],
    }
