"""What a method would do at other decision thresholds, from its held-out scores."""

from __future__ import annotations

import html
import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sk_anyloss.compare.methods.registry import get_method
from sk_anyloss.metrics import Metric, Savings, get_metric, metric_name
from sk_anyloss.metrics.multiclass.lookup import is_for_matrix

if TYPE_CHECKING:
    from sk_anyloss.compare.results.results import Results

__all__ = ["html_thresholds", "threshold_table", "total_cost"]

#: Rows of the table, besides the two ends.
MAX_ROWS = 200


def total_cost(metric: str | Metric, counts: np.ndarray) -> np.ndarray | None:
    """Cost of decisions, if the metric is one of costs.

    Parameters
    ----------
    metric : str or callable
        The metric.
    counts : ndarray of shape (..., 4)
        Numbers of true negatives, false positives, false negatives, true positives.

    Returns
    -------
    cost : ndarray of shape (...) or None
        Their sum, each times its cost.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.compare.report.thresholds import total_cost
    >>> from sk_anyloss.metrics import Savings
    >>> float(total_cost(Savings(fp=1, fn=20), np.array([90, 4, 1, 5])))
    24.0
    """
    if not isinstance(metric, Savings):
        return None
    costs = np.array([metric.tn, metric.fp, metric.fn, metric.tp], dtype=float)
    return np.asarray(counts @ costs)


def threshold_table(
    results: Results, method: str | None = None, data: str | None = None
) -> pd.DataFrame:
    """Counts and scores of a method over the thresholds of its held-out scores.

    Parameters
    ----------
    results : Results
        The results.
    method : str, default=None
        Name of the method; by default the recommended one.
    data : str, default=None
        Name of a data set of two classes; may be omitted if there is only one.

    Returns
    -------
    table : DataFrame
        ``threshold``, from which on samples are positive, ``tn``, ``fp``, ``fn``,
        ``tp``, ``precision``, ``recall``, the metric of the comparison and, if that is
        one of costs, ``cost``. The counts are over all folds; with weights of samples
        the scores are those of the weights.

    Examples
    --------
    >>> from sk_anyloss.compare import built_in, compare_tables
    >>> from sk_anyloss.compare.report.thresholds import threshold_table
    >>> found = compare_tables([built_in()], methods=["logistic"], folds=2)
    >>> table = threshold_table(found)
    >>> table["tp"].iloc[[0, -1]].tolist()
    [36, 0]
    """
    source = results.table_of(data)
    if not source.is_binary:
        kind = "labels" if source.has_labels else "classes"
        raise ValueError(
            f"{source.name} has {source.n_classes} {kind}; a threshold is for two "
            "classes."
        )
    method = results.chosen_method(method, source.name)
    own = [
        fold
        for fold in results.folds
        if (fold.data, fold.method) == (source.name, method)
        and not fold.failed
        and len(fold.rows)
    ]
    if not own:
        return pd.DataFrame()
    scores = np.concatenate([fold.scores for fold in own])
    rows = np.concatenate([fold.rows for fold in own])
    order = np.argsort(-scores, kind="stable")
    scores, rows = scores[order], rows[order]
    # Positive from here on: the last sample of each distinct score, and none.
    ends = np.append(np.flatnonzero(np.diff(scores)), len(scores) - 1)
    if len(ends) > MAX_ROWS:
        ends = ends[np.linspace(0, len(ends) - 1, MAX_ROWS).astype(int)]
    thresholds = np.append(scores[ends][::-1], np.nextafter(scores[0], np.inf))
    y = source.y[rows]
    counts = _counts_from(y, 1 - y, ends)
    scored = counts.astype(float)
    if source.weight is not None:
        weight = source.weight[rows]
        scored = _counts_from(y * weight, (1 - y) * weight, ends)
    table = pd.DataFrame(counts, columns=["tn", "fp", "fn", "tp"])
    table.insert(0, "threshold", thresholds)
    metrics: dict[str, str | Metric] = {"precision": "precision", "recall": "recall"}
    if not is_for_matrix(results.metric):
        metrics[metric_name(results.metric)] = results.metric
    for name, metric in metrics.items():
        table[name] = np.asarray(get_metric(metric)(*scored.T), float)
    cost = total_cost(results.metric, counts)
    return table if cost is None else table.assign(cost=cost)


def _counts_from(
    positive: np.ndarray, negative: np.ndarray, ends: np.ndarray
) -> np.ndarray:
    """Sums over samples in falling order of scores, positive up to each end."""
    tp = np.append(np.cumsum(positive)[ends][::-1], 0)
    fp = np.append(np.cumsum(negative)[ends][::-1], 0)
    return np.stack([negative.sum() - fp, fp, positive.sum() - tp, tp], axis=1)


def html_thresholds(comparison: Results, data: str) -> str:
    """A slider over the thresholds of the recommended method, with what each does.

    Parameters
    ----------
    comparison : Results
        The results.
    data : str
        Name of a data set.

    Returns
    -------
    section : str
        HTML; empty for more than two classes, and without held-out scores.
    """
    source, found = comparison.table_of(data), comparison.recommendation(data)
    if not source.is_binary or found is None:
        return ""
    table = threshold_table(comparison, found.method, data)
    if table.empty:
        return ""
    own = metric_name(comparison.metric)
    names = ["threshold", "tn", "fp", "fn", "tp", "precision", "recall"]
    shown = {name: table[name] for name in (*names, "cost") if name in table}
    if own in table:
        shown["metric"] = table[own]
    content = json.dumps(
        {name: [float(f"{v:.6g}") for v in values] for name, values in shown.items()}
    )
    matrix = comparison.confusion_matrix(found.method, data).to_numpy()
    # The slider starts where as many samples are positive as were decided to be.
    start = int(np.abs(table["tp"] + table["fp"] - matrix[:, 1].sum()).argmin())
    title = get_method(found.method).title
    titles = json.dumps([comparison.metric_title, str(source.positive)])
    return (
        f'<div class="thresholds" data-names="{html.escape(titles)}">'
        "<p>Move the slider to see what another decision threshold of "
        f"{html.escape(title)} would do on the held-out samples of all folds; it "
        "starts at about the decisions above.</p>"
        f'<input type="range" min="0" max="{len(table) - 1}" value="{start}" '
        'aria-label="decision threshold"><output></output>'
        f'<script type="application/json">{content}</script></div>'
    )
