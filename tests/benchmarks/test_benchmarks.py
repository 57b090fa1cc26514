"""The benchmarks run, and compare equal trainings."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from benchmarks import (
    bins,
    blends,
    boosting,
    candidates,
    datasets,
    embeddings,
    losses,
    real_sets,
    robust,
    which_L,
)
from benchmarks.recommendation import __main__ as recommendation
from benchmarks.speed import implementations, workloads
from benchmarks.speed.ratios import make_comparisons, time_call
from benchmarks.speed.scaling import scaling_exponent
from benchmarks.speed.workloads import Workload, make_data
from sk_anyloss.compare.verdict import judge_many
from tests.tolerances import SAME_MODEL

TINY = Workload(200, 4, 50, (3,), 2)
COMPARISONS = {comparison.baseline: comparison for comparison in make_comparisons()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("baseline", [name for name in COMPARISONS if name[0] != "5"])
def test_both_implementations_of_a_comparison_run(baseline):
    comparison = COMPARISONS[baseline]
    X, y = make_data(TINY)
    assert time_call(comparison.fit, TINY, X, y) > 0
    assert time_call(comparison.fit_baseline, TINY, X, y) > 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["settings", "folds", "seeds"])
def test_fifty_models_fit_in_a_stack_and_one_by_one(kind, monkeypatch):
    workload = Workload(200, 4, 100, (2,), 1)
    monkeypatch.setattr(workloads, "SMALL", workload)
    models, indices = implementations.fifty_models(kind)
    assert len(models) == 50
    assert indices is None or len(indices) == 50
    for fit in implementations.fit_fifty(kind):
        fit(workload, *make_data(workload))


def test_the_numpy_perceptron_equals_ours():
    workload = Workload(300, 4, 300, (), 20)
    X, y = make_data(workload)
    ours = implementations.fit_slp(workload, X, y)
    reference = implementations.fit_slp_numpy(workload, X, y)
    np.testing.assert_allclose(ours, reference, **SAME_MODEL)


def test_scaling_exponent():
    points = [{"value": n, "seconds": 1e-6 * n**1.5} for n in (1e4, 1e5, 1e6)]
    assert scaling_exponent(points) == pytest.approx(1.5)


@pytest.fixture
def folder(tmp_path):
    """Two small data sets."""
    for seed in (0, 1):
        X, y = make_classification(100, 4, weights=[0.8], random_state=seed)
        np.savez(tmp_path / f"set{seed}.npz", X=X, y=y)
    return tmp_path


def make_options(folder, output):
    arguments = ["--data", str(folder), "--folds", "2", "--jobs", "1"]
    return datasets.make_parser("", folder / output).parse_args(arguments)


def fast_trees(random_state):
    return GaussianNB()


@pytest.mark.parametrize(
    "benchmark", [losses, robust, which_L, real_sets, bins, embeddings]
)
def test_benchmarks_on_many_datasets_run_and_resume(
    benchmark, folder, monkeypatch, capsys
):
    # Few settings of each: what is tested is that they run.
    monkeypatch.setattr(losses, "LRS", (0.05,))
    monkeypatch.setattr(robust, "SETTINGS", [{"hidden": (2,), "L": 73}])
    monkeypatch.setattr(which_L, "CONFIGURATIONS", [{"hidden": (2,)}])
    monkeypatch.setattr(embeddings, "passes", lambda n_samples: 1)
    monkeypatch.setattr(embeddings, "HistGradientBoostingClassifier", fast_trees)
    options = make_options(folder, "results.csv")
    table = datasets.run_all(options, benchmark.run_dataset)
    assert table["set"].nunique() == 2
    assert table["score"].between(0, 1).all()
    benchmark.report(table, options)
    assert "2 data sets" in capsys.readouterr().out
    # Resumed with everything finished, nothing is run again.
    monkeypatch.setattr(benchmark, "run_dataset", None)
    resumed = datasets.run_all(options, benchmark.run_dataset)
    np.testing.assert_allclose(resumed["score"], table["score"])


def test_rules_are_compared_on_samples_that_the_comparison_has_not_seen(folder, capsys):
    X, y = make_classification(100, 3, n_redundant=0, weights=[0.7], random_state=2)
    words = pd.DataFrame(X).assign(word=np.where(X[:, 0] > 0, "up", None), target=y)
    (folder / "mixed").mkdir()
    words.to_csv(folder / "mixed" / "words.csv", index=False)
    arguments = [
        "--data", str(folder), "--mixed", str(folder / "mixed"),
        "--folds", "2", "--seeds", "1", "--jobs", "1", "--output", f"{folder}/out.csv",
        "--methods", "logistic", "logistic_balanced",
    ]  # fmt: skip
    options = recommendation.parse_options(arguments)
    files = recommendation.sizes(options)
    table = datasets.run_all(options, recommendation.run_dataset, files)
    assert sorted(table["set"].unique()) == ["set0", "set1", "words"]
    assert table["held_out"].between(0, 1).all()
    assert set(table["samples"]) == {70}
    recommendation.report(table)
    printed = capsys.readouterr().out
    assert "3 data sets" in printed
    (leader,) = (line for line in printed.splitlines() if line.startswith("leader"))
    assert "+0.0000" in leader


def test_other_data_sets_are_run_by_leaving_out_the_first(folder):
    options = make_options(folder, "results.csv")
    options.skip = 1
    table = datasets.run_all(options, lambda path, options: [{"score": 0.5}])
    assert list(table["set"]) == ["set1"]


@pytest.mark.filterwarnings("ignore")
def test_blends_are_evaluated_on_outputs_that_are_kept(folder, monkeypatch, capsys):
    trees = dict.fromkeys(blends.TREES, GaussianNB())
    monkeypatch.setattr(blends, "TREES", trees)
    options = make_options(folder, "blends.csv")
    options.skip, options.outputs = 1, folder / "outputs"
    options.sample, options.train_only = None, False
    table = datasets.run_all(options, blends.run_dataset)
    assert set(table["rule"]) == set(blends.RULES)
    assert table["score"].between(0, 1).all()
    blends.report(table)
    assert "HistGB less the default" in capsys.readouterr().out
    # Nothing is trained again for another look at the rules.
    monkeypatch.setattr(blends, "train_all", None)
    again = blends.run_dataset(folder / "set1.npz", options)
    np.testing.assert_allclose(
        [r["score"] for r in again], table["score"], rtol=1e-6, atol=0
    )


def test_the_sign_test_finds_the_better_method():
    better, equivalent, worse = judge_many(np.full(20, 0.8), np.full(20, 0.7))
    assert better > 0.99
    assert equivalent + worse < 0.01


@pytest.mark.filterwarnings("ignore")
def test_boosting_benchmark_runs(folder, capsys):
    arguments = ["--data", folder, "--output", folder / "b.csv", "--folds", 2]
    options = boosting.parse_options([str(word) for word in [*arguments, "--jobs", 1]])
    table = datasets.run_all(options, boosting.run_dataset)
    on_metric = table[table["method"] == boosting.METRIC_OBJECTIVE]
    assert on_metric["score"].between(0, 1).all()
    boosting.report(table, options)
    assert "lightgbm, f1, 2 data sets" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")
def test_candidates_benchmark_runs(folder, monkeypatch, capsys):
    monkeypatch.setitem(candidates.BASE, "max_epochs", 3)
    monkeypatch.setattr(candidates, "VARIANTS", {"silu": {"activation": "silu"}})
    options = make_options(folder, "candidates.csv")
    options.variants = True
    candidates.report(datasets.run_all(options, candidates.run_dataset))
    out = capsys.readouterr().out
    assert "default: the best 5" in out
    assert "silu" in out
