"""The command ``train``: a network from Parquet files larger than the memory."""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path

import pandas as pd
from sklearn.exceptions import ConvergenceWarning

from sk_anyloss.compare.cli.compare import chosen_metric
from sk_anyloss.compare.errors import TableError
from sk_anyloss.compare.parquet.training import train_parquet
from sk_anyloss.compare.report.text import missed_text
from sk_anyloss.compare.tables.selection import columns_to_drop

__all__ = ["add_train_command"]

TRAIN = """
Train a network for the metric on Parquet files that may be larger than the memory: a
file, or a folder of them. Categories, text and dates are encoded, and missing values
imputed, as learned from a sample. The model is stored for "predict", which takes a
folder as well.

  python -m sk_anyloss train data/ --target y --metric f1 --save model
  python -m sk_anyloss predict model new/ --output predictions.parquet --keep id
"""


def add_train_command(commands: argparse._SubParsersAction) -> None:
    """Add the command and its arguments to a parser."""
    train = commands.add_parser(
        "train", help="train a network on Parquet files larger than the memory",
        formatter_class=argparse.RawDescriptionHelpFormatter, description=TRAIN,
    )  # fmt: skip
    train.set_defaults(run=run_train)
    add = train.add_argument
    add("data", nargs="+", type=Path, help="Parquet files, or folders of them")
    add("--target", required=True, help="the column to predict")
    add("--save", metavar="NAME", type=Path, required=True, help="the model file")
    add("--metric", help="the metric to train for (f1)")
    add("--cost", metavar="fp=1,fn=20", help="costs to train for, instead of a metric")
    add("--positive", help="label of the positive class, against all others")
    add(
        "--order",
        metavar="low,medium,high",
        help="more than two classes in their order",
    )
    add("--weight", help="a column of sample weights")
    add(
        "--drop", metavar="COLUMN", action="append", default=[],
        help="columns that are not features; comma-separated or the option repeated",
    )  # fmt: skip
    add("--hidden", default="32", help="widths of hidden layers, such as 64,32 (32)")
    add("--epochs", type=int, default=20, help="passes over the samples, at most (20)")
    add("--batch-size", type=int, help="samples in a batch (5,000 or fewer)")
    add(
        "--validation", type=float, default=0.1,
        help="fraction held out to stop early, and as much again to score; 0 for "
        "neither (0.1)",
    )  # fmt: skip
    add("--window", type=int, default=128, help="MB of samples in memory (128)")
    add("--seed", type=int, default=0, help="seed of weights and order (0)")
    add("--quiet", action="store_true", help="print no line for each epoch")


def run_train(options: argparse.Namespace) -> None:
    """Train a network and store it.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed arguments.
    """
    try:
        hidden = tuple(int(part) for part in options.hidden.split(",") if part.strip())
    except ValueError:
        raise TableError(
            f"--hidden must be widths such as 64,32, got {options.hidden!r}."
        ) from None
    if not 0 <= options.validation < 0.5:
        raise TableError(
            f"--validation must be in [0, 0.5), such as 0.1; got {options.validation}."
        )
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", ConvergenceWarning)
        warnings.filterwarnings("always", r"Column .* is not used")
        warnings.filterwarnings("always", "Training was interrupted")
        found = train_parquet(
            options.data,
            options.target,
            options.save,
            chosen_metric(options.metric, options.cost),
            positive=options.positive,
            weight=options.weight,
            drop=columns_to_drop(options.drop, pd.Index([])),
            order=options.order,
            validation_fraction=options.validation,
            window=options.window * 2**20,
            hidden=hidden,
            max_epochs=options.epochs,
            batch_size=options.batch_size or "auto",
            random_state=options.seed,
            verbose=int(not options.quiet),
        )
    for note in [*found.notes, *(str(warning.message) for warning in caught)]:
        print(f"  {note}")
    n = sum(found.counts.values())
    classes = ", ".join(f"{label!r} {size:,}" for label, size in found.counts.items())
    epochs = f"{found.model.n_iter_} epoch{'s' * (found.model.n_iter_ != 1)}"
    print(f"{n:,} samples ({classes}), {epochs}.")
    if found.score is not None:
        missed = missed_text(found.metric, found.score)
        print(
            f"{found.metric} of the held-out samples: {missed or f'{found.score:.4f}'} "
            f"({found.n_scored:,} samples that no epoch was chosen by)"
        )
    print(f"{time.perf_counter() - start:.0f} s. Model: {found.path}")
