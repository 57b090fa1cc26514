"""Output to terminals, which cannot encode every character and obey some of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from sk_anyloss.compare.report.text import printable

__all__ = ["Printable", "escape_control_characters", "replace_unencodable"]


class Printable:
    """A stream that writes control characters as escape sequences.

    Parameters
    ----------
    stream : TextIO
        Where it writes.
    keep : str
        Control characters that it leaves as they are.
    """

    def __init__(self, stream: TextIO, keep: str) -> None:
        self.stream, self.keep = stream, keep

    def write(self, text: str) -> int:
        """Write text, and return its length."""
        self.stream.write(printable(text, self.keep))
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextmanager
def escape_control_characters() -> Iterator[None]:
    """Let the standard streams escape those of labels, columns and file names."""
    before = sys.stdout, sys.stderr
    try:
        if sys.stdout is not None:
            sys.stdout = Printable(sys.stdout, "\t\n")
        if sys.stderr is not None:
            # A progress bar returns to the start of its line.
            sys.stderr = Printable(sys.stderr, "\t\n\r")
        yield
    finally:
        sys.stdout, sys.stderr = before


@contextmanager
def replace_unencodable(errors: str) -> Iterator[None]:
    """Let the standard streams replace characters that their encoding lacks.

    Parameters
    ----------
    errors : str
        An error handler of :mod:`codecs`, such as ``'replace'``.
    """
    streams: list[Any] = [
        stream for stream in (sys.stdout, sys.stderr) if hasattr(stream, "reconfigure")
    ]
    before = [stream.errors for stream in streams]
    try:
        for stream in streams:
            stream.reconfigure(errors=errors)
        yield
    finally:
        for stream, handler in zip(streams, before, strict=True):
            stream.reconfigure(errors=handler)
