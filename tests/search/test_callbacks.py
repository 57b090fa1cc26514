"""Callbacks of scikit-learn 1.9 are told of candidates, and can end a search."""

import io
import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB

from sk_anyloss import AnyLossClassifierCV
from tests.recorder import Recorder

callback = pytest.importorskip("sklearn.callback")

CANDIDATES = [GaussianNB(), {"hidden": ()}, {"hidden": (), "L": 5}, {"hidden": (3,)}]


class Failing(LogisticRegression):
    def fit(self, X, y, sample_weight=None):
        raise ValueError("It cannot.")


def make(candidates=CANDIDATES, **params):
    options = {"cv": 2, "max_epochs": 5, "random_state": 0, **params}
    return AnyLossClassifierCV("f1", candidates=candidates, **options)


def test_every_candidate_is_a_task_and_does_not_change_the_search(imbalanced):
    recorder = Recorder()
    model = make().set_callbacks(recorder).fit(*imbalanced)
    assert recorder.tasks == [("fit", 4), *[("candidate", 0)] * 4]
    assert recorder.scores[-1] == model.score(*imbalanced)
    assert recorder.is_torn_down == 0
    X, _ = imbalanced
    expected = make().fit(*imbalanced).predict_proba(X)
    np.testing.assert_array_equal(model.predict_proba(X), expected)


@pytest.mark.parametrize("options", [{}, {"n_jobs": 2}, {"time_budget": 600}])
def test_a_callback_ends_the_search_with_what_it_has(imbalanced, options):
    model = make(**options).set_callbacks(Recorder(stop_at=2))
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)  # It was asked for.
        model.fit(*imbalanced)
    assert len(model.cv_results_["params"]) == 3
    assert pickle.loads(pickle.dumps(model)).score(*imbalanced) > 0


def test_in_two_steps_every_candidate_is_told_of_once():
    X, y = make_classification(1200, 5, class_sep=0.5, random_state=0)
    recorder = Recorder()
    make().set_callbacks(recorder).fit(X, y)
    assert recorder.tasks[1:] == [("candidate", 0)] * 4


def test_after_each_candidate_the_best_one_so_far_decides(imbalanced):
    X, y = imbalanced
    recorder = Recorder()
    candidates = [Failing(), GaussianNB(), {"hidden": (), "lr": 1e-9}]
    model = make(candidates).set_callbacks(recorder)
    with pytest.warns(UserWarning, match="It cannot"):
        model.fit(X, y)
    # There is nothing to score by after the first one.
    assert len(recorder.scores) == len(candidates)
    assert recorder.scores[0] == recorder.scores[1]


def test_a_search_does_not_end_before_a_candidate_can_be_used(imbalanced):
    model = make([Failing(), GaussianNB()]).set_callbacks(Recorder(stop_at=0))
    with pytest.warns(UserWarning, match="It cannot") as found:
        model.fit(*imbalanced)
    assert len(model.cv_results_["params"]) == 2
    assert found[0].filename == __file__


def test_callbacks_are_torn_down_when_a_search_fails(imbalanced):
    recorder = Recorder()
    with pytest.raises(ValueError, match="n_best"):
        make(n_best=0).set_callbacks(recorder).fit(*imbalanced)
    assert recorder.is_torn_down == 0


def test_a_progress_bar_is_drawn_and_passed_on_by_a_grid_search(imbalanced):
    rich = pytest.importorskip("rich")
    file = io.StringIO()
    rich.reconfigure(file=file, force_terminal=True, width=100)
    try:
        model = clone(make()).set_callbacks(callback.ProgressBar())
        model.fit(*imbalanced)
        outer = GridSearchCV(make(), {"n_best": [1, 2]}, cv=2)
        outer.set_callbacks(callback.ProgressBar()).fit(*imbalanced)
    finally:
        rich.reconfigure()
    assert "AnyLossClassifierCV - fit" in file.getvalue()
    assert "100%" in file.getvalue()
