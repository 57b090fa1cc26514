"""One thread for a fit where torch keeps one number of threads for all."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
import threadpoolctl
import torch

from sk_anyloss.training import threads


class NoOpenMP(threadpoolctl.ThreadpoolController):
    """A platform whose threads cannot be limited for one Python thread."""

    def _load_libraries(self):
        self.lib_controllers = []


@pytest.fixture
def three_threads(monkeypatch):
    monkeypatch.setattr(threads, "_controller", NoOpenMP)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_the_last_of_several_gives_the_threads_back(three_threads):
    both_inside = threading.Barrier(2, timeout=30)

    def work(_):
        with threads.single_thread():
            both_inside.wait()
            return torch.get_num_threads()

    with ThreadPoolExecutor(2) as pool:
        assert set(pool.map(work, range(2))) == {1}
    assert torch.get_num_threads() == 3


def test_an_error_inside_gives_the_threads_back(three_threads):
    with pytest.raises(KeyError), threads.single_thread():
        raise KeyError
    assert torch.get_num_threads() == 3


def mkl_threads():
    found = re.search(
        r"mkl_get_max_threads\(\) : (\d+)", torch.__config__.parallel_info()
    )
    if found is None:
        pytest.skip("torch is built without MKL")
    return int(found[1])


def test_mkl_keeps_to_one_thread_after_torch_was_given_a_number():
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        torch.set_num_threads(2)
        with threads.single_thread():
            assert mkl_threads() == 1
        assert mkl_threads() == 2
    finally:
        torch.set_num_threads(before)
