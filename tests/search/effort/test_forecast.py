"""Times that shorter trainings foretell, by a clock that only fits move."""

import time

import pytest
from sklearn.datasets import make_classification
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from sk_anyloss import AnyLossClassifier
from sk_anyloss.estimators.stack import fit_stack
from sk_anyloss.search.effort import budget
from sk_anyloss.search.effort.budget import Clock, OutOfTimeError
from sk_anyloss.search.effort.forecast import (
    MarkEpochs,
    check_few_samples,
    seconds_of_epochs,
)
from sk_anyloss.search.fold_fits import run_trials
from sk_anyloss.search.trials import CrossValidationData


@pytest.fixture
def now(monkeypatch):
    """The time, in a list of one number."""
    now = [0.0]
    monkeypatch.setattr(budget.time, "perf_counter", lambda: now[0])
    return now


def fits(now, seconds_of):
    """A fit that takes time, and the numbers of samples that it was called with."""
    sizes = []

    def fit(n):
        sizes.append(n)
        now[0] += seconds_of(n)

    return fit, sizes


@pytest.mark.parametrize(
    ("seconds_of", "expected"),
    [
        (lambda n: n / 6400, [100]),  # Five folds take 5 s.
        (lambda n: 0.5 + n / 64e3, [100, 200, 400, 800, 1600]),  # They take 3 s.
    ],
    ids=["in proportion", "most of it fixed"],
)
def test_what_may_fit_into_the_time_is_not_dropped(seconds_of, expected, now):
    fit, sizes = fits(now, seconds_of)
    check_few_samples(Clock(10.0), fit, 6400, n_folds=5)
    assert sizes == expected


@pytest.mark.parametrize("of_a_fold", [10, 100, 1000])
def test_the_time_is_hardly_exceeded_however_long_a_fold_takes(of_a_fold, now):
    fit, sizes = fits(now, lambda n: of_a_fold * n / 6400)
    with pytest.raises(OutOfTimeError, match=f"by a fit on .* {10:.1f} s were left"):
        check_few_samples(Clock(10.0), fit, 6400, n_folds=5)
    assert now[0] < 16
    assert of_a_fold > 100 or now[0] < 10
    assert sizes[0] == 100


def test_nothing_is_tried_without_need(now):
    fit, sizes = fits(now, lambda n: 1.0)
    check_few_samples(Clock(), fit, 6400, n_folds=5)
    check_few_samples(Clock(0.1, is_first=True), fit, 6400, n_folds=5)
    check_few_samples(Clock(0.1), fit, 150, n_folds=5)  # Too few to try it.
    assert sizes == []


def test_a_fit_that_fails_on_few_samples_foretells_nothing():
    def fit(n):
        raise ValueError("n_neighbors must be smaller")

    check_few_samples(Clock(0.1), fit, 6400, n_folds=5)


def test_epochs_of_a_stack_are_counted_once_and_others_one_by_one():
    X, y = make_classification(300, 4, random_state=0)
    models = [AnyLossClassifier(max_epochs=2, callbacks=[MarkEpochs]) for _ in range(4)]
    for stack in (models[:2], models[2:3], models[3:]):
        fit_stack(stack, X, y)
    durations = [[e["dur"] for e in model.net_.history] for model in models]
    total = seconds_of_epochs(model.net_ for model in models)
    assert total > max(map(sum, durations[:2])) + sum(map(sum, durations[2:])) - 1e-3
    assert total < sum(map(sum, durations))


class Slow(GaussianNB):
    """A classifier whose time is what a clock says."""

    def fit(self, X, y, sample_weight=None):
        NOW[0] += len(X) / 50
        return super().fit(X, y, sample_weight)


NOW = [0.0]


def test_a_classifier_that_is_too_slow_is_dropped_before_its_first_fold(monkeypatch):
    monkeypatch.setattr(budget.time, "perf_counter", lambda: NOW[0])
    X, y = make_classification(6400, 4, random_state=0)
    data = CrossValidationData(X, y, list(StratifiedKFold(2).split(X, y)))
    base = AnyLossClassifier(random_state=0)
    (trial,) = run_trials(base, [{"estimator": Slow()}], data, time.time() + 30)
    assert trial.is_dropped
    assert NOW[0] < 30 < 3200 / 50
    (late,) = run_trials(base, [{"hidden": ()}], data, time.time() - 1)
    assert late.error == "Dropped: time was over before it was begun."
