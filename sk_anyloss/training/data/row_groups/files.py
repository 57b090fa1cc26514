"""Row groups of Parquet files that have one schema."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from sk_anyloss._names import unknown

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["RowGroup", "RowGroups", "is_nested", "is_numeric", "named", "plain_type"]


def _pyarrow() -> tuple[ModuleType, ModuleType]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "Parquet files need pyarrow: pip install pyarrow",
            name="pyarrow",
        ) from error
    return pyarrow, pyarrow.parquet


@dataclass(frozen=True)
class RowGroup:
    """One row group of a file.

    Parameters
    ----------
    path : str
        The file.
    i : int
        Number of the row group in it.
    n : int
        Number of samples.
    """

    path: str
    i: int
    n: int

    def __str__(self) -> str:
        return f"row group {self.i} of {self.path}"


def is_numeric(kind: Any) -> bool:
    """Whether a type of pyarrow is one of numbers or of true and false."""
    types = _pyarrow()[0].types
    return bool(
        types.is_floating(kind) or types.is_integer(kind) or types.is_boolean(kind)
    )


def is_nested(kind: Any) -> bool:
    """Whether a type of pyarrow is one of lists, dicts and the like."""
    return bool(_pyarrow()[0].types.is_nested(kind))


class RowGroups:
    """The row groups of files that have one schema.

    Parameters
    ----------
    paths : str, path or sequence of these
        Files, or folders with files that end in ``.parquet``; names in a folder that
        begin with ``.`` or ``_`` are ignored.
    columns : sequence of str or None
        The features; None for all columns but the others, and but the index of a
        DataFrame of pandas.
    others : sequence of str
        Further columns that are needed.

    Attributes
    ----------
    groups : list of RowGroup
        Those that have samples, in the order of the files' names.
    columns : list of str
        The features.
    types : dict of str to pyarrow.DataType
        Types of all columns that are needed. Texts are strings where some files have
        other categories, or longer offsets, than others.
    """

    def __init__(
        self, paths: Any, columns: Sequence[str] | None, others: Sequence[str]
    ) -> None:
        _, pq = _pyarrow()
        self.groups: list[RowGroup] = []
        self.types: dict[str, Any] = {}
        files = _files(paths)
        for path in files:
            with named(f"The file {path}"):
                metadata = pq.read_metadata(path)
                schema = metadata.schema.to_arrow_schema()
            if not self.types:
                self._choose(schema, columns, others, path)
            self._compare(schema, path, files[0], has_chosen=columns is not None)
            sizes = [
                metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)
            ]
            self.groups += [RowGroup(path, i, n) for i, n in enumerate(sizes) if n]
        if not self.groups:
            raise ValueError(f"The Parquet files of {paths} have no rows.")

    def _compare(self, schema: Any, path: str, first: str, has_chosen: bool) -> None:
        """Refuse a file with other types than the first one has."""
        for name, kind in self.types.items():
            found = _type_of(schema, name, path) if name in schema.names else None
            if found is None or plain_type(found) != plain_type(kind):
                has = "no such column" if found is None else f"the type {found}"
                raise ValueError(
                    f"Files have different schemas: column {name!r} has the type "
                    f"{kind} in {first}, but {path} has {has}."
                )
            if found != kind:
                self.types[name] = plain_type(kind)
        further = [name for name in schema.names if name not in self._known]
        if further and not has_chosen:
            warnings.warn(
                f"Column {further[0]!r} of {path} is not in {first}, and is not used.",
                stacklevel=4,
            )

    def _choose(
        self, schema: Any, columns: Sequence[str] | None, others: Sequence[str], of: str
    ) -> None:
        """Settle the features and the types of all columns that are needed."""
        self._known = set(schema.names)
        names = [
            name for name in schema.names if name not in {*others, *_index(schema)}
        ]
        self.columns = list(names if columns is None else columns)
        self.check_names([*self.columns, *others], of)
        for name in [*self.columns, *others]:
            self.types[name] = _type_of(schema, name, of)
        for name in self.columns:
            if _pyarrow()[0].types.is_binary(self.types[name]):
                self.types[name] = plain_type(self.types[name])
        if not self.columns:
            raise ValueError(f"{of} has no columns to learn from.")

    def check_names(self, names: Sequence[str], of: str = "") -> None:
        """Refuse columns that the first file does not have."""
        for name in names:
            if name not in self._known:
                what = unknown("column", name, self._known, "these are all.")
                raise ValueError(f"{of or self.groups[0].path}: {what}")

    def table(self, group: RowGroup, columns: Sequence[str]) -> Any:
        """Columns of a row group as a table of pyarrow."""
        _, pq = _pyarrow()
        with (
            named(f"R{str(group)[1:]}"),
            pq.ParquetFile(group.path, pre_buffer=False) as file,
        ):
            table = file.read_row_group(group.i, columns=list(columns))
        return self._as_settled(table, group)

    def _as_settled(self, table: Any, group: RowGroup) -> Any:
        """A table with valid text, whose columns have the types of all files."""
        pa, _ = _pyarrow()
        for i, field in enumerate(table.schema):
            kind = self.types.get(field.name, field.type)
            try:
                if field.type != kind:
                    table = table.set_column(i, field.name, table.column(i).cast(kind))
                if not is_numeric(kind):
                    table.column(i).validate(full=True)
            except pa.ArrowInvalid as error:
                raise ValueError(
                    f"Column {field.name!r} has text that is not UTF-8 in {group}; "
                    "store it as UTF-8, or leave the column out (drop it)."
                ) from error
        return table

    def frame(self, group: RowGroup) -> pd.DataFrame:
        """The features of a row group as they are stored."""
        table = self.table(group, self.columns)
        frame: pd.DataFrame = table.to_pandas(ignore_metadata=True)
        return frame

    def matrix(self, group: RowGroup, out: np.ndarray) -> None:
        """Write the features of a row group as numbers; missing ones are NaN."""
        table = self.table(group, self.columns)
        features = [table.column(name).to_numpy() for name in self.columns]
        # A thousand samples at a time, which stay in the processor's cache.
        for start in range(0, group.n, 1024):
            part = out[start : start + 1024]
            for j, feature in enumerate(features):
                part[:, j] = feature[start : start + 1024]

    def column(self, name: str) -> np.ndarray:
        """One column of all files, which may have no missing values."""
        parts = []
        for group in self.groups:
            part = self.table(group, [name]).column(name)
            values = np.empty(0) if part.null_count else _values(part)
            has_nan = values.dtype.kind == "f" and np.isnan(values).any()
            if part.null_count or has_nan:
                raise ValueError(
                    f"Column {name!r} has missing values in {group}; it is needed for "
                    "every sample, so remove samples without it."
                )
            parts.append(values)
        return np.concatenate(parts)

    def sample(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        """Samples from row groups all over the files, as they are stored."""
        import pandas as pd

        chosen = rng.permutation(len(self.groups))[:10]
        share = max(1, n // len(chosen))
        parts = []
        for g in sorted(chosen.tolist()):
            frame = self.frame(self.groups[g])
            rows = rng.permutation(len(frame))[:share]
            parts.append(frame.iloc[np.sort(rows)])
        return pd.concat(parts, ignore_index=True)


def _type_of(schema: Any, name: str, of: str) -> Any:
    """The type of a column, which may be there once."""
    if len(schema.get_all_field_indices(name)) > 1:
        raise ValueError(f"Column names of {of} come twice: {name!r}; rename them.")
    return schema.field(name).type


def _index(schema: Any) -> list[str]:
    """Columns that are the index of the DataFrame that was written."""
    names = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in names if isinstance(name, str)]


def plain_type(kind: Any) -> Any:
    """The type of the same values without categories or long offsets, bytes as text.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from sk_anyloss.training.data.row_groups.files import plain_type
    >>> plain_type(pa.dictionary(pa.int8(), pa.large_string()))
    DataType(string)
    """
    pa, _ = _pyarrow()
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    is_text = pa.types.is_large_string(kind) or pa.types.is_binary(kind)
    return pa.string() if is_text else kind


def _values(column: Any) -> np.ndarray:
    """A column as an array, in which equal texts are one object."""
    types = _pyarrow()[0].types
    if not (types.is_string(column.type) or types.is_large_string(column.type)):
        return np.asarray(column.to_numpy())
    parts = [chunk.dictionary_encode() for chunk in column.chunks]
    texts = [part.dictionary.to_numpy(zero_copy_only=False) for part in parts]
    found = zip(texts, parts, strict=True)
    return np.concatenate([text[part.indices.to_numpy()] for text, part in found])


def _files(paths: Any) -> list[str]:
    """All files, those of a folder by their names."""
    try:
        given = [paths] if isinstance(paths, (str, Path)) else [*map(Path, paths)]
    except TypeError:
        given = []
    if not given:
        raise TypeError(
            "Parquet files are given as a path, a list of paths, a dataset of pyarrow "
            f"or a DataFrame of Dask; got {paths!r}."
        )
    found: list[str] = []
    for path in map(Path, given):
        if path.is_dir():
            # As pyarrow does, it ignores what other programs hide or have not finished.
            inside = [
                str(file)
                for file in sorted(path.rglob("*.parquet"))
                if not file.is_dir()
                and not any(
                    part.startswith((".", "_")) for part in file.relative_to(path).parts
                )
            ]
            if not inside:
                raise FileNotFoundError(
                    f"The folder {path} has no files (names that begin with '.' or "
                    "'_' are ignored) that end in .parquet."
                )
            found += inside
        elif path.exists():
            found.append(str(path))
        else:
            raise FileNotFoundError(f"There is no file or folder {path}.")
    for name in found:
        if not Path(name).is_file():
            raise ValueError(
                f"{name} is not a regular file, but a pipe, a device or a broken link; "
                "store the samples in a file."
            )
    return found


@contextmanager
def named(place: str) -> Iterator[None]:
    """Say what could not be read."""
    try:
        yield
    except (OSError, ValueError, EOFError) as error:  # pyarrow's own derive from these.
        raise ValueError(
            f"{place} cannot be read, it may be damaged: {error}"
        ) from error
