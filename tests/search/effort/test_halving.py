"""Candidates that are dropped after one fold."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from sk_anyloss import AnyLossClassifierCV
from sk_anyloss.search import runner
from sk_anyloss.search.fold_fits import run_trials

#: Tolerances for the same models, weighed in the same way.
EXACT = {"rtol": 1e-12, "atol": 1e-12}
X, Y = make_classification(1200, 5, weights=[0.8], flip_y=0.02, random_state=0)
NETWORK = {"hidden": (), "lr": 1e-6, "max_epochs": 1}  # It learns nothing.
#: Uneven, so that the first fold of all is not the one with most training samples.
FOLDS = [
    (np.setdiff1d(np.arange(1200), test), test)
    for test in (np.arange(600), np.arange(600, 900), np.arange(900, 1200))
]


class FailsLater(LogisticRegression):
    """A classifier that fails unless it is trained on a given sample."""

    def fit(self, X, y, sample_weight=None):
        if not (FailsLater.needed == X).all(axis=1).any():
            raise ValueError("singular")
        return super().fit(X, y, sample_weight)


def search(*candidates, **params):
    params = {"cv": FOLDS, "random_state": 0, **params}
    return AnyLossClassifierCV(candidates=candidates, **params)


def test_a_candidate_that_is_clearly_behind_is_trained_on_one_fold_only(capsys):
    good, stump = LogisticRegression(), DecisionTreeClassifier(max_depth=1)
    model = search(NETWORK, good, GaussianNB(), verbose=1).fit(X, Y)
    (dropped,) = model.dropped_
    assert dropped[0].startswith("hidden=(), lr=1e-06")
    assert dropped[1] == "Dropped: after fold 1 of 3 it was clearly behind."
    assert np.isnan(model.scores_).all(axis=1).tolist() == [True, False, False]
    assert model.cv_results_["weight"][0] == 0
    assert "dropped" in capsys.readouterr().out
    # What remains is as if the other had not been there.
    alone = search(good, GaussianNB(), drop_early=False).fit(X, Y)
    found, expected = model.predict_proba(X), alone.predict_proba(X)
    np.testing.assert_allclose(found, expected, **EXACT)
    np.testing.assert_allclose(model.scores_[1:], alone.scores_, **EXACT)
    assert not search(good, stump, drop_early=False).fit(X, Y).cv_results_["error"][1]


def test_networks_are_tried_in_a_third_of_their_epochs(monkeypatch):
    begun, network = [], {"hidden": (), "max_epochs": 10}

    def note(base, candidates, data):
        begun.append((candidates[0].get("max_epochs"), len(data.folds)))
        return run_trials(base, candidates, data)

    monkeypatch.setattr(runner, "run_trials", note)
    model = search(network, LogisticRegression()).fit(X, Y)
    # Each fold of another classifier is a job by itself, which any process takes.
    assert begun == [(4, 1), (None, 1), (10, 3), (None, 1), (None, 1)]
    assert model.cv_results_["params"][0] == network
    monkeypatch.undo()
    # What is kept is as if nothing had been tried.
    whole = search(network, LogisticRegression(), drop_early=False).fit(X, Y)
    found, expected = model.predict_proba(X), whole.predict_proba(X)
    np.testing.assert_allclose(found, expected, **EXACT)


def test_what_is_dropped_does_not_depend_on_the_number_of_processes():
    candidates = NETWORK, LogisticRegression(), GaussianNB()
    one = search(*candidates).fit(X, Y)
    with parallel_config(backend="threading"):
        two = search(*candidates, n_jobs=2).fit(X, Y)
    assert one.dropped_ == two.dropped_
    np.testing.assert_array_equal(one.scores_, two.scores_)


def test_if_those_ahead_fail_later_the_others_are_trained_after_all():
    FailsLater.needed = X[950]  # Trained on in fold 1, tested by fold 2.
    with pytest.warns(UserWarning, match="1 of 2 candidates failed"):
        model = search(FailsLater(), NETWORK).fit(X, Y)
    assert "in fold 2 of 3" in model.cv_results_["error"][0]
    assert model.best_index_ == 1


@pytest.mark.parametrize(
    ("params", "n"),
    [({"drop_early": False}, 1200), ({}, 900), ({"time_budget": 60}, 1200)],
)
def test_nothing_is_dropped_from_few_samples_or_if_it_is_switched_off(params, n):
    cv = StratifiedKFold(2)
    model = search(NETWORK, LogisticRegression(), **{"cv": cv, **params})
    model.fit(X[:n], Y[:n])
    assert not np.isnan(model.scores_).any()


def test_drop_early_must_be_true_or_false():
    with pytest.raises(ValueError, match="drop_early must be True or False, got 2"):
        search(LogisticRegression(), drop_early=2).fit(X, Y)
