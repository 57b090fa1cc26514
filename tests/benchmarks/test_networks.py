"""The studies of networks: samples, methods, resumable results, tables."""

import numpy as np
import pandas as pd
import torch

from benchmarks.networks.images import MODULES, long_tail, one_against_rest
from benchmarks.networks.methods import run_methods
from benchmarks.networks.report import TABLES
from benchmarks.networks.store import run_tasks


def test_parts_are_disjoint_and_have_their_class_frequencies(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 255, (3000, 28, 28), dtype=np.uint8)
    np.savez(tmp_path / "images.npz", X=X, y=np.arange(3000) % 10)
    path = tmp_path / "images.npz"
    split = one_against_rest(path, 14, 3, 300, 20, seed=0)
    assert split.X.shape == (300, 1, 14, 14)
    assert split.y.sum() == 14
    # Whole samples: one more or less.
    assert abs(split.y_test.mean() - split.y.mean()) <= 1 / 300
    seen = {image.tobytes() for image in split.X}
    assert not seen & {image.tobytes() for image in split.X_test}
    tail = long_tail(path, 14, 60, 10, seed=0)
    assert sorted(np.bincount(tail.y))[::9] == [6, 60]
    found = run_methods(
        ["cross-entropy", "AnyLossNet", "bare AnyLoss"], lambda: MODULES["cnn"](14),
        split, "f1", 0, 2, 0.01, 100, ["cross-entropy"],
    )  # fmt: skip
    methods = [record["method"] for record in found]
    assert methods[:2] == ["cross-entropy", "cross-entropy, tuned"]
    assert MODULES["resnet"](14, 10)(torch.zeros(2, 1, 14, 14)).shape == (2, 10)


def test_finished_tasks_are_not_run_again(tmp_path):
    calls = []

    def run(task):
        calls.append(task["seed"])
        return [{"method": "a", "score": 0.5, "collapsed": 0, "seconds": 1.0}]

    cells = {"network": "cnn", "set": "mnist"}
    for n in (1, 2):
        tasks = [{**cells, "seed": seed} for seed in range(n)]
        table = run_tasks(tasks, run, tmp_path / "study.csv")
    assert calls == [0, 1]
    assert len(TABLES["collapse"](table)) == 1
    pd.testing.assert_frame_equal(table, pd.read_csv(tmp_path / "study.csv"))
