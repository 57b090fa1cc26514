"""The command ``evaluate``: scores of a stored model on new samples with labels."""

from __future__ import annotations

import argparse
import warnings

from sk_anyloss.compare.cli.compare import split_names
from sk_anyloss.compare.errors import TableError, TableWarning, missing_column
from sk_anyloss.compare.model_file.evaluation import evaluate_model
from sk_anyloss.compare.report.summary import to_json
from sk_anyloss.compare.run.files import write
from sk_anyloss.compare.tables.columns import convert_columns
from sk_anyloss.compare.tables.reading.files import read_file

__all__ = ["run_evaluate"]


def run_evaluate(options: argparse.Namespace) -> None:
    """Evaluate a stored model on new samples.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed arguments.
    """
    content = read_file(options.data, [options.target], options.encoding)
    frame = content.frame.rename(columns=str)
    if options.target not in frame.columns:
        raise missing_column(options.target, frame.columns, f"in {str(options.data)!r}")
    target = frame.pop(options.target)
    frame, notes = convert_columns(frame, content.separator)
    for note in (*content.notes, *notes):
        warnings.warn(note, TableWarning, stacklevel=2)
    metrics = split_names(options.metric or "")
    found = evaluate_model(options.model, frame, target, metrics)
    print(found)
    if options.output is not None:
        if not options.output.parent.is_dir():
            raise TableError(
                f"--output {str(options.output)!r} is in a folder that does not exist; "
                f"create {str(options.output.parent)!r} first."
            )
        write(options.output, to_json(found.to_dict()))
