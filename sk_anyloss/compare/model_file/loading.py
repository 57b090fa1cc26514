"""Loading a stored model and applying it to new samples, without torch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from sk_anyloss.compare.errors import TableError
from sk_anyloss.compare.model_file import MAX_BYTES, Facts, ModelFileError, loads
from sk_anyloss.compare.model_file.outputs import apply_calibration
from sk_anyloss.compare.run.categories import named_categories
from sk_anyloss.compare.run.labelled import LabelledClassifier
from sk_anyloss.compare.tables.table import Features, to_numbers

__all__ = ["apply_model", "find_model", "load", "load_model", "predict"]


def find_model(path: str | Path) -> Path:
    """The path of a model file, whose suffix may be left out.

    Examples
    --------
    >>> from sk_anyloss.compare.model_file.loading import find_model
    >>> find_model("none").name
    'none'
    """
    path = Path(path)
    longer = path.with_name(path.name + ".skops")
    return longer if longer.is_file() and not path.is_file() else path


def load(path: str | Path) -> tuple[Facts, BaseEstimator]:
    """Load a stored model and its metadata.

    Parameters
    ----------
    path : path
        A model file of ``compare --save`` or ``found.save(path)``.

    Returns
    -------
    facts : Facts
        Name of the method, features and labels.
    model : Pipeline
        The fitted model.
    """
    path = find_model(path)
    if not path.is_file():
        raise TableError(f"There is no model {str(path)!r}.")
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ModelFileError(f"it is larger than {MAX_BYTES:,} bytes")
        return loads(path.read_bytes())
    except OSError as error:
        raise TableError(
            f"The model {str(path)!r} cannot be read: {error.strerror}."
        ) from error
    except ModelFileError as error:
        raise TableError(
            f"{str(path)!r} is not a stored model that can be loaded: {error}."
        ) from error


def load_model(path: str | Path) -> LabelledClassifier:
    """Load a stored model as a scikit-learn estimator that predicts labels.

    Parameters
    ----------
    path : path
        A model file of ``compare --save`` or ``found.save(path)``.

    Returns
    -------
    model : LabelledClassifier
        It takes a DataFrame with the columns that it was fitted on; labels are text.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sk_anyloss.compare import built_in, compare_tables, load_model
    >>> table = built_in()
    >>> found = compare_tables([table], methods=["logistic"], folds=2)
    >>> with TemporaryDirectory() as folder:
    ...     model = load_model(found.save(Path(folder) / "model"))
    >>> model.predict(table.X)[:2].tolist()
    ['malignant', 'malignant']
    """
    facts, model = load(path)
    return LabelledClassifier(
        model, facts.classes, facts.columns, is_fitted=True,
        calibration=facts.calibration,
    )  # fmt: skip


def predict(path: str | Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Predict labels and scores of new samples.

    Parameters
    ----------
    path : path
        A model file.
    frame : DataFrame
        The samples, with the features that the model was fitted on; other columns are
        ignored.

    Returns
    -------
    predicted : DataFrame
        One row per sample: ``label``, and ``score`` of the positive class with the
        ``threshold`` from which on it is predicted, or ``score[<class>]`` of each of
        more than two classes; ``probability`` if the model was calibrated.
    """
    return apply_model(*load(path), frame, str(path))


def apply_model(
    facts: Facts, model: BaseEstimator, frame: pd.DataFrame, name: str
) -> pd.DataFrame:
    """Predict labels and scores with a model that :func:`load` has loaded.

    Parameters
    ----------
    facts, model
        The model.
    frame : DataFrame
        The samples.
    name : str
        What the model is called in messages.

    Returns
    -------
    predicted : DataFrame
        As of :func:`predict`.
    """
    frame = frame.rename(columns=str)
    missing = [name for name in facts.columns if name not in frame.columns]
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise TableError(
            "The data lack columns that the model needs: "
            f"{', '.join(missing[:5])}{more}."
        )
    samples = frame[facts.columns]
    for column in facts.numbers:
        values = samples[column].dropna()
        invalid = values[pd.to_numeric(values, errors="coerce").isna()]
        if len(invalid):
            raise TableError(
                f"The column {column!r} held numbers when the model was fitted, and "
                f"now holds {invalid.iloc[0]!r}."
            )
    is_binary = len(facts.classes) == 2
    names = ["score"] if is_binary else [f"score[{label}]" for label in facts.classes]
    if samples.empty:
        names += _extra_columns(facts, np.empty(0))
        return pd.DataFrame({name: [] for name in ("label", *names)}, dtype=object)
    try:
        X: Features = samples
        if "encoder" not in model.named_steps:  # Fitted on an array.
            X = to_numbers(samples)
        with named_categories(model, X):
            codes = np.asarray(model.predict(X)).astype(int)
            scores = np.asarray(model.predict_proba(X))
        labels = np.array(facts.classes)[codes]
        if scores.shape[1] != len(facts.classes):
            raise ValueError(f"it has scores of {scores.shape[1]} classes.")
    except Exception as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TableError(
            f"The model {name!r} cannot be applied to these samples: {why}"
        ) from error
    columns = scores[:, 1:] if is_binary else scores
    found = {"label": labels, **dict(zip(names, columns.T, strict=True))}
    return pd.DataFrame({**found, **_extra_columns(facts, scores[:, -1])})


def _extra_columns(facts: Facts, scores: np.ndarray) -> dict[str, np.ndarray]:
    """Threshold and calibrated probability, where a model has them."""
    found = {}
    if facts.threshold is not None:
        found["threshold"] = np.full(len(scores), facts.threshold)
    if facts.calibration:
        found["probability"] = apply_calibration(facts.calibration, scores)
    return found
