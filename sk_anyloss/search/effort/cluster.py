"""Results of joblib, which end with an error where a Dask cluster has lost workers.

joblib leaves it to Dask to repeat the fits of a lost worker, and waits without end for
fits that Dask does not repeat.
"""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterable
from concurrent.futures import CancelledError
from typing import Any

from joblib import Parallel
from joblib.parallel import get_active_backend

__all__ = ["LostWorkersError", "results_of"]

#: Seconds between two looks at the cluster.
INTERVAL = 0.5
#: Seconds to wait for workers where joblib is told not to wait for any.
WAIT = 10.0


class LostWorkersError(RuntimeError):
    """A Dask cluster has lost workers and does not go on."""


def results_of(parallel: Parallel, jobs: Iterable[Any]) -> Generator[Any]:
    """Results of jobs, as joblib gives them.

    Parameters
    ----------
    parallel : Parallel
        With ``return_as='generator'`` or ``'generator_unordered'``.
    jobs : iterable
        What it is called with.

    Yields
    ------
    result : object
        As soon as it is there. An error is raised where samples are lost with a worker,
        or where after a loss no worker has computed anything for the
        ``wait_for_workers_timeout`` of joblib's backend.
    """
    backend, _ = get_active_backend()
    seconds = getattr(backend, "wait_for_workers_timeout", None) or WAIT
    client: Any = getattr(backend, "client", None)
    ended, waiting, given_up = (threading.Event() for _ in range(3))

    def watch(workers: set[str]) -> None:
        lost, left = False, seconds
        while not ended.wait(INTERVAL):
            found, is_busy = _look(client)
            lost, workers = lost or not workers <= found, workers | found
            idle = lost and not is_busy and waiting.is_set()
            left = left - INTERVAL if idle else seconds
            if left <= 0:
                given_up.set()
                parallel.timeout = 0  # joblib then gives up what is pending.
                return

    if client is not None:
        # Those of now, since one may be lost before the thread looks.
        workers, _ = _look(client)
        threading.Thread(target=watch, args=(workers,), daemon=True).start()
    results = None
    try:
        results = parallel(jobs)
        while True:
            waiting.set()
            result = next(results, results)
            waiting.clear()
            if result is results:
                return
            yield result
    except Exception as error:
        if given_up.is_set() or isinstance(error, CancelledError):
            raise LostWorkersError(
                "The Dask cluster has lost workers, and with them samples or fits that "
                "it does not repeat; fit again. If lost workers come back after more "
                f"than {seconds:g} s, wait longer for them, by "
                "parallel_config('dask', wait_for_workers_timeout=...)."
            ) from error
        raise
    finally:
        ended.set()
        if results is not None:
            results.close()


def _look(client: Any) -> tuple[set[str], bool]:
    """Addresses of the workers, and whether any of them computes."""
    try:
        return set(client.nthreads()), any(client.processing().values())
    except Exception:  # The scheduler does not answer.
        return set(), False
