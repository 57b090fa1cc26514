"""Scores without any model: one class for all samples, or classes at random."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sk_anyloss.compare.metrics import score_counts
from sk_anyloss.compare.report.text import has_constraint
from sk_anyloss.metrics import Metric, get_metric, metric_name
from sk_anyloss.metrics.curves import Curve
from sk_anyloss.metrics.evaluation import evaluate_logits
from sk_anyloss.metrics.multiclass.lookup import is_for_matrix

if TYPE_CHECKING:
    from sk_anyloss.compare.results.results import Results
    from sk_anyloss.compare.tables.table import Table

__all__ = ["dummy_ranking"]


def dummy_ranking(results: Results, data: str | None = None) -> pd.DataFrame:
    """Scores of predictions that need no model, on the folds of the methods.

    They are computed from the class sizes of the folds: one class for all samples
    gives the confusion matrix :math:`M_{ck} = n_c 1[k = j]`; classes drawn at random
    with their proportions :math:`p_k` in the table give :math:`M_{ck} = n_c p_k` in
    expectation. Nothing is fitted.

    Parameters
    ----------
    results : Results
        The results.
    data : str, default=None
        Name of a data set; all by default.

    Returns
    -------
    ranking : DataFrame
        One row each for ``all_positive``, ``all_negative`` and ``prior``, or, if there
        are more than two classes, for ``most_frequent`` and ``prior``, the best one
        first, with the columns ``title``, ``mean``, ``std`` and the other metrics.

    Examples
    --------
    >>> from sk_anyloss.compare import built_in, compare_tables
    >>> from sk_anyloss.compare.dummies import dummy_ranking
    >>> found = compare_tables([built_in()], methods=["logistic"], folds=2)
    >>> dummy_ranking(found)["mean"].round(3).to_dict()
    {'all_positive': 0.168, 'prior': 0.092, 'all_negative': 0.0}
    """
    tables = results.tables if data is None else [results.table_of(data)]
    is_binary = all(table.is_binary for table in tables)
    metrics = {metric_name(results.metric): results.metric, **results.metrics}
    found: dict[str, dict[str, list[float]]] = {}
    for table in tables:
        for sizes in _class_sizes(results, table):
            for name, M in _matrices(table, sizes, is_binary):
                scores = found.setdefault(name, {key: [] for key in metrics})
                for key, metric in metrics.items():
                    scores[key].append(_score(metric, M, table))
    titles = _titles(tables, is_binary)
    rows = {}
    for name, scores in found.items():
        own = pd.Series(scores[metric_name(results.metric)])
        others = {key: np.mean(scores[key]) for key in results.other_metrics}
        own_columns = {"mean": own.mean(), "std": own.std(ddof=1)}
        if has_constraint(results.metric):
            own_columns |= {"met": (own >= 0).sum(), "scored": len(own)}
        rows[name] = {"title": titles[name], **own_columns, **others}
    extra = ["met", "scored"] if has_constraint(results.metric) else []
    columns = ["title", "mean", "std", *extra, *results.other_metrics]
    ranking = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    ranking.index.name = "method"
    return ranking.sort_values("mean", ascending=False, kind="stable")


def _class_sizes(results: Results, table: Table) -> Iterator[np.ndarray]:
    """Weight of the test samples of each class, once for every finished fold.

    Of several labels, one row for each.
    """
    seen: set[int] = set()
    for fold in results.folds:
        if fold.data == table.name and not fold.failed and fold.fold not in seen:
            seen.add(fold.fold)
            M = np.asarray(fold.scored_counts, dtype=float)
            if table.has_labels:  # Samples without and with each label.
                yield M.reshape(-1, 2, 2).sum(axis=2)
            else:
                yield M.reshape(table.n_classes, table.n_classes).sum(axis=1)


def _matrices(
    table: Table, sizes: np.ndarray, is_binary: bool
) -> Iterator[tuple[str, np.ndarray]]:
    """Name and confusion matrix of every dummy on a fold."""
    if table.has_labels:
        share = table.y.mean(axis=0)
        decided = {"all_positive": 1.0, "all_negative": 0.0, "prior": share}
        for name, positive in decided.items():
            p = np.broadcast_to(positive, share.shape)
            yield name, sizes[:, :, None] * np.stack([1 - p, p], axis=1)[:, None]
        return
    every = np.eye(table.n_classes)
    if is_binary:
        yield "all_positive", np.outer(sizes, every[1])
        yield "all_negative", np.outer(sizes, every[0])
    else:
        yield "most_frequent", np.outer(sizes, every[table.class_counts.argmax()])
    prior = np.bincount(table.y, table.weight, table.n_classes)
    yield "prior", np.outer(sizes, prior / prior.sum())


def _score(metric: str | Metric, M: np.ndarray, table: Table) -> float:
    if (
        table.is_binary
        and not is_for_matrix(metric)
        and isinstance(get_metric(metric), Curve)
    ):
        # One sample of each class, with the weight of the class.
        y = np.array([0, 1])
        return float(evaluate_logits(metric, np.zeros(2), y, M.sum(axis=1)))
    return score_counts(metric, M.ravel().tolist(), table.classes)


def _titles(tables: list[Table], is_binary: bool) -> dict[str, str]:
    titles = {
        "all_positive": "always the positive class",
        "all_negative": "always the negative class",
        "most_frequent": "always the most frequent class",
        "prior": "at random, by proportions",
    }
    if len(tables) == 1:
        (table,) = tables
        if table.has_labels:
            titles["all_positive"] = "always every label"
            titles["all_negative"] = "never a label"
            return titles
        frequent = table.classes[int(table.class_counts.argmax())]
        titles["most_frequent"] = f"always {frequent}"
        if is_binary:
            titles["all_positive"] = f"always {table.positive}"
            titles["all_negative"] = f"always {table.negative}"
    return titles
