"""Callbacks of scikit-learn 1.9 are told of every epoch, and can end a training."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from sk_anyloss import AnyLossClassifier
from tests.recorder import Recorder

callback = pytest.importorskip("sklearn.callback")


def make(**params):
    return AnyLossClassifier("f1", max_epochs=6, random_state=0, **params)


def test_every_epoch_is_a_task_and_does_not_change_the_fit(imbalanced):
    X, y = imbalanced
    recorder = Recorder()
    model = make().set_callbacks(recorder).fit(X, y)
    assert recorder.tasks == [("fit", 6), *[("epoch", 0)] * 6]
    assert recorder.scores[-1] == recorder.scores[-2] == model.score(X, y)
    assert recorder.is_torn_down == 0
    np.testing.assert_array_equal(
        model.predict_proba(X), make().fit(X, y).predict_proba(X)
    )


def test_a_callback_ends_the_training_and_is_no_part_of_the_model(imbalanced):
    X, y = imbalanced
    model = make().set_callbacks(Recorder(stop_at=2)).fit(X, y)
    assert model.n_iter_ == 3
    assert not any("scikit" in name for name, _ in model.net_.callbacks_)
    assert pickle.loads(pickle.dumps(model)).score(X, y) == model.score(X, y)


def test_several_starts_are_all_told(imbalanced):
    recorder = Recorder(stop_at=1)
    model = make(n_init=2).set_callbacks(recorder).fit(*imbalanced)
    assert recorder.tasks[0] == ("fit", 12)
    assert len(recorder.tasks) == 13
    assert model.n_iter_ == 6


def test_callbacks_are_torn_down_when_a_fit_fails(imbalanced):
    recorder = Recorder()
    model = make(lr=-1).set_callbacks(recorder)
    with pytest.raises(ValueError, match="lr"):
        model.fit(*imbalanced)
    assert recorder.is_torn_down == 0


def test_a_monitor_follows_the_metric_within_a_grid_search(imbalanced):
    monitor = callback.ScoringMonitor(scoring="f1")
    model = clone(make().set_callbacks(monitor))
    GridSearchCV(model, {"L": [5, 20]}, cv=2, refit=False).fit(*imbalanced)
    model.fit(*imbalanced)
    of_epochs = [row for row in monitor.get_logs().data if row["task_name"] == "epoch"]
    assert len(of_epochs) == 6
    assert of_epochs[-1]["f1"] == pytest.approx(model.score(*imbalanced))
