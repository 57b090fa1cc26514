"""The winner to take away: stored safely, with a card, and applied to new rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from imblearn.base import SamplerMixin
from sklearn.model_selection import BaseCrossValidator

from sk_anyloss.compare.methods import get_method
from sk_anyloss.compare.model_file import (
    MAX_BYTES,
    Facts,
    ModelFileError,
    dumps,
    loads,
)
from sk_anyloss.compare.report.page import versions
from sk_anyloss.compare.run.run import fit_method
from sk_anyloss.compare.run.store import write
from sk_anyloss.compare.tables.table import TableError, as_frame
from sk_anyloss.plain import replace_parts, to_plain

if TYPE_CHECKING:
    from sk_anyloss.compare.results import Results

__all__ = ["load", "predict", "save"]


def save(comparison: Results, path: str | Path, method: str | None = None) -> Path:
    """Fit the winner on all samples and store it with its preprocessing and a card.

    Parameters
    ----------
    comparison : Results
        On one data set.
    path : path
        Where to; ``.skops`` is added if it is not there.
    method : str, default=None
        Another one of those compared than the winner.

    Returns
    -------
    path : Path
        The model; the card is beside it, with ``.md``.
    """
    if len(comparison.tables) != 1:
        raise ValueError("A model is made for one data set; compare on one to save it.")
    (table,) = comparison.tables
    method = method or comparison.winner
    if method not in comparison.table.index:
        raise ValueError(
            f"method={method!r} was not compared; save one of "
            f"{', '.join(comparison.table.index)}."
        )
    seed = int(comparison.settings.get("seed", 0))
    model = fit_method(table, method, comparison.metric, seed)
    frame = as_frame(table.X)
    facts = Facts(
        method=method,
        columns=[str(name) for name in frame.columns],
        numbers=[str(n) for n in frame.select_dtypes("number").columns],
        positive=str(table.positive),
        negative=str(table.negative),
    )
    path = Path(path)
    path = path if path.suffix == ".skops" else path.with_name(path.name + ".skops")
    try:
        content = dumps(facts, replace_parts(to_plain(model), _for_prediction))
    except ModelFileError as error:
        raise TableError(
            f"The model of {method!r} cannot be stored: {error}; save another method, "
            "or fit this one in Python and keep it with joblib."
        ) from error
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write(path, content)
        write(path.with_suffix(".md"), _card(comparison, method).encode())
    except OSError as error:
        raise TableError(
            f"The model cannot be written to {str(path)!r}: {error.strerror}."
        ) from error
    return path


def _for_prediction(part: Any) -> Any:
    """Nothing in the place of what only the fit needs, some of it training samples."""
    if isinstance(part, SamplerMixin):
        return "passthrough"
    if isinstance(
        part, (np.random.Generator, np.random.RandomState, BaseCrossValidator)
    ):
        return None
    return part


def load(path: str | Path) -> tuple[Facts, Any]:
    """A stored model, and what is known of it.

    Parameters
    ----------
    path : path
        What :func:`save` has written.

    Returns
    -------
    facts : Facts
        Method, columns and the names of the classes.
    model : Pipeline
        Fitted.
    """
    path = Path(path)
    if not path.is_file() and path.with_name(path.name + ".skops").is_file():
        path = path.with_name(path.name + ".skops")
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


def predict(path: str | Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Labels and scores of new samples.

    Parameters
    ----------
    path : path
        A stored model.
    frame : DataFrame
        The samples, with the columns that the model was fitted on; others are passed
        over.

    Returns
    -------
    found : DataFrame
        ``label`` and ``score``, a row each.
    """
    facts, model = load(path)
    frame = frame.rename(columns=str)
    missing = [name for name in facts.columns if name not in frame.columns]
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise TableError(
            f"The rows lack columns that the model needs: {', '.join(missing[:5])}"
            f"{more}."
        )
    rows: Any = frame[facts.columns]
    for name in facts.numbers:
        values = rows[name].dropna()
        strange = values[pd.to_numeric(values, errors="coerce").isna()]
        if len(strange):
            raise TableError(
                f"The column {name!r} held numbers when the model was fitted, and now "
                f"holds {strange.iloc[0]!r}."
            )
    if rows.empty:
        return pd.DataFrame({"label": [], "score": []}, dtype=object)
    try:
        if "columns" not in model.named_steps:  # Fitted on plain numbers.
            rows = rows.to_numpy(float)
        positive = np.asarray(model.predict(rows)).astype(bool)
        scores = model.predict_proba(rows)[:, 1]
    except Exception as error:
        why = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise TableError(
            f"The model {str(path)!r} cannot be applied to these rows: {why}"
        ) from error
    labels = np.where(positive, facts.positive, facts.negative)
    return pd.DataFrame({"label": labels, "score": scores})


def _card(comparison: Results, method: str) -> str:
    (table,) = comparison.tables
    row = comparison.table.loc[method]
    scores = "\n".join(
        f"| {name} | {row.get(name, row['mean']):.3f} |" for name in comparison.metrics
    )
    facts = "\n".join(f"- {name}: {value}" for name, value in versions().items())
    settings = "\n".join(f"- {k}: {v}" for k, v in comparison.settings.items())
    return f"""# Model card: {get_method(method).title}

Finds `{table.positive}` among `{table.negative}`. Fitted on all rows of
{table.describe()}.

It was chosen for {comparison.name}, by cross-validation:
{row["mean"]:.3f} ± {row["std"]:.3f} over the folds. {comparison.verdict()}

| metric | mean over the folds |
|---|---|
{scores}

Its scores order the rows; they are not calibrated probabilities.

## Settings

{settings}

## Versions

{facts}
"""
