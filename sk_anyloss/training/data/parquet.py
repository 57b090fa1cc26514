"""Samples in Parquet files, larger than the memory, read row group by row group."""

from __future__ import annotations

import numbers
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from sk_anyloss.training.data.batches import stratified_order
from sk_anyloss.training.data.row_groups.dask_frame import (
    FramePartitions,
    is_dask_frame,
)
from sk_anyloss.training.data.row_groups.datasets import DatasetGroups, is_dataset
from sk_anyloss.training.data.row_groups.dealing import deal
from sk_anyloss.training.data.row_groups.files import RowGroup, RowGroups, is_numeric
from sk_anyloss.training.data.row_groups.window import Window
from sk_anyloss.training.data.source import Index, Source
from sk_anyloss.training.data.strata import strata

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ParquetSource"]

#: A file, a folder, several of these, a dataset of pyarrow or a DataFrame of Dask.
Paths: TypeAlias = "str | Path | Sequence[str | Path] | Any"


class ParquetSource(Source):
    """Samples of Parquet files, of which a window is in memory at a time.

    Parameters
    ----------
    paths : str, path, sequence of these, pyarrow.dataset.Dataset or Dask DataFrame
        Files, or folders with files that end in ``.parquet``, without those that begin
        with ``.`` or ``_``; partitions of a Dask DataFrame are read like row groups.
    target : str or sequence of str, default=None
        Column of the classes, or columns of several labels, 0 or 1.
    columns : sequence of str, default=None
        The features; by default all columns but target and weight, and but the index
        of a DataFrame that was written by pandas.
    weight : str, default=None
        Column of the sample weights.
    preprocessor : fitted transformer, default=None
        Makes numbers of a DataFrame with the columns: encodes categories, imputes
        missing values. Fit it on :meth:`sample`, or incrementally. Without one, all
        columns are numbers without missing values.
    dtype : {'float32', 'float64'}, default=None
        What to compute in; by default float32 if all columns fit into that.
    window : int, default=2**27
        Bytes of samples that are held in memory; one row group at least.

    Attributes
    ----------
    shape : tuple of two ints
        Number of samples and of features.
    groups : sequence of RowGroup
        Where the samples are.

    Notes
    -----
    An epoch goes through windows of row groups, drawn so that each window has about
    the class frequencies of all files, even if these are sorted by class; within a
    window, samples are in a random order, stratified as in memory. Labels, weights and
    the order of an epoch are in memory: 8 bytes a sample, and 4 more with weights.

    Examples
    --------
    >>> import tempfile
    >>> import pyarrow as pa
    >>> import pyarrow.parquet as pq
    >>> from sk_anyloss import AnyLossClassifier
    >>> from sk_anyloss.training.data.parquet import ParquetSource
    >>> folder = tempfile.TemporaryDirectory()
    >>> x = [i / 100 for i in range(100)]
    >>> table = pa.table({"x": x, "y": ["late" if v > 0.8 else "early" for v in x]})
    >>> pq.write_table(table, f"{folder.name}/part.parquet", row_group_size=30)
    >>> data = ParquetSource(folder.name, target="y")
    >>> data.shape
    (100, 1)
    >>> model = AnyLossClassifier(random_state=0).fit(data)
    >>> model.score(data, data.labels()) > 0.9
    True
    >>> folder.cleanup()
    """

    is_streamed = True

    def __init__(
        self,
        paths: Paths,
        target: str | Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        weight: str | None = None,
        preprocessor: Any = None,
        dtype: str | np.dtype | type | None = None,
        window: int = 2**27,
    ) -> None:
        self.target, self.weight, self.window = target, weight, window
        self.preprocessor = preprocessor
        targets = [target] if isinstance(target, str) else list(target or ())
        self._others = [*targets, *([weight] if weight is not None else [])]
        columns = None if columns is None else _checked(columns, self._others)
        _check_window(window)
        self.files: RowGroups = _row_groups(paths, columns, self._others)
        self.columns: list[str] = self.files.columns
        self.names = self.columns if preprocessor is None else None
        self.groups = self.files.groups
        self.dtype = np.dtype(dtype or self._default_dtype())
        if self.dtype not in (np.dtype("float32"), np.dtype("float64")):
            raise ValueError(f"dtype must be 'float32' or 'float64', got {dtype!r}.")
        sizes = [group.n for group in self.groups]
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._buffer: Window | None = None
        self._checked: set[int] = set()
        n_features = len(self.columns)
        if preprocessor is not None:
            n_features = self._preprocessed(self.groups[0]).shape[1]
        self.shape = int(self._starts[-1]), n_features

    def _refuse_other_types(self) -> None:
        types = {name: self.files.types[name] for name in self.columns}
        strange = [name for name, kind in types.items() if not is_numeric(kind)]
        if strange:
            raise ValueError(
                f"Column {strange[0]!r} has the type {types[strange[0]]}, which is no "
                "number; leave it out of columns=, or give a fitted preprocessor= "
                "(such as skrub's TableVectorizer) that encodes it."
            )

    def _default_dtype(self) -> str:
        if self.preprocessor is not None:
            return "float32"
        narrow = ("float", "halffloat", "bool", "int8", "uint8", "int16", "uint16")
        kinds = (str(self.files.types[name]) for name in self.columns)
        return "float32" if all(kind in narrow for kind in kinds) else "float64"

    @property
    def width(self) -> int:
        """Numbers that a sample takes in memory."""
        return self.shape[1]

    def labels(self) -> np.ndarray:
        """Classes of all samples, or a matrix of labels, from one pass over them.

        Returns
        -------
        y : ndarray of shape (n,) or (n, Q)
            In the order of the files.
        """
        if self.target is None:
            raise ValueError(
                "The Parquet source has no target; name the column of the classes: "
                "ParquetSource(paths, target='y')."
            )
        if isinstance(self.target, str):
            return self.files.column(self.target)
        return np.stack([self.files.column(name) for name in self.target], axis=1)

    def weights(self) -> np.ndarray | None:
        """Sample weights; None without a column for them."""
        if self.weight is None:
            return None
        if not is_numeric(kind := self.files.types[self.weight]):
            raise ValueError(
                f"The column {self.weight!r} of the weights has the type {kind}, which "
                "is no number."
            )
        return self.files.column(self.weight)

    def sample(self, n: int = 10_000, random_state: int = 0) -> pd.DataFrame:
        """Some samples as they are stored, to fit a preprocessor on.

        Parameters
        ----------
        n : int, default=10_000
            Number of samples, at most.
        random_state : int, default=0
            Which ones.

        Returns
        -------
        frame : pandas.DataFrame
            The columns of the features, from row groups all over the files.
        """
        return self.files.sample(n, np.random.default_rng(random_state))

    def frames(self) -> Iterator[pd.DataFrame]:
        """The features as they are stored, row group by row group.

        For preprocessors with ``partial_fit``.
        """
        return (self.files.frame(group) for group in self.groups)

    def _read(self, g: int, out: np.ndarray) -> None:
        """Write the samples of a row group as numbers."""
        group = self.groups[g]
        if self.preprocessor is None:
            self._refuse_other_types()
            self.files.matrix(group, out)
        else:
            out[:] = self._preprocessed(group)
        if g not in self._checked:
            self._check_finite(group, out)
            self._checked.add(g)

    def _preprocessed(self, group: RowGroup) -> np.ndarray:
        found = self.preprocessor.transform(self.files.frame(group))
        return np.asarray(found.toarray() if hasattr(found, "toarray") else found)

    @property
    def buffer(self) -> Window:
        """The samples that are in memory."""
        if self._buffer is None:
            self._buffer = Window(
                self._starts, self.shape[1], self.dtype, self.window, self._read
            )
        return self._buffer

    def _check_finite(self, group: RowGroup, X: np.ndarray) -> None:
        finite = np.isfinite(X).all(axis=0)
        if finite.all():
            return
        j = int(np.flatnonzero(~finite)[0])
        name = repr(self.columns[j]) if self.preprocessor is None else f"number {j}"
        way_out = "a fitted preprocessor= that imputes them"
        if self.preprocessor is not None:
            way_out = "a preprocessor that imputes all of them"
        raise ValueError(
            f"Column {name} has missing or infinite values in {group}; give {way_out}, "
            "or leave the column out of columns=."
        )

    def gather(self, index: Index, out: Tensor) -> None:
        """Write samples into a tensor, those of the row groups in memory first."""
        if isinstance(index, slice):
            index = np.arange(*index.indices(self.shape[0]))
        own = torch.from_numpy(np.empty(0, dtype=self.dtype)).dtype
        if out.dtype == own and out.device.type == "cpu" and out.is_contiguous():
            self.buffer.gather(index, out)
        else:
            out.copy_(self.dense(index))

    def dense(self, index: Index) -> Tensor:
        """Samples as a tensor."""
        return torch.from_numpy(self.block(index))

    def block(self, index: Index) -> np.ndarray:
        """Samples as an array."""
        if isinstance(index, slice):
            index = np.arange(*index.indices(self.shape[0]))
        out = np.empty((len(index), self.shape[1]), dtype=self.dtype)
        self.buffer.gather(index, torch.from_numpy(out))
        return out

    def feature(self, j: int, index: np.ndarray | None) -> np.ndarray:
        """One feature of some samples, or of all of them."""
        feature = np.empty(self.shape[0], dtype=self.dtype)
        for g in range(len(self.groups)):
            feature[self._starts[g] : self._starts[g + 1]] = self.buffer.feature(g, j)
        return feature if index is None else feature[index]

    def order(
        self, target: np.ndarray, index: np.ndarray | None, rng: np.random.Generator
    ) -> np.ndarray:
        """Random order by windows of row groups, stratified within each."""
        bounds = self._starts if index is None else np.searchsorted(index, self._starts)
        used = np.flatnonzero(np.diff(bounds))
        codes = strata(target)
        small = codes.astype(np.int64, copy=False) if codes.max(initial=0) > 1 else None
        rarest = 1.0 if small is None else float(np.bincount(small).argmin())
        rates = [np.mean(codes[bounds[g] : bounds[g + 1]] == rarest) for g in used]
        sizes = np.diff(self._starts)[used]
        n_bytes = max(1, self.shape[1] * self.dtype.itemsize)
        capacity = max(int(self.window // n_bytes), int(sizes.max()))
        windows, parts = deal(sizes, np.array(rates), capacity, rng)
        split: dict[int, list[np.ndarray]] = {}
        for i in np.flatnonzero(parts > 1).tolist():
            span = np.arange(bounds[used[i]], bounds[used[i] + 1])
            split[i] = np.array_split(rng.permutation(span), parts[i])
        kind = np.int32 if len(target) < 2**31 else np.int64
        order, stop = np.empty(len(target), dtype=kind), 0
        for w in rng.permutation(len(windows)):
            spans = [
                split[i].pop()
                if i in split
                else np.arange(bounds[used[i]], bounds[used[i] + 1])
                for i in sorted(windows[w])
            ]
            places = np.concatenate(spans)
            start, stop = stop, stop + len(places)
            order[start:stop] = places[stratified_order(target[places], rng)]
        return order

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_buffer": None, "_checked": set()}


def _check_window(window: Any) -> None:
    if not isinstance(window, numbers.Real) or float(window) < 0:
        raise ValueError(f"window must be a number of bytes, got {window!r}.")


def _checked(columns: Sequence[str], others: Sequence[str]) -> list[str]:
    """Names of features: each once, and neither the target nor the weight."""
    names = [columns] if isinstance(columns, str) else list(columns)
    for name in names:
        if name in others:
            raise ValueError(
                f"columns= names {name!r}, which is the target or the weight; leave it "
                "out of the features."
            )
        if names.count(name) > 1:
            raise ValueError(f"columns= names {name!r} more than once.")
    return names


def _row_groups(
    paths: Paths, columns: Sequence[str] | None, others: Sequence[str]
) -> RowGroups:
    """Whatever has been given, as row groups."""
    if is_dask_frame(paths):
        return FramePartitions(paths, columns, others)
    if is_dataset(paths):
        return DatasetGroups(paths, columns, others)
    return RowGroups(paths, columns, others)
