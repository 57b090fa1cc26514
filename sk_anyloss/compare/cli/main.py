"""Entry point of the command line: exit codes, errors, signals and warnings."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
import warnings
from collections.abc import Sequence

from sk_anyloss.compare.cli.compare import run_compare
from sk_anyloss.compare.cli.parser import make_parser
from sk_anyloss.compare.cli.streams import (
    escape_control_characters,
    replace_unencodable,
)
from sk_anyloss.compare.errors import OutputError, TableWarning
from sk_anyloss.compare.run.stopping import Stopped, stopped_by
from sk_anyloss.compare.tables.reading.files import one_line

__all__ = ["main"]

#: Environment variable with which errors are raised, with their traceback.
DEBUG = "SK_ANYLOSS_DEBUG"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command of the command line.

    Parameters
    ----------
    arguments : sequence of str, default=None
        The arguments; by default those of the process.

    Returns
    -------
    code : int
        The exit code: 0 for success, 2 for invalid input, 130 if interrupted, 141 if
        the output is a pipe to a process that has ended, such as ``head``, 143 if
        terminated, 1 for any other error. With the environment variable
        SK_ANYLOSS_DEBUG set, errors are raised.

    Examples
    --------
    >>> from sk_anyloss.compare.cli.main import main
    >>> main(["compare", "--list"])
    Methods (* compared by default):
      * anyloss_cv             AnyLossCV
    ...
    0
    """
    with replace_unencodable("backslashreplace"), escape_control_characters():
        options = make_parser().parse_args(arguments)
        given = sys.argv[1:] if arguments is None else arguments
        options.command = shlex.join(["python", "-m", "sk_anyloss", *map(str, given)])
        return _run(options)


def _run(options: argparse.Namespace) -> int:
    """Run a command; any error ends with one sentence and an exit code."""
    try:
        with warnings.catch_warnings(), stopped_by(signal.SIGTERM):
            warnings.showwarning = _show_warning
            warnings.simplefilter("always", TableWarning)
            options.run(options)
            sys.stdout.flush()
            return 0
    except BrokenPipeError:  # The reader of the output has ended.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:
        if os.environ.get(DEBUG):
            raise
        what = str(error).removesuffix(".")
        print(
            f"A file could not be read or written: {what}{_outlook(options)}.",
            file=sys.stderr,
        )
        return 2
    except OutputError as error:
        if os.environ.get(DEBUG):
            raise
        print(
            f"{one_line(error).removesuffix('.')}{_outlook(options)}.", file=sys.stderr
        )
        return 2
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        # TableError is a ValueError; an extra that is not installed is named.
        expected = isinstance(error, (ValueError, ImportError))
        print(one_line(error) if expected else _unexpected(error), file=sys.stderr)
        return 2 if expected else 1
    except KeyboardInterrupt:
        print(f"\nInterrupted{_outlook(options)}.", file=sys.stderr)
        return 130
    except Stopped as stopped:
        print(f"\nTerminated by a signal{_outlook(options)}.", file=sys.stderr)
        return 128 + stopped.number


def _outlook(options: argparse.Namespace) -> str:
    """What is left of a command that has ended early."""
    if options.run is not run_compare:
        return "; nothing was written"
    return "; finished folds are kept, and the same command resumes"


def _unexpected(error: Exception) -> str:
    return (
        f"The command failed with {type(error).__name__}: {one_line(error)} "
        f"(set {DEBUG}=1 for a traceback)."
    )


def _show_warning(message: Warning | str, *_: object, **__: object) -> None:
    print(f"Note: {message}", file=sys.stderr)
