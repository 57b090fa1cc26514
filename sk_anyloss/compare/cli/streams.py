"""Output to terminals that cannot encode every character."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["replace_unencodable"]


@contextmanager
def replace_unencodable(errors: str) -> Iterator[None]:
    """Let the standard streams replace characters that their encoding lacks.

    Parameters
    ----------
    errors : str
        An error handler of :mod:`codecs`, such as ``'replace'``.
    """
    streams = [s for s in (sys.stdout, sys.stderr) if isinstance(s, io.TextIOWrapper)]
    before = [stream.errors for stream in streams]
    try:
        for stream in streams:
            stream.reconfigure(errors=errors)
        yield
    finally:
        for stream, handler in zip(streams, before, strict=True):
            stream.reconfigure(errors=handler)
