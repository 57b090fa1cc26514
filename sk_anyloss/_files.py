"""Files that are written atomically and replace only what the package has written.

Each folder that is written to has a record: a hidden file with the SHA-256 and the name
of every file that was written there. It grows by a line before a file appears, so it is
complete however a process ends, and several processes may write in one folder. A file
whose name and content it does not have is someone else's, or was changed since.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from platform import node

__all__ = ["check_replaceable", "remove_stale", "replacing", "sync_folder"]

RECORD = ".sk_anyloss.sha256"
#: Age in seconds from which a partly written file is stale, whichever process wrote it.
STALE_SECONDS = 24 * 3600


def check_replaceable(
    path: Path,
    inputs: Iterable[str | Path] = (),
    root: Path | None = None,
    *,
    changed: bool = False,
) -> None:
    """Refuse to write over an input, or over what the package has not written.

    Parameters
    ----------
    path : Path
        The file to write; one that is empty, a pipe or a device can be written to.
    inputs : iterable of path, default=()
        Files, and folders of Parquet files, that are read. Links are followed.
    root : Path, default=None
        The folder that has the record; that of the file by default.
    changed : bool, default=False
        Whether a file of a recorded name is replaced whatever it holds.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sk_anyloss._files import check_replaceable
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder) / "mine.csv"
    ...     _ = path.write_text("mine")
    ...     check_replaceable(path)
    Traceback (most recent call last):
    ...
    ValueError: '...mine.csv' was not written by sk_anyloss, or was changed since; ...
    """
    if not path.is_file():
        return
    read = [
        file for one in inputs for file in (Path(one), *Path(one).rglob("*.parquet"))
    ]
    if any(file.exists() and path.samefile(file) for file in read):
        raise ValueError(
            f"{str(path)!r} is an input, which the output would replace; name another "
            "output."
        )
    record, name = _record(path.resolve(), root)
    lines = record.read_text(errors="replace").splitlines() if record.is_file() else []
    if changed and any(line.partition("  ")[2] == name for line in lines):
        return
    if path.stat().st_size and f"{_digest(path)}  {name}" not in lines:
        raise ValueError(
            f"{str(path)!r} was not written by sk_anyloss, or was changed since; move "
            "or delete it, or name another output."
        )


@contextmanager
def replacing(
    path: Path, root: Path | None = None, *, changed: bool = False
) -> Iterator[Path]:
    """A new file, which takes the place of another at the end, or disappears.

    Parameters
    ----------
    path, root, changed
        As for :func:`check_replaceable`.

    Yields
    ------
    partial : Path
        Where to write to; the path itself if it is a pipe or a device.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sk_anyloss._files import replacing
    >>> with TemporaryDirectory() as folder:
    ...     for text in ("first", "second"):
    ...         with replacing(Path(folder) / "a.txt") as partial:
    ...             _ = partial.write_text(text)
    ...     (Path(folder) / "a.txt").read_text()
    'second'
    """
    check_replaceable(path, root=root, changed=changed)
    if path.exists() and not path.is_file():
        yield path
        return
    # A symbolic link to a file is kept.
    target = path.resolve() if path.is_file() else path.parent.resolve() / path.name
    partial = target.with_name(f"{_host()}-{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        yield partial
        with partial.open("r+b") as file:
            os.fsync(file.fileno())
        _add_to_record(*_record(target, root), _digest(partial))
        partial.replace(target)
    finally:
        with suppress(OSError):  # The folder itself may have been removed.
            partial.unlink()
    sync_folder(target.parent)


def _record(target: Path, root: Path | None) -> tuple[Path, str]:
    """The record of a file, and the name that the file has in it."""
    folder = target.parent if root is None else root.resolve()
    if not target.is_relative_to(folder):
        folder = target.parent
    name = target.relative_to(folder).as_posix()
    return folder / RECORD, name.encode("unicode_escape").decode()


def _add_to_record(record: Path, name: str, digest: str) -> None:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
    # Of another user, in a common folder: what is written now will not be replaced.
    with suppress(PermissionError):
        descriptor = os.open(record, flags, 0o666)
        try:
            os.write(descriptor, f"{digest}  {name}\n".encode())
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_folder(folder: Path) -> None:
    """Make the entries of a folder survive a power failure, where the system can.

    Parameters
    ----------
    folder : Path
        The folder.
    """
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows cannot open folders; others may deny reading.
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno in (errno.EIO, errno.ENOSPC, errno.EDQUOT):
            raise  # Other errors: some network file systems cannot sync folders.
    finally:
        os.close(descriptor)


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", node())[:20]


def remove_stale(folder: Path) -> None:
    """Remove partly written files of processes that no longer run.

    Those of other hosts, whose processes cannot be seen, are removed after a day.

    Parameters
    ----------
    folder : Path
        A folder in which :func:`replacing` has written files.
    """
    for path in folder.glob("*.part"):
        found = re.fullmatch(r"(\w*)-(\d+)-[0-9a-f]{8}\.part", path.name)
        if not found:
            continue
        try:
            old = time.time() - path.stat().st_mtime > STALE_SECONDS
            if old or (found[1] == _host() and not _is_alive(int(found[2]))):
                path.unlink()
        except OSError:  # Another run removed it, or it may not be removed.
            continue


def _is_alive(pid: int) -> bool:
    if os.name != "posix":  # On Windows, os.kill(pid, 0) would end the process.
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # Of another user, or not a process ID.
        return True
    return True
