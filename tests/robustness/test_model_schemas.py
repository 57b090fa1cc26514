"""Model files whose schema was tampered with: nothing is called."""

import json

import pytest

from tests.robustness.stored import members_of, value, walk, write_members


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


def no_estimator(tree):
    return several(tree, kind="list") | {k: tree[k] for k in ("protocol",)}


def one_array_for_many(tree):
    """Sixty times the memory that the size of the file tells."""
    arrays = [node for node in walk(tree) if node["__loader__"] == "NdArrayNode"]
    array = next(node for node in arrays if "file" in node)
    more = [array | {"__id__": 10**6 + number} for number in range(60)]
    return replaced(tree, several(*more, kind="list"))


@pytest.mark.parametrize(
    "change",
    [
        nested(150),
        nested(400),
        shared,
        cycle,
        shadow,
        no_estimator,
        one_array_for_many,
    ],
)
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
