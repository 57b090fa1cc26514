import time

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.metrics import f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB

from sk_anyloss import AnyLossClassifier
from sk_anyloss.estimators.labels import Labels
from sk_anyloss.estimators.stack import fit_stack
from sk_anyloss.search import fold_fits
from sk_anyloss.search.effort import budget
from sk_anyloss.search.fold_fits import run_trials
from sk_anyloss.search.members import outputs_of
from sk_anyloss.search.runner import Runner
from sk_anyloss.search.trials import CrossValidationData, Trial
from tests.tolerances import SAME_MODEL

X, Y = make_classification(150, 4, weights=[0.7], class_sep=2, random_state=0)
FOLDS = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, Y))
TEST = np.concatenate([test for _, test in FOLDS])
BASE = AnyLossClassifier(max_epochs=5, random_state=0)


DATA = CrossValidationData(X, Y, FOLDS)


def make_runner(metric="f1", **options):
    defaults = {
        "base": BASE,
        "tune_threshold": "auto",
        "n_jobs": None,
        "time_budget": None,
        "verbose": 0,
    }
    return Runner(
        DATA.out_of_fold(Labels.of(DATA.y), metric), **{**defaults, **options}
    )


def run(runner, *candidates):
    return runner.run(candidates, DATA)


def test_a_trial_is_the_candidate_fitted_on_each_fold():
    params = {"hidden": (3,), "L": 10, "lr": 0.05}
    (trial,) = run_trials(BASE, [params], DATA)
    for i, (train, test) in enumerate(FOLDS):
        alone = AnyLossClassifier(max_epochs=5, random_state=0, **params)
        alone.fit(X[train], Y[train])
        margins = np.split(trial.log_odds, len(FOLDS))[i]
        expected = alone.decision_function(X[test])
        np.testing.assert_allclose(margins, expected, rtol=1e-6, atol=1e-6)
        assert outputs_of(trial.models[i], X[test], Labels.of(Y)) == pytest.approx(
            margins
        )


def test_only_candidates_on_cross_entropy_get_a_tuned_threshold():
    on_metric, on_entropy, weighted = run(
        make_runner(),
        {"hidden": ()},
        {"hidden": (), "loss": "bce"},
        {"hidden": (), "loss": "bce", "class_weight": "balanced"},
    )
    assert on_metric.decision.offset == weighted.decision.offset == 0
    assert on_entropy.decision.offset != 0
    decided = on_entropy.decision.is_positive(on_entropy.log_odds)
    untuned = on_entropy.log_odds > 0
    assert f1_score(Y[TEST], decided) >= f1_score(Y[TEST], untuned)


@pytest.mark.parametrize(
    ("metric", "tune", "expected"),
    [
        ("f1", "auto", [False, True]),
        ("f1", True, [True, True]),
        ("f1", False, [False, False]),
        ("roc_auc", True, [False, False]),
        ("precision@recall>=0.8", "auto", [True, True]),
    ],
)
def test_which_thresholds_are_tuned(metric, tune, expected):
    runner = make_runner(metric, tune_threshold=tune)
    trials = [Trial({}, [], np.empty(0), 0.0), Trial({"loss": "bce"}, [], X[:0], 0.0)]
    assert [runner.tunes_threshold(trial) for trial in trials] == expected


def test_no_candidate_is_begun_after_the_time_budget(monkeypatch):
    clock = iter(range(0, 1000, 10))
    monkeypatch.setattr(budget.time, "perf_counter", lambda: next(clock))
    runner = make_runner(time_budget=5)
    with pytest.warns(UserWarning, match="time_budget=5 was over after 1 of 2"):
        trials = run(runner, {"hidden": ()}, {"hidden": (2,)})
    assert [trial.params["hidden"] for trial in trials] == [()]


class Slow(GaussianNB):
    """A classifier that takes its time."""

    def fit(self, X, y, sample_weight=None):
        time.sleep(0.2)
        return super().fit(X, y, sample_weight)


def test_a_slow_classifier_is_given_up_after_its_first_fold(capsys):
    runner = make_runner(time_budget=0.5, verbose=1)
    with pytest.warns(UserWarning, match="time_budget=0.5 was over after 1 of 2"):
        quick, slow = run(runner, {"estimator": GaussianNB()}, {"estimator": Slow()})
    assert not quick.error
    assert slow.is_dropped
    assert not slow.models
    assert "Dropped: after 1 of 3 folds" in slow.error
    assert "dropped" in capsys.readouterr().out


def test_the_first_classifier_is_never_given_up():
    (slow,) = run(make_runner(time_budget=0.01), {"estimator": Slow()})
    assert len(slow.models) == 3


def test_networks_are_trained_in_as_many_epochs_as_time_is_left(monkeypatch):
    def two_less(self, wanted, fixed, of_one):
        assert fixed > 0 < of_one
        return wanted - 2

    monkeypatch.setattr(budget.Clock, "epochs", two_less)
    (cut,) = run(make_runner(time_budget=100), {"hidden": (), "max_epochs": 6})
    assert cut.params["max_epochs"] == 4
    (alone,) = run(make_runner(), {"hidden": (), "max_epochs": 4})
    np.testing.assert_allclose(cut.log_odds, alone.log_odds, rtol=1e-6, atol=1e-6)


def test_a_candidate_that_fails_takes_no_other_with_it(capsys):
    runner = make_runner(verbose=1)
    with pytest.warns(UserWarning, match="1 of 3 candidates failed"):
        trials = run(runner, {"hidden": ()}, {"hidden": (), "lr": -1}, {"hidden": (2,)})
    assert [bool(trial.error) for trial in trials] == [False, True, False]
    assert "lr must be" in trials[1].error
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["f1", "failed", "f1"]


@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("can't allocate memory"), RuntimeError("no")]
)
def test_a_stack_too_large_for_the_memory_is_split(error, monkeypatch):
    candidates = [{"hidden": (3,), "lr": 0.01}, {"hidden": (3,), "lr": 0.1}]
    whole = run(make_runner(), *candidates)
    sizes = []

    def in_little_memory(models, X, y, **options):
        sizes.append(len(models))
        if len(models) > 2:
            raise error
        return fit_stack(models, X, y, **options)

    monkeypatch.setattr(fold_fits, "fit_stack", in_little_memory)
    if str(error) == "no":  # Nothing that a smaller stack would help with.
        with pytest.raises(ValueError, match="RuntimeError: no"):
            run(make_runner(), *candidates)
        return
    split = run(make_runner(), *candidates)
    assert sizes == [6, 3, 1, 2, 3, 1, 2]
    for one, other in zip(whole, split, strict=True):
        np.testing.assert_allclose(one.log_odds, other.log_odds, **SAME_MODEL)


def test_when_all_candidates_fail_the_reasons_are_the_error():
    with pytest.raises(ValueError, match="lr must be"):
        run(make_runner(), {"hidden": (), "lr": -1})
