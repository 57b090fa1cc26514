"""The benchmarks still run, and compare what is the same."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from benchmarks import (
    candidates,
    losses,
    quality,
    real_sets,
    robust,
    sets,
    speed,
    which_L,
)
from sk_anyloss.compare.verdict import judge_many
from tests.tolerances import SAME_MODEL

TINY = speed.Work(200, 4, 50, (3,), 2)
PAIRS = {race.against: race for race in speed.races()}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("against", [name for name in PAIRS if name[0] != "5"])
def test_both_sides_of_a_race_run(against):
    race = PAIRS[against]
    X, y = speed.data(TINY)
    assert speed.seconds(race.fit, TINY, X, y) > 0
    assert speed.seconds(race.other, TINY, X, y) > 0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["settings", "folds", "seeds"])
def test_fifty_fits_two_ways(kind, monkeypatch):
    monkeypatch.setattr(speed, "SMALL", speed.Work(200, 4, 100, (2,), 1))
    models, rows = speed.many(kind)
    assert len(models) == 50
    assert rows is None or len(rows) == 50
    for fit in speed.stack(kind):
        fit(speed.SMALL, *speed.data(speed.SMALL))


def test_the_perceptron_by_hand_is_ours():
    work = speed.Work(300, 4, 300, (), 20)
    X, y = speed.data(work)
    ours, theirs = speed.fit_slp(work, X, y), speed.fit_slp_numpy(work, X, y)
    np.testing.assert_allclose(ours, theirs, **SAME_MODEL)


def test_slope():
    points = [{"value": n, "seconds": 1e-6 * n**1.5} for n in (1e4, 1e5, 1e6)]
    assert speed.slope(points) == pytest.approx(1.5)


@pytest.fixture
def folder(tmp_path):
    """Two small data sets."""
    for seed in (0, 1):
        X, y = make_classification(100, 4, weights=[0.8], random_state=seed)
        np.savez(tmp_path / f"set{seed}.npz", X=X, y=y)
    return tmp_path


@pytest.mark.parametrize("benchmark", [losses, robust, which_L, real_sets])
def test_benchmarks_on_many_sets_run_and_resume(benchmark, folder, monkeypatch, capsys):
    # Few settings of each: what is tested is that they run.
    monkeypatch.setattr(losses, "LRS", (0.05,))
    monkeypatch.setattr(robust, "SETTINGS", [{"hidden": (2,), "L": 73}])
    monkeypatch.setattr(which_L, "CONFIGURATIONS", [{"hidden": (2,)}])
    output = folder / "results.csv"
    options = sets.parser("", output).parse_args(
        ["--data", str(folder), "--folds", "2", "--jobs", "1"]
    )
    table = sets.run(options, benchmark.run_set)
    assert table["set"].nunique() == 2
    assert table["score"].between(0, 1).all()
    benchmark.report(table, options)
    assert "2 sets" in capsys.readouterr().out
    monkeypatch.setattr(benchmark, "run_set", None)  # Nothing is left to run.
    again = sets.run(options, benchmark.run_set)
    np.testing.assert_allclose(again["score"], table["score"])


def test_the_sign_test_tells_who_is_better():
    better, alike, worse = judge_many(np.full(20, 0.8), np.full(20, 0.7))
    assert better > 0.99
    assert alike + worse < 0.01


@pytest.mark.filterwarnings("ignore")
def test_the_benchmark_of_quality_runs(folder, monkeypatch, capsys):
    few = {name: quality.PLAIN[name] for name in ("logistic", "BCE + SMOTE")}
    monkeypatch.setattr(quality, "PLAIN", few)

    def small(metric):
        search = quality.AnyLossClassifierCV(metric, hidden=[()], max_epochs=5)
        others = quality.tuned_threshold(quality.logistic())
        return {quality.OURS: search, quality.TUNED_HISTGB: others}

    monkeypatch.setattr(quality, "aimed", small)
    words = ["--data", folder, "--output", folder / "results.csv", "--folds", 2]
    options = quality.options([str(word) for word in [*words, "--jobs", 1]])
    table = sets.run(options, quality.run_set)
    quality.report(table, options)
    out = capsys.readouterr().out
    assert "f1, 2 sets" in out
    assert "gmean, 1 sets" in out
    assert "time of a default fit" in out
    quality.picture(table, folder / "quality.png")
    assert (folder / "quality.png").stat().st_size > 10_000


@pytest.mark.filterwarnings("ignore")
def test_the_times_of_the_searches(folder, monkeypatch, capsys):
    small = quality.AnyLossClassifierCV(hidden=[()], max_epochs=5)
    others = quality.tuned_threshold(quality.logistic())
    models = {quality.OURS: small, quality.TUNED_HISTGB: others}
    monkeypatch.setattr(quality, "aimed", lambda metric: models)
    options = sets.parser("", folder / "times.csv").parse_args(
        ["--data", str(folder), "--folds", "2", "--jobs", "1"]
    )
    quality.times(sets.run(options, quality.time_set))
    assert "time of a default fit / GridSearchCV over L" in capsys.readouterr().out


@pytest.mark.filterwarnings("ignore")
def test_the_benchmark_of_candidates_runs(folder, monkeypatch, capsys):
    monkeypatch.setitem(candidates.BASE, "max_epochs", 3)
    monkeypatch.setattr(candidates, "VARIANTS", {"silu": {"activation": "silu"}})
    options = sets.parser("", folder / "candidates.csv").parse_args(
        ["--data", str(folder), "--folds", "2", "--jobs", "1"]
    )
    options.variants = True
    candidates.report(sets.run(options, candidates.run_set))
    out = capsys.readouterr().out
    assert "default: the best 5" in out
    assert "silu" in out
