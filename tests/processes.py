"""Run a function in several processes that are connected by torch.distributed."""

import multiprocessing
import os
import pickle
import sys
import time
import traceback
from contextlib import contextmanager
from datetime import timedelta

#: Seconds after which processes that wait for each other are given up.
TIMEOUT = 120
#: What the processes need, imported once for all of them; optimisers of torch import
#: its compiler, which takes longer than the tests.
PRELOADED = [
    "pytest",
    "torch._dynamo",
    "torch.nn.parallel",
    "torch.distributed.fsdp",
    "sk_anyloss.training.net",
]


def run_in_processes(size, function, *args, folder, timeout=TIMEOUT):
    """Results of ``function(rank, size, *args)`` in each of several processes.

    The function has to be importable. The processes meet by a file in ``folder`` and
    talk over the loopback interface. They are forked from a server that has imported
    torch once, and has no threads. Where gloo does not manage to connect them, as may
    happen on a loaded machine, they try again.
    """
    for attempt in range(3):
        at = folder / f"attempt{attempt}"
        results, errors = _run(size, function, args, at, timeout)
        if "connectFullMesh failed" not in errors:
            break
    assert not errors, errors
    return results


def _run(size, function, args, folder, timeout):
    context = fork_context()
    folder.mkdir(parents=True, exist_ok=True)
    workers = [
        context.Process(
            target=_work, args=(rank, size, str(folder), function, args, timeout)
        )
        for rank in range(size)
    ]
    for worker in workers:
        worker.start()
    until = time.monotonic() + timeout
    while any(worker.is_alive() for worker in workers) and time.monotonic() < until:
        time.sleep(0.02)
        if any(worker.exitcode for worker in workers):
            until = min(until, time.monotonic() + 5)  # The others may wait for it.
    for worker in workers:
        if worker.is_alive():
            worker.terminate()
        worker.join()
    errors = "\n".join(
        path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.err"))
    )
    codes = [worker.exitcode for worker in workers]
    if errors or codes != [0] * size:
        return [], errors or f"Processes ended with the exit codes {codes}."
    results = [(folder / f"{rank}.pickle").read_bytes() for rank in range(size)]
    return [pickle.loads(result) for result in results], ""


def fork_context():
    """Where processes come from that have imported torch and the package already."""
    if sys.platform == "win32":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    return context


def _work(rank, size, folder, function, args, timeout):
    import torch
    import torch.distributed as dist

    names = {"linux": "lo", "darwin": "lo0"}
    if sys.platform in names:
        os.environ["GLOO_SOCKET_IFNAME"] = names[sys.platform]
    torch.set_num_threads(1)
    try:
        dist.init_process_group(
            "gloo",
            init_method=f"file://{folder}/store",
            rank=rank,
            world_size=size,
            timeout=timedelta(seconds=timeout / 2),
        )
        result = function(rank, size, *args)
        if dist.is_initialized():
            dist.barrier()
            dist.destroy_process_group()
    except BaseException:
        with open(f"{folder}/{rank}.err", "w", encoding="utf-8") as file:
            file.write(f"Process {rank}:\n{traceback.format_exc()}")
        os._exit(1)  # Without waiting for the others.
    with open(f"{folder}/{rank}.pickle", "wb") as file:
        pickle.dump(result, file)


@contextmanager
def local_cluster():
    """A Dask cluster of two workers, forked so that they need not import everything."""
    import dask
    import distributed

    method = {"distributed.worker.multiprocessing-method": "forkserver"}
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with dask.config.set(method):
        distributed.utils.get_mp_context()  # It sets what is imported; so do we, then.
        fork_context()
        with distributed.LocalCluster(2, host="127.0.0.1", **options) as cluster:
            yield cluster
