"""A network trained on Parquet files larger than the memory, and stored."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline

from sk_anyloss.compare.errors import (
    TableError,
    missing_column,
    quote_some,
    unusable_column,
)
from sk_anyloss.compare.metrics import (
    AnyMetric,
    check_metric,
    encode_metric,
    text_of_metric,
)
from sk_anyloss.compare.model_file import Facts, ModelFileError, dumps
from sk_anyloss.compare.model_file.saved import check_model_path
from sk_anyloss.compare.run.files import write
from sk_anyloss.compare.tables.labels import Label, Order, as_labels, encode_labels
from sk_anyloss.estimators.classifier import AnyLossClassifier
from sk_anyloss.estimators.preparation import hold_out
from sk_anyloss.metrics import metric_name, metric_score
from sk_anyloss.metrics.scoring import is_curve
from sk_anyloss.plain import to_plain
from sk_anyloss.training.callbacks import EarlyStopping
from sk_anyloss.training.data.dataset import Subset
from sk_anyloss.training.data.parquet import ParquetSource
from sk_anyloss.training.data.row_groups.files import is_nested, is_numeric
from sk_anyloss.training.schedules import CosineDecay

__all__ = ["Preprocessor", "Trained", "train_parquet"]

#: Number of samples that the encoder of the features is fitted on.
SAMPLE = 10_000


class Preprocessor:
    """Encodes and imputes columns, as it has learned from a sample.

    Parameters
    ----------
    frame : DataFrame
        The sample.
    is_numeric : bool
        Whether all columns are numbers; they are then not encoded, only imputed.
    seed : int, default=0
        Seed of the encoding of text.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.parquet.training import Preprocessor
    >>> frame = pd.DataFrame({"size": [1.0, None, 3.0]})
    >>> Preprocessor(frame, is_numeric=True).transform(frame).ravel().tolist()
    [1.0, 2.0, 3.0]
    """

    def __init__(self, frame: pd.DataFrame, is_numeric: bool, seed: int = 0) -> None:
        self.steps: list[tuple[str, Any]] = []
        if not is_numeric:
            from skrub import StringEncoder, TableVectorizer

            encoder = TableVectorizer(high_cardinality=StringEncoder(random_state=seed))
            self.steps.append(("encoder", encoder.fit(frame)))
        imputer = SimpleImputer(strategy="median", keep_empty_features=True)
        self.steps.append(("imputer", imputer))
        imputer.fit(self._encoded(frame))

    def transform(self, frame: pd.DataFrame) -> np.ndarray:
        """Samples as numbers."""
        return np.asarray(self.steps[-1][1].transform(self._encoded(frame)))

    def _encoded(self, frame: pd.DataFrame) -> pd.DataFrame | np.ndarray:
        name, first = self.steps[0]
        if name != "encoder":
            return frame.to_numpy(float)
        with warnings.catch_warnings():
            # Of categories that the sample has not shown; they count as none.
            warnings.simplefilter("ignore", UserWarning)
            encoded: pd.DataFrame = first.transform(frame)
            return encoded


@dataclass
class Trained:
    """What a training has found.

    Parameters
    ----------
    path : Path
        The model file.
    metric : str
        What was trained for.
    counts : dict
        Number of samples of each class.
    model : AnyLossClassifier
        The network, which predicts positions of the classes.
    score : float or None
        The metric on samples that neither the epochs nor early stopping have seen.
    n_scored : int
        How many these are.
    """

    path: Path
    metric: str
    counts: dict[Label, int]
    model: AnyLossClassifier
    score: float | None
    n_scored: int
    notes: list[str] = field(default_factory=list)


def train_parquet(
    paths: Any,
    target: str,
    path: str | Path,
    metric: AnyMetric = "f1",
    *,
    positive: Label | None = None,
    weight: str | None = None,
    drop: Sequence[str] = (),
    order: Order | None = None,
    validation_fraction: float = 0.1,
    window: int = 2**27,
    **params: Any,
) -> Trained:
    """Train a network on Parquet files of any size and store it with its encoder.

    Parameters
    ----------
    paths : str, path or sequence of these
        Files, or folders with files that end in ``.parquet``.
    target : str
        Column of the classes.
    path : str or path
        The model file; ``.skops`` is appended if it is missing. It appears when the
        training is over.
    metric : str or callable, default='f1'
        What to train for.
    positive : label, default=None
        The positive class, against all others; the rarer of two by default.
    weight : str, default=None
        Column of the sample weights.
    drop : sequence of str, default=()
        Columns that are not features.
    order : sequence of labels or 'ascending', default=None
        As for :func:`~sk_anyloss.compare.compare`.
    validation_fraction : float, default=0.1
        Fraction of the samples that is held out for early stopping, and as much again
        for the score; 0 for neither.
    window : int, default=2**27
        Bytes of samples in memory.
    **params
        Further parameters of :class:`~sk_anyloss.AnyLossClassifier`. Those that are
        not given are ``hidden=(32,)``, ``L='auto'``, ``activation='relu'``,
        ``lr=CosineDecay(0.01)``, ``max_epochs=20`` and its own.

    Returns
    -------
    trained : Trained
        The model and its score.
    """
    inputs = [paths] if isinstance(paths, (str, Path)) else paths
    path = check_model_path(path, inputs=inputs)
    if not path.parent.is_dir():
        raise TableError(
            f"The model cannot be written to {str(path)!r}, since the folder does not "
            "exist; create it first."
        )
    raw = _open(paths, target, weight, drop, window)
    notes: list[str] = []
    codes, classes, counts = _encode(raw.labels(), positive, notes, order)
    check_metric(metric, classes)
    numeric = all(is_numeric(raw.files.types[name]) for name in raw.columns)
    frame = raw.sample(SAMPLE)
    seed = params.get("random_state") or 0
    preprocessor = Preprocessor(frame, numeric, seed)
    data = ParquetSource(
        paths, target, raw.columns, weight, preprocessor, window=window
    )
    weights, test = raw.weights(), np.empty(0, dtype=int)
    stopping: EarlyStopping | bool = False
    if validation_fraction:
        # The best of many epochs on the samples that chose it is too good a score.
        _, scored = hold_out(Subset(None, codes, None), validation_fraction, seed)
        assert scored.index is not None
        test = scored.index
        stopping = EarlyStopping(validation_fraction / (1 - validation_fraction))
    used = np.ones(len(codes)) if weights is None else weights.astype(float)
    used[test] = 0  # As if they were not there.
    model = AnyLossClassifier(
        encode_metric(metric, classes),
        hidden=(32,),
        L="auto",
        activation="relu",
        lr=CosineDecay(0.01),
        max_epochs=20,
        early_stopping=stopping,
    )
    model.set_params(**params).fit(data, codes, used if len(test) else weights)
    found = Trained(
        path,
        metric_name(model.metric_),
        counts,
        model,
        _score(model, data, codes, weights, test) if len(test) else None,
        len(test),
        notes,
    )
    _store(found, preprocessor, frame, classes, metric)
    return found


def _open(
    paths: Any, target: str, weight: str | None, drop: Sequence[str], window: int
) -> ParquetSource:
    data = ParquetSource(paths, target, weight=weight, window=window)
    for name in drop:
        if name not in data.columns:
            raise missing_column(name, data.columns, "to drop")
    kept = [name for name in data.columns if name not in drop]
    if not kept:
        raise TableError("No column is left to learn from; drop fewer of them.")
    for name in (target, *kept):
        if is_nested(kind := data.files.types[name]):
            raise unusable_column(name, f"values of the type {kind}")
    return ParquetSource(paths, target, kept, weight, window=window)


def _encode(
    labels: np.ndarray, positive: Label | None, notes: list[str], order: Order | None
) -> tuple[np.ndarray, list[Label], dict[Label, int]]:
    """Labels as positions of their classes, from one look at each distinct label."""
    places, found = pd.factorize(labels)
    distinct, sizes = as_labels(found), np.bincount(places)
    if positive is None and len(distinct) == 2:
        positive = distinct[int(sizes[1] <= sizes[0])]
        label = quote_some([positive])
        notes.append(f"The rarer label, {label}, is taken as the positive class.")
    of_distinct, classes = encode_labels(distinct, positive, notes, order)
    totals = np.bincount(of_distinct, sizes).astype(int).tolist()
    return of_distinct[places], classes, dict(zip(classes, totals, strict=True))


def _score(
    model: AnyLossClassifier,
    data: ParquetSource,
    codes: np.ndarray,
    weights: np.ndarray | None,
    test: np.ndarray,
) -> float:
    """The metric on some samples, which are read row group by row group."""
    outputs = model.decision_function if is_curve(model.metric) else model.predict
    stops = np.cumsum([group.n for group in data.groups])[:-1]
    parts = np.split(test, np.searchsorted(test, stops))
    found = [outputs(data.block(part)) for part in parts if len(part)]
    return metric_score(
        codes[test], np.concatenate(found), metric=model.metric, labels=model.classes_,
        sample_weight=None if weights is None else weights[test],
    )  # fmt: skip


def _store(
    found: Trained,
    preprocessor: Preprocessor,
    frame: pd.DataFrame,
    classes: Sequence[Label],
    metric: AnyMetric,
) -> None:
    pipeline = Pipeline([*preprocessor.steps, ("classifier", to_plain(found.model))])
    facts = Facts(
        "anyloss",
        [str(name) for name in frame.columns],
        [str(name) for name in frame.select_dtypes("number").columns],
        [str(label) for label in classes],
        data={"metric": found.metric, "selected_by": text_of_metric(metric)},
    )
    try:
        content = dumps(facts, pipeline)
    except ModelFileError as error:
        raise TableError(f"The model cannot be stored: {error}.") from error
    write(found.path, content)
