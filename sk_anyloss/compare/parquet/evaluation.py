"""A stored model scored on Parquet files larger than the memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sk_anyloss.compare.metrics import AnyMetric
from sk_anyloss.compare.model_file.evaluation import Evaluation, evaluate_parts
from sk_anyloss.compare.model_file.loading import load
from sk_anyloss.training.data.row_groups.files import RowGroups

__all__ = ["evaluate_folder"]


def evaluate_folder(
    model: str | Path, paths: Any, target: str, metrics: Sequence[AnyMetric] = ()
) -> Evaluation:
    """Apply a stored model to Parquet files, row group by row group, and score it.

    Parameters
    ----------
    model : path
        A model file.
    paths : path or sequence of paths
        Files, or folders with files that end in ``.parquet``.
    target : str
        Column of the true labels; samples without one are left out.
    metrics : sequence of str or callable, default=()
        Metrics besides the common ones and that which the model was chosen by.

    Returns
    -------
    evaluation : Evaluation
        Confusion matrix and scores.
    """
    facts, _ = load(model)
    files = RowGroups(paths, facts.columns, [target])

    def parts() -> Iterator[tuple[pd.DataFrame, pd.Series]]:
        for group in files.groups:
            read = files.table(group, [*facts.columns, target])
            frame = read.to_pandas(ignore_metadata=True)
            yield frame[facts.columns], frame[target]

    return evaluate_parts(model, parts(), metrics)
