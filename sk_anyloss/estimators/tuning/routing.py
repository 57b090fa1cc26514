"""Arguments of a fit, for the estimator within a meta-estimator and its splitter."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import process_routing
from sklearn.utils.validation import has_fit_parameter

from sk_anyloss._compat import routing_enabled

__all__ = ["routed_params", "weight_parameter"]


def routed_params(
    model: BaseEstimator,
    inner: BaseEstimator,
    weight: np.ndarray | None,
    params: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What goes to ``fit`` of the estimator, and to ``split`` of the splitter.

    Parameters
    ----------
    model : estimator
        The meta-estimator, which says by ``get_metadata_routing`` what goes where.
    inner : estimator
        The estimator within it.
    weight : ndarray or None
        Weights of the samples.
    params : mapping of str to object
        Further arguments of ``fit``.

    Returns
    -------
    fit_params, split_params : dict
        Without metadata routing, the weights and all arguments are for ``fit``.
    """
    if routing_enabled():
        given = dict(params)
        if weight is not None:
            given["sample_weight"] = weight
        routed = process_routing(model, "fit", **given)
        return dict(routed.estimator.fit), dict(routed.splitter.split)
    fit_params = dict(params)
    if weight is not None:
        name = weight_parameter(inner)
        if name is None:
            warnings.warn(
                f"{type(inner).__name__}.fit takes no sample_weight; the weights "
                "are used to tune the decision only.",
                UserWarning,
                stacklevel=4,  # Of the caller of the estimator's fit.
            )
        else:
            fit_params[name] = weight
    return fit_params, {}


def weight_parameter(estimator: BaseEstimator) -> str | None:
    """Name under which ``fit`` takes sample weights, without metadata routing.

    Parameters
    ----------
    estimator : estimator
        A classifier, a pipeline, or a search over one.

    Returns
    -------
    name : str or None
        None if ``fit`` takes no weights, or if the pipeline resamples: its last step
        is then fitted on other samples than those that the weights belong to.

    Examples
    --------
    >>> from imblearn.over_sampling import RandomOverSampler
    >>> from imblearn.pipeline import make_pipeline
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sk_anyloss.estimators.tuning.routing import weight_parameter
    >>> weight_parameter(make_pipeline(StandardScaler(), GaussianNB()))
    'gaussiannb__sample_weight'
    >>> weight_parameter(make_pipeline(RandomOverSampler(), GaussianNB())) is None
    True
    """
    if isinstance(estimator, Pipeline):
        if any(hasattr(step, "fit_resample") for _, step in estimator.steps):
            return None
        name, last = estimator.steps[-1]
        inner = weight_parameter(last)
        return None if inner is None else f"{name}__{inner}"
    if has_fit_parameter(estimator, "sample_weight"):
        return "sample_weight"
    searched = getattr(estimator, "estimator", None)  # Of GridSearchCV, say.
    return None if searched is None else weight_parameter(searched)
