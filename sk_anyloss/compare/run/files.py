"""Files of the command, and folders for them; failures are errors of one sentence."""

from __future__ import annotations

from pathlib import Path

from sk_anyloss._files import replacing, sync_folder
from sk_anyloss.compare.errors import OutputError

__all__ = ["make_folder", "write"]


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
        sync_folder(path.parent)
    except OSError as error:
        raise OutputError(_write_error(path, error)) from error


def write(
    path: Path, content: bytes, root: Path | None = None, *, changed: bool = False
) -> None:
    """Write a file atomically: completely or not at all, also if the system fails.

    Parameters
    ----------
    path : Path
        The file; an existing one is replaced if the package has written it.
    content : bytes
        Its content.
    root, changed
        As for :func:`sk_anyloss._files.check_replaceable`.

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
    try:
        with replacing(path, root, changed=changed) as partial:
            partial.write_bytes(content)
    except OSError as error:
        raise OutputError(_write_error(path, error)) from error


def _write_error(path: Path, error: OSError) -> str:
    return (
        f"{str(path)!r} cannot be written to: {error.strerror or error}; repeat this "
        "when it is resolved, or choose another place."
    )
