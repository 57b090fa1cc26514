"""The classes or labels of a table in the report, and what each is taken for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from sk_anyloss.compare.results.results import Results
    from sk_anyloss.compare.tables.table import Table

__all__ = ["ClassSection", "class_section", "shown_classes"]

#: All of so many classes are shown, of more the most frequent ones.
MAX_SHOWN, MOST_FREQUENT = 30, 20


def shown_classes(table: Table) -> np.ndarray:
    """The classes that tables and figures show.

    Parameters
    ----------
    table : Table
        The data set.

    Returns
    -------
    codes : ndarray of int
        In the order of the classes: all up to 30, of more the 20 most frequent ones.

    Examples
    --------
    >>> from sk_anyloss.compare import built_in
    >>> from sk_anyloss.compare.report.classes import shown_classes
    >>> shown_classes(built_in())
    array([0, 1])
    """
    if table.n_classes <= MAX_SHOWN:
        return np.arange(table.n_classes)
    return np.sort(np.argsort(-table.class_counts, kind="stable")[:MOST_FREQUENT])


@dataclass(frozen=True)
class ClassSection:
    """What a report says about the classes or labels of a data set.

    Parameters
    ----------
    method : str
        Title of the method.
    kind : {'Classes', 'Labels'}
        What they are.
    report : DataFrame
        One row for each that is shown: ``precision``, ``recall``, ``f1``, ``support``,
        and ``mistaken`` with the class that a class is most often mistaken for.
    matrix : DataFrame or None
        The confusion matrix of these classes, summed over the folds; None for labels.
    note : str
        Which classes are shown, if not all of them; else empty.
    """

    method: str
    kind: str
    report: pd.DataFrame
    matrix: pd.DataFrame | None
    note: str


def class_section(results: Results, data: str) -> ClassSection | None:
    """Precision, recall and F1 of each class or label by the recommended method.

    Parameters
    ----------
    results : Results
        The results.
    data : str
        Name of the data set.

    Returns
    -------
    section : ClassSection or None
        None for two classes, whose scores the ranking has, and if every method failed.
    """
    table = results.table_of(data)
    if table.is_binary or results.best_method(data) is None:
        return None
    method = results.chosen_method(None, data)
    shown = shown_classes(table)
    report, matrix = results.class_report(method, data), None
    kind = "Labels" if table.has_labels else "Classes"
    if not table.has_labels:
        matrix = results.confusion_matrix(method, data)
        errors = matrix.to_numpy() * (1 - np.eye(len(matrix), dtype=int))
        report["mistaken"] = [
            f"{table.classes[row.argmax()]} ({row.max():,})" if row.any() else ""
            for row in errors
        ]
        matrix = matrix.iloc[shown, shown]
    note = ""
    if len(shown) < table.n_classes:
        note = (
            f"The {len(shown)} most frequent of {table.n_classes} {kind.lower()} are "
            "shown."
        )
    title = str(results.ranking(data).loc[method, "title"])
    return ClassSection(title, kind, report.iloc[shown], matrix, note)
