"""The benchmarks run, and compare equal trainings."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from benchmarks import (
    bins,
    boosting,
    candidates,
    datasets,
    losses,
    quality,
    real_sets,
    robust,
    shared_fits,
    which_L,
)
from benchmarks.speed import implementations, workloads
from benchmarks.speed.ratios import make_comparisons, time_call
from benchmarks.speed.scaling import scaling_exponent
from benchmarks.speed.workloads import Workload, make_data
from sk_anyloss.baselines import tuned_threshold
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


@pytest.mark.parametrize("benchmark", [losses, robust, which_L, real_sets, bins])
def test_benchmarks_on_many_datasets_run_and_resume(
    benchmark, folder, monkeypatch, capsys
):
    # Few settings of each: what is tested is that they run.
    monkeypatch.setattr(losses, "LRS", (0.05,))
    monkeypatch.setattr(robust, "SETTINGS", [{"hidden": (2,), "L": 73}])
    monkeypatch.setattr(which_L, "CONFIGURATIONS", [{"hidden": (2,)}])
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


def test_the_sign_test_finds_the_better_method():
    better, equivalent, worse = judge_many(np.full(20, 0.8), np.full(20, 0.7))
    assert better > 0.99
    assert equivalent + worse < 0.01


@pytest.mark.filterwarnings("ignore")
def test_quality_benchmark_runs(folder, monkeypatch, capsys):
    few = {name: quality.METRIC_FREE[name] for name in ("logistic", "BCE + SMOTE")}
    monkeypatch.setattr(quality, "METRIC_FREE", few)

    def small_methods(metric):
        search = quality.AnyLossClassifierCV(metric, hidden=[()], max_epochs=5)
        return {quality.ANYLOSS_CV: search}

    tuned = {quality.TUNED_HISTGB: quality.logistic}
    monkeypatch.setattr(quality, "classifiers_to_tune", lambda: tuned)
    monkeypatch.setattr(quality, "methods_for_metric", small_methods)
    arguments = ["--data", folder, "--output", folder / "results.csv", "--folds", 2]
    arguments += ["--metrics", "f1", "gmean"]
    options = quality.parse_options([str(word) for word in [*arguments, "--jobs", 1]])
    options.each = True
    table = quality.run_methods(options)
    quality.report(table, options)
    out = capsys.readouterr().out
    assert "f1, 2 data sets" in out
    assert "gmean, 2 data sets" in out
    assert "set1" in out
    # One method more: the results of the others are read again.
    options.methods = ["logistic", quality.ANYLOSS_CV]
    monkeypatch.setattr(quality, "fit_and_score", None)
    assert set(quality.run_methods(options)["method"]) == set(options.methods)
    quality.plot_ranks(table, folder / "quality.png")
    assert (folder / "quality.png").stat().st_size > 10_000


@pytest.mark.parametrize("metric", quality.METRICS)
@pytest.mark.parametrize("name", ["logistic", "HistGB"])
def test_shared_fits_decide_as_those_for_one_metric(name, metric):
    X, y = make_classification(300, 6, weights=[0.8], flip_y=0.1, random_state=0)
    make = quality.classifiers_to_tune()[f"{name}, tuned threshold"]
    proba = shared_fits.predict_once(make(), X[:200], y[:200], X[200:])
    alone = tuned_threshold(make(), metric, random_state=0).fit(X[:200], y[:200])
    decisions = shared_fits.decide(proba, y[:200], metric)
    np.testing.assert_array_equal(decisions, alone.predict(X[200:]))
    assert 0 < decisions.mean() < 1


@pytest.mark.filterwarnings("ignore")
def test_quality_benchmark_measures_times(folder, monkeypatch, capsys):
    search = quality.AnyLossClassifierCV(hidden=[()], max_epochs=5)
    models = {quality.ANYLOSS_CV: search}
    monkeypatch.setattr(quality, "methods_for_metric", lambda metric: models)
    monkeypatch.setattr(quality, "HistGB", quality.logistic)
    options = make_options(folder, "times.csv")
    quality.report_times(datasets.run_all(options, quality.time_dataset))
    assert "time of a default fit / GridSearchCV over L" in capsys.readouterr().out


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
