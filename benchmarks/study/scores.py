"""Confusion matrices as counts, and the scores read off them."""

import numpy as np

from sk_anyloss.metrics import get_metric

# The paper's words for the metrics, and ours.
METRICS = {
    "Acc": "accuracy",
    "F1": "f1",
    "F0.5": "f0.5",
    "F2": "f2",
    "Gmean": "gmean",
    "BAcc": "balanced_accuracy",
}
# Those that the paper has tables for; those of its main text.
AIMS = ("Acc", "F1", "Gmean", "BAcc")
MAIN = ("Acc", "F1", "BAcc")


def counts(y, decided):
    """``[tn, fp, fn, tp]``."""
    pairs = 2 * np.asarray(y, dtype=int) + np.asarray(decided, dtype=int)
    return np.bincount(pairs, minlength=4).tolist()


def score(matrices, metric):
    """A metric, by the paper's word, of many confusion matrices."""
    table = np.array(list(matrices), dtype=float).reshape(-1, 4)
    return np.asarray(get_metric(METRICS[metric])(*table.T), dtype=float)


def is_collapsed(matrix):
    """Whether all rows were decided alike."""
    tn, fp, fn, tp = matrix
    return tn + fn == 0 or fp + tp == 0
