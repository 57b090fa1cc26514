"""Model files: a fitted model and its metadata, in a file that runs no code.

A file is a zip archive of ``facts.json`` (:class:`Facts`), ``schema.json`` (the
objects, in the format of skops) and arrays in numpy's format. It is read in steps, each
of which uses only what the one before has checked: the archive (sizes), the metadata
(versions), the schema (names of types), skops, and the indices in the loaded objects.
"""

from __future__ import annotations

import io
import json
import warnings
from zipfile import ZIP_STORED, ZipFile

from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning

from sk_anyloss.compare.model_file.archive import (
    MAX_BYTES,
    JSONObject,
    ModelFileError,
    array_shape,
    pack,
    read_json,
    unpack,
)
from sk_anyloss.compare.model_file.bounds import check_bounds
from sk_anyloss.compare.model_file.facts import Facts
from sk_anyloss.compare.model_file.trusted import check_schema, trusted_names

__all__ = ["MAX_BYTES", "Facts", "ModelFileError", "dumps", "loads", "trusted_names"]


def dumps(facts: Facts, model: object) -> bytes:
    """Serialise a model; the same bytes for the same model.

    Parameters
    ----------
    facts : Facts
        Metadata of the model.
    model : object
        A fitted model of trusted types.

    Returns
    -------
    content : bytes
        The model file. It was loaded once, and is refused if that fails.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sk_anyloss.compare.model_file import Facts, dumps, loads
    >>> model = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> facts = Facts("logistic", ["x0"], ["x0"], ["0", "1"])
    >>> loads(dumps(facts, model))[1].predict([[2.0]])
    array([1])
    """
    import skops.io

    try:
        members = _renumber(skops.io.dumps(model))
    except Exception as error:
        raise ModelFileError(f"skops cannot store it ({_first_line(error)})") from error
    content = pack({"facts.json": facts.to_json(), **members})
    loads(content)
    return content


def loads(content: bytes) -> tuple[Facts, BaseEstimator]:
    """Load a model file.

    Parameters
    ----------
    content : bytes
        The whole file.

    Returns
    -------
    facts : Facts
        Metadata of the model.
    model : object
        The fitted model, of trusted types only.
    """
    members = unpack(content)
    facts = Facts.from_json(read_json(members, "facts.json"))
    try:
        model = _load_checked(members, len(facts.classes))
    except ModelFileError:
        raise
    except Exception as error:
        clause = facts.differences() or "its objects are damaged"
        raise ModelFileError(f"{clause} ({_first_line(error)})") from error
    if differences := facts.differences():
        warnings.warn(
            f"The predictions of the model may differ, since {differences}; store it "
            "again with compare --save.",
            UserWarning,
            stacklevel=2,
        )
    return facts, model


def _load_checked(members: dict[str, bytes], n_classes: int) -> BaseEstimator:
    import skops.io

    arrays = {name: data for name, data in members.items() if name.endswith(".npy")}
    shapes = {name: array_shape(name, data) for name, data in arrays.items()}
    # It is not kept, since skops parses it again.
    check_schema(read_json(members, "schema.json"), shapes)
    with warnings.catch_warnings():
        # It would be raised for every object; loads warns once.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        # Packed again, so that skops reads only what was checked.
        model = skops.io.loads(pack(members, ZIP_STORED), trusted=trusted_names())
    check_bounds(model, n_classes)
    if not (isinstance(model, BaseEstimator) and hasattr(model, "predict")):
        raise ModelFileError(f"it holds a {type(model).__name__}, which cannot predict")
    return model


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _renumber(content: bytes) -> dict[str, bytes]:
    """Members of a skops file, with IDs that are the same in every run.

    skops uses the addresses of objects in memory as IDs.
    """
    known: dict[object, JSONObject] = {}
    members: dict[str, bytes] = {}

    def visit(value: object) -> object:
        if isinstance(value, list):
            return [visit(part) for part in value]
        if not isinstance(value, dict):
            return value
        address = value.get("__id__")
        if address in known:
            # The same object again, which may differ in some IDs.
            return known[address]
        value = {key: visit(part) for key, part in value.items()}
        if value.get("__loader__") == "JsonNode":
            # The interpreter decides whether equal values are one object.
            value.pop("__id__", None)
        elif address is not None:
            known[address] = value
            value["__id__"] = len(known)
            if "file" in value:
                name = f"{len(known)}.npy"
                members[name] = archive.read(str(value["file"]))
                value["file"] = name
        return value

    with ZipFile(io.BytesIO(content)) as archive:
        schema = visit(json.loads(archive.read("schema.json")))
    return {"schema.json": json.dumps(schema).encode(), **members}
