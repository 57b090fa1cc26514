"""Honest model files, and what is in them."""

import io
import json
import zipfile

import numpy as np
import pandas as pd

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


def npy(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def value(content):
    """A node that holds plain data."""
    return {
        "__class__": "str", "__module__": "builtins", "__loader__": "JsonNode",
        "content": json.dumps(content), "is_json": True,
    }  # fmt: skip
