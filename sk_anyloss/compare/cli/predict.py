"""The command ``predict``: labels and scores of new samples."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from sk_anyloss._files import check_replaceable
from sk_anyloss.compare.cli.streams import Printable
from sk_anyloss.compare.errors import TableError, missing_column
from sk_anyloss.compare.model_file.loading import find_model, predict
from sk_anyloss.compare.parquet.predictions import predict_folder
from sk_anyloss.compare.run.files import write
from sk_anyloss.compare.tables.reading.files import read_frame
from sk_anyloss.compare.tables.selection import columns_to_drop

__all__ = ["run_predict"]


def run_predict(options: argparse.Namespace) -> None:
    """Predict new samples with a stored model.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed arguments.
    """
    output: Path | None = options.output
    if output is not None:
        _check_output(output, [find_model(options.model), options.data])
    if options.data.is_dir() or (output is not None and output.suffix == ".parquet"):
        _predict_in_chunks(options)
        return
    frame = read_frame(options.data, options.encoding).rename(columns=str)
    kept = columns_to_drop(options.keep, frame.columns)
    for name in kept:
        if name not in frame.columns:
            raise missing_column(name, frame.columns, f"in {str(options.data)!r}")
    predicted = predict(options.model, frame)
    clashes = [name for name in kept if name in predicted.columns]
    if clashes:
        raise TableError(
            f"--keep names {clashes[0]!r}, which is a column of the predictions; "
            "rename it in the data."
        )
    keys = frame[kept].reset_index(drop=True)
    predicted = pd.concat([keys, predicted.reset_index(drop=True)], axis=1)
    if output is None:
        stream: Any = sys.stdout
        if isinstance(stream, Printable) and not stream.isatty():
            stream = stream.stream  # Data are written as they are.
        predicted.to_csv(stream, index=False)
        return
    write(output, predicted.to_csv(index=False).encode())
    print(f"{len(predicted):,} samples labelled: {options.output}", file=sys.stderr)


def _predict_in_chunks(options: argparse.Namespace) -> None:
    """Predict Parquet files that may be larger than the memory."""
    if options.output is None or options.output.suffix != ".parquet":
        raise TableError(
            f"{str(options.data)!r} is a folder, whose predictions are written to a "
            "Parquet file: name one with --output predictions.parquet."
        )
    if not options.data.is_dir() and options.data.suffix != ".parquet":
        raise TableError(
            f"--output {str(options.output)!r} is for predictions of Parquet files; "
            "name a .csv file."
        )
    keep = columns_to_drop(options.keep, pd.Index([]))
    n = predict_folder(options.model, options.data, options.output, keep)
    print(f"{n:,} samples labelled: {options.output}", file=sys.stderr)


def _check_output(path: Path, inputs: list[Path]) -> None:
    """Refuse an output that cannot be written, before any work is done."""
    check_replaceable(path, inputs)
    if path.is_dir():
        raise TableError(
            f"--output {str(path)!r} is a folder; name a .csv file, in it for example."
        )
    if not path.parent.is_dir():
        raise TableError(
            f"--output {str(path)!r} is in a folder that does not exist; create "
            f"{str(path.parent)!r} first."
        )
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise TableError(f"--output {str(path)!r} is not writable; choose another one.")
