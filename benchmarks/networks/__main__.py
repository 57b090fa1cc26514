"""Studies of networks beyond small tables, on data that are not part of the project.

    python -m benchmarks.networks --data FOLDER [STUDY ...] [--quick]

FOLDER holds ``images/mnist.npz``, ``images/fashion_mnist.npz`` and
``large/mammography.npz``. Studies: ``collapse``, ``table10``, ``soft_sets``,
``surrogate``, ``long_tail``; all by default. Every finished task is appended to
``benchmarks/networks/results/STUDY.csv``, and an interrupted run resumes. Without
``--data``, the tables of what is there are printed, and with ``--picture FILE`` that of
``surrogate`` is drawn. ``--quick`` is the size that the tables of docs/networks.md were
made with, but those of ``soft_sets``, which are of full size; rows name their sizes.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

import pandas as pd
import torch

from benchmarks.networks.picture import plot_surrogate
from benchmarks.networks.report import print_report
from benchmarks.networks.store import run_tasks
from benchmarks.networks.studies import STUDIES


def main() -> None:
    """Run the studies, and print their tables."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.networks",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("studies", nargs="*", metavar="STUDY")
    parser.add_argument("--data", type=Path, help="folder of the data")
    parser.add_argument("--quick", action="store_true", help="smaller sizes")
    parser.add_argument("--tasks", type=int, help="at most this many tasks a study")
    parser.add_argument(
        "--out", type=Path, default=Path(__file__).parent / "results",
        help="folder of the results, default: %(default)s",
    )  # fmt: skip
    parser.add_argument("--picture", type=Path, help="file for a plot of surrogate")
    options = parser.parse_args()
    unknown = set(options.studies) - set(STUDIES)
    if unknown:
        parser.error(f"unknown study {unknown.pop()!r}; there are {list(STUDIES)}.")
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)  # The gradients of a collapsed network.
    for name in options.studies or STUDIES:
        if options.data is not None:
            study = STUDIES[name]
            tasks = study.tasks(options.quick)[: options.tasks]

            run = partial(study.run, data=options.data)
            run_tasks(tasks, run, options.out / f"{name}.csv")
        print_report(name, options.out / f"{name}.csv")
    if options.picture:
        plot_surrogate(pd.read_csv(options.out / "surrogate.csv"), options.picture)


if __name__ == "__main__":
    main()
