"""Files that are written atomically, and folders for them."""

from __future__ import annotations

import errno
import os
import re
import secrets
import time
from contextlib import suppress
from pathlib import Path
from platform import node

from sk_anyloss.compare.errors import OutputError

__all__ = ["make_folder", "remove_stale", "write"]

#: Age in seconds from which a partly written file is stale, whichever process wrote it.
STALE_SECONDS = 24 * 3600


def make_folder(path: Path) -> None:
    """Create a folder and its parents; raise :class:`OutputError` if that fails.

    Parameters
    ----------
    path : Path
        The folder, which may exist.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sk_anyloss.compare.run.files import make_folder
    >>> with TemporaryDirectory() as folder:
    ...     make_folder(Path(folder) / "a" / "b")
    ...     (Path(folder) / "a" / "b").is_dir()
    True
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        _sync_folder(path.parent)
    except OSError as error:
        raise OutputError(_write_error(path, error)) from error


def write(path: Path, content: bytes) -> None:
    """Write a file atomically: completely or not at all, also if the system fails.

    Parameters
    ----------
    path : Path
        The file; an existing one is replaced.
    content : bytes
        Its content.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sk_anyloss.compare.run.files import write
    >>> with TemporaryDirectory() as folder:
    ...     write(Path(folder) / "a.txt", b"all of it")
    ...     (Path(folder) / "a.txt").read_bytes()
    b'all of it'
    """
    partial = path.with_name(f"{_host()}-{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        try:
            with partial.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        finally:
            with suppress(OSError):  # The folder itself may have been removed.
                partial.unlink()
        _sync_folder(path.parent)
    except OSError as error:
        raise OutputError(_write_error(path, error)) from error


def _write_error(path: Path, error: OSError) -> str:
    return (
        f"{str(path)!r} cannot be written to: {error.strerror or error}; repeat this "
        "when it is resolved, or choose another place."
    )


def _sync_folder(folder: Path) -> None:
    """Make the entries of a folder survive a power failure, where the system can."""
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
        A folder in which :func:`write` has written files.
    """
    for path in folder.glob("*.part"):
        found = re.fullmatch(r"(\w*)-(\d+)-[0-9a-f]+\.part", path.name)
        try:
            old = time.time() - path.stat().st_mtime > STALE_SECONDS
            if old or (found and found[1] == _host() and not _is_alive(int(found[2]))):
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
