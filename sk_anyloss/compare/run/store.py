"""A folder of results: what was asked for, and every fold that is finished."""

from __future__ import annotations

import errno
import hashlib
import io
import json
import os
import re
import secrets
import time
import warnings
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from platform import node
from typing import Any

import numpy as np

from sk_anyloss.compare.errors import OutputError
from sk_anyloss.compare.run.names import file_name

__all__ = ["Fold", "Store", "make_folder", "write"]

#: Seconds after which a partly written file is stale, whoever was writing it.
STALE = 24 * 3600


@dataclass
class Fold:
    """What one method did on one fold.

    Parameters
    ----------
    data, method : str
        Where, and which.
    fold : int
        Number of the fold, over all repeats.
    seconds : float
        Time of the fit.
    counts : list of int
        ``tn, fp, fn, tp`` on the rows left out.
    rows : ndarray of int
        The rows left out.
    scores : ndarray
        Their scores; the higher, the more likely positive.
    failed : str
        Why there are no results, or nothing.
    """

    data: str
    method: str
    fold: int
    seconds: float = 0.0
    counts: list[int] = field(default_factory=list)
    rows: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int))
    scores: np.ndarray = field(default_factory=lambda: np.empty(0))
    failed: str = ""


class Store:
    """Keeps finished folds in a folder, each in a file of its own, or nowhere.

    Each file carries a digest of the settings, so that it is known for what it is
    also where the file of the settings is lost. A file that is damaged, or belongs to
    something else, counts as not done.

    Parameters
    ----------
    folder : path or None
        Where; None keeps nothing.
    settings : dict
        What the results depend on. A folder that holds results of other settings is
        refused.
    """

    def __init__(self, folder: Path | None, settings: dict[str, Any]) -> None:
        self.folder, self.settings = folder, settings
        text = json.dumps(settings, sort_keys=True)
        self._digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        if folder is None:
            return
        make_folder(folder / "folds")
        for place in (folder, folder / "folds", folder / "pictures"):
            _remove_stale(place)
        known = folder / "settings.json"
        other = self._read_settings(known)
        if other is None:
            write(known, json.dumps(settings, indent=1).encode())
        else:
            self._check_same(other)

    def _read_settings(self, known: Path) -> dict[str, Any] | None:
        """What the folder holds results of, None if that is not known."""
        try:
            other = json.loads(known.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise OutputError(
                f"The file {str(known)!r} cannot be read ({error.strerror}); choose "
                "another --output, or remove it."
            ) from error
        except ValueError:
            other = None
        if not isinstance(other, dict):
            warnings.warn(
                f"The file {str(known)!r} is damaged and is written anew; finished "
                "folds of the same settings are kept.",
                UserWarning,
                stacklevel=4,
            )
            return None
        return other

    def _check_same(self, other: dict[str, Any]) -> None:
        now = json.loads(json.dumps(self.settings))
        for name in [*now, *other]:
            if now.get(name) != other.get(name):
                raise ValueError(
                    f"The output folder {str(self.folder)!r} holds results of other "
                    f"settings ({name}: {other.get(name)!r} there, {now.get(name)!r} "
                    "now); choose another --output, or remove it."
                )

    def _file(self, data: str, method: str, fold: int) -> Path:
        assert self.folder is not None
        return self.folder / "folds" / f"{file_name(data, method, fold)}.npz"

    def find(
        self, data: str, method: str, fold: int, rows: np.ndarray | None = None
    ) -> Fold | None:
        """A finished fold, if it is there, is whole and did not fail.

        Parameters
        ----------
        data, method, fold : str, str and int
            Which one.
        rows : ndarray of int, default=None
            The samples that it leaves out; not checked by default.

        Returns
        -------
        found : Fold or None
            A file that is not what it should be is named in a warning.
        """
        if self.folder is None:
            return None
        path = self._file(data, method, fold)
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            why = error.strerror or "it cannot be read"
        else:
            try:
                found = self._parse(content)
                _check_fold(found, (data, method, fold), rows)
                return None if found.failed else found
            except _StrangeFileError as error:
                why = str(error)
            except Exception:  # Whatever numpy, zipfile or json say of garbage.
                why = "it is damaged"
        warnings.warn(
            f"The file {str(path)!r} counts as not done, since {why}; its fold is "
            "computed again.",
            UserWarning,
            stacklevel=3,
        )
        return None

    def _parse(self, content: bytes) -> Fold:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            facts = json.loads(str(file["facts"]))
            rows, scores = file["rows"], file["scores"]
        if facts.pop("settings", None) != self._digest:
            raise _StrangeFileError("it belongs to other settings")
        return Fold(**facts, rows=rows, scores=scores)

    def keep(self, fold: Fold) -> None:
        """Write a finished fold."""
        if self.folder is None:
            return
        facts = {**asdict(fold), "settings": self._digest}
        arrays = {name: facts.pop(name) for name in ("rows", "scores")}
        stream = io.BytesIO()
        np.savez_compressed(stream, facts=json.dumps(facts), **arrays)
        write(self._file(fold.data, fold.method, fold.fold), stream.getvalue())


class _StrangeFileError(Exception):
    """A file of another content than its name says; the message says in what."""


def _check_fold(
    found: Fold, asked: tuple[str, str, int], rows: np.ndarray | None
) -> None:
    if (found.data, found.method, found.fold) != asked:
        raise _StrangeFileError("it holds another fold than its name says")
    if found.failed:
        return
    numbers = found.scores.dtype.kind == "f" and found.rows.dtype.kind in "iu"
    lengths = found.rows.ndim == 1 and found.scores.shape == found.rows.shape
    counts = len(found.counts) == 4 and sum(found.counts) == len(found.rows)
    if not (numbers and lengths and counts and min(found.counts) >= 0):
        raise _StrangeFileError("its parts do not fit together")
    if rows is not None and not np.array_equal(found.rows, rows):
        raise _StrangeFileError("it leaves out other samples")


def make_folder(path: Path) -> None:
    """Make a folder, and those it is in; say in a sentence if that cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        _sync_folder(path.parent)
    except OSError as error:
        raise OutputError(_refused(path, error)) from error


def write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, whenever the program or the machine ends.

    Parameters
    ----------
    path : Path
        Where to; a file that is there is replaced.
    content : bytes
        What to write.
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
            with suppress(OSError):  # The folder itself can be gone.
                partial.unlink()
        _sync_folder(path.parent)
    except OSError as error:
        raise OutputError(_refused(path, error)) from error


def _refused(path: Path, error: OSError) -> str:
    return (
        f"{str(path)!r} cannot be written to: {error.strerror or error}; what is "
        "finished is kept, so give the same command again when that is mended, or "
        "choose another --output."
    )


def _sync_folder(folder: Path) -> None:
    """Let the names in a folder outlive a power failure, where the system can."""
    try:
        number = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows opens no folders, and one may have no right to read.
        return
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno in (errno.EIO, errno.ENOSPC, errno.EDQUOT):
            raise  # Others: some network file systems do not sync folders.
    finally:
        os.close(number)


def _host() -> str:
    return re.sub(r"[^A-Za-z0-9]+", "_", node())[:20]


def _remove_stale(folder: Path) -> None:
    """Remove partly written files of processes that are gone.

    Those of other machines, whose processes cannot be seen from here, go after a day.
    """
    for path in folder.glob("*.part"):
        found = re.fullmatch(r"(\w*)-(\d+)-[0-9a-f]+\.part", path.name)
        try:
            old = time.time() - path.stat().st_mtime > STALE
            if old or (found and found[1] == _host() and not _is_alive(int(found[2]))):
                path.unlink()
        except OSError:  # Another run was faster, or it is not ours to remove.
            continue


def _is_alive(pid: int) -> bool:
    if os.name != "posix":  # There a signal of 0 would end the process.
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # Of another user, or no number of a process.
        return True
    return True
