"""Replacing estimators inside of other estimators."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator

__all__ = ["replace_parts"]


def replace_parts(value: Any, replace: Callable[[Any], Any]) -> Any:
    """A copy of an object with some of its parts replaced; itself if none is.

    Parameters
    ----------
    value : object
        An estimator, or a list, tuple or dict.
    replace : callable
        Maps a part to its replacement, or to itself.

    Returns
    -------
    value : object
        Of the same type, unless it is replaced itself.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sk_anyloss.plain import replace_parts
    >>> def without_scaler(part):
    ...     return "passthrough" if isinstance(part, StandardScaler) else part
    >>> model = make_pipeline(StandardScaler(), LogisticRegression())
    >>> replace_parts(model, without_scaler)[0]
    'passthrough'
    """
    new = replace(value)
    if new is not value:
        return new
    if isinstance(value, (list, tuple)):
        parts = [replace_parts(part, replace) for part in value]
        same = all(a is b for a, b in zip(parts, value, strict=True))
        make = getattr(value, "_make", type(value))  # That of a named tuple.
        return value if same else make(parts)
    if isinstance(value, dict):
        changed = {
            key: new
            for key, part in value.items()
            if (new := replace_parts(part, replace)) is not part
        }
        if changed:
            value = copy.copy(value)
            value.update(changed)
        return value
    # What CalibratedClassifierCV holds predicts, but is no estimator.
    if isinstance(value, BaseEstimator) or hasattr(type(value), "predict_proba"):
        changed = {
            name: new
            for name, old in vars(value).items()
            if (new := replace_parts(old, replace)) is not old
        }
        if changed:
            value = copy.copy(value)
            vars(value).update(changed)
    return value
