"""Bounds checks of the indices in a loaded model, which compiled code does not check.

The arrays of a tree, the vocabulary of a vectoriser and the categories of an encoder
determine where compiled code of scikit-learn and scipy reads and writes. In a file that
was tampered with they may point outside of an array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.ensemble import BaseEnsemble, HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from sk_anyloss.compare.model_file.archive import ModelFileError

__all__ = ["check_bounds"]


def check_bounds(model: object, n_classes: int = 2) -> None:
    """Refuse a loaded model whose indices or attributes are unsafe.

    Parameters
    ----------
    model : object
        Loaded, of trusted types, without cycles.
    n_classes : int, default=2
        The number of classes that the file declares: predictions of a model with a
        huge number of them would exhaust the memory.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sk_anyloss.compare.model_file.bounds import check_bounds
    >>> check_bounds(LogisticRegression(n_jobs=2))
    Traceback (most recent call last):
    ...
    sk_anyloss.compare.model_file.archive.ModelFileError: a LogisticRegression would ...
    """
    for part in _parts(model):
        for name in getattr(part, "__dict__", ()):
            if callable(getattr(type(part), name, None)):
                raise ModelFileError(f"{name!r} replaces a method of {_name(part)}")
        if isinstance(part, BaseEstimator):
            _check_attributes(part)
        for kind, is_valid in _CHECKS:
            if isinstance(part, kind) and not _passes(is_valid, part, n_classes):
                raise ModelFileError(f"indices in {_name(part)} are out of bounds")


def _check_attributes(part: BaseEstimator) -> None:
    """Refuse attributes that no fitted estimator of its class has.

    Besides parameters and fitted attributes, which end in an underscore, estimators
    have private switches: with ``_in_fit``, boosting does not check the number of
    features.
    """
    known = set(part.get_params(deep=False)) | PRIVATE_ATTRIBUTES.get(
        type(part).__name__, set()
    )
    for name in vars(part):
        fitted = name.endswith("_") and not name.startswith("_")
        if not fitted and name not in known:
            raise ModelFileError(f"{_name(part)} has an attribute {name!r}")
    if getattr(part, "n_jobs", None) is not None:
        raise ModelFileError(f"{_name(part)} would start processes")


#: Attributes of fitted estimators, by the name of their class, that are neither
#: parameters nor end in an underscore.
PRIVATE_ATTRIBUTES = {
    "AdaBoostClassifier": {"estimator_params"},
    "ApplyToEachCol": {"_columns"},
    "BalancedRandomForestClassifier": {
        "_n_features",
        "_sampling_strategy",
        "estimator",
        "estimator_params",
    },
    "DatetimeEncoder": {"_periodic_encoders"},
    "DropUninformative": {"_null_count"},
    "EasyEnsembleClassifier": {
        "_max_features",
        "_max_samples",
        "_n_samples",
        "_sample_weight",
        "_sampling_strategy",
        "_seeds",
        "bootstrap",
        "bootstrap_features",
        "estimator_params",
        "max_features",
        "max_samples",
        "oob_score",
    },
    "HistGradientBoostingClassifier": {
        "_baseline_prediction",
        "_bin_mapper",
        "_feature_subsample_rng",
        "_is_categorical_remapped",
        "_label_encoder",
        "_loss",
        "_n_features",
        "_predictors",
        "_preprocessor",
        "_random_seed",
        "_scorer",
        "_use_validation_data",
    },
    "OneHotEncoder": {
        "_drop_idx_after_grouping",
        "_infrequent_enabled",
        "_n_features_outs",
        "_sklearn_output_config",
    },
    "RUSBoostClassifier": {"estimator_params"},
    "SimpleImputer": {"_fill_dtype", "_fit_dtype"},
    "StringEncoder": {"_sklearn_output_config", "to_str"},
    "TableVectorizer": {
        "_encoders",
        "_named_encoders",
        "_pipeline",
        "_postprocessors",
        "_preprocessors",
        "_specific_columns",
        "_specific_transformers",
    },
    "TfidfVectorizer": {"_tfidf"},
    "ToFloat": {"_needs_str_replace", "_thousand"},
}


def _name(part: object) -> str:
    return f"a {type(part).__name__}"


def _passes(is_valid: Callable[[Any, int], bool], part: object, n_classes: int) -> bool:
    try:
        return is_valid(part, n_classes)
    # Raised for attributes of other types than an estimator has.
    except (TypeError, ValueError, AttributeError, LookupError):
        return False


def _parts(value: object) -> Iterator[object]:
    """An object and all objects that it contains."""
    yield value
    inner: list[object] = []
    if isinstance(value, dict):
        inner += [*value.keys(), *value.values()]
    elif isinstance(value, (list, tuple)):
        inner += value
    elif isinstance(value, np.ndarray) and value.dtype.hasobject:
        inner += value.ravel().tolist()
    inner += getattr(value, "__dict__", {}).values()
    for part in inner:
        # Types and functions are imported, not loaded from the file.
        if not isinstance(part, (str, int, float, type, FunctionType)):
            yield from _parts(part)


def _is_valid_tree(model: DecisionTreeClassifier, n_classes: int) -> bool:
    if not hasattr(model, "tree_"):  # Not fitted: others were cloned from it.
        return True
    if not _has_classes(model, n_classes):
        return False
    tree = model.tree_
    left, right = tree.children_left, tree.children_right
    inner = np.flatnonzero(left != -1)
    return (
        tree.capacity == tree.node_count >= 1
        and tree.n_features == model.n_features_in_
        and tree.max_n_classes == n_classes
        and _are_acyclic(inner, left[inner], right[inner], tree.node_count)
        and _within(tree.feature[inner], tree.n_features)
    )


def _is_valid_boosting(model: HistGradientBoostingClassifier, n_classes: int) -> bool:
    if not hasattr(model, "_predictors"):
        return True
    n_trees = 1 if n_classes == 2 else n_classes
    if model._preprocessor is not None or model.n_trees_per_iteration_ != n_trees:
        return False
    if any(len(stage) != n_trees for stage in model._predictors):
        return False
    for predictor in (one for stage in model._predictors for one in stage):
        nodes = predictor.nodes
        inner = np.flatnonzero(nodes["is_leaf"] == 0)
        left, right = (
            nodes[side][inner].astype(np.int64) for side in ("left", "right")
        )
        if not (
            nodes.ndim == 1
            and len(nodes) >= 1
            and not nodes["is_categorical"].any()
            and _are_acyclic(inner, left, right, len(nodes))
            and _within(nodes["feature_idx"][inner], model.n_features_in_)
        ):
            return False
    return True


def _are_acyclic(
    nodes: np.ndarray, left: np.ndarray, right: np.ndarray, count: int
) -> bool:
    """Whether children have larger indices than their parents, so that paths end."""
    return all(
        bool((nodes < children).all() and (children < count).all())
        for children in (left, right)
    )


def _within(indices: np.ndarray, count: int) -> bool:
    return bool((indices >= 0).all() and (indices < count).all())


def _has_classes(model: BaseEstimator, n_classes: int) -> bool:
    n_outputs = getattr(model, "n_outputs_", 1)
    return bool(model.n_classes_ == n_classes and n_outputs == 1)


def _is_valid_ensemble(model: BaseEnsemble, n_classes: int) -> bool:
    return not hasattr(model, "estimators_") or _has_classes(model, n_classes)


def _is_valid_vectorizer(model: CountVectorizer, n_classes: int) -> bool:
    # Other parameters could read files, or match a pattern forever.
    expected = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4)).get_params()
    if type(model) is not TfidfVectorizer or model.get_params() != expected:
        return False
    if not hasattr(model, "vocabulary_"):
        return True
    indices = np.array(list(model.vocabulary_.values()), dtype=np.int64)
    return np.array_equal(np.sort(indices), np.arange(len(indices)))


def _is_valid_encoder(model: OneHotEncoder, n_classes: int) -> bool:
    if not hasattr(model, "categories_"):
        return True
    widths = []
    dropped = model._drop_idx_after_grouping
    if dropped is None:
        dropped = [None] * len(model.categories_)
    for categories, drop in zip(model.categories_, dropped, strict=True):
        is_sorted = categories.dtype.kind in "OU" or np.array_equal(
            np.unique(categories), categories, equal_nan=categories.dtype.kind == "f"
        )
        if categories.ndim != 1 or not is_sorted:
            return False
        if drop is not None and not (
            isinstance(drop, (int, np.integer)) and 0 <= drop < len(categories)
        ):
            return False
        widths.append(len(categories) - (drop is not None))
    return model._infrequent_enabled is False and widths == model._n_features_outs


_CHECKS: list[tuple[type, Callable[[Any, int], bool]]] = [
    (DecisionTreeClassifier, _is_valid_tree),
    (HistGradientBoostingClassifier, _is_valid_boosting),
    (BaseEnsemble, _is_valid_ensemble),
    (CountVectorizer, _is_valid_vectorizer),
    (OneHotEncoder, _is_valid_encoder),
]
