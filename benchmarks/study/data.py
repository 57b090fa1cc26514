"""Data sets of the study: from a folder, scikit-learn or OpenML."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import OrdinalEncoder

from benchmarks.datasets import Fold
from sk_anyloss.compare import Table, read_table


@dataclass(frozen=True)
class Source:
    """A data set that is loaded on request.

    Parameters
    ----------
    name : str
        Name, which is part of the names of its result files.
    location : str
        Path of an ``.npz`` file, ``'openml:<id>'``, or the name of a built-in data set.
    paper_id : str
        Its number in the paper's Table 14, ``'four#<number>'`` for the paper's four
        imbalanced data sets, or empty.
    match : str
        ``'exact'`` if its shape and the published scores agree with the paper's.
    n, d : int
        Number of samples and of features.
    """

    name: str
    location: str
    paper_id: str = ""
    match: str = ""
    n: int = 0
    d: int = 0

    @property
    def size(self) -> int:
        """Number of samples times features."""
        return self.n * self.d

    @property
    def is_imbalanced(self) -> bool:
        """Whether it is one of the paper's four imbalanced data sets."""
        return self.paper_id.startswith("four")

    def load(self) -> tuple[np.ndarray, np.ndarray]:
        """X as floats, and y, of which 1 is the rare class."""
        if self.location in BUILT_IN:
            return BUILT_IN[self.location]()
        if self.location.startswith("openml:"):
            return _encode(read_table(self.location))
        with np.load(self.location) as data:
            X, y = data["X"].astype(float), data["y"].astype(int)
        if set(np.unique(y)) != {0, 1}:
            raise SystemExit(
                f"y in '{self.location}' must be 0 and 1, 1 the rare class."
            )
        return X, y


def read_folder(folder: Path) -> list[Source]:
    """The data sets listed in ``catalog.csv`` or, without it, every ``.npz`` file."""
    catalog = folder / "catalog.csv"
    if not catalog.exists():
        paths = sorted(folder.glob("*.npz"))
        if not paths:
            raise SystemExit(f"There is neither catalog.csv nor .npz in '{folder}'.")
        return [_with_size(Source(path.stem, str(path))) for path in paths]
    entries = pd.read_csv(catalog, dtype={"paper_id": str}).itertuples()
    return [
        Source(
            entry.name,
            str(folder / "paper" / f"{entry.name}.npz"),
            entry.paper_id,
            entry.match,
            entry.n,
            entry.d,
        )
        for entry in entries
    ]


def from_openml(ids: Iterable[int]) -> list[Source]:
    """Data sets of OpenML, by id."""
    return [_with_size(Source(f"openml_{k}", f"openml:{k}")) for k in ids]


def built_in() -> list[Source]:
    """The data sets of the paper that scikit-learn contains or generates."""
    return [
        Source("p033_wdbc", "wdbc", "33", "exact", 569, 30),
        Source("four1_random", "random", "four#1", "exact", 10_000, 2),
        Source("four3_breast_cancer", "breast cancer", "four#3", "exact", 393, 30),
    ]


def published_scores(folder: Path) -> pd.DataFrame | None:
    """The paper's ten-fold scores by data set, network, loss and metric, if present."""
    path = folder / "paper_scores.csv"
    if not path.exists():
        return None
    scores = pd.read_csv(path, dtype={"paper_id": str})
    return scores.rename(columns={"eval_metric": "metric"})


def ten_folds(y: np.ndarray) -> list[Fold]:
    """The folds of the paper."""
    splitter = StratifiedKFold(10, shuffle=True, random_state=2)
    return list(splitter.split(np.zeros(len(y)), y))


def _with_size(source: Source) -> Source:
    X, _ = source.load()
    return Source(source.name, source.location, "", "", *X.shape)


def _encode(table: Table) -> tuple[np.ndarray, np.ndarray]:
    """Ordinal codes for categories, as in the paper; medians for missing values."""
    frame = pd.DataFrame(table.X).copy()
    categorical = list(frame.select_dtypes(exclude="number"))
    if categorical:
        encoder = OrdinalEncoder(encoded_missing_value=np.nan)
        frame[categorical] = encoder.fit_transform(frame[categorical].astype(object))
    X = SimpleImputer(strategy="median").fit_transform(frame.astype(float))
    return X, table.y


def _wdbc() -> tuple[np.ndarray, np.ndarray]:
    X, benign = load_breast_cancer(return_X_y=True)
    return X, 1 - benign


def _random() -> tuple[np.ndarray, np.ndarray]:
    X, y = make_classification(
        10_000, n_features=5, n_informative=3, n_redundant=1, n_clusters_per_class=1,
        weights=[0.9, 0.1], class_sep=1.2, random_state=0,
    )  # fmt: skip
    return PCA(2).fit_transform(X), y


def _breast_cancer() -> tuple[np.ndarray, np.ndarray]:
    X, y = _wdbc()
    frame = pd.DataFrame(X)
    kept = frame[y == 1].sample(36, random_state=100)
    indices = np.concatenate((np.flatnonzero(y == 0), kept.index))
    return X[indices], y[indices]


BUILT_IN: dict[str, Callable[[], tuple[np.ndarray, np.ndarray]]] = {
    "wdbc": _wdbc,
    "random": _random,
    "breast cancer": _breast_cancer,
}
