"""The benchmarks still run, and compare what is the same."""

import numpy as np
import pytest

from benchmarks import speed

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
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_slope():
    points = [{"value": n, "seconds": 1e-6 * n**1.5} for n in (1e4, 1e5, 1e6)]
    assert speed.slope(points) == pytest.approx(1.5)
