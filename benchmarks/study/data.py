"""Data sets of the study: a folder, what scikit-learn has, or OpenML."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import OrdinalEncoder

from sk_anyloss.compare import read_table


@dataclass(frozen=True)
class Source:
    """A data set that is not read yet.

    Parameters
    ----------
    name : str
        What its results are filed under.
    where : str
        Path of an ``.npz`` file, ``'openml:<id>'``, or the name of a built-in set.
    paper_id : str
        Its number in the paper's Table 14, ``'four#<number>'`` for the paper's four
        imbalanced sets, or nothing.
    match : str
        ``'exact'`` where rows, columns and published scores agree with the paper's.
    n, d : int
        Number of rows and of columns.
    """

    name: str
    where: str
    paper_id: str = ""
    match: str = ""
    n: int = 0
    d: int = 0

    @property
    def cells(self):
        """Rows times columns."""
        return self.n * self.d

    @property
    def is_of_four(self):
        """Whether it is one of the paper's four imbalanced sets."""
        return self.paper_id.startswith("four")

    def load(self):
        """Rows as floats, and labels of which 1 is the rare one."""
        if self.where in BUILT_IN:
            return BUILT_IN[self.where]()
        if self.where.startswith("openml:"):
            return _numbers(read_table(self.where))
        with np.load(self.where) as data:
            X, y = data["X"].astype(float), data["y"].astype(int)
        if set(np.unique(y)) != {0, 1}:
            raise SystemExit(f"y in '{self.where}' must be 0 and 1, 1 the rare class.")
        return X, y


def read_folder(folder):
    """All sets of a folder: with ``catalog.csv``, those it lists, else every file."""
    folder = Path(folder)
    catalog = folder / "catalog.csv"
    if not catalog.exists():
        paths = sorted(folder.glob("*.npz"))
        if not paths:
            raise SystemExit(f"There is neither catalog.csv nor .npz in '{folder}'.")
        return [_with_size(Source(path.stem, str(path))) for path in paths]
    rows = pd.read_csv(catalog, dtype={"paper_id": str}).itertuples()
    return [
        Source(
            row.name,
            str(folder / "paper" / f"{row.name}.npz"),
            row.paper_id,
            row.match,
            row.n,
            row.d,
        )
        for row in rows
    ]


def from_openml(numbers):
    """Sets of OpenML, by id."""
    return [_with_size(Source(f"openml_{k}", f"openml:{k}")) for k in numbers]


def built_in():
    """The sets of the paper that scikit-learn has or makes."""
    return [
        Source("p033_wdbc", "wdbc", "33", "exact", 569, 30),
        Source("four1_random", "random", "four#1", "exact", 10_000, 2),
        Source("four3_breast_cancer", "breast cancer", "four#3", "exact", 393, 30),
    ]


def published_scores(folder):
    """The paper's ten-fold scores by set, structure, loss and metric, if at hand."""
    path = Path(folder) / "paper_scores.csv"
    if not path.exists():
        return None
    scores = pd.read_csv(path, dtype={"paper_id": str})
    return scores.rename(columns={"eval_metric": "metric"})


def ten_folds(y):
    """The folds of the paper."""
    splitter = StratifiedKFold(10, shuffle=True, random_state=2)
    return list(splitter.split(np.zeros(len(y)), y))


def _with_size(source):
    X, _ = source.load()
    return Source(source.name, source.where, "", "", *X.shape)


def _numbers(table):
    """Codes for words, as in the paper, and medians for gaps."""
    frame = table.X.copy()
    words = list(frame.select_dtypes(exclude="number"))
    if words:
        encoder = OrdinalEncoder(encoded_missing_value=np.nan)
        frame[words] = encoder.fit_transform(frame[words].astype(object))
    X = SimpleImputer(strategy="median").fit_transform(frame.astype(float))
    return X, table.y


def _wdbc():
    X, benign = load_breast_cancer(return_X_y=True)
    return X, 1 - benign


def _random():
    X, y = make_classification(
        10_000, n_features=5, n_informative=3, n_redundant=1, n_clusters_per_class=1,
        weights=[0.9, 0.1], class_sep=1.2, random_state=0,
    )  # fmt: skip
    return PCA(2).fit_transform(X), y


def _breast_cancer():
    X, y = _wdbc()
    frame = pd.DataFrame(X)
    kept = frame[y == 1].sample(36, random_state=100)
    rows = np.concatenate((np.flatnonzero(y == 0), kept.index))
    return X[rows], y[rows]


BUILT_IN = {"wdbc": _wdbc, "random": _random, "breast cancer": _breast_cancer}
