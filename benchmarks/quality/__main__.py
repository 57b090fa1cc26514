"""AnyLossClassifierCV beside common alternatives, on real data sets, for four metrics.

    python -m benchmarks.quality --data FOLDER [--sets small] [--metrics f1]
    python -m benchmarks.quality [--sets small] [--each] [--picture quality.png]

FOLDER holds one ``.npz`` file per data set, with ``X`` and ``y`` (1 is the positive
class). Every method is fitted with its defaults on two outer folds of each data set of
``--sets``: ``small``, those with at most 5,000 samples; ``sampled``, larger ones, of
which 20,000 samples at most are taken; ``whole``, those with 10,001 to 60,000 samples.
``--metrics`` selects metrics, ``--methods`` methods, by their names in the table. All
tuning inside a fit is done on shuffled, stratified folds with a fixed seed. Methods
that do not depend on the metric are fitted once for all metrics, and so are those whose
threshold is tuned for it; their seconds are those of all fits and of one tuning by
counts, which is faster than scikit-learn's, so compare times by ``--times``.

Each method has a file of results of its own in ``benchmarks/quality/results``, so that
a run resumes, and can be done method by method. Without ``--data`` the tables of what
is stored there are printed. Printed for each metric: mean score, mean rank, the
Bayesian sign test of AnyLossClassifierCV against each method (region of practical
equivalence 0.01), the median time of a fit, the data sets with the largest losses, and
those more than 0.01 behind LightGBM; ``--each`` prints the scores of all data sets.
Methods without results on some of the data sets are left out; ``--common`` leaves out
the data sets instead.

``--times`` measures only the time of a fit of AnyLossClassifierCV and of two other
searches, one fit at a time, each as a user calls it. Times are processor times: set
``OMP_NUM_THREADS=1``, and they are those of one core. LightGBM, XGBoost and CatBoost
take part, with tuned thresholds, where they are installed.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.datasets import make_parser, run_all
from benchmarks.quality.methods import (
    GRID_SEARCH,
    METRIC_FREE,
    METRICS,
    classifiers_to_tune,
    methods_for_metric,
)
from benchmarks.quality.picture import plot_ranks
from benchmarks.quality.report import report
from benchmarks.quality.running import read_stored, run_methods
from benchmarks.quality.times import report_times, time_dataset

RESULTS = Path(__file__).parent / "results"
#: Which data sets, by their numbers of samples, and how many samples are taken.
SETS: dict[str, dict[str, int]] = {
    "small": {"max_samples": 5_000},
    "sampled": {"min_samples": 5_000, "sample": 20_000},
    "whole": {"min_samples": 10_000, "max_samples": 60_000},
}


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    parser = make_parser(__doc__, RESULTS, folds=2, needs_data=False)
    parser.add_argument("--sets", choices=SETS, default="small", help="default: small")
    parser.add_argument(
        "--metrics", nargs="+", choices=METRICS, default=METRICS, help="default: all"
    )
    parser.add_argument(
        "--methods", nargs="+", metavar="NAME", help="default: all that are installed"
    )
    parser.add_argument(
        "--each", action="store_true", help="print the scores of each data set"
    )
    parser.add_argument(
        "--common", action="store_true", help="only data sets that all methods have"
    )
    parser.add_argument("--sample", type=int, metavar="N", help="samples of a data set")
    parser.add_argument("--picture", type=Path, help="file for a plot of the ranks")
    parser.add_argument("--times", action="store_true", help="measure times only")
    # What the data sets are decides other defaults.
    sets = parser.parse_known_args(arguments)[0].sets
    parser.set_defaults(output=RESULTS / f"{sets}.csv", **SETS[sets])
    options = parser.parse_args(arguments)
    known = [*methods_for_metric("f1"), *METRIC_FREE, *classifiers_to_tune()]
    for name in options.methods or []:
        if options.data is not None and name not in [*known, GRID_SEARCH]:
            parser.error(f"--methods {name!r} is none of {', '.join(known)}")
    return options


if __name__ == "__main__":
    options = parse_options()
    if options.times:
        options.jobs = 1
        options.output = options.output.with_stem("times")
        report_times(run_all(options, time_dataset))
        sys.exit()
    results = read_stored(options) if options.data is None else run_methods(options)
    report(results, options)
    if options.picture:
        plot_ranks(results, options.picture, options.metrics, options.common)
