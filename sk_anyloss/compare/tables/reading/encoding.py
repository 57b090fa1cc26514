"""The encoding of a text file: as asked for, or guessed from its bytes."""

from __future__ import annotations

import codecs
from encodings.aliases import aliases
from pathlib import Path

from sk_anyloss._names import unknown
from sk_anyloss.compare.errors import TableError

__all__ = ["find_encoding"]

#: Bytes that are read at a time.
BLOCK = 2**20
#: First bytes of files that name their encoding; those of UTF-32 begin as UTF-16.
MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
#: Control characters, which text does not have.
CONTROLS = bytes({*range(32), 127} - set(b"\t\n\r\f\v\x1a"))


def find_encoding(path: Path, encoding: str | None = None) -> tuple[str, str]:
    """The encoding to read a text file with.

    Parameters
    ----------
    path : Path
        The file.
    encoding : str, default=None
        Its encoding; guessed by default: UTF-8, else UTF-16, else cp1252, which many
        programs of Western countries write.

    Returns
    -------
    encoding : str
        A name that Python knows, in which all of the file can be decoded.
    note : str
        What was guessed, unless it is UTF-8; else empty.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sk_anyloss.compare.tables.reading.encoding import find_encoding
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv"
    ...     _ = path.write_text("café,y", encoding="cp1252")
    ...     find_encoding(path)[0]
    'cp1252'
    """
    if encoding is not None:
        try:
            codecs.lookup(encoding)
        except LookupError as error:
            known = [name.replace("_", "-") for name in sorted(set(aliases.values()))]
            message = unknown("encoding", encoding, known, "or leave --encoding out.")
            raise TableError(message) from error
        if not _decodes(path, encoding):
            raise TableError(
                f"{str(path)!r} is not text in {encoding}; leave --encoding out and it "
                "is guessed."
            )
        return encoding, ""
    with path.open("rb") as file:
        start = file.read(BLOCK)
    for mark, name in MARKS:
        if start.startswith(mark) and _decodes(path, name):
            return name, "" if name == "utf-8-sig" else _note(name)
    if _decodes(path, "utf-8"):
        return "utf-8", ""
    for name in (*_wide_encodings(start), "cp1252"):
        if name == "cp1252" and start.translate(None, CONTROLS) != start:
            break  # Text has no control characters.
        if _decodes(path, name):
            return name, _note(name)
    raise TableError(
        f"{str(path)!r} cannot be read: it is not text in UTF-8, UTF-16 or cp1252; "
        "name its encoding with --encoding, or give it the suffix of its format."
    )


def _note(name: str) -> str:
    return (
        f"The file is not in UTF-8 and is read as {name}; check the letters beyond "
        "ASCII, and name another encoding with --encoding if they are wrong."
    )


def _wide_encodings(start: bytes) -> list[str]:
    """UTF-16 without a mark: every other byte of Latin text is zero."""
    half = max(len(start) // 2, 1)
    if start[1::2].count(0) > 0.7 * half:
        return ["utf-16-le"]
    return ["utf-16-be"] if start[::2].count(0) > 0.7 * half else []


def _decodes(path: Path, encoding: str) -> bool:
    """Whether all of a file can be decoded, without NUL characters."""
    decoder = codecs.getincrementaldecoder(encoding)()
    with path.open("rb") as file:
        while True:
            block = file.read(BLOCK)
            try:
                text = decoder.decode(block, final=not block)
            except (UnicodeError, ValueError):
                return False
            if "\0" in text:
                return False
            if not block:
                return True
