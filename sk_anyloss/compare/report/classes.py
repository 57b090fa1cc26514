"""The classes of a table in the report: which are shown, and what each is taken for."""

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
    """What a report says about the classes of a data set.

    Parameters
    ----------
    method : str
        Title of the method.
    report : DataFrame
        One row per class that is shown: ``precision``, ``recall``, ``f1``, ``support``,
        and ``mistaken`` with the class that it is most often mistaken for.
    matrix : DataFrame
        The confusion matrix of these classes, summed over the folds.
    note : str
        Which classes are shown, if not all of them; else empty.
    """

    method: str
    report: pd.DataFrame
    matrix: pd.DataFrame
    note: str


def class_section(results: Results, data: str) -> ClassSection | None:
    """Precision, recall and F1 of each class by the recommended method.

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
    if table.n_classes == 2 or results.best_method(data) is None:
        return None
    method = results.chosen_method(None, data)
    shown = shown_classes(table)
    matrix = results.confusion_matrix(method, data)
    report = results.class_report(method, data)
    errors = matrix.to_numpy() * (1 - np.eye(len(matrix), dtype=int))
    report["mistaken"] = [
        f"{table.classes[row.argmax()]} ({row.max():,})" if row.any() else ""
        for row in errors
    ]
    note = ""
    if len(shown) < table.n_classes:
        note = f"The {len(shown)} most frequent of {table.n_classes} classes are shown."
    title = str(results.ranking(data).loc[method, "title"])
    return ClassSection(title, report.iloc[shown], matrix.iloc[shown, shown], note)
