"""The quality benchmark runs, resumes, and prints what is stored."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

from benchmarks.datasets import run_all
from benchmarks.quality import running, times
from benchmarks.quality.__main__ import parse_options
from benchmarks.quality.methods import (
    ANYLOSS_CV,
    GRID_SEARCH,
    METRIC_FREE,
    METRICS,
    TUNED_HISTGB,
    classifiers_to_tune,
    logistic,
)
from benchmarks.quality.picture import plot_ranks
from benchmarks.quality.report import (
    REFERENCE,
    keep_complete,
    report,
    scores_by_dataset,
)
from benchmarks.quality.shared_fits import decide, predict_once
from sk_anyloss import AnyLossClassifierCV
from sk_anyloss.baselines import tuned_threshold

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def folder(tmp_path):
    """Two small data sets."""
    for seed in (0, 1):
        X, y = make_classification(100, 4, weights=[0.8], random_state=seed)
        np.savez(tmp_path / f"set{seed}.npz", X=X, y=y)
    return tmp_path


def small_searches(metric):
    return {ANYLOSS_CV: AnyLossClassifierCV(metric, hidden=[()], max_epochs=5)}


@pytest.fixture
def few_methods(monkeypatch):
    few = {name: METRIC_FREE[name] for name in ("logistic", "BCE + SMOTE")}
    monkeypatch.setattr(running, "METRIC_FREE", few)
    monkeypatch.setattr(running, "methods_for_metric", small_searches)
    tuned = {TUNED_HISTGB: logistic}
    monkeypatch.setattr(running, "classifiers_to_tune", lambda: tuned)


def options_for(folder, *more):
    words = ["--data", folder, "--output", folder / "small.csv", "--jobs", 1, *more]
    return parse_options([str(word) for word in words])


@pytest.mark.usefixtures("few_methods")
def test_it_runs_resumes_and_prints_what_is_stored(folder, monkeypatch, capsys):
    options = options_for(folder, "--metrics", "f1", "gmean", "--each")
    table = running.run_methods(options)
    report(table, options)
    printed = capsys.readouterr().out
    for part in ("f1, 2 data sets", "gmean, 2 data sets", "set1", "furthest"):
        assert part in printed
    # A choice among the methods: results are read again, not computed.
    options.methods = ["logistic", ANYLOSS_CV, TUNED_HISTGB]
    monkeypatch.setattr(running, "outer_folds", None)
    assert set(running.run_methods(options)["method"]) == set(options.methods)
    assert set(running.read_stored(options)["method"]) == set(options.methods)
    options.methods = None
    report(running.read_stored(options), options)
    assert capsys.readouterr().out == printed
    plot_ranks(table, folder / "quality.png")
    assert (folder / "quality.png").stat().st_size > 10_000


def test_nothing_stored_is_an_error(tmp_path):
    with pytest.raises(SystemExit, match="No results in"):
        running.read_stored(options_for(tmp_path))


def results(scores):
    """Two data sets, one fold: a score of each method on each, or of the first."""
    records = [
        {
            "set": f"set{i}",
            "fold": 0,
            "method": method,
            "metric": "f1",
            "score": score,
            "seconds": 6.0 if method == ANYLOSS_CV else 2.0,
            "failed": "",
        }
        for method, values in scores.items()
        for i, score in enumerate(values)
    ]
    return pd.DataFrame(records)


def test_losses_are_told_and_incomplete_methods_left_out(folder, capsys):
    scores = {
        ANYLOSS_CV: [0.7, 0.8],
        REFERENCE: [0.75, 0.805],
        TUNED_HISTGB: [0.6, 0.81],
        "BCE": [0.9],
    }
    report(results(scores), options_for(folder))
    printed = capsys.readouterr().out
    assert "left out: BCE, which has results on 1 of 2 sets" in printed
    assert f"best: set0 -0.050 ({REFERENCE}), set1 -0.010 ({TUNED_HISTGB})" in printed
    assert f"more than 0.01 behind {REFERENCE}: set0 -0.050\n" in printed
    # Seconds of shared fits are not those of a search that a user fits.
    assert "time of a default fit" not in printed
    report(results(scores), options_for(folder, "--common"))
    printed = capsys.readouterr().out
    assert "all methods have results on 1 of them" in printed
    assert "best: set0 -0.200 (BCE)\n" in printed


def test_methods_or_data_sets_without_results_are_left_out():
    scores = scores_by_dataset(results({ANYLOSS_CV: [0.7, 0.8], "BCE": [0.9]}), "f1")
    assert list(keep_complete(scores)) == [ANYLOSS_CV]
    assert keep_complete(scores, common=True).shape == (1, 2)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("name", ["logistic", "HistGB"])
def test_shared_fits_decide_as_those_for_one_metric(name, metric):
    X, y = make_classification(300, 6, weights=[0.8], flip_y=0.1, random_state=0)
    make = classifiers_to_tune()[f"{name}, tuned threshold"]
    if name == "HistGB":
        make = partial(make, max_iter=10)
    proba = predict_once(make(), X[:200], y[:200], X[200:])
    alone = tuned_threshold(make(), metric, random_state=0).fit(X[:200], y[:200])
    decisions = decide(proba, y[:200], metric)
    np.testing.assert_array_equal(decisions, alone.predict(X[200:]))
    assert 0 < decisions.mean() < 1


def test_it_measures_times(folder, monkeypatch, capsys):
    monkeypatch.setattr(times, "methods_for_metric", small_searches)
    monkeypatch.setattr(times, "HistGB", logistic)
    options = options_for(folder, "--methods", ANYLOSS_CV, TUNED_HISTGB, GRID_SEARCH)
    times.report_times(run_all(options, times.time_dataset))
    assert f"time of a default fit / {GRID_SEARCH}" in capsys.readouterr().out
