"""Predictions for Parquet files, written as one, row group by row group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sk_anyloss._files import check_replaceable, replacing
from sk_anyloss.training.data.parquet import ParquetSource
from sk_anyloss.training.data.row_groups.files import RowGroups
from sk_anyloss.training.data.source import as_source

if TYPE_CHECKING:
    from sk_anyloss.estimators.classifier import AnyLossClassifier

__all__ = ["check_output", "predict_parquet", "write_tables"]


def predict_parquet(
    model: AnyLossClassifier,
    data: ParquetSource,
    path: str | Path,
    keep: Sequence[str] = (),
) -> Path:
    """Write predictions and scores for Parquet files that are larger than the memory.

    Parameters
    ----------
    model : AnyLossClassifier
        Fitted, on the same columns.
    data : ParquetSource
        The samples; ``target`` may be left out.
    path : str or path
        The file to write, with the columns ``prediction`` and ``score_<class>`` (for
        several labels ``prediction_<i>`` and ``score_<i>``), in the order of the
        samples. It appears when it is complete; an existing file is replaced only if
        this package has written it, and it was not changed since.
    keep : sequence of str, default=()
        Columns of the files to copy, such as an identifier.

    Returns
    -------
    path : Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> from sk_anyloss import AnyLossClassifier
    >>> from sk_anyloss.estimators.parquet import predict_parquet
    >>> from sk_anyloss.training.data.parquet import ParquetSource
    >>> folder = tempfile.TemporaryDirectory()
    >>> x = [i / 100 for i in range(100)]
    >>> table = pa.table({"x": x, "y": [v > 0.8 for v in x]})
    >>> pq.write_table(table, f"{folder.name}/a")
    >>> data = ParquetSource(f"{folder.name}/a", target="y")
    >>> model = AnyLossClassifier(random_state=0).fit(data)
    >>> pq.read_table(predict_parquet(model, data, f"{folder.name}/b")).column_names
    ['prediction', 'score_False', 'score_True']
    >>> folder.cleanup()
    """
    check_is_fitted(model)
    model._validate(data, reset=False)
    keep = [keep] if isinstance(keep, str) else list(keep)
    data.files.check_names(keep)
    for name in keep:
        if name in _names(model):
            raise ValueError(
                f"keep= names {name!r}, which is a column of the predictions; rename "
                "it in the files."
            )
    check_output(Path(path), data.files)

    def tables() -> Iterator[Any]:
        import pyarrow as pa

        stop = 0
        for group in data.groups:
            start, stop = stop, stop + group.n
            X = as_source(data.block(slice(start, stop)))
            columns: dict[str, Any] = {}
            if keep:
                kept = data.files.table(group, keep)
                columns.update({name: kept.column(name) for name in keep})
            yield pa.table(columns | _columns(model, X))

    return write_tables(Path(path), tables())


def write_tables(path: Path, tables: Iterable[Any]) -> Path:
    """Write tables of pyarrow as row groups of one file, or nothing if one fails.

    Parameters
    ----------
    path : Path
        The file, which appears when it is complete.
    tables : iterable of pyarrow.Table
        One at least; all of them have the schema of the first.

    Returns
    -------
    path : Path
        The file.
    """
    import pyarrow.parquet as pq

    tables = iter(tables)
    first = next(tables)
    with replacing(path) as partial, pq.ParquetWriter(partial, first.schema) as writer:
        for table in chain([first], tables):
            writer.write_table(table)
    return path


def check_output(path: Path, files: RowGroups) -> None:
    """Refuse an output that has no folder, or is a file that must not be replaced.

    Parameters
    ----------
    path : Path
        The output.
    files : RowGroups
        What is read.
    """
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"The predictions cannot be written to {path}, since the folder does not "
            "exist; create it first."
        )
    check_replaceable(path, {group.path for group in files.groups})


def _columns(model: AnyLossClassifier, X: Any) -> dict[str, np.ndarray]:
    predicted, scores = model.predict(X), model.predict_proba(X)
    values = [predicted] if predicted.ndim == 1 else list(predicted.T)
    return dict(zip(_names(model), [*values, *scores.T], strict=True))


def _names(model: AnyLossClassifier) -> list[str]:
    """Columns of the predictions."""
    labels = model.classes_.tolist()
    several = model.target_type_ == "multilabel-indicator"
    predictions = (
        [f"prediction_{name}" for name in labels] if several else ["prediction"]
    )
    return [*predictions, *(f"score_{label}" for label in labels)]
