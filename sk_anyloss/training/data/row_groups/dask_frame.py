"""The partitions of a Dask DataFrame, in place of the row groups of files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sk_anyloss.training.data.row_groups.files import RowGroup, RowGroups, plain_type

__all__ = ["FramePartitions", "is_dask_frame"]


def is_dask_frame(data: object) -> bool:
    """Whether data is a DataFrame of Dask, which may not be installed."""
    return type(data).__module__.startswith("dask") and hasattr(data, "partitions")


@dataclass(frozen=True)
class Partition(RowGroup):
    """One partition of a Dask DataFrame."""

    def __str__(self) -> str:
        return f"partition {self.i} of {self.path}"


class FramePartitions(RowGroups):
    """The partitions of a Dask DataFrame, each computed whenever it is needed.

    Parameters
    ----------
    frame : dask.dataframe.DataFrame
        Computed by the scheduler or the client that is active then.
    columns : sequence of str or None
        The features; None for all columns but the others.
    others : sequence of str
        Further columns that are needed.
    """

    def __init__(
        self, frame: Any, columns: Sequence[str] | None, others: Sequence[str]
    ) -> None:
        self._frame = frame
        self.groups: list[RowGroup] = []
        self.types = {}
        name = "the Dask DataFrame"
        sizes = frame.map_partitions(len, meta=(None, "int64")).compute()
        self.groups += [Partition(name, i, n) for i, n in enumerate(sizes) if n]
        if not self.groups:
            raise ValueError("The Dask DataFrame has no rows.")
        first = self.table(self.groups[0], list(frame.columns))
        self._choose(first.schema, columns, others, name)
        self.types = {name: plain_type(kind) for name, kind in self.types.items()}

    def table(self, group: RowGroup, columns: Sequence[str]) -> Any:
        """Columns of a partition as a table of pyarrow."""
        import pyarrow as pa

        part = self._frame[list(columns)].partitions[group.i].compute()
        table = pa.Table.from_pandas(part, preserve_index=False)
        for name in columns:
            kind, found = self.types.get(name), table.schema.field(name).type
            if kind not in (None, plain_type(found)) and not pa.types.is_null(found):
                raise ValueError(
                    f"Partitions have different schemas: column {name!r} has the type "
                    f"{kind} in {self.groups[0]}, but {found} in {group}."
                )
        return self._as_settled(table, group)
