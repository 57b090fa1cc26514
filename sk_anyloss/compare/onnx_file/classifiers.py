"""Fitted classifiers as nodes of ONNX: networks here, others by skl2onnx."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from imblearn.ensemble import BalancedRandomForestClassifier, EasyEnsembleClassifier
from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from sk_anyloss.compare.onnx_file.graph import ML_OPSET, OPSET, Graph
from sk_anyloss.plain.classifier import PlainClassifier
from sk_anyloss.plain.network import NetworkArrays

__all__ = ["Decided", "ONNXError", "add_classifier"]

#: Activations by their names in :mod:`sk_anyloss.plain.network`.
ACTIVATIONS: dict[str, Callable[[Graph, str], str]] = {
    "gelu": lambda g, x: _gelu(g, x),
    "leaky_relu": lambda g, x: g.add("Max", x, g.add("Mul", x, _vector(0.01))),
    "relu": lambda g, x: g.add("Relu", x),
    "sigmoid": lambda g, x: g.add("Sigmoid", x),
    "silu": lambda g, x: g.add("Mul", x, g.add("Sigmoid", x)),
    "tanh": lambda g, x: g.add("Tanh", x),
}


#: Attributes of the nodes and of the leaves of ``TreeEnsembleRegressor``.
TREE_COLUMNS = (
    "nodes_treeids",
    "nodes_nodeids",
    "nodes_modes",
    "nodes_featureids",
    "nodes_values",
    "nodes_truenodeids",
    "nodes_falsenodeids",
    "nodes_missing_value_tracks_true",
)
LEAF_COLUMNS = ("target_treeids", "target_nodeids", "target_ids", "target_weights")


class ONNXError(ValueError):
    """Why a model has no form in ONNX."""


@dataclass(frozen=True)
class Decided:
    """Names of the values of a classifier.

    Parameters
    ----------
    scores : str
        Scores of shape (n, C).
    margin : str
        Of shape (n, C): the class with the largest one is predicted.
    """

    scores: str
    margin: str


def add_classifier(g: Graph, model: BaseEstimator, x: str, n: int) -> Decided:
    """Add the nodes of a fitted classifier.

    Parameters
    ----------
    g : Graph
        The graph.
    model : estimator
        Without parts that only training needs.
    x : str
        Features of shape (n_samples, n), in double precision.
    n : int
        Their number.

    Returns
    -------
    decided : Decided
        Scores and margins.
    """
    if isinstance(model, Pipeline):
        for _, step in model.steps[:-1]:
            x, n = _add_transformer(g, step, x, n)
        return add_classifier(g, model.steps[-1][1], x, n)
    if isinstance(model, PlainClassifier):
        return _add_plain(g, model, x, n)
    if isinstance(model, FixedThresholdClassifier):
        inner = add_classifier(g, model.estimator_, x, n)
        # From the threshold on, a sample is positive; argmax prefers the first class.
        below = np.nextafter(float(model.threshold), -np.inf)
        one = g.add("Sub", _column(g, inner.scores, 1), _vector(below))
        return Decided(inner.scores, _two(g, g.add("Neg", one), one))
    if isinstance(model, LogisticRegression):
        logits = g.add(
            "Add", g.add("MatMul", x, _double(model.coef_.T)), _double(model.intercept_)
        )
        if len(model.classes_) == 2:
            return _of_log_odds(g, logits)
        scores = g.add("Softmax", logits, axis=1)
        return Decided(scores, scores)
    if isinstance(model, EasyEnsembleClassifier):
        parts = [
            add_classifier(g, part, g.add("Gather", x, columns, axis=1), len(columns))
            for part, columns in zip(
                model.estimators_, model.estimators_features_, strict=True
            )
        ]
        total = parts[0].scores
        for part in parts[1:]:
            total = g.add("Add", total, part.scores)
        scores = g.add("Div", total, _vector(len(parts)))
        return Decided(scores, scores)
    if isinstance(model, HistGradientBoostingClassifier):
        return _add_boosting(g, model, x)
    scores = _by_skl2onnx(g, model, x, n)
    return Decided(scores, scores)


def _add_boosting(g: Graph, model: HistGradientBoostingClassifier, x: str) -> Decided:
    """Histogram gradient boosting: the sum of all leaves, and the baseline."""
    rows: dict[str, list[object]] = {name: [] for name in TREE_COLUMNS}
    leaves: dict[str, list[object]] = {name: [] for name in LEAF_COLUMNS}
    trees = [(k, tree) for stage in model._predictors for k, tree in enumerate(stage)]
    for number, (output, tree) in enumerate(trees):
        if tree.nodes["is_categorical"].any():
            raise ONNXError("its trees split by categories")
        for place, node in enumerate(tree.nodes):
            is_leaf = bool(node["is_leaf"])
            # Rounded as the samples are: thresholds are often values of samples, which
            # then stay on their side.
            threshold = np.float32(node["num_threshold"])
            values = (
                number, place, "LEAF" if is_leaf else "BRANCH_LEQ",
                0 if is_leaf else int(node["feature_idx"]),
                0.0 if is_leaf else float(threshold),
                0 if is_leaf else int(node["left"]),
                0 if is_leaf else int(node["right"]),
                int(node["missing_go_to_left"]),
            )  # fmt: skip
            for column, value in zip(rows.values(), values, strict=True):
                column.append(value)
            if is_leaf:
                leaf = number, place, output, float(node["value"])
                for column, value in zip(leaves.values(), leaf, strict=True):
                    column.append(value)
    n_outputs = model.n_trees_per_iteration_
    total = g.add(
        "TreeEnsembleRegressor", g.cast(x, "FLOAT"), domain="ai.onnx.ml",
        n_targets=n_outputs, post_transform="NONE", aggregate_function="SUM",
        **rows, **leaves,
    )  # fmt: skip
    baseline = _double(np.reshape(model._baseline_prediction, -1))
    log_odds = g.add("Add", g.cast(total), baseline)
    if n_outputs == 1:
        return _of_log_odds(g, log_odds)
    scores = g.add("Softmax", log_odds, axis=1)
    return Decided(scores, scores)


def _add_transformer(g: Graph, step: object, x: str, n: int) -> tuple[str, int]:
    if isinstance(step, str) or step is None:  # 'passthrough'
        return x, n
    if isinstance(step, SimpleImputer):
        kept = ~np.isnan(np.asarray(step.statistics_, dtype=float))
        if not kept.all():
            x = g.add("Gather", x, np.flatnonzero(kept), axis=1)
        values = _double(step.statistics_[kept])
        return g.add("Where", g.add("IsNaN", x), values, x), int(kept.sum())
    if isinstance(step, StandardScaler):
        if step.with_mean:
            x = g.add("Sub", x, _double(step.mean_))
        return (g.add("Div", x, _double(step.scale_)) if step.with_std else x), n
    raise ONNXError(f"there is no ONNX form of {type(step).__name__} here")


def _by_skl2onnx(g: Graph, model: BaseEstimator, x: str, n: int) -> str:
    """Probabilities of a classifier of scikit-learn, in single precision."""
    from skl2onnx import convert_sklearn
    from skl2onnx.common.data_types import FloatTensorType

    if isinstance(model, BalancedRandomForestClassifier):
        forest = RandomForestClassifier()  # It predicts in the same way.
        forest.__dict__.update(model.__dict__)
        model = forest
    try:
        converted = convert_sklearn(
            model,
            initial_types=[("X", FloatTensorType([None, n]))],
            options={"zipmap": False},
            target_opset={"": OPSET, "ai.onnx.ml": ML_OPSET},
        )
    except Exception as error:
        why = (str(error).splitlines() or [""])[0]
        raise ONNXError(
            f"skl2onnx cannot convert {type(model).__name__} ({why})"
        ) from error
    output = converted.graph.output[1].name
    return g.cast(g.embed(converted, g.cast(x, "FLOAT"), output))


def _add_plain(g: Graph, model: PlainClassifier, x: str, n: int) -> Decided:
    """The networks of an estimator of this package, and its other members."""
    is_multiclass = model.target_type_ == "multiclass"

    def probabilities(outputs: str, offset: np.ndarray | float) -> str:
        shifted = g.add("Sub", outputs, _double(np.atleast_1d(offset)))
        if is_multiclass:
            return g.add("Softmax", shifted, axis=1)
        return g.add("Sigmoid", shifted)

    weighted: list[tuple[str, float]] = []
    networks = zip(
        model.networks_, model.logit_thresholds_, model.network_weights_, strict=True
    )
    outputs = ""
    for arrays, offset, weight in networks:
        outputs = _add_network(g, arrays, x)
        weighted.append((probabilities(outputs, offset), float(weight)))
    others = getattr(model, "others_", [])
    for k, other in enumerate(others):
        scores = add_classifier(g, other, x, n).scores
        odds = g.add("Log", g.add("Max", scores, _vector(np.finfo(float).eps)))
        if not is_multiclass:
            odds = g.add("Sub", _column(g, odds, 1), _column(g, odds, 0))
        probability = probabilities(odds, model.other_thresholds_[k])
        weighted.append((probability, float(model.other_weights_[k])))
    if len(weighted) == 1 and not others:
        log_odds = g.add(
            "Sub", outputs, _double(np.atleast_1d(model.logit_thresholds_[0]))
        )
    else:
        total = ""
        for probability, weight in weighted:
            part = g.add("Mul", probability, _vector(weight))
            total = g.add("Add", total, part) if total else part
        least = np.finfo(float).tiny if is_multiclass else np.finfo(float).eps
        log_odds = g.add("Log", g.add("Max", total, _vector(least)))
        if not is_multiclass:
            rest = g.add("Max", g.add("Sub", _vector(1.0), total), _vector(least))
            log_odds = g.add("Sub", log_odds, g.add("Log", rest))
    offset = _double(np.atleast_1d(model.logit_threshold_))
    if is_multiclass:
        scores = g.add("Softmax", log_odds, axis=1)
        margin = g.add("Sub", g.add("LogSoftmax", log_odds, axis=1), offset)
        return Decided(scores, margin)
    if list(model.classes_)[-1] != model.pos_label_:
        raise ONNXError("its positive class is not the greater label")
    found = _of_log_odds(g, log_odds)
    one = g.add("Sub", log_odds, offset)
    return Decided(found.scores, _two(g, g.add("Neg", one), one))


def _add_network(g: Graph, arrays: NetworkArrays, x: str) -> str:
    """Logits of a network of shape (n, 1) or (n, C)."""
    if arrays["bin_features"] is not None:
        x = g.add("Gather", x, arrays["bin_features"].astype(np.int64), axis=1)
    if arrays["mean"] is not None:
        x = g.add("Sub", x, _double(arrays["mean"]))
    if arrays["scale"] is not None:
        x = g.add("Div", x, _double(arrays["scale"]))
    if arrays["bin_features"] is not None:
        x = g.add("Max", g.add("Min", x, _vector(1.0)), _vector(-1.0))
    layers = list(zip(arrays["weights"], arrays["biases"], strict=True))
    for k, (weight, bias) in enumerate(layers):
        if k > 0:
            if arrays["norms"]:
                norm = arrays["norms"][k - 1]
                scale = norm["weight"] / np.sqrt(norm["running_var"] + norm["eps"])
                x = g.add("Sub", x, _double(norm["running_mean"]))
                x = g.add("Add", g.add("Mul", x, _double(scale)), _double(norm["bias"]))
            x = ACTIVATIONS[arrays["activation"]](g, x)
        x = g.add("Add", g.add("MatMul", x, _double(weight.T)), _double(bias))
    return x


def _gelu(g: Graph, x: str) -> str:
    scaled = g.cast(g.add("Div", x, _vector(np.sqrt(2))), "FLOAT")
    erf = g.cast(g.add("Erf", scaled))  # Runtimes have it in single precision only.
    half = g.add("Mul", erf, _vector(0.5))
    return g.add("Mul", x, g.add("Add", half, _vector(0.5)))


def _of_log_odds(g: Graph, log_odds: str) -> Decided:
    """Two classes by the log-odds of the second one, of shape (n, 1)."""
    negative = g.add("Neg", log_odds)
    scores = _two(g, g.add("Sigmoid", negative), g.add("Sigmoid", log_odds))
    return Decided(scores, _two(g, negative, log_odds))


def _two(g: Graph, first: str, second: str) -> str:
    return g.add("Concat", first, second, axis=1)


def _column(g: Graph, value: str, place: int) -> str:
    return g.add("Gather", value, np.array([place]), axis=1)


def _double(array: object) -> np.ndarray:
    return np.asarray(array, dtype=np.float64)


def _vector(number: float) -> np.ndarray:
    return np.array([number], dtype=np.float64)
