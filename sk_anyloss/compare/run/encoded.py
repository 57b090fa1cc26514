"""The samples of a fold as numbers, encoded once for all methods."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pandas as pd
from imblearn.pipeline import Pipeline
from sklearn.impute import SimpleImputer

from sk_anyloss.compare.tables.table import Features, needs_encoder, to_numbers

__all__ = ["EncodedFold", "encode_fold", "forget_encoded", "make_preprocessor"]


@dataclass(frozen=True)
class EncodedFold:
    """Training and test samples of a fold, without categories and missing values.

    Parameters
    ----------
    train, test : ndarray of shape (n_samples, n_encoded_features)
        The samples.
    seconds : float
        How long encoding them took.
    """

    train: np.ndarray
    test: np.ndarray
    seconds: float


#: The last fold of this process: the fits of a fold follow one another.
_last: tuple[tuple[str | None, bytes, bytes], EncodedFold] | None = None


def make_preprocessor(X: Features, seed: int = 0) -> Pipeline:
    """Encoder and imputer, which make all features numbers.

    Parameters
    ----------
    X : DataFrame or ndarray
        Samples that it will be fitted on; numbers need no encoder.
    seed : int, default=0
        Seed of the encoding of text.

    Returns
    -------
    preprocessor : Pipeline
        Not fitted.

    Examples
    --------
    >>> import pandas as pd
    >>> from sk_anyloss.compare.run.encoded import make_preprocessor
    >>> list(make_preprocessor(pd.DataFrame({"a": ["x", "y"]})).named_steps)
    ['encoder', 'imputer']
    """
    imputer = SimpleImputer(strategy="median", keep_empty_features=True)
    if not needs_encoder(X):
        return Pipeline([("imputer", imputer)])
    from skrub import StringEncoder, TableVectorizer

    encoder = TableVectorizer(high_cardinality=StringEncoder(random_state=seed))
    return Pipeline([("encoder", encoder), ("imputer", imputer)])


def encode_fold(
    preprocessor: Pipeline,
    X: Features,
    train: np.ndarray,
    test: np.ndarray,
    digest: str | None = None,
) -> EncodedFold:
    """Fit a preprocessor on the training samples of a fold, and apply it to all.

    Parameters
    ----------
    preprocessor : Pipeline
        From :func:`make_preprocessor`; it is fitted.
    X : DataFrame or ndarray
        All samples.
    train, test : ndarray of int
        Indices of the training and of the test samples.
    digest : str, default=None
        Of the samples and the preprocessor: the last result of this process is used
        again for the same digest and the same indices. None to store nothing.

    Returns
    -------
    encoded : EncodedFold
        The samples as numbers.
    """
    global _last
    key = digest, train.tobytes(), test.tobytes()
    if digest is not None and _last is not None and _last[0] == key:
        return _last[1]
    start = time.perf_counter()
    if needs_encoder(X):
        assert isinstance(X, pd.DataFrame)
        some: Features = X.iloc[train]
        others: Features = X.iloc[test]
    else:
        numbers = to_numbers(X)
        some, others = numbers[train], numbers[test]
    encoded = EncodedFold(
        np.asarray(preprocessor.fit_transform(some)),
        np.asarray(preprocessor.transform(others)),
        time.perf_counter() - start,
    )
    if digest is not None:
        _last = key, encoded
    return encoded


def forget_encoded() -> None:
    """Free the memory of the last fold in this process."""
    global _last
    _last = None
