"""The output folder: the settings of a comparison, and every finished fold."""

from __future__ import annotations

import hashlib
import io
import json
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from sk_anyloss._files import check_replaceable, remove_stale
from sk_anyloss.compare.errors import OutputError
from sk_anyloss.compare.report.summary import to_json
from sk_anyloss.compare.run.files import make_folder, write
from sk_anyloss.compare.run.names import file_name

__all__ = ["Fold", "Settings", "Store"]

#: Settings of a comparison; their values can be stored in JSON.
Settings: TypeAlias = Mapping[str, Any]


@dataclass
class Fold:
    """Predictions of one method on one fold.

    Parameters
    ----------
    data, method : str
        Names of the data set and of the method.
    fold : int
        Number of the fold, over all repeats.
    seconds : float
        Duration of the fit.
    counts : list of int
        The confusion matrix on the test samples row by row, true classes in rows:
        ``tn, fp, fn, tp`` for two classes, and for each of several labels.
    rows : ndarray of int
        Indices of the test samples.
    scores : ndarray of float
        Their scores; the higher, the more likely positive. With more than two classes
        or several labels of shape (n_samples, C), a column for each.
    failed : str
        Why there are no predictions; empty if there are.
    train_counts : list of float
        The confusion matrix on training samples, at most as many as test samples; of
        their weights if samples have weights.
    weights : list of float
        The confusion matrix on the test samples as sums of their weights; empty if
        they have none.
    """

    data: str
    method: str
    fold: int
    seconds: float = 0.0
    counts: list[int] = field(default_factory=list)
    rows: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=int))
    scores: np.ndarray = field(default_factory=lambda: np.empty(0))
    failed: str = ""
    train_counts: list[float] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)

    @property
    def scored_counts(self) -> Sequence[float]:
        """The confusion matrix that scores are computed from."""
        return self.weights or self.counts


class Store:
    """Finished folds in a folder, one file each.

    Each file has a digest of the settings, so that it can be checked even if the file
    of the settings is lost. A fold whose file is damaged, or belongs to something else,
    is computed again.

    Parameters
    ----------
    folder : Path or None
        The output folder; None to store nothing.
    settings : dict
        Settings that the results depend on. A folder with results of other settings is
        refused.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from sk_anyloss.compare.run.store import Fold, Store
    >>> fold = Fold("a", "bce", 0, 0.1, [1, 0, 0, 0], np.array([7]), np.array([0.2]))
    >>> with TemporaryDirectory() as folder:
    ...     store = Store(Path(folder), {"seed": 0})
    ...     store.save(fold)
    ...     store.find("a", "bce", 0).counts
    [1, 0, 0, 0]
    """

    def __init__(self, folder: Path | None, settings: Settings) -> None:
        self.folder, self.settings = folder, settings
        text = json.dumps(settings, sort_keys=True)
        self._digest = hashlib.sha256(text.encode()).hexdigest()[:16]
        if folder is None:
            return
        make_folder(folder / "folds")
        for place in (folder, folder / "folds", folder / "pictures"):
            remove_stale(place)
        path = folder / "settings.json"
        stored = self._read_settings(path)
        if stored is None:
            write(path, json.dumps(settings, indent=1).encode(), changed=True)
        else:
            self._check_settings(stored)

    def _read_settings(self, path: Path) -> Settings | None:
        """The settings of the results in the folder, None if they are not known."""
        try:
            stored = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise OutputError(
                f"The file {str(path)!r} cannot be read ({error.strerror}); choose "
                "another --output, or remove it."
            ) from error
        except ValueError:
            stored = None
        if not isinstance(stored, dict) or "sk_anyloss" not in stored:
            check_replaceable(path, changed=True)
            warnings.warn(
                f"The file {str(path)!r} is damaged and is written again; finished "
                "folds of the same settings are kept.",
                UserWarning,
                stacklevel=4,
            )
            return None
        return stored

    def _check_settings(self, stored: Settings) -> None:
        """Refuse a folder with results of other settings."""
        now = json.loads(json.dumps(self.settings))
        for name in [*now, *stored]:
            if now.get(name) != stored.get(name):
                raise ValueError(
                    f"The output folder {str(self.folder)!r} holds results of other "
                    f"settings ({name}: {stored.get(name)!r} there, {now.get(name)!r} "
                    "now); choose another --output, or remove it."
                )

    def _path(self, folder: Path, data: str, method: str, fold: int) -> Path:
        return folder / "folds" / f"{file_name(data, method, fold)}.npz"

    def find(
        self, data: str, method: str, fold: int, rows: np.ndarray | None = None
    ) -> Fold | None:
        """A finished fold, if it is stored, is valid and did not fail.

        Parameters
        ----------
        data, method : str
            Names of the data set and of the method.
        fold : int
            Number of the fold.
        rows : ndarray of int, default=None
            Indices of its test samples; not checked by default.

        Returns
        -------
        fold : Fold or None
            None also for an invalid file, which is named in a warning.
        """
        if self.folder is None:
            return None
        path = self._path(self.folder, data, method, fold)
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
            except _InvalidFoldError as error:
                why = str(error)
            except Exception:  # numpy, zipfile and json raise many types.
                why = "it is damaged"
        warnings.warn(
            f"The file {str(path)!r} is ignored, since {why}; its fold is computed "
            "again.",
            UserWarning,
            stacklevel=3,
        )
        return None

    def _parse(self, content: bytes) -> Fold:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            facts = json.loads(str(file["facts"]))
            rows, scores = file["rows"], file["scores"]
        if facts.pop("settings", None) != self._digest:
            raise _InvalidFoldError("it belongs to other settings")
        return Fold(**facts, rows=rows, scores=scores)

    def save(self, fold: Fold) -> None:
        """Store a finished fold.

        Parameters
        ----------
        fold : Fold
            Predictions, or a failure.
        """
        if self.folder is None:
            return
        facts = {**asdict(fold), "settings": self._digest}
        arrays = {name: facts.pop(name) for name in ("rows", "scores")}
        stream = io.BytesIO()
        np.savez_compressed(stream, facts=json.dumps(facts), **arrays)
        path = self._path(self.folder, fold.data, fold.method, fold.fold)
        write(path, stream.getvalue(), self.folder, changed=True)

    def _explanation_path(self, folder: Path, data: str, method: str) -> Path:
        return folder / "folds" / f"{file_name(data, method)}.json"

    def find_explanation(self, data: str, method: str) -> dict[str, Any] | None:
        """What was stored by :meth:`save_explanation`.

        Parameters
        ----------
        data, method : str
            Names of the data set and of the method.

        Returns
        -------
        explanation : dict or None
            None also for a damaged file, and for one of other settings.
        """
        if self.folder is None:
            return None
        try:
            content = self._explanation_path(self.folder, data, method).read_bytes()
            stored = json.loads(content)
        except (OSError, ValueError):
            return None
        if not isinstance(stored, dict) or stored.pop("settings", "") != self._digest:
            return None
        return stored

    def save_explanation(
        self, data: str, method: str, explanation: Mapping[str, Any]
    ) -> None:
        """Store why a method decides as it does.

        Parameters
        ----------
        data, method : str
            Names of the data set and of the method.
        explanation : dict
            Text, numbers, lists and dicts.
        """
        if self.folder is not None:
            path = self._explanation_path(self.folder, data, method)
            content = to_json({**explanation, "settings": self._digest})
            write(path, content, self.folder, changed=True)


class _InvalidFoldError(Exception):
    """Why a file does not hold the fold that it should: a clause."""


def _check_fold(
    found: Fold, expected: tuple[str, str, int], rows: np.ndarray | None
) -> None:
    """Refuse another fold, and one whose arrays are inconsistent."""
    if (found.data, found.method, found.fold) != expected:
        raise _InvalidFoldError("it holds another fold than its name says")
    if found.failed:
        return
    dtypes = found.scores.dtype.kind == "f" and found.rows.dtype.kind in "iu"
    n, n_counts = len(found.rows), len(found.counts)
    n_scores = 2 if found.scores.ndim == 1 else found.scores.shape[-1]
    # The matrix of all classes has each sample once, those of labels once a label.
    of_classes = n_counts == n_scores**2 >= 4 and sum(found.counts) == n
    of_labels = n_counts == 4 * n_scores and sum(found.counts) == n * n_scores
    of_labels = of_labels and found.scores.ndim == 2
    numbers = [found.seconds, *found.train_counts, *found.weights]
    if not all(isinstance(n, (int, float)) and math.isfinite(n) for n in numbers):
        raise _InvalidFoldError("its seconds or counts are not all numbers")
    shapes = found.rows.ndim == 1 and found.scores.shape in ((n,), (n, n_scores))
    counts = (of_classes or of_labels) and len(found.weights) in (0, n_counts)
    if not (dtypes and shapes and counts and min(found.counts) >= 0):
        raise _InvalidFoldError("its arrays are inconsistent")
    if rows is not None and not np.array_equal(found.rows, rows):
        raise _InvalidFoldError("its test samples are others")
