"""Writing a stored model as ONNX, and comparing what it predicts."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from sk_anyloss.compare.errors import TableError
from sk_anyloss.compare.onnx_file.classifiers import ONNXError, add_classifier
from sk_anyloss.compare.onnx_file.graph import Graph
from sk_anyloss.compare.tables.table import Features, as_frame, to_numbers

if TYPE_CHECKING:
    from onnx import ModelProto

__all__ = ["TOLERANCE", "onnx_inputs", "to_onnx", "verify_onnx"]

#: Largest difference of a score in onnxruntime to that of the stored model.
TOLERANCE = 1e-5
#: Samples on which both are compared.
N_VERIFIED = 1000
#: Name of the node that chooses the class with the largest margin.
DECIDES = "decides"


def to_onnx(
    model: Pipeline, columns: Sequence[str], classes: Sequence[str]
) -> ModelProto:
    """A fitted pipeline of a comparison as a model of ONNX.

    Parameters
    ----------
    model : Pipeline
        Encoder, imputer and classifier, with networks as arrays.
    columns : sequence of str
        Names of the columns of the table.
    classes : sequence of str
        Labels of the classes.

    Returns
    -------
    model : ModelProto
        Its input is ``X`` of shape (n, n_columns) in single precision; with categories
        each column is an input of its own of shape (n, 1), of numbers or of text, in
        which a missing value is empty. Its outputs are ``label`` and ``scores``.
    """
    try:
        import onnx  # noqa: F401
        import skl2onnx  # noqa: F401
    except ImportError as error:
        raise TableError(
            "--onnx needs onnx, onnxruntime and skl2onnx: "
            "pip install onnx onnxruntime skl2onnx"
        ) from error
    g = Graph("sk_anyloss")
    try:
        encoder = model.named_steps.get("encoder")
        if encoder is None:
            x, n = g.cast(g.input("X", len(columns))), len(columns)
        else:
            x, n = _add_encoder(g, encoder)
        rest = Pipeline([step for step in model.steps if step[0] != "encoder"])
        found = add_classifier(g, rest, x, n)
    except ONNXError as error:
        raise TableError(
            f"The model cannot be written as ONNX: {error}; leave out --onnx, or save "
            "another method."
        ) from error
    place = g.add("ArgMax", found.margin, name=DECIDES, axis=1, keepdims=0)
    label = g.add("Gather", np.array(list(classes), dtype=object), place)
    return g.finish(
        {
            "label": (label, "STRING", ["n"]),
            "scores": (g.cast(found.scores, "FLOAT"), "FLOAT", ["n", len(classes)]),
        }
    )


def _add_encoder(g: Graph, encoder: Any) -> tuple[str, int]:
    """Columns as inputs: numbers as they are, categories with one column for each."""
    parts: list[str] = []
    n = 0
    for name in encoder.feature_names_in_:
        outputs = encoder.input_to_outputs_[name]
        transformer = encoder.transformers_.get(name)
        if not outputs:
            continue
        if isinstance(transformer, OneHotEncoder):
            parts.append(_add_categories(g, str(name), transformer))
        elif name in encoder.kind_to_columns_["numeric"]:
            parts.append(g.cast(g.input(str(name), 1)))
        else:
            kind = type(transformer).__name__
            raise ONNXError(
                f"the column {name!r} is encoded by {kind}, of which there is no ONNX "
                "form"
            )
        n += len(outputs)
    return g.add("Concat", *parts, axis=1), n


def _add_categories(g: Graph, name: str, encoder: OneHotEncoder) -> str:
    (categories,) = encoder.categories_
    texts = ["" if pd.isna(value) else str(value) for value in categories]
    value = g.input(name, 1, "STRING")
    known = g.add("Equal", value, np.array([texts], dtype=object))
    encoded = g.cast(known)
    dropped = None if encoder.drop_idx_ is None else encoder.drop_idx_[0]
    if dropped is None:
        return encoded
    kept = np.delete(np.arange(len(texts)), int(dropped))
    return g.add("Gather", encoded, kept, axis=1)


def onnx_inputs(model: ModelProto, X: Features) -> dict[str, np.ndarray]:
    """Samples as the inputs of a model of ONNX.

    Parameters
    ----------
    model : ModelProto
        From :func:`to_onnx`.
    X : DataFrame or ndarray of shape (n_samples, n_features)
        Samples.

    Returns
    -------
    inputs : dict of str to ndarray
        For ``InferenceSession.run``.
    """
    from onnx import TensorProto

    inputs = {i.name: i.type.tensor_type.elem_type for i in model.graph.input}
    if list(inputs) == ["X"] and "X" not in as_frame(X).columns:
        return {"X": to_numbers(X).astype(np.float32)}
    frame, found = as_frame(X), {}
    for name, kind in inputs.items():
        column = frame[name]
        if kind == TensorProto.STRING:
            text = column.astype(object).where(column.notna(), "").map(str)
            found[name] = text.to_numpy(object)[:, None]
        else:
            found[name] = to_numbers(column.to_frame()).astype(np.float32)
    return found


def verify_onnx(
    model: ModelProto, original: BaseEstimator, X: Features, classes: Sequence[str]
) -> float:
    """Compare the labels and scores of a model in onnxruntime with the original ones.

    Parameters
    ----------
    model : ModelProto
        From :func:`to_onnx`.
    original : Pipeline
        The stored model.
    X : DataFrame or ndarray of shape (n_samples, n_features)
        Samples. Label and scores must be those of the original for the sample as it
        is, or with its numbers rounded to single precision as the model in onnxruntime
        gets them: a number at a threshold of a tree may be rounded to its other side.
    classes : sequence of str
        Labels of the classes.

    Returns
    -------
    difference : float
        The largest one of a score to the nearer of the two; an error is raised if it is
        above 1e-5. Labels may differ where the margins of both are that close.
    """
    from onnx import TensorProto, helper

    # Set before the import, which otherwise looks a telemetry host up and stores an
    # identifier of the device in the home folder.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    from onnxruntime import InferenceSession

    some = X[:: -(-len(X) // N_VERIFIED)]
    with_margin = type(model)()
    with_margin.CopyFrom(model)
    (decides,) = (node for node in model.graph.node if node.name == DECIDES)
    shape: list[str | int | None] = ["n", len(classes)]
    with_margin.graph.output.append(
        helper.make_tensor_value_info(decides.input[0], TensorProto.DOUBLE, shape)
    )
    session = InferenceSession(
        with_margin.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    found, scores, margin = session.run(None, onnx_inputs(model, some))
    exact = some if "encoder" in original.named_steps else to_numbers(some)
    differences, others = [], []
    for given in (exact, _in_single_precision(some, original)):
        expected = np.asarray(original.predict_proba(given))
        differences.append(np.abs(scores - expected).max(axis=1))
        codes = np.asarray(original.predict(given)).astype(int)
        own = np.take_along_axis(margin, codes[:, None], axis=1)[:, 0]
        is_tie = own >= margin.max(axis=1) - TOLERANCE
        others.append((found != np.asarray(classes, dtype=object)[codes]) & ~is_tie)
    difference = float(np.minimum(*differences).max(initial=0.0))
    if not difference <= TOLERANCE:
        raise TableError(
            f"The model in ONNX differs by {difference:.2g} in a score, and at most "
            f"{TOLERANCE:g} is allowed; leave out --onnx, or save another method."
        )
    if n_others := int(np.logical_and(*others).sum()):
        raise TableError(
            f"The model in ONNX predicts another label for {n_others} of {len(some)} "
            "samples; leave out --onnx, or save another method."
        )
    return difference


def _in_single_precision(X: Features, model: BaseEstimator) -> Features:
    if "encoder" not in model.named_steps:
        return to_numbers(X).astype(np.float32).astype(float)
    assert isinstance(X, pd.DataFrame)
    floats = X.select_dtypes("float").columns
    return X.assign(**{name: X[name].astype(np.float32) for name in floats})
