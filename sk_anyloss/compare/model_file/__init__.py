"""Model files: a fitted model and what is known of it, in a file that runs no code.

A file is a zip archive of ``facts.json`` (:class:`Facts`), of ``schema.json`` (the
objects, in the form of skops) and of arrays in numpy's format. Reading goes from the
outside in, and each step works on what the one before has let through: the archive
(sizes), the facts (versions), the schema (names), then skops, then the indices in what
it has made.
"""

from __future__ import annotations

import io
import json
import warnings
from typing import Any
from zipfile import ZIP_STORED, ZipFile

from sklearn.exceptions import InconsistentVersionWarning

from sk_anyloss.compare.model_file.archive import (
    MAX_BYTES,
    ModelFileError,
    array_shape,
    pack,
    read_json,
    unpack,
)
from sk_anyloss.compare.model_file.contents import check_contents
from sk_anyloss.compare.model_file.facts import Facts
from sk_anyloss.compare.model_file.trusted import check_schema, trusted_names

__all__ = ["MAX_BYTES", "Facts", "ModelFileError", "dumps", "loads", "trusted_names"]


def dumps(facts: Facts, model: object) -> bytes:
    """A model file; the same bytes for the same model.

    Parameters
    ----------
    facts : Facts
        What is known of the model.
    model : object
        Fitted, of trusted types.

    Returns
    -------
    content : bytes
        It can be read again: what could not is refused.
    """
    import skops.io

    try:
        members = _numbered(skops.io.dumps(model))
    except Exception as error:
        raise ModelFileError(f"skops cannot store it ({_first_line(error)})") from error
    content = pack({"facts.json": facts.to_json(), **members})
    loads(content)
    return content


def loads(content: bytes) -> tuple[Facts, Any]:
    """What a model file holds.

    Parameters
    ----------
    content : bytes
        All of the file.

    Returns
    -------
    facts : Facts
        What is known of the model.
    model : object
        Of trusted types only.
    """
    members = unpack(content)
    facts = Facts.from_json(read_json(members, "facts.json"))
    try:
        model = _load_checked(members)
    except ModelFileError:
        raise
    except Exception as error:
        clause = facts.differences() or "its objects are damaged"
        raise ModelFileError(f"{clause} ({_first_line(error)})") from error
    if differences := facts.differences():
        warnings.warn(
            f"The model may predict otherwise than it did, since {differences}; store "
            "it again with compare --save.",
            UserWarning,
            stacklevel=2,
        )
    return facts, model


def _load_checked(members: dict[str, bytes]) -> Any:
    import skops.io

    schema = read_json(members, "schema.json")
    arrays = {name: data for name, data in members.items() if name.endswith(".npy")}
    check_schema(
        schema, {name: array_shape(name, data) for name, data in arrays.items()}
    )
    with warnings.catch_warnings():
        # It would come for each part; one of ours is enough.
        warnings.simplefilter("ignore", InconsistentVersionWarning)
        # Packed anew, since only what was checked should be read.
        model = skops.io.loads(pack(members, ZIP_STORED), trusted=trusted_names())
    check_contents(model)
    return model


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]


def _numbered(content: bytes) -> dict[str, bytes]:
    """Members of a file of skops, with numbers that do not change from run to run.

    skops numbers objects by their addresses in memory.
    """
    known: dict[int, dict[str, Any]] = {}
    members: dict[str, bytes] = {}

    def visit(value: Any) -> Any:
        if isinstance(value, list):
            return [visit(part) for part in value]
        if not isinstance(value, dict):
            return value
        address = value.get("__id__")
        if address in known:
            # The same object, written once more with some numbers changed.
            return known[address]
        value = {key: visit(part) for key, part in value.items()}
        if value.get("__loader__") == "JsonNode":
            # Whether two equal values are one object is up to the interpreter.
            value.pop("__id__", None)
        elif address is not None:
            known[address] = value
            value["__id__"] = len(known)
            if "file" in value:
                name = f"{len(known)}.npy"
                members[name] = archive.read(value["file"])
                value["file"] = name
        return value

    with ZipFile(io.BytesIO(content)) as archive:
        schema = visit(json.loads(archive.read("schema.json")))
    return {"schema.json": json.dumps(schema).encode(), **members}
