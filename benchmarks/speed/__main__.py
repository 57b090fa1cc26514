"""Time of a fit, beside other implementations of the same network on the same samples.

    python -m benchmarks.speed [--repeats 7] [--out docs] [--quick] [--networks]
    python -m benchmarks.speed --only classes [--clock cpu]

All implementations run alternately in one process, on one thread, in float64, so that
other load on the machine slows all of them down. The ratio is that of two consecutive
fits; the table gives its median and its range over the repeats. Writes ``speed.json``,
``speed.png`` (the ratios) and ``scaling.png`` (time over samples, features, width and
number of networks) into a folder. With ``--only``, just the ratios whose name holds a
text are measured and printed.
"""

from __future__ import annotations

import argparse
import json
import platform
import subprocess
import sys
import warnings
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import numpy as np
import torch
from threadpoolctl import threadpool_limits

from benchmarks.speed.networks import measure_networks
from benchmarks.speed.ratios import CLOCKS, measure_ratios, plot_ratios
from benchmarks.speed.scaling import (
    measure_large_fit,
    measure_scaling,
    plot_scaling,
    scaling_exponent,
)


def parse_options() -> argparse.Namespace:
    """Options of the command line."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--repeats", type=int, default=7, help="pairs of fits, default: %(default)s"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("docs"), help="default: %(default)s"
    )
    parser.add_argument("--quick", action="store_true", help="skip the longest fits")
    parser.add_argument(
        "--only", metavar="TEXT", help="only ratios of which the name holds the text"
    )
    parser.add_argument(
        "--clock", choices=CLOCKS, default="wall",
        help="'cpu' for seconds of this process, where others compute as well",
    )  # fmt: skip
    parser.add_argument(
        "--networks", action="store_true", help="only AnyLossNet and criteria in torch"
    )
    parser.add_argument(
        "--samples", type=int, metavar="N",
        help="only one fit on N samples in float32, for its time and memory",
    )  # fmt: skip
    return parser.parse_args()


def main() -> None:
    """Measure, print, and write the results and plots."""
    options = parse_options()
    warnings.simplefilter("ignore")  # Few epochs: convergence is not expected.
    torch.set_num_threads(1)
    with threadpool_limits(1):
        if options.samples:
            print(json.dumps(measure_large_fit(options.samples)))
            return
        networks = measure_networks(options.repeats)
        if options.networks:
            return
        ratios = measure_ratios(options.repeats, options.only or "", options.clock)
        if options.only:
            return
        scaling = measure_scaling(max(2, options.repeats // 3), options.quick)
    exponent = scaling_exponent(scaling["samples"])
    print(f"time grows with samples to the power of {exponent:.2f}")
    large = []
    for n_samples in (1_000_000,) if options.quick else (1_000_000, 10_000_000):
        # A process of its own, since the memory of this one has already been used.
        command = [
            sys.executable,
            "-m",
            "benchmarks.speed",
            "--samples",
            str(n_samples),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        fit = json.loads(done.stdout)
        large.append(fit)
        print(
            f"{n_samples:,} x 30 in float32: {fit['seconds']:.2f} s an epoch, peak "
            f"memory {fit['memory']:.2f} times X above the data"
        )
    results = {
        "ratios": ratios,
        "networks": networks,
        "scaling": scaling,
        "exponent": exponent,
        "large": large,
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "numpy": np.__version__,
        },
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "speed.json").write_text(
        json.dumps(results, indent=1) + "\n", encoding="utf-8"
    )
    plot_ratios(ratios, options.out / "speed.png")
    plot_scaling(scaling, options.out / "scaling.png")


if __name__ == "__main__":
    main()
