"""A stored model applied to Parquet files larger than the memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sk_anyloss.compare.errors import TableError
from sk_anyloss.compare.model_file.loading import apply_model, load
from sk_anyloss.estimators.parquet import check_output, write_tables
from sk_anyloss.training.data.row_groups.files import RowGroups

__all__ = ["predict_folder"]


def predict_folder(
    model: str | Path, paths: Any, output: str | Path, keep: Sequence[str] = ()
) -> int:
    """Write labels and scores of Parquet files, row group by row group.

    Parameters
    ----------
    model : path
        A model file.
    paths : path or sequence of paths
        Files, or folders with files that end in ``.parquet``; columns that the model
        does not need are not read.
    output : path
        The Parquet file to write, which appears when it is complete.
    keep : sequence of str, default=()
        Columns to repeat in it, such as a key.

    Returns
    -------
    n : int
        Number of samples.
    """
    facts, fitted = load(model)
    new = ["score", "label", *(f"score[{label}]" for label in facts.classes)]
    for name in keep:
        if name in new:
            raise TableError(
                f"--keep names {name!r}, which is a column of the predictions; rename "
                "it in the data."
            )
    files = RowGroups(paths, facts.columns, list(keep))
    check_output(Path(output), files)

    def tables() -> Iterator[Any]:
        import pyarrow as pa

        for group in files.groups:
            read = files.table(group, [*facts.columns, *keep])
            frame = read.select(facts.columns).to_pandas(ignore_metadata=True)
            found = apply_model(facts, fitted, frame, str(model))
            columns = {name: read.column(name) for name in keep}
            yield pa.table(columns | {name: found[name] for name in found.columns})

    write_tables(Path(output), tables())
    return sum(group.n for group in files.groups)
