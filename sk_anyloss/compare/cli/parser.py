"""The arguments of the commands, and their help."""

from __future__ import annotations

import argparse
from pathlib import Path

from joblib import cpu_count

from sk_anyloss import __version__
from sk_anyloss.compare.cli.compare import run_compare
from sk_anyloss.compare.cli.evaluate import run_evaluate
from sk_anyloss.compare.cli.predict import run_predict
from sk_anyloss.compare.cli.train import add_train_command

__all__ = ["make_parser"]

COMPARE = """
Is training on the metric better than resampling, class weights or a tuned threshold,
on your data, and by how much? Every method is fitted on the same folds; the results
are a ranking, a verdict with its probability, and a report as one HTML page.

  python -m sk_anyloss compare                                 built-in data
  python -m sk_anyloss compare data.csv --target churned       your own
  python -m sk_anyloss compare data.csv --target y --positive yes --metric gmean
  python -m sk_anyloss compare data.csv --target kind          three and more classes

The same command resumes a run that was stopped.
"""
PREDICT = """
Predict the labels of new samples with a model that "compare --save" has stored.

  python -m sk_anyloss predict results/churn/model.skops new.csv --output labelled.csv
"""
EVALUATE = """
Score a model that "compare --save" has stored on new samples whose labels are known.

  python -m sk_anyloss evaluate results/churn/model.skops new.csv --target churned
"""


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command line.

    Returns
    -------
    parser : argparse.ArgumentParser
        It sets ``run``, a function of the parsed options that runs the command.

    Examples
    --------
    >>> from sk_anyloss.compare.cli.parser import make_parser
    >>> make_parser().parse_args(["compare", "--folds", "3"]).folds
    3
    """
    parser = argparse.ArgumentParser(
        prog="sk_anyloss", description="Train a classifier for the metric you report."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="command")
    formatter = argparse.RawDescriptionHelpFormatter
    compare = commands.add_parser(
        "compare", help="compare methods on a data set", formatter_class=formatter,
        description=COMPARE,
    )  # fmt: skip
    compare.set_defaults(run=run_compare)
    _add_data_arguments(compare)
    _add_comparison_arguments(compare)
    _add_run_arguments(compare)
    add_train_command(commands)
    predict = commands.add_parser(
        "predict", help="apply a stored model", formatter_class=formatter,
        description=PREDICT,
    )  # fmt: skip
    predict.set_defaults(run=run_predict)
    predict.add_argument(
        "model", type=Path, help="model file of compare --save or of train"
    )
    predict.add_argument(
        "data", type=Path, help="a file with new samples, or a folder of Parquet files"
    )
    predict.add_argument(
        "--encoding", help="encoding of a text file (guessed by default)"
    )
    predict.add_argument(
        "--output",
        type=Path,
        default=None,
        help="a .csv file (standard output); for Parquet files of any size, .parquet",
    )
    predict.add_argument(
        "--keep", metavar="COLUMN", action="append", default=[],
        help="columns of the data to repeat in the output, such as a key; "
        "comma-separated or the option repeated",
    )  # fmt: skip
    evaluate = commands.add_parser(
        "evaluate", help="score a stored model on new samples with labels",
        formatter_class=formatter, description=EVALUATE,
    )  # fmt: skip
    evaluate.set_defaults(run=run_evaluate)
    evaluate.add_argument(
        "model", type=Path, help="model file of compare --save or of train"
    )
    evaluate.add_argument(
        "data", type=Path,
        help="a file with samples and labels, or a folder of Parquet files",
    )  # fmt: skip
    evaluate.add_argument("--target", required=True, help="the column of the labels")
    evaluate.add_argument(
        "--metric",
        help="more metrics to report beside that which the model was chosen by, "
        "comma-separated",
    )
    evaluate.add_argument(
        "--cost", metavar="fp=1,fn=20", help="costs to report, of two classes"
    )
    evaluate.add_argument(
        "--encoding", help="encoding of a text file (guessed by default)"
    )
    evaluate.add_argument(
        "--output", type=Path, default=None, help="a .json file for the scores"
    )
    return parser


def _add_data_arguments(parser: argparse.ArgumentParser) -> None:
    """Which samples, features and labels to use."""
    add = parser.add_argument
    add(
        "data", nargs="*",
        help="files (.csv, .tsv, .xlsx, .jsonl, .parquet, .feather, .npz), or "
        "openml:<name or id>; none: built-in",
    )  # fmt: skip
    add(
        "--target",
        help="the column to predict; comma-separated columns of 0 and 1 for several "
        "labels of a sample",
    )
    add(
        "--positive",
        help="label of the positive class, against all others (the rarer of two)",
    )
    add(
        "--order", metavar="low,medium,high",
        help="more than two classes in their order, which kappa_quadratic needs; "
        "ascending: the numbers of the target are classes",
    )  # fmt: skip
    add("--groups", help="a column with the group of each sample; groups stay together")
    add(
        "--time",
        help="a column of numbers or dates; methods are then tested on later samples",
    )
    add(
        "--weight", metavar="COLUMN",
        help="a column with the weight of each sample, in fits and in scores",
    )  # fmt: skip
    add("--encoding", help="encoding of text files (guessed: utf-8, utf-16, cp1252)")
    add(
        "--drop", metavar="COLUMN", action="append", default=[],
        help="columns to drop; comma-separated or the option repeated",
    )  # fmt: skip
    add(
        "--keep", metavar="COLUMN", action="append", default=[],
        help="columns that look like IDs and are no IDs; others of these are left out",
    )  # fmt: skip
    add(
        "--allow-missing-labels", action="store_true",
        help="drop samples without a label even if they are more than 1 %%",
    )  # fmt: skip


def _add_comparison_arguments(parser: argparse.ArgumentParser) -> None:
    """Which methods and metrics to compare, on which folds."""
    add = parser.add_argument
    add(
        "--cost", metavar="fp=1,fn=20",
        help="costs of false positives and false negatives, and of tn and tp, to "
        "compare by the cost that is saved instead of a metric",
    )  # fmt: skip
    add(
        "--metric", default=None,
        help="the metric to compare by (f1, or f1_macro for more than two classes); "
        "see --list",
    )  # fmt: skip
    add(
        "--methods", default=None,
        help="comma-separated names of methods, or 'all'; see --list",
    )  # fmt: skip
    add("--also", default=None, help="more metrics to report, comma-separated")
    add("--folds", type=int, default=10, help="number of stratified folds (10)")
    add(
        "--repeats", type=int, default=1,
        help="number of repetitions of the cross-validation (1)",
    )  # fmt: skip
    add(
        "--rope", type=float, default=0.01,
        help="region of practical equivalence: smaller differences count as none "
        "(0.01)",
    )  # fmt: skip
    add("--seed", type=int, default=0, help="seed of the folds and the methods (0)")
    add(
        "--no-explain", action="store_true",
        help="leave out importances and learning curve, for which the recommended "
        "method is fitted nine more times",
    )  # fmt: skip
    add("--list", action="store_true", help="list all methods and metrics, and exit")


def _add_run_arguments(parser: argparse.ArgumentParser) -> None:
    """Where to run, for how long, and what to write."""
    add = parser.add_argument
    add("--jobs", type=int, default=cpu_count(), help="number of processes (all cores)")
    add(
        "--dask", metavar="tcp://HOST:PORT",
        help="address of a Dask scheduler to submit the fits to",
    )  # fmt: skip
    add(
        "--time-limit", type=float,
        help="seconds after which no further fit is started; importances and learning "
        "curve are then shortened or left out",
    )  # fmt: skip
    add(
        "--output", type=Path, default=None,
        help="output folder (results/<name of the table>)",
    )  # fmt: skip
    add(
        "--save", metavar="NAME", default=None,
        help="fit the recommended method on all samples and store it under this name "
        "in the output folder",
    )  # fmt: skip
    add(
        "--save-method", metavar="METHOD", default=None,
        help="the method to store instead of the recommended one; with the options of "
        "a finished comparison nothing else is fitted",
    )  # fmt: skip
    add(
        "--calibrate", action="store_true",
        help="let the stored model of two classes also give calibrated probabilities",
    )  # fmt: skip
    add(
        "--mlflow", metavar="EXPERIMENT", default=None,
        help="also log the results to this experiment of MLflow",
    )  # fmt: skip
    add(
        "--onnx", action="store_true",
        help="also write the stored model as ONNX, verified in onnxruntime",
    )  # fmt: skip
    add("--quiet", action="store_true", help="show no progress bar")
