"""``python -m sk_anyloss``: compare methods on a table, and apply the winner."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from joblib import cpu_count

from sk_anyloss import __version__
from sk_anyloss.compare.core import check_methods, check_options, compare_tables
from sk_anyloss.compare.errors import TableError, TableWarning
from sk_anyloss.compare.folds.outer import describe_folds
from sk_anyloss.compare.methods import default_methods, get_method, method_names
from sk_anyloss.compare.model_file import saved
from sk_anyloss.compare.results import ALSO
from sk_anyloss.compare.run.names import distinct_names
from sk_anyloss.compare.run.stopping import Stopped, stopped_by
from sk_anyloss.compare.run.store import write
from sk_anyloss.compare.tables.files import read_frame, reason
from sk_anyloss.compare.tables.table import Table, built_in, read_table
from sk_anyloss.metrics import metric_names

__all__ = ["main"]

#: The environment variable with which errors show their traceback.
DEBUG = "SK_ANYLOSS_DEBUG"

COMPARE = """
Is training on the metric better than resampling, class weights or a tuned threshold,
on your data, and by how much? Every method is fitted on the same folds; the answer
comes as a table, a sentence with its probability, and a page to show to others.

  python -m sk_anyloss compare                                 built-in data
  python -m sk_anyloss compare data.csv --target churned       your own
  python -m sk_anyloss compare data.csv --target y --positive yes --metric gmean

A run that is stopped goes on where it was when the same command is given again.
"""
PREDICT = """
Label new rows with a model that "compare --save" has stored.

  python -m sk_anyloss predict results/model.skops new.csv --output labelled.csv
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command of the command line.

    Parameters
    ----------
    arguments : sequence of str, default=None
        Its words; by default those that the program was started with.

    Returns
    -------
    code : int
        0 if all went well, 2 for input that cannot be used, 130 if interrupted, 141 if
        the output goes to a program that has ended, such as ``head``, 143 if
        terminated, 1 for anything else. With the environment variable SK_ANYLOSS_DEBUG
        set, errors are raised.
    """
    options = _parser().parse_args(arguments)
    with _printable("backslashreplace"):
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    """Run a command; whatever goes wrong ends with a sentence and an exit code."""
    try:
        with warnings.catch_warnings(), stopped_by(signal.SIGTERM):
            warnings.showwarning = _show_warning
            warnings.simplefilter("always", TableWarning)
            code = int(options.run(options))
            sys.stdout.flush()
            return code
    except BrokenPipeError:  # Whoever read the output has read enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        if os.environ.get(DEBUG):
            raise
        print(
            f"The system refused to read or write: {error}; what is finished is kept, "
            "and the same command resumes.",
            file=sys.stderr,
        )
        return 2
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        expected = isinstance(error, ValueError)  # TableError is one.
        print(reason(error) if expected else _unexpected(error), file=sys.stderr)
        return 2 if expected else 1
    except KeyboardInterrupt:
        print(
            "\nInterrupted. What is finished is kept; the same command goes on.",
            file=sys.stderr,
        )
        return 130
    except Stopped as stopped:
        print(
            "\nTerminated by a signal; what is finished is kept, and the same command "
            "resumes.",
            file=sys.stderr,
        )
        return 128 + stopped.number


def _unexpected(error: Exception) -> str:
    return (
        f"The command failed with {type(error).__name__}: {reason(error)} "
        f"(set {DEBUG}=1 to see where)."
    )


@contextmanager
def _printable(errors: str) -> Iterator[None]:
    """Replace what the terminal's encoding does not have, rather than to fail."""
    streams = [s for s in (sys.stdout, sys.stderr) if isinstance(s, io.TextIOWrapper)]
    before = [stream.errors for stream in streams]
    try:
        for stream in streams:
            stream.reconfigure(errors=errors)
        yield
    finally:
        for stream, handler in zip(streams, before, strict=True):
            stream.reconfigure(errors=handler)


def _show_warning(message: Any, *_: Any, **__: Any) -> None:
    print(f"Note: {message}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sk_anyloss", description="Train a classifier for the metric you report."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="command")
    shape = argparse.RawDescriptionHelpFormatter
    compare = commands.add_parser(
        "compare", help="which method is best on my data", formatter_class=shape,
        description=COMPARE,
    )  # fmt: skip
    compare.set_defaults(run=_compare)
    add = compare.add_argument
    add(
        "data", nargs="*",
        help=".csv, .parquet or .npz files, or openml:<name or id>; none: built-in",
    )  # fmt: skip
    add("--target", help="the column to predict")
    add("--positive", help="the label to find; by default the rarer of two")
    add("--metric", default="f1", help="what to compare by (f1); see --list")
    add(
        "--methods", default=None,
        help="names with commas between them, or 'all'; see --list",
    )  # fmt: skip
    add("--also", default=None, help="other metrics to tell of, with commas")
    add("--folds", type=int, default=10, help="stratified folds (10)")
    add("--repeats", type=int, default=1, help="how often to split anew (1)")
    add("--groups", help="a column that says which samples belong together")
    add(
        "--time",
        help="a column of numbers or dates; methods are then compared on later samples",
    )
    add(
        "--drop", metavar="COLUMN", action="append", default=[],
        help="columns to leave out, such as IDs, with commas or the option repeated",
    )  # fmt: skip
    add(
        "--allow-missing-labels", action="store_true",
        help="leave out samples without a label, also if more than 1 %% have none",
    )  # fmt: skip
    add(
        "--rope", type=float, default=0.01, help="differences that do not matter (0.01)"
    )
    add("--jobs", type=int, default=cpu_count(), help="processes (all cores)")
    add(
        "--dask", metavar="tcp://HOST:PORT", help="a Dask scheduler to send the work to"
    )
    add("--seed", type=int, default=0, help="of everything that is drawn (0)")
    add("--time-limit", type=float, help="seconds after which nothing more is begun")
    add("--output", type=Path, default=Path("results"), help="folder (results)")
    add(
        "--save", metavar="NAME", default=None,
        help="fit the winner on all rows and store it under this name in the folder",
    )  # fmt: skip
    add("--list", action="store_true", help="show all methods and metrics, and stop")
    add("--quiet", action="store_true", help="no progress bar")
    predict = commands.add_parser(
        "predict", help="apply a stored model", formatter_class=shape,
        description=PREDICT,
    )  # fmt: skip
    predict.set_defaults(run=_predict)
    predict.add_argument("model", type=Path, help="what compare --save has stored")
    predict.add_argument("data", type=Path, help="a file of new rows")
    predict.add_argument(
        "--output", type=Path, default=None, help="a .csv file; by default the terminal"
    )
    return parser


def _list() -> int:
    print("Methods (* compared by default):")
    usual = default_methods()
    for name in method_names():
        star = "*" if name in usual else " "
        print(f"  {star} {name:<22} {get_method(name).title}")
    print("\nMetrics:\n  " + ", ".join(metric_names()))
    print("  and any f<beta> such as f0.5, or precision@recall>=0.8 and the like")
    return 0


def _compare(options: argparse.Namespace) -> int:
    with _printable("replace"):
        return _list() if options.list else _compare_tables(options)


def _read_tables(options: argparse.Namespace) -> list[Table]:
    if not options.data:
        return [built_in(options.seed, options.drop)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)  # They are printed as notes.
        return [
            read_table(
                source, options.target, options.positive, options.groups,
                time=options.time, drop=options.drop,
                allow_missing_labels=options.allow_missing_labels,
            )
            for source in options.data
        ]  # fmt: skip


def _compare_tables(options: argparse.Namespace) -> int:
    methods = options.methods
    if methods not in (None, "all"):
        methods = _words(methods)
    also = ALSO if options.also is None else _words(options.also)
    check_methods(methods)
    check_options(
        options.metric, also, folds=options.folds, repeats=options.repeats,
        seed=options.seed, n_jobs=options.jobs, time_limit=options.time_limit,
        rope=options.rope,
    )  # fmt: skip
    tables = _read_tables(options)
    if options.save and len(tables) > 1:
        raise TableError("--save takes one data set, since a model is made for one.")
    if options.data:
        names = distinct_names([table.name for table in tables], options.data)
        for table, name in zip(tables, names, strict=True):
            table.name = name
    for table in tables:
        print(table.describe())
        print(f"  Folds: {options.folds}, {describe_folds(table)}.")
        for note in table.notes:
            print(f"  {note}")
    progress: Any = None
    if not options.quiet:
        from tqdm import tqdm

        progress = tqdm
    start = time.perf_counter()
    found = compare_tables(
        tables,
        options.metric,
        methods=methods,
        folds=options.folds,
        repeats=options.repeats,
        seed=options.seed,
        n_jobs=options.jobs,
        output=options.output,
        dask=options.dask,
        time_limit=options.time_limit,
        progress=progress,
        also=also,
        rope=options.rope,
    )
    if not found.folds:
        raise ValueError("--time-limit was over before the first fold was begun.")
    if not any(not fold.failed for fold in found.folds):
        raise ValueError(f"Every method failed: {found.reasons()}.")
    print(f"\n{found.text()}\n")
    if options.time_limit is not None:
        expected = len(found.methods) * options.folds * options.repeats * len(tables)
        if len(found.folds) < expected:
            print(
                f"Time was over after {len(found.folds)} of {expected} fits; the same "
                "command goes on.\n"
            )
    page = found.report(options.output)
    print(f"{time.perf_counter() - start:.0f} s. Report: {page}")
    if options.save:
        title, n = get_method(found.winner).title, len(tables[0].y)
        print(f"Fitting {title} on all {n:,} samples ...", flush=True)
        print(f"Model: {saved.save(found, options.output / options.save)}")
    return 0


def _words(text: str) -> tuple[str, ...]:
    """Names with commas between them."""
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _predict(options: argparse.Namespace) -> int:
    output: Path | None = options.output
    if output is not None:
        _check_output(output)
    found = saved.predict(options.model, read_frame(options.data))
    if output is None:
        found.to_csv(sys.stdout, index=False)
        return 0
    content = found.to_csv(index=False).encode()
    try:
        if output.is_file():
            output = output.resolve()  # A link stays a link.
        elif output.exists():  # A pipe or a device.
            output.write_bytes(content)
            return 0
        write(output, content)
    except OSError as error:
        raise TableError(
            f"--output {str(output)!r} cannot be written: {error.strerror}."
        ) from error
    print(f"{len(found):,} rows labelled: {options.output}", file=sys.stderr)
    return 0


def _check_output(path: Path) -> None:
    """Before any work is done."""
    if path.is_dir():
        raise TableError(
            f"--output {str(path)!r} is a folder; name a .csv file, in it for example."
        )
    if not path.parent.is_dir():
        raise TableError(
            f"--output {str(path)!r} is in a folder that does not exist; make "
            f"{str(path.parent)!r} first."
        )
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise TableError(
            f"--output {str(path)!r} may not be written; choose another place."
        )
