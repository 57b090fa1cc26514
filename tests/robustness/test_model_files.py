"""Model files that were tampered with, are damaged or come from other versions."""

import io
import json
import struct
import tracemalloc
import zipfile
import zlib

import numpy as np
import pandas as pd
import pytest

from sk_anyloss.compare import compare_tables, read_table

N_SAMPLES = 60
WORDS = np.array(["red", "green", "blue", "grey", "pink", "black", "white"])


def samples(n=N_SAMPLES):
    """Numbers that tell the classes apart, and the labels."""
    rng = np.random.default_rng(0)
    positive = np.arange(n) % 3 == 0
    frame = pd.DataFrame(rng.normal(size=(n, 2)).round(3), columns=["a", "b"])
    frame["a"] += 2 * positive
    return frame, np.where(positive, "yes", "no")


def store(folder, data, method, **options):
    """Compare one method, store it, and return the file."""
    table = read_table(data, "y", **options)
    found = compare_tables([table], methods=[method], folds=2, output=folder / "out")
    return found.save(folder / "out" / "m")


def write_csv(folder):
    frame, y = samples()
    path = folder / "data.csv"
    frame.assign(c=WORDS[np.arange(N_SAMPLES) % 2], y=y).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def honest(tmp_path_factory):
    """An honest file for each of two methods, and new samples."""
    folder = tmp_path_factory.mktemp("honest")
    found = {"data": write_csv(folder)}
    for method in ("logistic_balanced", "histgb", "balanced_forest"):
        found[method] = store(folder / method, found["data"], method)
    return found


def members_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def write_members(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def write_text(folder):
    """Samples with a column of text, which a vectoriser encodes."""
    frame, y = samples()
    words = [f"{WORDS[i % 2]} number {i} of many" for i in range(N_SAMPLES)]
    path = folder / "text.csv"
    frame.assign(c=words, y=y).to_csv(path, index=False)
    return path


def value(content):
    """A node that holds plain data."""
    return {
        "__class__": "str", "__module__": "builtins", "__loader__": "JsonNode",
        "content": json.dumps(content), "is_json": True,
    }  # fmt: skip


def node(loader, module, name, **more):
    return {"__loader__": loader, "__module__": module, "__class__": name, **more}


def several(*nodes, kind="tuple"):
    loader = {"tuple": "TupleNode", "list": "ListNode"}[kind]
    return node(loader, "builtins", kind, content=list(nodes))


def mapping(**nodes):
    keys = [node("TypeNode", "builtins", "str") for _ in nodes]
    content = {"content": nodes, "key_types": several(*keys, kind="list")}
    return node("DictNode", "builtins", "dict", **content)


def call(module, name, *arguments):
    """What skops makes an object of by calling it."""
    content = several(*map(value, arguments))
    return node("ConstructorFromReduceNode", module, name, content=content)


def os_system(canary):
    return node("FunctionNode", "posix", "system"), f"touch {canary}"


def partial(canary):
    system, line = os_system(canary)
    content = {
        "func": system, "args": several(value(line)), "kwds": mapping(),
        "namespace": value(None),
    }  # fmt: skip
    return node("PartialNode", "functools", "partial", content=content)


def key_type(canary):
    """The types of keys are called with the keys."""
    system, line = os_system(canary)
    found = mapping(**{line: value(1)})
    found["key_types"] = several(system, kind="list")
    return found


def method(canary):
    owner = node("ObjectNode", "pathlib", "Path", content=several(value(str(canary))))
    content = {"obj": owner, "func": "touch"}
    return node("MethodNode", "pathlib", "Path", content=content)


CALLS = {
    "runstring": lambda canary: call(
        "numpy.testing._private.utils", "runstring", f"open({str(canary)!r}, 'w')", {}
    ),
    "memmap": lambda canary: call("numpy", "memmap", str(canary), "uint8", "w+", 0, 9),
    "system": lambda canary: call("posix", "system", f"touch {canary}"),
    "open": lambda canary: call("io", "open", str(canary), "w"),
    "system as a type": lambda canary: node("TypeNode", "os", "system"),
    "system for a key": key_type,
    "partial": partial,
    "method": method,
    "methodcaller": lambda canary: node(
        "OperatorFuncNode", "operator", "methodcaller", attrs=several(value("touch"))
    ),
    "constructor of a loss": lambda canary: node(
        "LossNode",
        "io",
        "open",
        content=mapping(),
        __reduce__={"args": several(value(str(canary)), value("w"))},
    ),
    "scipy function": lambda canary: node("FunctionNode", "scipy.special", "expit"),
    "estimator that takes a function": lambda canary: node(
        "ObjectNode",
        "sklearn.preprocessing._function_transformer",
        "FunctionTransformer",
        content=mapping(func=value(None)),
    ),
    "array of another class": lambda canary: node(
        "NdArrayNode", "numpy", "void", type="numpy", file="1.npy"
    ),
    "old loader": lambda canary: node("FunctionNode", "os", "system", content={}),
    "no loader": lambda canary: {"__module__": "os", "__class__": "system"},
}


def replaced(tree, new):
    """A schema with one value of its pipeline replaced by a node."""
    attributes = tree["content"]["content"]
    assert "verbose" in attributes
    attributes["verbose"] = new
    return tree


def tampered(path, honest, change, method="logistic_balanced"):
    """A copy of an honest file, whose schema is changed."""
    members = members_of(honest[method])
    schema = json.loads(members["schema.json"])
    members["schema.json"] = json.dumps(change(schema) or schema).encode()
    write_members(path, members)
    return path


@pytest.mark.parametrize("kind", CALLS)
def test_a_model_file_calls_nothing(kind, honest, command, tmp_path):
    canary = tmp_path / "canary"
    change = lambda tree: replaced(tree, CALLS[kind](canary))  # noqa: E731
    path = tampered(tmp_path / "m.skops", honest, change)
    ended = command("predict", path, honest["data"])
    assert not canary.exists()
    assert ended.says("m.skops", "is not a stored model", "holds")
    assert not ended.out


def nested(depth):
    def change(tree):
        deep = value(1)
        for _ in range(depth):
            deep = several(deep)
        return replaced(tree, deep)

    return change


def shared(tree):
    """Each list holds the next one twice: 2**60 paths through 60 objects."""
    inner = several(value(1), kind="list") | {"__id__": 10**6}
    for number in range(10**6 + 1, 10**6 + 60):
        link = node("ListNode", "builtins", "list", content=[], __id__=number - 1)
        inner = several(inner, link, kind="list") | {"__id__": number}
    return replaced(tree, inner)


def cycle(tree):
    link = node("ListNode", "builtins", "list", content=[], __id__=10**6)
    return replaced(tree, several(link, kind="list") | {"__id__": 10**6})


def shadow(tree):
    """An attribute of the name of a method, which would be called instead of it."""
    tree["content"]["content"]["predict"] = node("TypeNode", "builtins", "str")
    key_types = tree["content"]["key_types"]["content"]
    key_types.append(node("TypeNode", "builtins", "str"))


@pytest.mark.parametrize("change", [nested(150), nested(400), shared, cycle, shadow])
def test_a_schema_that_is_no_tree_of_a_model(change, honest, command, tmp_path):
    path = tampered(tmp_path / "m.skops", honest, change)
    assert command("predict", path, honest["data"]).says("is not a stored model")


def test_a_schema_with_two_entries_of_one_name(honest, command, tmp_path):
    members = members_of(honest["logistic_balanced"])
    text = members["schema.json"].decode()
    members["schema.json"] = ('{"__class__": "str", ' + text[1:]).encode()
    write_members(tmp_path / "m.skops", members)
    ended = command("predict", tmp_path / "m.skops", honest["data"])
    assert ended.says("is not a stored model", "two entries")


def npy(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


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


def walk(tree):
    """All nodes of a schema."""
    if isinstance(tree, dict):
        if "__loader__" in tree:
            yield tree
        for part in tree.values():
            yield from walk(part)
    elif isinstance(tree, list):
        for part in tree:
            yield from walk(part)


def attribute(tree, class_name, name):
    """The nodes of an attribute of all objects of a class."""
    owners = [n for n in walk(tree) if n["__class__"] == class_name]
    assert owners
    return [
        n["content"]["content"][name] for n in owners if name in n["content"]["content"]
    ]


def rewrite(name, change):
    """Change the arrays of an attribute in place."""

    def tamper(members, schema, class_name):
        for array in attribute(schema, class_name, name):
            values = np.load(io.BytesIO(members[array["file"]]))
            change(values)
            members[array["file"]] = npy(values)

    return tamper


def far_child(nodes):
    nodes["left_child" if "left_child" in nodes.dtype.names else "left"][0] = 10**6


def circle(nodes):
    nodes["left_child" if "left_child" in nodes.dtype.names else "left"][0] = 0


def far_feature(nodes):
    nodes["feature" if "feature" in nodes.dtype.names else "feature_idx"][0] = 10**6


def widths(members, schema, class_name):
    """The encoder would write outside of its output."""
    for widths in attribute(schema, class_name, "_n_features_outs"):
        widths["content"] = [value(0)]


def outputs(members, schema, class_name):
    for tree in (n for n in walk(schema) if n["__class__"] == class_name):
        tree["__reduce__"]["args"]["content"][2] = value(10**6)


def put(name, new):
    """Give all objects of a class an attribute."""

    def tamper(members, schema, class_name):
        owners = [n for n in walk(schema) if n["__class__"] == class_name]
        assert owners
        for attributes in (owner["content"] for owner in owners):
            if name not in attributes["content"]:  # There is a list of their types too.
                types = attributes["key_types"]["content"]
                types.append(types[0])
            attributes["content"][name] = value(new)

    return tamper


@pytest.mark.parametrize(
    ("method", "class_name", "tamper"),
    [
        # It would read samples without looking at their number of columns.
        ("histgb", "HistGradientBoostingClassifier", put("_in_fit", True)),
        (
            "histgb",
            "HistGradientBoostingClassifier",
            put("n_trees_per_iteration_", 10**6),
        ),
        ("balanced_forest", "BalancedRandomForestClassifier", put("n_classes_", 10**6)),
        ("balanced_forest", "BalancedRandomForestClassifier", put("n_jobs", 50)),
        ("logistic_balanced", "LogisticRegression", put("n_jobs", 50)),
        ("logistic_balanced", "OneHotEncoder", put("_drop_idx_after_grouping", [0.5])),
        ("logistic_balanced", "TfidfVectorizer", put("input", "filename")),
        (
            "logistic_balanced",
            "TfidfVectorizer",
            put("token_pattern", "(?:(?:.|.)*)*x"),
        ),
        ("logistic_balanced", "TfidfVectorizer", put("ngram_range", [1, 10**6])),
    ],
)
def test_switches_and_sizes_that_no_honest_model_has(
    method, class_name, tamper, honest, command, tmp_path
):
    members = members_of(honest[method])
    schema = json.loads(members["schema.json"])
    if class_name == "TfidfVectorizer":
        path = store(tmp_path, write_text(tmp_path), method)
        members = members_of(path)
        schema = json.loads(members["schema.json"])
    tamper(members, schema, class_name)
    members["schema.json"] = json.dumps(schema).encode()
    write_members(tmp_path / "m.skops", members)
    ended = command("predict", tmp_path / "m.skops", honest["data"])
    assert ended.says("is not a stored model")


@pytest.mark.parametrize("name", ["facts.json", "schema.json"])
def test_json_that_would_fill_the_memory(name, honest, command, tmp_path):
    members = members_of(honest["logistic_balanced"])
    members[name] = b'{"a": [' + b"[]," * 11_000_000 + b"[]]}"
    write_members(tmp_path / "m.skops", members)
    ended = command("predict", tmp_path / "m.skops", honest["data"])
    assert ended.says("is not a stored model", name)


@pytest.mark.parametrize(
    ("method", "class_name", "tamper"),
    [
        ("balanced_forest", "Tree", rewrite("nodes", far_child)),
        ("balanced_forest", "Tree", rewrite("nodes", circle)),
        ("balanced_forest", "Tree", rewrite("nodes", far_feature)),
        ("balanced_forest", "Tree", outputs),
        ("histgb", "TreePredictor", rewrite("nodes", far_child)),
        ("histgb", "TreePredictor", rewrite("nodes", circle)),
        ("histgb", "TreePredictor", rewrite("nodes", far_feature)),
        ("logistic_balanced", "OneHotEncoder", widths),
    ],
)
def test_indices_that_compiled_code_would_follow(
    method, class_name, tamper, honest, command, tmp_path
):
    members = members_of(honest[method])
    schema = json.loads(members["schema.json"])
    tamper(members, schema, class_name)
    members["schema.json"] = json.dumps(schema).encode()
    write_members(tmp_path / "m.skops", members)
    ended = command("predict", tmp_path / "m.skops", honest["data"])
    assert ended.says("is not a stored model")
