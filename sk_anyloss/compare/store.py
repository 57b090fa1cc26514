"""A folder of results: what was asked for, and every fold that is finished."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Fold", "Store"]


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

    A file is written under another name and then renamed, so that one which is there
    is whole, whenever the program ends.

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
        if folder is None:
            return
        try:
            (folder / "folds").mkdir(parents=True, exist_ok=True)
            known = folder / "settings.json"
            if known.exists():
                self._check_same(json.loads(known.read_text(encoding="utf-8")))
            else:
                write(known, json.dumps(settings, indent=1).encode())
        except OSError as error:
            raise ValueError(
                f"The output folder {str(folder)!r} cannot be written to: "
                f"{error.strerror}."
            ) from error

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
        plain = re.sub(r"[^\w.-]+", "_", data)
        return self.folder / "folds" / f"{plain}.{method}.{fold}.npz"

    def find(self, data: str, method: str, fold: int) -> Fold | None:
        """A finished fold, if it is there and did not fail."""
        if self.folder is None or not self._file(data, method, fold).exists():
            return None
        with np.load(self._file(data, method, fold)) as file:
            facts = json.loads(str(file["facts"]))
            found = Fold(**facts, rows=file["rows"], scores=file["scores"])
        return None if found.failed else found

    def keep(self, fold: Fold) -> None:
        """Write a finished fold."""
        if self.folder is None:
            return
        facts = asdict(fold)
        arrays = {name: facts.pop(name) for name in ("rows", "scores")}
        path = self._file(fold.data, fold.method, fold.fold)
        partial = path.with_suffix(f".{os.getpid()}.part")
        with partial.open("wb") as file:
            np.savez_compressed(file, facts=json.dumps(facts), **arrays)
        partial.replace(path)


def write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    partial.write_bytes(content)
    partial.replace(path)
