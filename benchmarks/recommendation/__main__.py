"""Which rule recommends best: comparisons on 70 % of samples, and scores on the rest.

    python -m benchmarks.recommendation --data FOLDER [--mixed FOLDER] [--every 3]
    python -m benchmarks.recommendation

FOLDER holds one ``.npz`` file per data set, with ``X`` and ``y`` (1 is the positive
class); that of ``--mixed`` CSV files with words and missing values, whose last column
is the target: its most frequent class with at most half of the samples against the
rest. The default methods are compared on 70 % of ``--sample`` samples at most; every
one of them is then fitted on these and scored on the other 30 %, for each of
``--seeds`` splits. An interrupted run resumes; without ``--data`` the table of the
stored results is printed.

Printed for each rule: how often it recommends another method than the leader; the mean
score of the recommended method on the held-out samples less that of the leader, its
standard error over data sets, the worst of a data set; how often it is behind by more
than 0.02; the mean complexity of the recommended method; and the median seconds of a
fit.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.datasets import make_parser, run_all
from benchmarks.recommendation.rules import RULES
from benchmarks.recommendation.running import DUMMY, HELD_OUT, run_dataset
from sk_anyloss.compare.methods.simplicity import complexity

#: By how much a method must be better than predictions without a model.
ROPE = 0.01
RESULTS = Path(__file__).parent / "results" / "methods.csv"


def parse_options(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Options of the command line."""
    parser = make_parser(__doc__, RESULTS, max_samples=50_000, needs_data=False)
    parser.add_argument("--mixed", type=Path, help="folder of CSV files")
    parser.add_argument(
        "--sample", type=int, default=4_000, metavar="N", help="samples of a data set"
    )
    parser.add_argument("--seeds", type=int, default=2, help="splits of a data set")
    parser.add_argument("--methods", nargs="+", help="default: those of compare")
    return parser.parse_args(arguments)


def sizes(options: argparse.Namespace) -> dict[Path, int]:
    """Number of samples of each file."""
    numeric = {path: len(np.load(path)["y"]) for path in options.data.glob("*.npz")}
    mixed = options.mixed.glob("*.csv") if options.mixed else ()
    rows = {path: len(pd.read_csv(path, usecols=[0])) for path in mixed}
    return dict(sorted({**numeric, **rows}.items()))


def report(table: pd.DataFrame) -> None:
    """Print a line for each rule."""
    rows: list[dict[str, object]] = []
    splits = table.groupby(["set", "seed"])
    for (name, _), own in splits:
        own = own.set_index("method")
        scores = own["folds"].str.split(expand=True).astype(float).T
        means = scores.mean().sort_values(ascending=False, kind="stable")
        least = means.pop(DUMMY) + ROPE
        # As in a comparison: what does not beat a dummy does not replace the leader.
        scores = scores[[means.index[0], *means.index[1:][means.iloc[1:] > least]]]
        for rule, choose in RULES.items():
            method, best = choose(scores, own["seconds"]), scores.columns[0]
            held_out = own["held_out"]
            rows.append(
                {
                    "set": name,
                    "rule": rule,
                    "other": method != best,
                    "gain": held_out[method] - held_out[best],
                    "complexity": complexity(method),
                    "seconds": own["seconds"][method],
                }
            )
    found = pd.DataFrame(rows)
    n = found["set"].nunique()
    print(f"{n} data sets, {len(splits)} splits; score held out, less the leader's\n")
    print(
        f"{'rule':<40}{'other':>7}{'mean':>9}{'error':>8}{'worst':>8}{'< -0.02':>9}"
        f"{'complexity':>12}{'seconds':>9}"
    )
    for rule in RULES:
        own = found[found["rule"] == rule]
        gains = own.groupby("set")["gain"].mean()
        print(
            f"{rule:<40}{own['other'].mean():>7.0%}{gains.mean():>+9.4f}"
            f"{gains.std() / np.sqrt(n):>8.4f}{gains.min():>+8.3f}"
            f"{(own['gain'] < -0.02).mean():>9.0%}{own['complexity'].mean():>12.2f}"
            f"{own['seconds'].median():>9.2f}"
        )


if __name__ == "__main__":
    options = parse_options()
    if options.data is None:
        stored = options.output.with_stem(
            f"{options.output.stem}_{options.metric}_{options.folds}_folds"
        )
        table = pd.read_csv(stored)
        report(table[table["samples"] > (1 - HELD_OUT) * options.min_samples])
    else:
        report(run_all(options, run_dataset, sizes(options)))
