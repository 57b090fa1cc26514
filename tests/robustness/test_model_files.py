"""Model files that are damaged, hold other members or come from other versions."""

import io
import json
import struct
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest

from tests.robustness.stored import members_of, npy, write_members


class Touch:
    """Unpickling it makes a file."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def pickled(members, canary):
    members[_first_array(members)] = npy(
        np.array([Touch(canary)], dtype=object), allow_pickle=True
    )


def bare_pickle(members, canary):
    import pickle

    members[_first_array(members)] = pickle.dumps(Touch(canary))


def huge_shape(members, canary):
    name = _first_array(members)
    header = members[name]
    # As many spaces less as there are digits more.
    shape = header[header.index(b"(") : header.index(b")") + 1]
    large = b"(%d,)" % 10**12
    padded = header.replace(shape + b", }" + b" " * (len(large) - len(shape)), b"")
    assert padded != header
    members[name] = header.replace(
        shape + b", }" + b" " * (len(large) - len(shape)), large + b", }"
    )


def nested_archive(members, canary):
    stream = io.BytesIO()
    np.savez(stream, np.zeros(3))
    members[_first_array(members)] = stream.getvalue()


def traversal(members, canary):
    members[f"../{canary.name}"] = b"1"


def absolute(members, canary):
    members[str(canary)] = b"1"


def no_facts(members, canary):
    del members["facts.json"]


def no_schema(members, canary):
    del members["schema.json"]


def no_array(members, canary):
    del members[_first_array(members)]


def empty_schema(members, canary):
    members["schema.json"] = b"{}"


def broken_json(members, canary):
    members["schema.json"] = members["schema.json"][:-10]


def deep_json(members, canary):
    members["facts.json"] = b"[" * 100_000


def bomb(members, canary):
    members["99999.npy"] = npy(np.zeros(2**24))  # 128 MB in 130 kB.


def _first_array(members):
    return min(name for name in members if name.endswith(".npy"))


@pytest.mark.parametrize(
    "change",
    [
        pickled, bare_pickle, huge_shape, nested_archive, traversal, absolute, no_facts,
        no_schema, no_array, empty_schema, broken_json, deep_json, bomb,
    ],
)  # fmt: skip
def test_members_that_no_model_has(change, honest, command, tmp_path):
    canary = tmp_path / "canary"
    members = members_of(honest["logistic_balanced"])
    change(members, canary)
    write_members(tmp_path / "m.skops", members)
    ended = command("predict", tmp_path / "m.skops", honest["data"])
    assert ended.says("m.skops", "is not a stored model")
    assert not canary.exists()


def truncated(content):
    return content[: len(content) // 2]


def other_text(content):
    return b"a,b,y\n1,2,no\n"


def nothing(content):
    return b""


def flipped(content):
    """One bit of an array, which the checksum tells."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        info = next(i for i in archive.infolist() if i.filename.endswith(".npy"))
    place = info.header_offset + 30 + len(info.filename) + info.compress_size // 2
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def lying_size(content):
    """A member of 1 GB that says it has 1,000 bytes, with their checksum."""
    inflated, declared = 2**30, 1000
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    block = bytes(2**20)
    packed = b"".join(packer.compress(block) for _ in range(inflated // len(block)))
    packed += packer.flush()
    stream = io.BytesIO(content)
    with zipfile.ZipFile(stream, "a") as archive:
        archive.writestr("99999.npy", packed)
    changed = bytearray(stream.getvalue())
    true = struct.pack("<LLL", zlib.crc32(packed), len(packed), len(packed))
    false = struct.pack("<LLL", zlib.crc32(bytes(declared)), len(packed), declared)
    for mark, kind, sizes in ((b"PK\x03\x04", 8, 14), (b"PK\x01\x02", 10, 16)):
        start = changed.rindex(mark)
        assert changed[start + sizes : start + sizes + 12] == true
        changed[start + kind] = zipfile.ZIP_DEFLATED
        changed[start + sizes : start + sizes + 12] = false
    return bytes(changed)


def repeated(content):
    stream = io.BytesIO(content)
    with zipfile.ZipFile(stream, "a") as archive, pytest.warns(match="Dup"):
        archive.writestr("facts.json", b"{}")
    return stream.getvalue()


@pytest.mark.parametrize(
    "change", [truncated, other_text, nothing, flipped, lying_size, repeated]
)
def test_archives_that_are_damaged_or_lie(change, honest, command, tmp_path):
    path = tmp_path / "m.skops"
    path.write_bytes(change(honest["logistic_balanced"].read_bytes()))
    tracemalloc.start()
    ended = command("predict", path, honest["data"])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert ended.says("m.skops", "is not a stored model")
    assert peak < 2**26


@pytest.mark.parametrize(
    ("entry", "new", "words"),
    [
        ("columns", 3, ["'columns'", "list"]),
        ("columns", ["a", 1, "c"], ["'columns'", "list"]),
        ("columns", ["a", "a"], ["'columns'"]),
        ("numbers", ["z"], ["'numbers'"]),
        ("classes", ["no", None], ["'classes'"]),
        ("classes", ["no", "no"], ["'classes'"]),
        ("classes", ["only"], ["'classes'", "1 labels"]),
        ("versions", "1.9", ["'versions'"]),
        ("versions", {}, ["version"]),
        ("format", 99, ["format", "99"]),
        ("format", "1", ["format"]),
        ("format", True, ["format"]),
        ("versions", {"scikit-learn": "99.1.0"}, ["scikit-learn 99.1.0", "--save"]),
    ],
)
def test_facts_of_other_types_and_versions(
    entry, new, words, honest, command, tmp_path
):
    members = members_of(honest["logistic_balanced"])
    facts = json.loads(members["facts.json"])
    members["facts.json"] = json.dumps({**facts, entry: new}).encode()
    write_members(tmp_path / "m.skops", members)
    ended = command("predict", tmp_path / "m.skops", honest["data"])
    assert ended.says("is not a stored model", *words)


@pytest.mark.filterwarnings("default")
def test_another_minor_version_is_told_of(honest, command, tmp_path):
    members = members_of(honest["logistic_balanced"])
    facts = json.loads(members["facts.json"])
    assert {"sk_anyloss", "numpy", "scipy", "skops"} <= set(facts["versions"])
    major = facts["versions"]["scikit-learn"].partition(".")[0]
    facts["versions"]["scikit-learn"] = f"{major}.999.0"
    members["facts.json"] = json.dumps(facts).encode()
    # What scikit-learn itself would tell of each part, should come once.
    schema = members["schema.json"].decode()
    now = json.dumps(json.dumps(facts_version(honest)))
    assert now in schema
    other = json.dumps(json.dumps(f"{major}.999.0"))
    members["schema.json"] = schema.replace(now, other).encode()
    write_members(tmp_path / "m.skops", members)
    ended = command("predict", tmp_path / "m.skops", honest["data"])
    assert ended.code == 0
    assert ended.out.startswith("label,score,threshold\n")
    assert f"scikit-learn {major}.999.0" in ended.err
    assert len(ended.err.splitlines()) == 1


def facts_version(honest):
    members = members_of(honest["logistic_balanced"])
    return json.loads(members["facts.json"])["versions"]["scikit-learn"]
