"""Where tables come from: files, OpenML, and the built-in data set."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TypedDict

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer

from sk_anyloss.compare.errors import TableError, missing_column, quote_some
from sk_anyloss.compare.tables.build import make_table
from sk_anyloss.compare.tables.labels import Order
from sk_anyloss.compare.tables.reading.files import one_line, read_file
from sk_anyloss.compare.tables.selection import columns_to_drop, drop_columns
from sk_anyloss.compare.tables.table import Table, as_frame

__all__ = ["built_in", "read_table"]


class _Options(TypedDict):
    """Options that :func:`read_table` passes to :func:`make_table`."""

    time: str | None
    weight: str | None
    drop: Sequence[str] | str
    keep: Sequence[str] | str
    allow_missing_labels: bool
    order: Order | None


def built_in(seed: int = 0, drop: Sequence[str] | str = ()) -> Table:
    """Load scikit-learn's breast cancer data, with 36 of its malignant samples.

    Parameters
    ----------
    seed : int, default=0
        Seed of the choice of malignant samples, which are the positive class.
    drop : sequence of str, default=()
        Columns to drop.

    Returns
    -------
    table : Table
        393 samples.

    Examples
    --------
    >>> from sk_anyloss.compare import built_in
    >>> table = built_in()
    >>> table.X.shape, int(table.y.sum())
    ((393, 30), 36)
    """
    data = load_breast_cancer(as_frame=True)
    malignant = np.flatnonzero(data.target == 0)
    kept = np.random.default_rng(seed).choice(malignant, 36, replace=False)
    samples = np.sort(np.concatenate((np.flatnonzero(data.target == 1), kept)))
    X = data.data.iloc[samples].reset_index(drop=True)
    y = 1 - data.target.to_numpy()[samples]
    notes: list[str] = []
    X = drop_columns(X, drop, notes)
    return Table("breast cancer, 10:1", X, y, ["benign", "malignant"], notes=notes)


def read_table(
    source: str | os.PathLike[str],
    target: str | None = None,
    positive: str | None = None,
    groups: str | None = None,
    *,
    time: str | None = None,
    weight: str | None = None,
    drop: Sequence[str] | str = (),
    keep: Sequence[str] | str = (),
    allow_missing_labels: bool = False,
    encoding: str | None = None,
    order: Order | None = None,
) -> Table:
    r"""Read a table from a file or from OpenML.

    Parameters
    ----------
    source : str or path
        A file of delimited text (``.csv``, ``.tsv``, ``.tab``, ``.txt``), ``.xlsx``,
        ``.jsonl``, ``.ndjson``, ``.json``, ``.parquet``, ``.feather`` or ``.npz`` (with
        ``X`` and ``y``), or ``'openml:<name or id>'``.
    target : str, default=None
        The column to predict, or comma-separated columns of 0 and 1 of several labels.
        Not needed for ``.npz`` and OpenML.
    positive : str, default=None
        Label of the positive class, against all others; by default the rarer of two,
        and none of more than two.
    groups : str, default=None
        A column with the group of each sample.
    time : str, default=None
        A column of numbers or dates by which the samples are ordered.
    weight : str, default=None
        A column with the weight of each sample.
    drop : sequence of str, default=()
        Columns to drop.
    keep : sequence of str, default=()
        Columns that stay even if they look like IDs, which are left out otherwise.
    allow_missing_labels : bool, default=False
        Whether samples without a label are dropped even if they are more than 1 % of
        all samples.
    encoding : str, default=None
        Encoding of a text file; guessed by default, with a note unless it is UTF-8.
    order : str or sequence of labels, default=None
        More than two classes in their order, such as ``'low,medium,high'``, or
        ``'ascending'``; as for :func:`make_table`.

    Returns
    -------
    table : Table
        The checked table.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sk_anyloss.compare import read_table
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "shop.csv"
    ...     _ = path.write_text("price,sold\n1.5,no\n2.5,yes\n3.5,no\n")
    ...     print(read_table(path, target="sold").describe())
    shop: 3 samples, 1 column, 1 (33.3 %) are yes
    """
    text = str(source)
    options: _Options = {
        "time": time,
        "weight": weight,
        "drop": drop,
        "keep": keep,
        "allow_missing_labels": allow_missing_labels,
        "order": order,
    }
    if text.startswith("openml:"):
        X, y, name = _fetch_openml(text.removeprefix("openml:"), target)
        table = make_table(X, y, positive, groups, name, **options)
        table.source, table.target = text, str(getattr(y, "name", "") or "")
        return table
    path = Path(source)
    # Of several labels, each is one of the names between commas.
    names = [name for name in (target, groups, *str(target).split(",")) if name]
    content = read_file(path, names, encoding)
    frame = content.frame
    frame.columns = frame.columns.map(str)
    if path.suffix.lower() == ".npz" and target is None:
        target = "y"
    if target is None:
        raise TableError(
            "Name the column to predict with --target; there are "
            f"{quote_some(frame.columns)}."
        )
    targets = columns_to_drop(target, frame.columns)
    options_of = {"--groups": groups, "--time": time, "--weight": weight}
    for column in targets:
        if column not in frame.columns:
            raise missing_column(column, frame.columns, f"in {text!r}")
        if column in columns_to_drop(drop, frame.columns):
            raise TableError(f"--drop names {column!r}, which is the target.")
        for option, other in options_of.items():
            if other == column:
                raise TableError(f"{option} names {column!r}, which is the target.")
    y = frame[targets]
    frame = frame.drop(columns=targets)
    # The name of a file may be bytes that are not valid text.
    name = path.stem.encode(errors="replace").decode()
    table = make_table(
        frame,
        y if len(targets) > 1 else y[targets[0]],
        positive,
        groups,
        name,
        separator=content.separator,
        **options,
    )
    table.source, table.target = text, ", ".join(targets)
    table.notes[:0] = content.notes
    features = as_frame(table.X)
    if path.suffix.lower() == ".npz" and all(map(_is_numeric, features.dtypes)):
        table.X = features.to_numpy()  # Numbers need no encoder.
    return table


def _is_numeric(dtype: object) -> bool:
    return bool(pd.api.types.is_numeric_dtype(dtype))


def _fetch_openml(
    data_set: str, target: str | None
) -> tuple[pd.DataFrame, pd.Series, str]:
    """Features, target and name of a data set, given its name or number."""
    from sklearn.datasets import fetch_openml

    which = {"data_id": int(data_set)} if data_set.isdigit() else {"name": data_set}
    column = {} if target is None else {"target_column": target}
    try:
        data = fetch_openml(**which, **column, as_frame=True)
    except Exception as error:
        raise TableError(
            f"Fetching {data_set!r} from OpenML failed: {one_line(error)}"
        ) from error
    if data.target is None:
        raise TableError(
            f"{data_set!r} on OpenML has no default target; name one with --target."
        )
    return data.data, data.target, data.details["name"]
