"""Which L, by learning rate, width, batch and dtype, on real data sets.

    python -m benchmarks.which_L --data FOLDER

FOLDER holds one ``.npz`` file a data set, with ``X`` and ``y`` (1 is the positive
class). For every set of more than ``--least`` and at most ``--most`` rows and every
configuration, all values of L and all folds are trained in one stack. Every finished
set is written to ``--output`` at once, and a run that is started again goes on where
it was. Prints, for every configuration, the mean score and rank of each L over the
sets, and the share of fits that ended with one class only.
"""

import numpy as np
from scipy.stats import rankdata

from benchmarks.sets import load, parser, run, score, splits
from sk_anyloss import AnyLossClassifier, fit_stack

LS = (2, 5, 10, 20, 40, 73, 110, "auto")
CONFIGURATIONS = [
    {"hidden": hidden, "lr": lr, "batch_size": "auto"}
    for hidden in ((2,), (32,))
    for lr in (0.001, 0.01, 0.1)
]
CONFIGURATIONS += [
    {"hidden": hidden, "lr": 0.01, "batch_size": 1.0} for hidden in ((2,), (32,))
]
CONFIGURATIONS += [
    {"hidden": (2,), "lr": 0.01, "batch_size": "auto", "dtype": "float32"}
]


def name_of(configuration):
    """A configuration in a word."""
    return ", ".join(f"{key} {value}" for key, value in configuration.items())


def run_set(path, options):
    """Mean score and number of collapsed fits of every L in every configuration."""
    X, y = load(path)
    folds = splits(X, y, options.folds)
    rows = []
    for configuration in CONFIGURATIONS:
        params = dict(configuration)
        Xd = X.astype(params.pop("dtype", "float64"))
        models = [
            AnyLossClassifier(options.metric, L=L, random_state=0, **params)
            for L in LS
            for _ in folds
        ]
        fit_stack(models, Xd, y, rows=[train for train, _ in folds] * len(LS))
        table = np.reshape(models, (len(LS), len(folds)))
        for L, of_L in zip(LS, table, strict=True):
            row = {"configuration": name_of(configuration), "L": str(L)}
            rows.append({**row, **score(of_L, Xd, y, folds)})
    return rows


def report(table, options):
    """Mean score, mean rank and collapsed fits of each L."""
    print(
        f"{table['set'].nunique()} sets; mean score (mean rank, 1 is best; % collapsed)"
    )
    print(f"{'':<42}" + "".join(f"{f'L {L}':>18}" for L in LS))
    columns = [str(L) for L in LS]
    for name in map(name_of, CONFIGURATIONS):
        rows = table[table["configuration"] == name]
        scores = rows.pivot(index="set", columns="L", values="score")[columns]
        collapsed = rows.groupby("L")["collapsed"].mean()[columns] / options.folds
        ranks = rankdata(-scores.round(6), axis=1).mean(axis=0)
        cells = [
            f"{score:.3f} ({rank:.1f}; {100 * share:.0f})"
            for score, rank, share in zip(scores.mean(), ranks, collapsed, strict=True)
        ]
        print(f"{name:<42}" + "".join(f"{cell:>18}" for cell in cells))


if __name__ == "__main__":
    arguments = parser(__doc__, "results/which_L.csv", folds=5, most=1_200).parse_args()
    report(run(arguments, run_set), arguments)
