"""AnyLossClassifier: one model from one seed, on any threads and by any gradient."""

import numpy as np
import pytest
import torch
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.datasets import make_classification
from skorch.callbacks import Callback

from tests.estimators.fits import fit
from tests.tolerances import SAME_MODEL


def test_the_same_seed_gives_the_same_model_bit_by_bit(imbalanced):
    X, y = imbalanced
    one = fit(X, y, early_stopping=True).predict_proba(X)
    torch.manual_seed(0)  # The global generators are not read.
    np.random.seed(0)  # noqa: NPY002
    two = fit(X, y, early_stopping=True).predict_proba(X)
    assert (one == two).all()
    assert (fit(X, y, random_state=1).predict_proba(X) != one).any()


@pytest.mark.parametrize("seed", [0, None])
def test_global_generators_are_not_moved(seed, imbalanced, untouched_generators):
    X, y = imbalanced
    fit(X, y, early_stopping=True, random_state=seed, max_epochs=2).predict(X)


def test_random_state_instances_move_on(imbalanced):
    X, y = imbalanced
    shared = np.random.RandomState(0)
    first, second = (fit(X, y, random_state=shared).decision_function(X) for _ in "ab")
    assert (first != second).any()
    again = fit(X, y, random_state=np.random.RandomState(0)).decision_function(X)
    assert (first == again).all()


def test_threads_do_not_change_the_model():
    X = np.random.default_rng(0).normal(size=(20_000, 10))
    y = X[:, 0] + X[:, 1] > 2
    threads = torch.get_num_threads()
    models = []
    try:
        for n in (1, 2):
            torch.set_num_threads(n)
            models.append(fit(X, y, max_epochs=2, hidden=(16,)).decision_function(X))
    finally:
        torch.set_num_threads(threads)
    assert (models[0] == models[1]).all()


class Threads(Callback):
    """Notes on how many threads an epoch ran."""

    def initialize(self):
        self.seen_ = set()
        return self

    def on_epoch_end(self, net, **kwargs):
        self.seen_.add(torch.get_num_threads())


def threads_of_a_fit(seed):
    """During a fit, and behind it, where there were two before."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        X, y = make_classification(200, 5, random_state=seed)
        model = fit(X, y, max_epochs=2, callbacks=[("threads", Threads())])
        return dict(model.net_.callbacks_)["threads"].seen_, torch.get_num_threads()
    finally:
        torch.set_num_threads(before)


def test_a_fit_runs_on_one_thread_and_gives_the_others_back():
    assert threads_of_a_fit(0) == ({1}, 2)
    jobs = Parallel(n_jobs=2)(delayed(threads_of_a_fit)(seed) for seed in range(2))
    assert jobs == [({1}, 2)] * 2


@pytest.mark.parametrize("params", [{}, {"batch_norm": False}, {"hidden": (3, 2)}])
def test_a_full_batch_in_pieces_is_the_same_model(params, imbalanced, monkeypatch):
    X, y = imbalanced
    weight = np.random.default_rng(0).random(300)
    settings = {"batch_size": 1.0, "max_epochs": 30, "lr": 0.05, **params}
    whole = fit(X, y, sample_weight=weight, **settings)
    monkeypatch.setattr("sk_anyloss.training.data.stacked_batches.CHUNK_SIZE", 100)
    pieces = fit(X, y, sample_weight=weight, **settings)
    np.testing.assert_allclose(
        whole.decision_function(X), pieces.decision_function(X), **SAME_MODEL
    )


def test_the_fast_way_and_autograd_give_one_model_after_a_full_fit(imbalanced):
    X, y = imbalanced
    fast = fit(X, y, random_state=0)
    slow = clone(fast)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "sk_anyloss.training.net.supports", lambda module, criterion: False
        )
        patch.setattr("sk_anyloss.training.batch_steps.supports", lambda *parts: False)
        slow.fit(X, y)
    assert fast.net_.has_closed_form()
    assert not slow.net_.has_closed_form()
    np.testing.assert_allclose(
        fast.decision_function(X), slow.decision_function(X), **SAME_MODEL
    )
