"""Indices in a loaded model: compiled code follows them without looking.

The arrays of a tree, the vocabulary of a vectoriser and the categories of an encoder
say where scikit-learn's and scipy's compiled code reads and writes. In a file that was
tampered with they may point outside of the memory of an array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from sk_anyloss.compare.model_file.archive import ModelFileError

__all__ = ["check_contents"]


def check_contents(model: object) -> None:
    """Refuse a loaded model whose parts could lead compiled code astray.

    Parameters
    ----------
    model : object
        Made of trusted types, without cycles.
    """
    for part in _parts(model):
        for name in getattr(part, "__dict__", ()):
            if callable(getattr(type(part), name, None)):
                raise ModelFileError(
                    f"{name!r} takes the place of a method of {_name(part)}"
                )
        for kind, is_sound in _CHECKS:
            if isinstance(part, kind) and not _holds(is_sound, part):
                raise ModelFileError(f"indices in {_name(part)} are out of bounds")


def _name(part: object) -> str:
    return f"a {type(part).__name__}"


def _holds(is_sound: Callable[[Any], bool], part: object) -> bool:
    try:
        return is_sound(part)
    except (TypeError, ValueError, AttributeError, LookupError):  # Other types.
        return False


def _parts(value: Any) -> Iterator[object]:
    """An object and all that it holds."""
    yield value
    inner: list[Any] = []
    if isinstance(value, dict):
        inner += [*value.keys(), *value.values()]
    elif isinstance(value, (list, tuple)):
        inner += value
    elif isinstance(value, np.ndarray) and value.dtype.hasobject:
        inner += value.ravel().tolist()
    inner += getattr(value, "__dict__", {}).values()
    for part in inner:
        # Types and functions come from modules, not from the file.
        if not isinstance(part, (str, int, float, type, FunctionType)):
            yield from _parts(part)


def _is_sound_tree(model: DecisionTreeClassifier) -> bool:
    if not hasattr(model, "tree_"):  # What others were cloned from.
        return True
    tree = model.tree_
    left, right = tree.children_left, tree.children_right
    inner = np.flatnonzero(left != -1)
    return (
        tree.capacity == tree.node_count >= 1
        and tree.n_features == model.n_features_in_
        and _go_down(inner, left[inner], right[inner], tree.node_count)
        and _within(tree.feature[inner], tree.n_features)
    )


def _is_sound_boosting(model: HistGradientBoostingClassifier) -> bool:
    if not hasattr(model, "_predictors"):
        return True
    if model._preprocessor is not None:
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
            and _go_down(inner, left, right, len(nodes))
            and _within(nodes["feature_idx"][inner], model.n_features_in_)
        ):
            return False
    return True


def _go_down(
    nodes: np.ndarray, left: np.ndarray, right: np.ndarray, count: int
) -> bool:
    """Whether children come after their parents, so that every path ends."""
    return all(
        bool((nodes < children).all() and (children < count).all())
        for children in (left, right)
    )


def _within(indices: np.ndarray, count: int) -> bool:
    return bool((indices >= 0).all() and (indices < count).all())


def _is_sound_vectorizer(model: CountVectorizer) -> bool:
    if not hasattr(model, "vocabulary_"):
        return True
    indices = np.array(list(model.vocabulary_.values()), dtype=np.int64)
    return np.array_equal(np.sort(indices), np.arange(len(indices)))


def _is_sound_encoder(model: OneHotEncoder) -> bool:
    if not hasattr(model, "categories_"):
        return True
    widths = []
    dropped = model._drop_idx_after_grouping
    if dropped is None:
        dropped = [None] * len(model.categories_)
    for categories, drop in zip(model.categories_, dropped, strict=True):
        in_order = categories.dtype.kind in "OU" or np.array_equal(
            np.unique(categories), categories, equal_nan=categories.dtype.kind == "f"
        )
        if categories.ndim != 1 or not in_order:
            return False
        if drop is not None and not 0 <= drop < len(categories):
            return False
        widths.append(len(categories) - (drop is not None))
    return model._infrequent_enabled is False and widths == model._n_features_outs


_CHECKS: list[tuple[type, Callable[[Any], bool]]] = [
    (DecisionTreeClassifier, _is_sound_tree),
    (HistGradientBoostingClassifier, _is_sound_boosting),
    (CountVectorizer, _is_sound_vectorizer),
    (OneHotEncoder, _is_sound_encoder),
]
