"""Where a published score is not met: how much of it hangs on the last digit.

Every number is moved by at most one part in 2^24, which is what storing it as float32
may do. Where the score changes by that, no run can be held to its digits.
"""

import numpy as np

from benchmarks.study.data import ten_folds
from benchmarks.study.published import RATES, model, standardised
from benchmarks.study.runs import Task
from benchmarks.study.scores import counts
from sk_anyloss import fit_stack

NAME = "rounding"
TIMES = 12


def tasks(sources, beyond):
    """Those of which a loss is beyond the published score: pairs of set and loss."""
    by_name = {source.name: source for source in sources}
    return [
        Task(NAME, by_name[name], tuple(range(10)), {"loss": loss})
        for name, loss in beyond
    ]


def run(source, folds, loss):
    """Confusion matrices of the set as it is, then with other last digits."""
    X, y = source.load()
    parts = ten_folds(y)
    found = {fold: [] for fold in folds}
    rng = np.random.default_rng(0)
    for time in range(TIMES):
        moved = X * (1 + rng.uniform(-1, 1, X.shape) * (2.0**-24 if time else 0))
        moved = standardised(source, moved)
        models = [model(loss, RATES[loss]) for _ in folds]
        fit_stack(models, moved, y, rows=[parts[fold][0] for fold in folds])
        for fold, fitted in zip(folds, models, strict=True):
            test = parts[fold][1]
            test_counts = counts(y[test], fitted.predict(moved[test]))
            found[fold].append({"method": loss, "time": time, "test": test_counts})
    return found
