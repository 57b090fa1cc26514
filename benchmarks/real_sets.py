"""F1 of the default estimator beside cross-entropy in the same network, on real sets.

    python -m benchmarks.real_sets --data FOLDER

FOLDER holds one ``.npz`` file a data set, with ``X`` and ``y`` (1 is the positive
class). Every finished data set is written to ``--output`` at once, and a run that is
started again goes on where it was.
"""

import numpy as np
from sklearn.base import clone

from benchmarks.sets import is_constant, load, parser, run, splits
from sk_anyloss import AnyLossClassifier, metric_score
from sk_anyloss.baselines import get_baseline


def methods(metric, seed):
    """What is compared: our default, and cross-entropy at our lr and at its own."""
    return {
        "anyloss": AnyLossClassifier(metric, random_state=seed),
        "bce, lr 0.01": AnyLossClassifier(metric, loss="bce", random_state=seed),
        "bce, lr 0.05": get_baseline("bce", metric, random_state=seed),
        "bce, class weights": get_baseline(
            "bce_class_weight", metric, random_state=seed
        ),
    }


def run_set(path, options):
    """Mean score and number of collapsed fits of every method on one data set."""
    X, y = load(path)
    rows = []
    for name, model in methods(options.metric, 0).items():
        scores, collapsed = [], 0
        for train, test in splits(X, y, options.folds):
            fitted = clone(model).fit(X[train], y[train])
            collapsed += is_constant(fitted, X[train])
            y_pred = fitted.predict(X[test])
            scores.append(metric_score(y[test], y_pred, metric=options.metric))
        row = {"method": name, "score": np.mean(scores), "collapsed": collapsed}
        rows.append(row)
    return rows


def report(table, options):
    """Print means, wins and losses."""
    scores = table.pivot(index="set", columns="method", values="score")
    collapsed = table.groupby("method")["collapsed"].sum()
    print(f"{options.metric} on {len(scores)} sets, {options.folds} folds\n")
    header = f"{'method':<20}{'mean':>7}{'collapsed fits':>16}"
    print(header + f"{'anyloss wins / ties / loses':>30}")
    for method in methods(options.metric, 0):
        line = f"{method:<20}{scores[method].mean():>7.3f}{collapsed[method]:>16}"
        if method != "anyloss":
            difference = scores["anyloss"] - scores[method]
            won, lost = (difference > 1e-9).sum(), (difference < -1e-9).sum()
            line += f"{won:>16} / {len(difference) - won - lost} / {lost}"
        print(line)


if __name__ == "__main__":
    arguments = parser(__doc__, "results/real_sets.csv", folds=5).parse_args()
    report(run(arguments, run_set), arguments)
