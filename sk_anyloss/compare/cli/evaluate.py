"""The command ``evaluate``: scores of a stored model on new samples with labels."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence

from sk_anyloss._files import check_replaceable
from sk_anyloss.compare.cli.compare import split_names
from sk_anyloss.compare.errors import TableError, TableWarning, missing_column
from sk_anyloss.compare.metrics import AnyMetric, parse_cost
from sk_anyloss.compare.model_file.evaluation import Evaluation, evaluate_model
from sk_anyloss.compare.model_file.loading import find_model
from sk_anyloss.compare.parquet.evaluation import evaluate_folder
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
    metrics: list[AnyMetric] = [*split_names(options.metric or "")]
    if options.cost is not None:
        metrics.insert(0, parse_cost(options.cost))
    if options.output is not None:
        if not options.output.parent.is_dir():
            raise TableError(
                f"--output {str(options.output)!r} is in a folder that does not exist; "
                f"create {str(options.output.parent)!r} first."
            )
        check_replaceable(options.output, [find_model(options.model), options.data])
    if options.data.is_dir():
        found = evaluate_folder(options.model, options.data, options.target, metrics)
    else:
        found = _evaluate_table(options, metrics)
    print(found)
    if options.output is not None:
        write(options.output, to_json(found.to_dict()))


def _evaluate_table(
    options: argparse.Namespace, metrics: Sequence[AnyMetric]
) -> Evaluation:
    content = read_file(options.data, [options.target], options.encoding)
    frame = content.frame.rename(columns=str)
    if options.target not in frame.columns:
        raise missing_column(options.target, frame.columns, f"in {str(options.data)!r}")
    target = frame.pop(options.target)
    frame, notes = convert_columns(frame, content.separator)
    for note in (*content.notes, *notes):
        warnings.warn(note, TableWarning, stacklevel=2)
    return evaluate_model(options.model, frame, target, metrics)
