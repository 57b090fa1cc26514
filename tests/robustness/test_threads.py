"""Fits in several Python threads: the same models, and nothing left behind."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch
from sklearn.datasets import make_classification

from sk_anyloss import AnyLossClassifier, AnyLossClassifierCV

X, Y = make_classification(400, 6, weights=[0.8], random_state=0)


@pytest.fixture
def several_threads():
    """Torch with more than one thread, whatever the machine has."""
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield 3
    torch.set_num_threads(before)


def fit(seed):
    if seed % 4 == 3:
        model = AnyLossClassifierCV(hidden=[()], max_epochs=5, random_state=seed)
    else:
        model = AnyLossClassifier(max_epochs=20, random_state=seed)
    return model.fit(X, Y).decision_function(X)


def threads_seen_by_a_new_thread():
    seen = []
    thread = threading.Thread(target=lambda: seen.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    return seen[0]


def test_fits_in_threads_are_bitwise_those_one_after_another(several_threads):
    expected = [fit(seed) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(fit, range(8)))
    np.testing.assert_array_equal(found, expected)


def test_fits_in_threads_leave_the_number_of_threads_alone(several_threads):
    seen_meanwhile, done = set(), threading.Event()

    def watch():
        while not done.is_set():
            seen_meanwhile.add(torch.get_num_threads())

    watcher = threading.Thread(target=watch)
    watcher.start()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(fit, range(12)))
        seen_in_pool = set(pool.map(lambda _: torch.get_num_threads(), range(12)))
    done.set()
    watcher.join()
    assert torch.get_num_threads() == several_threads
    assert threads_seen_by_a_new_thread() == several_threads
    assert seen_in_pool == {several_threads}
    if torch.backends.openmp.is_available():
        assert seen_meanwhile == {several_threads}
