"""The results as JSON: what the page and the terminal say, for other programs."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from sk_anyloss.compare.results.results import Results
    from sk_anyloss.compare.tables.table import Table

__all__ = ["summarize", "to_json"]

#: A value of JSON.
Json: TypeAlias = dict[str, Any]


def summarize(results: Results) -> Json:
    """Recommendation, notes and ranking of every data set, as JSON can hold them.

    Parameters
    ----------
    results : Results
        The results.

    Returns
    -------
    summary : dict
        ``metric``, ``settings``, ``failures``, ``data`` with an entry for each data
        set, and ``recommendation``: that over all data sets.

    Examples
    --------
    >>> from sk_anyloss.compare import built_in, compare_tables
    >>> from sk_anyloss.compare.report.summary import summarize
    >>> found = compare_tables([built_in()], methods=["logistic"], folds=2)
    >>> summary = summarize(found)
    >>> summary["recommendation"]["method"], summary["data"][0]["samples"]
    ('logistic', 393)
    """
    overall = results.recommendation()
    missing, expected = results.unfinished()
    return {
        "metric": results.metric_title,
        "recommendation": None if overall is None else overall.to_dict(),
        "fits": {"finished": expected - missing, "expected": expected},
        "data": [_summarize_table(results, table) for table in results.tables],
        "failures": results.failures(),
        "settings": dict(results.settings),
    }


def _summarize_table(results: Results, table: Table) -> Json:
    found = results.recommendation(table.name)
    explained = results.explanations.get(table.name)
    return {
        "name": table.name,
        "samples": len(table.y),
        "columns": table.X.shape[1],
        "classes": [str(label) for label in table.classes],
        "class_counts": table.class_counts.tolist(),
        "positive": None if table.positive is None else str(table.positive),
        "recommendation": None if found is None else found.to_dict(),
        "verdict": results.verdict(table.name),
        "notes": list(table.notes),
        "checks": [finding.to_dict() for finding in results.checks(table.name)],
        "ranking": _rows(results.ranking(table.name)),
        "source": table.source,
        "target": table.target,
        "fingerprint": table.fingerprint(),
        "partial": results.partial(table.name),
        "explanation": None if explained is None else explained.to_dict(),
        "dummies": _rows(results.dummies(table.name)),
    }


def _rows(frame: pd.DataFrame) -> list[Json]:
    return frame.reset_index().to_dict("records")


def to_json(value: object) -> bytes:
    r"""A summary as text; what is no number in JSON becomes null.

    Parameters
    ----------
    value : object
        Dicts, lists, text, numbers of Python and numpy.

    Returns
    -------
    text : bytes
        JSON in UTF-8.

    Examples
    --------
    >>> from sk_anyloss.compare.report.summary import to_json
    >>> to_json({"mean": float("nan"), "n": 3})
    b'{\n "mean": null,\n "n": 3\n}'
    """
    text = json.dumps(_plain(value), indent=1, ensure_ascii=False, allow_nan=False)
    return text.encode(errors="replace")


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    return str(value)
