"""The row groups of a dataset of pyarrow: of any file system, with partitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sk_anyloss.training.data.row_groups.files import RowGroup, RowGroups, named

__all__ = ["DatasetGroups", "is_dataset"]


def is_dataset(data: object) -> bool:
    """Whether data is a dataset of pyarrow, which may not be installed."""
    return type(data).__module__.startswith("pyarrow") and hasattr(
        data, "get_fragments"
    )


class DatasetGroups(RowGroups):
    """The row groups of a dataset, read by it.

    Parameters
    ----------
    dataset : pyarrow.dataset.Dataset
        Of Parquet files. Columns that are in the names of its folders
        (``partitioning='hive'``) are columns like others.
    columns : sequence of str or None
        The features; None for all columns but the others.
    others : sequence of str
        Further columns that are needed.
    """

    def __init__(
        self, dataset: Any, columns: Sequence[str] | None, others: Sequence[str]
    ) -> None:
        self.groups: list[RowGroup] = []
        self.types: dict[str, Any] = {}
        self._schema = dataset.schema
        self._choose(dataset.schema, columns, others, "The dataset")
        self._fragments = {part.path: part for part in _fragments(dataset)}
        first = next(iter(self._fragments), "")
        for path, part in self._fragments.items():
            with named(f"The file {path}"):
                schema, row_groups = part.physical_schema, part.row_groups
            for name in _of_folders(part, dataset.schema):
                schema = schema.append(dataset.schema.field(name))
            self._compare(schema, path, first, has_chosen=columns is not None)
            self.groups += [
                RowGroup(path, group.id, group.num_rows)
                for group in row_groups
                if group.num_rows
            ]
        if not self.groups:
            raise ValueError("The dataset has no rows.")

    def table(self, group: RowGroup, columns: Sequence[str]) -> Any:
        """Columns of a row group as a table of pyarrow."""
        part = self._fragments[group.path]
        with named(f"R{str(group)[1:]}"):
            table = part.subset(row_group_ids=[group.i]).to_table(
                schema=self._schema, columns=list(columns)
            )
        return self._as_settled(table, group)


def _fragments(dataset: Any) -> list[Any]:
    try:
        fragments = list(dataset.get_fragments())
    except ValueError as error:  # It has a filter.
        raise ValueError(
            "A filter of a dataset is not applied to samples that are streamed; write "
            "what it leaves to files (pyarrow.dataset.write_dataset), or give other "
            f"samples a weight of 0 (weight=). {error}"
        ) from error
    for part in fragments:
        if not hasattr(part, "row_groups"):
            raise ValueError(
                f"The dataset is not one of Parquet files, but has {part!r}; write it "
                "to such files first (pyarrow.dataset.write_dataset)."
            )
    return fragments


def _of_folders(part: Any, schema: Any) -> list[str]:
    """Columns of a file that are in the names of its folders."""
    from pyarrow.dataset import get_partition_keys

    keys = get_partition_keys(part.partition_expression)
    return [name for name in keys if name in schema.names]
