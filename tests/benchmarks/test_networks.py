"""The studies of networks: samples, methods, resumable results, tables."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
import torch
from numpy.testing import assert_allclose
from torch import nn

from benchmarks.networks.images import MODULES, Block, long_tail, one_against_rest
from benchmarks.networks.methods import METRIC_FREE, run_methods
from benchmarks.networks.picture import plot_surrogate
from benchmarks.networks.report import TABLES, minutes, print_report
from benchmarks.networks.store import run_tasks
from benchmarks.networks.studies import STUDIES


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
    names = ("cross-entropy", "AnyLossNet", "bare AnyLoss")
    found = run_methods(
        dict.fromkeys(names, ("f1",)), lambda: MODULES["cnn"](14), split, 0, 2, 0.01,
        100, ["cross-entropy"],
    )  # fmt: skip
    methods = [record["method"] for record in found]
    assert methods[:2] == ["cross-entropy", "cross-entropy, tuned"]


@pytest.mark.parametrize("side", [14, 28])
def test_resnet_has_residual_blocks_and_the_stated_size(side):
    torch.manual_seed(0)
    module = MODULES["resnet"](side)
    assert 50_000 < sum(p.numel() for p in module.parameters()) < 100_000
    assert MODULES["resnet"](side, 10)(torch.zeros(2, 1, side, side)).shape == (2, 10)
    for block in module.children():
        if isinstance(block, Block):  # Without its body, the shortcut is left.
            nn.init.zeros_(block.body[-1].weight)
    with torch.no_grad():
        blank = module(torch.zeros(1, 1, side, side))
        assert not torch.allclose(
            module(torch.randn(1, 1, side, side)), blank, rtol=0, atol=1e-4
        )


@pytest.mark.parametrize("study", ["table10", "surrogate", "collapse"])
def test_studies_run_with_the_resnet_and_print_their_tables(study, tmp_path, capsys):
    rng = np.random.default_rng(0)
    y = np.arange(1200) % 10
    X = rng.integers(0, 99, (1200, 28, 28), dtype=np.uint8)
    X[:, :10, :10] += (15 * y).astype(np.uint8)[:, None, None]
    (tmp_path / "images").mkdir()
    for name in ("mnist", "fashion_mnist"):
        np.savez(tmp_path / "images" / f"{name}.npz", X=X, y=y)
    sizes = {"samples": 150, "epochs": 2, "batch": 50}
    tasks = [task for task in STUDIES[study].tasks(True) if task["network"] == "resnet"]
    tasks = [task | sizes for task in tasks[:2]]
    run = partial(STUDIES[study].run, data=tmp_path)
    table = run_tasks(tasks, run, tmp_path / f"{study}.csv")
    n_fits = {"table10": 7, "surrogate": 18, "collapse": 4}[study]
    free = table["method"].isin(METRIC_FREE)
    tuned = table["method"].str.endswith("tuned")
    n_free = table.loc[free & ~tuned, "method"].nunique()
    n_metrics = table["metric"].nunique()
    assert len(table) == 2 * (n_fits + n_free * (n_metrics - 1) + n_metrics)
    assert table["score"].between(0, 1).all()
    print_report(study, tmp_path / f"{study}.csv")
    printed = capsys.readouterr().out
    assert f"{study}: 2 tasks, side 28" in printed
    assert "cross-entropy, tuned" in printed
    if study == "surrogate":
        plot_surrogate(table, tmp_path / "picture.png")
        assert (tmp_path / "picture.png").stat().st_size > 10_000


def test_soft_sets_run_criterion_by_criterion_and_stand_beside_the_published(
    tmp_path, capsys
):
    rng = np.random.default_rng(0)
    y = (np.arange(400) % 8 == 0).astype(int)
    (tmp_path / "large").mkdir()
    X = rng.normal(size=(400, 3)) + 2 * y[:, None]
    np.savez(tmp_path / "large" / "mammography.npz", X=X, y=y)
    study = STUDIES["soft_sets"]
    tasks = [task | {"epochs": 3} for task in study.tasks(False)[:10]]
    run = partial(study.run, data=tmp_path)
    table = run_tasks(tasks, run, tmp_path / "soft_sets.csv")
    assert table["method"].nunique() == 10
    found = TABLES["soft_sets"](table).loc["stratified"]
    assert found["published_f1"].notna().sum() == 6 + 1  # Table 1, and F2 and F3.
    cut = table.set_index("method")["balanced_accuracy"]
    assert_allclose(found["auroc_cut"], cut[found.index], rtol=0, atol=1e-12)
    print_report("soft_sets", tmp_path / "soft_sets.csv")
    assert "soft_sets: 1 tasks, epochs 3, patience 100" in capsys.readouterr().out


def test_time_of_a_fit_is_counted_once():
    table = pd.DataFrame([
        {"digit": 1, "method": method, "metric": metric, "seconds": 60.0}
        for method in ("cross-entropy", "cross-entropy, tuned", "AnyLossNet")
        for metric in ("f1", "f2")
    ])  # fmt: skip
    assert minutes(table) == 3


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


def test_collapsed_fits_are_counted_and_compared_task_by_task():
    table = pd.DataFrame([
        {"set": "mnist", "digit": digit, "network": "cnn", "seed": 0, "method": method,
         "score": score - 0.1 * digit, "collapsed": int(score < 0.5), "seconds": 1.0}
        for method, score in (("cross-entropy, tuned", 0.9), ("AnyLossNet", 0.4))
        for digit in range(3)
    ])  # fmt: skip
    found = TABLES["collapse"](table).loc["cnn", "mnist"]
    assert found["collapsed"].tolist() == [0, 3]
    differences = found.loc["AnyLossNet", ["minus_tuned", "std_error"]]
    assert_allclose(differences, [-0.5, 0], rtol=0, atol=1e-9)
