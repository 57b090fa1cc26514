"""Confusion matrices as counts, and the scores computed from them."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from sk_anyloss.metrics import get_metric

#: The paper's names of the metrics, and ours.
METRICS = {
    "Acc": "accuracy",
    "F1": "f1",
    "F0.5": "f0.5",
    "F2": "f2",
    "Gmean": "gmean",
    "BAcc": "balanced_accuracy",
}
#: Metrics of the paper's tables of data sets, and of the tables in its main text.
TABLE_METRICS = ("Acc", "F1", "Gmean", "BAcc")
MAIN_METRICS = ("Acc", "F1", "BAcc")


def confusion_counts(y: ArrayLike, y_pred: ArrayLike) -> list[int]:
    """``[tn, fp, fn, tp]``."""
    pairs = 2 * np.asarray(y, dtype=int) + np.asarray(y_pred, dtype=int)
    return np.bincount(pairs, minlength=4).tolist()


def score(matrices: Iterable[Sequence[int]], metric: str) -> np.ndarray:
    """A metric, by the paper's name, of each of many confusion matrices."""
    table = np.array(list(matrices), dtype=float).reshape(-1, 4)
    return np.asarray(get_metric(METRICS[metric])(*table.T), dtype=float)


def is_collapsed(matrix: Sequence[int]) -> bool:
    """Whether all predictions are of one class."""
    tn, fp, fn, tp = matrix
    return tn + fn == 0 or fp + tp == 0
