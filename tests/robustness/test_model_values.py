"""Model files with switches, sizes and indices that no honest model has."""

import io
import json
import subprocess
import sys

import numpy as np
import pytest

from sk_anyloss.compare.model_file import archive
from tests.robustness.stored import (
    members_of,
    npy,
    store,
    value,
    walk,
    write_members,
    write_text,
)


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


def test_json_in_json_that_would_fill_the_memory(honest, command, tmp_path):
    members = members_of(honest["logistic_balanced"])
    schema = json.loads(members["schema.json"])
    schema["content"]["content"]["verbose"] = value([])
    lists = "[" + "[]," * 1_500_000 + "[]]"
    escaped = lists.replace("[", r"\u005b").replace("]", r"\u005d")
    text = json.dumps(schema).replace('"content": "[]"', f'"content": "{escaped}"')
    assert escaped in text
    members["schema.json"] = text.encode()
    write_members(tmp_path / "m.skops", members)
    ended = command("predict", tmp_path / "m.skops", honest["data"])
    assert ended.says("is not a stored model", "schema.json")


def test_a_model_that_needs_more_than_the_limit(honest, command, monkeypatch):
    model, data = honest["histgb"], honest["data"]
    for limit, code in [(2**27, 0), (2**20, 2)]:
        monkeypatch.setattr(archive, "MAX_BYTES", limit)
        ended = command("predict", model, data)
        assert ended.code == code
    assert ended.says("is not a stored model", "bytes of memory")


def test_a_tree_whose_nodes_have_no_dimension(honest, tmp_path):
    members = members_of(honest["balanced_forest"])
    schema = json.loads(members["schema.json"])
    for tree in (node for node in walk(schema) if node["__class__"] == "Tree"):
        array = tree["content"]["content"]["nodes"]
        nodes = np.load(io.BytesIO(members[array["file"]]))
        members[array["file"]] = npy(nodes[0].reshape(()))
    write_members(tmp_path / "m.skops", members)
    words = [sys.executable, "-m", "sk_anyloss", "predict"]
    words += [str(tmp_path / "m.skops"), str(honest["data"])]
    # In a process of its own, since scikit-learn would end it.
    ended = subprocess.run(words, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "is not a stored model" in ended.stderr


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
