"""Where a published score is not reproduced: how sensitive it is to rounding.

Every value is perturbed by at most one part in 2^24, the rounding error of float32. If
this changes the score, no implementation can be expected to reproduce its digits.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from benchmarks.study.data import Source, ten_folds
from benchmarks.study.published import LEARNING_RATES, make_model, standardize
from benchmarks.study.runs import Records, Task
from benchmarks.study.scores import confusion_counts
from sk_anyloss import fit_stack

NAME = "rounding"
#: Runs of each setting, the first without perturbation.
N_RUNS = 12


def make_tasks(
    sources: Sequence[Source], deviating: Iterable[tuple[str, str]]
) -> list[Task]:
    """A task for each pair of data set and loss whose scores differ."""
    by_name = {source.name: source for source in sources}
    return [
        Task(NAME, by_name[name], tuple(range(10)), {"loss": loss})
        for name, loss in deviating
    ]


def run(source: Source, folds: Sequence[int], loss: str) -> Records:
    """Confusion matrices without perturbation, then with several."""
    X, y = source.load()
    splits = ten_folds(y)
    records: Records = {fold: [] for fold in folds}
    rng = np.random.default_rng(0)
    for i in range(N_RUNS):
        perturbed = X * (1 + rng.uniform(-1, 1, X.shape) * (2.0**-24 if i else 0))
        perturbed = standardize(source, perturbed)
        models = [make_model(loss, LEARNING_RATES[loss]) for _ in folds]
        fit_stack(models, perturbed, y, rows=[splits[fold][0] for fold in folds])
        for fold, model in zip(folds, models, strict=True):
            test = splits[fold][1]
            counts = confusion_counts(y[test], model.predict(perturbed[test]))
            records[fold].append({"method": loss, "time": i, "test": counts})
    return records
