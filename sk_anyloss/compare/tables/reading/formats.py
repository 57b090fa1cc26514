"""Reading formats that are not delimited text: Excel, JSON, Feather, Parquet, NPZ."""

from __future__ import annotations

import json
from collections.abc import Collection
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import is_zipfile

import numpy as np
import pandas as pd

from sk_anyloss.compare.errors import TableError, quote_some
from sk_anyloss.compare.tables.reading.delimited import MISSING_WORDS, parse_labels

if TYPE_CHECKING:
    import pyarrow

__all__ = ["read_excel", "read_feather", "read_json", "read_npz", "read_parquet"]


def read_excel(path: Path, labels: Collection[str]) -> tuple[pd.DataFrame, list[str]]:
    """The first sheet of an Excel file, whose first row has the names of the columns.

    Parameters
    ----------
    path : Path
        A ``.xlsx`` or ``.xlsm`` file.
    labels : collection of str
        Columns in which only an empty cell is missing.

    Returns
    -------
    frame : DataFrame
        Its columns.
    notes : list of str
        Which sheet was read, if there are several.
    """
    if find_spec("openpyxl") is None:  # pandas reads Excel files with it.
        raise TableError(
            "Reading Excel files needs openpyxl: pip install openpyxl, or "
            "save the table as .csv."
        )
    with pd.ExcelFile(path, engine="openpyxl") as book:
        sheets = [str(name) for name in book.sheet_names]
        first = pd.read_excel(book, header=None, nrows=1, dtype=object)
        if first.empty:
            raise TableError(f"The sheet {sheets[0]!r} of {str(path)!r} is empty.")
        names = first.iloc[0].dropna()
        _check_names(names, path)
        # Truth values beside an empty cell would become numbers.
        kinds = {name: object for name in names if str(name) in labels}
        frame = pd.read_excel(book, keep_default_na=False, na_values=[""], dtype=kinds)
    notes = []
    if len(sheets) > 1:
        notes.append(
            f"Of {len(sheets)} sheets the first one, {sheets[0]!r}, was read; save "
            "another one as a file of its own to use it."
        )
    frame.columns = frame.columns.map(str)
    return _mask_words(frame, labels), notes


def _check_names(names: pd.Series, path: Path) -> None:
    """Refuse duplicates, which pandas would rename."""
    names = names.map(str)
    duplicates = names[names.duplicated()].unique()
    if len(duplicates):
        raise TableError(
            f"Column names come twice: {quote_some(duplicates)} in {str(path)!r}; "
            "rename them."
        )


def _mask_words(frame: pd.DataFrame, labels: Collection[str]) -> pd.DataFrame:
    """Words for missing values are missing in features, and labels in the target."""
    new = {}
    for name in frame.columns:
        column = frame[name]
        is_text = not pd.api.types.is_numeric_dtype(column) and (
            pd.api.types.is_object_dtype(column) or pd.api.types.is_string_dtype(column)
        )
        if name in labels:
            all_text = is_text and column.dropna().map(type).eq(str).all()
            if all_text:
                column = parse_labels(column.astype(str).where(column.notna()))
        elif is_text:
            column = column.mask(column.isin(MISSING_WORDS)).infer_objects()
            numbers = pd.to_numeric(column, errors="coerce")
            if numbers.isna().equals(column.isna()):
                column = numbers
        new[name] = column
    return pd.DataFrame(new, index=frame.index, columns=frame.columns)


def read_json(path: Path, encoding: str) -> pd.DataFrame:
    r"""An object a line, or a list of objects.

    Parameters
    ----------
    path : Path
        A ``.jsonl``, ``.ndjson`` or ``.json`` file.
    encoding : str
        Its encoding.

    Returns
    -------
    frame : DataFrame
        A column for each key, as it is written: text stays text.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sk_anyloss.compare.tables.reading.formats import read_json
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.jsonl"
    ...     _ = path.write_text('{"a": 1, "y": "01"}\n{"a": 2, "y": "02"}\n')
    ...     read_json(path, "utf-8").to_dict("list")
    {'a': [1, 2], 'y': ['01', '02']}
    """
    records: list[object] = []
    with path.open(encoding=encoding) as file:
        if file.read(1000).lstrip().startswith("["):
            file.seek(0)
            records = json.load(file)
        else:
            file.seek(0)
            for number, line in enumerate(file, 1):
                if line.strip():
                    records.append(_parse_line(line, number))
    if not all(isinstance(record, dict) for record in records):
        raise TableError(
            f"{str(path)!r} must hold objects such as {{'age': 31, 'left': 'no'}}, one "
            "for each sample."
        )
    frame = pd.DataFrame(records)
    frame.columns = frame.columns.map(str)
    return frame


def _parse_line(line: str, number: int) -> object:
    try:
        return json.loads(line)
    except ValueError as error:
        raise TableError(f"Line {number} is not JSON: {error}.") from error


def read_parquet(path: Path, labels: Collection[str]) -> pd.DataFrame:
    """All columns of a Parquet file, and the levels of its index that are labels.

    Parameters
    ----------
    path : Path
        The file.
    labels : collection of str
        Columns of labels.

    Returns
    -------
    frame : DataFrame
        Its columns.
    """
    from pyarrow.parquet import ParquetFile

    with ParquetFile(path) as file:
        frame = _to_frame(file.read(), path, labels)
    levels = [name for name in frame.index.names if name in labels]
    return frame.reset_index(level=levels) if levels else frame


def read_feather(path: Path, labels: Collection[str]) -> pd.DataFrame:
    """All columns of a Feather file.

    Parameters
    ----------
    path : Path
        The file.
    labels : collection of str
        Columns of labels.

    Returns
    -------
    frame : DataFrame
        Its columns.
    """
    from pyarrow.feather import read_table

    return _to_frame(read_table(path), path, labels)


def _to_frame(
    table: pyarrow.Table, path: Path, labels: Collection[str]
) -> pd.DataFrame:
    """A table as a DataFrame; text that is not UTF-8 stays bytes, but in labels."""
    import pyarrow as pa

    _check_names(pd.Series(table.column_names), path)
    for i, field in enumerate(table.schema):
        if not (pa.types.is_string(field.type) or pa.types.is_large_string(field.type)):
            continue
        try:
            table.column(i).validate(full=True)
        except pa.ArrowInvalid as error:
            if field.name in labels:
                raise ValueError(
                    f"its column {field.name!r} has text that is not UTF-8; store it "
                    "as UTF-8."
                ) from error
            table = table.set_column(i, field.name, table.column(i).cast(pa.binary()))
    return table.to_pandas()


def read_npz(path: Path) -> pd.DataFrame:
    """``X`` and ``y`` of a file of numpy, the columns of X as ``x0``, ``x1``, ...

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    frame : DataFrame
        All columns, ``y`` the last.
    """
    if not is_zipfile(path):
        raise TableError(f"{str(path)!r} cannot be read: it is not an .npz file.")
    with np.load(path, allow_pickle=False) as data:
        if "X" not in data or "y" not in data:
            raise TableError(
                f"{str(path)!r} must hold X and y; it holds {quote_some(data.files)}."
            )
        X, y = data["X"], data["y"]
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise TableError(
            f"{str(path)!r} must hold X of shape (n, d) and y of shape (n,), got "
            f"{X.shape} and {y.shape}."
        )
    columns = [f"x{i}" for i in range(X.shape[1])]
    return pd.DataFrame(X, columns=columns).assign(y=y)
