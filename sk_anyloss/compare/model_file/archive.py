"""Reading and writing the members of a model file, within limits on their sizes."""

from __future__ import annotations

import io
import json
import re
import zlib
from typing import Any, TypeAlias
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np

__all__ = ["JSONObject", "ModelFileError", "array_shape", "pack", "read_json", "unpack"]

#: A parsed JSON object, whose values are of any types until they are checked.
JSONObject: TypeAlias = dict[str, Any]
#: Names of the members of a model file; arrays have numbers.
MEMBER = re.compile(r"facts\.json|schema\.json|[0-9]{1,9}\.npy")
MAX_MEMBERS = 100_000
#: Bytes of memory for a model: those of its arrays, and ``JSON_FACTOR`` times those of
#: its JSON, which takes up to 30 times as many when it is parsed and skops reads it.
MAX_BYTES, JSON_FACTOR = 4 * 2**30, 32
#: Above ``FREE_BYTES``, unpacked members may be at most ``MAX_RATIO`` times as large
#: as the file: models reach 40, zip bombs 1,000.
FREE_BYTES, MAX_RATIO = 2**24, 100


class ModelFileError(ValueError):
    """Why a model file cannot be read or written: a clause without a full stop."""


def unpack(content: bytes) -> dict[str, bytes]:
    """Unpack the members of a model file.

    Sizes are checked in the directory of the archive before anything is unpacked, and
    again while it is unpacked: a member that is larger than declared is refused.

    Parameters
    ----------
    content : bytes
        The whole file.

    Returns
    -------
    members : dict of str to bytes
        Contents by name.

    Examples
    --------
    >>> from sk_anyloss.compare.model_file.archive import pack, unpack
    >>> unpack(pack({"facts.json": b"{}"}))
    {'facts.json': b'{}'}
    """
    try:
        with ZipFile(io.BytesIO(content)) as archive:
            infos = archive.infolist()
    except (BadZipFile, ValueError, OSError, NotImplementedError) as error:
        raise ModelFileError("it is not a complete zip archive") from error
    if len(infos) > MAX_MEMBERS:
        raise ModelFileError(
            f"it has {len(infos):,} members, and {MAX_MEMBERS:,} are allowed"
        )
    unpacked = needed = 0
    for info in infos:
        if not MEMBER.fullmatch(info.filename):
            raise ModelFileError(f"it has an unknown member {info.filename[:80]!r}")
        is_json = info.filename.endswith(".json")
        unpacked += info.file_size
        needed += info.file_size * (JSON_FACTOR if is_json else 1)
    if len({info.filename for info in infos}) < len(infos):
        raise ModelFileError("two of its members have the same name")
    if needed > MAX_BYTES:
        raise ModelFileError(
            f"it would need {needed:,} bytes of memory, and {MAX_BYTES:,} are allowed"
        )
    allowed = max(FREE_BYTES, MAX_RATIO * len(content))
    if unpacked > allowed:
        largest = max(infos, key=lambda info: info.file_size).filename
        raise ModelFileError(
            f"it would unpack to {unpacked:,} bytes, most of them in {largest}, and "
            f"{allowed:,} are allowed for a file of {len(content):,}"
        )
    if sum(info.compress_size for info in infos) > len(content):
        raise ModelFileError("its members overlap")
    return {info.filename: _inflate(content, info) for info in infos}


def _inflate(content: bytes, info: ZipInfo) -> bytes:
    """Unpack one member, and check its length and its checksum."""
    # zipfile stops at the declared size and does not report whether there is more.
    start = info.header_offset
    header = content[start : start + 30]
    if len(header) < 30 or header[:4] != b"PK\x03\x04":
        raise ModelFileError(f"its member {info.filename} is not at its offset")
    for offset in (26, 28):  # The lengths of the name and of the extra field.
        start += int.from_bytes(header[offset : offset + 2], "little")
    packed = content[start + 30 : start + 30 + info.compress_size]
    if info.compress_type == ZIP_STORED:
        data, complete = packed, True
    elif info.compress_type == ZIP_DEFLATED:
        inflater = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            data = inflater.decompress(packed, info.file_size + 1)
        except zlib.error as error:
            raise ModelFileError(f"its member {info.filename} is damaged") from error
        # With one more byte allowed, a member of the declared length has ended.
        complete = inflater.eof
    else:
        raise ModelFileError(f"its member {info.filename} has an unknown compression")
    if not complete or len(data) != info.file_size or zlib.crc32(data) != info.CRC:
        raise ModelFileError(
            f"its member {info.filename} does not have its declared size"
        )
    return data


def pack(members: dict[str, bytes], compression: int = ZIP_DEFLATED) -> bytes:
    """Pack members into a model file; the same bytes for the same members.

    Parameters
    ----------
    members : dict of str to bytes
        Contents by name.
    compression : int, default=ZIP_DEFLATED
        As for :class:`zipfile.ZipFile`.

    Returns
    -------
    content : bytes
        The whole file.

    Examples
    --------
    >>> from sk_anyloss.compare.model_file.archive import pack
    >>> pack({"facts.json": b"{}"})[:2]
    b'PK'
    """
    stream = io.BytesIO()
    with ZipFile(stream, "w") as archive:
        for name, data in members.items():
            # A fixed date, where zipfile would use the current time.
            info = ZipInfo(name, date_time=(1980, 1, 1, 0, 0, 0))
            info.compress_type = compression
            archive.writestr(info, data)
    return stream.getvalue()


def read_json(members: dict[str, bytes], name: str) -> JSONObject:
    """Parse a member in JSON, which must be an object with distinct names.

    Parameters
    ----------
    members : dict of str to bytes
        From :func:`unpack`.
    name : str
        Name of the member.

    Returns
    -------
    parsed : dict
        The object.

    Examples
    --------
    >>> from sk_anyloss.compare.model_file.archive import read_json
    >>> read_json({"facts.json": b'{"format": 2}'}, "facts.json")
    {'format': 2}
    """
    if name not in members:
        raise ModelFileError(
            f"it has no {name}, so another version or program wrote it; store the "
            "model again with compare --save"
        )
    try:
        parsed = json.loads(members[name], object_pairs_hook=_distinct)
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"its {name} cannot be parsed") from error
    if not isinstance(parsed, dict):
        raise ModelFileError(f"its {name} is not a JSON object")
    return parsed


def _distinct(pairs: list[tuple[str, object]]) -> JSONObject:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ModelFileError("an object in its JSON has two entries of one name")
    return found


def array_shape(name: str, data: bytes) -> tuple[int, ...]:
    """Shape of a ``.npy`` member, whose size must match its header.

    Parameters
    ----------
    name : str
        Name of the member, for messages.
    data : bytes
        Its content.

    Returns
    -------
    shape : tuple of int
        The shape in the header.

    Examples
    --------
    >>> import io
    >>> import numpy as np
    >>> from sk_anyloss.compare.model_file.archive import array_shape
    >>> stream = io.BytesIO()
    >>> np.save(stream, np.zeros((3, 2)))
    >>> array_shape("1.npy", stream.getvalue())
    (3, 2)
    """
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
        else:
            shape, _, dtype = np.lib.format.read_array_header_2_0(stream)
    except Exception as error:
        raise ModelFileError(f"its member {name} is not an array") from error
    if dtype.hasobject:
        raise ModelFileError(f"its member {name} holds pickled objects")
    expected = dtype.itemsize
    for length in shape:
        expected *= length
    if dtype.itemsize == 0 or min(shape, default=0) < 0:
        raise ModelFileError(f"its member {name} is not an array of numbers or text")
    if expected != len(data) - stream.tell():
        raise ModelFileError(
            f"its member {name} does not have the size of its shape {shape}"
        )
    return shape
