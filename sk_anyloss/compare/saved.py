"""The winner to take away: stored safely, with a card, and applied to new rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED

import numpy as np
import pandas as pd

from sk_anyloss.compare.methods import get_method
from sk_anyloss.compare.report import versions
from sk_anyloss.compare.run import make_model
from sk_anyloss.compare.store import write
from sk_anyloss.compare.tables import TableError, as_frame
from sk_anyloss.plain import to_plain

if TYPE_CHECKING:
    from sk_anyloss.compare.comparison import Comparison

__all__ = ["load", "predict", "save"]

#: Whose classes a stored model may be made of; anything else is refused.
TRUSTED = ("sk_anyloss.", "sklearn.", "imblearn.", "skrub.", "numpy.", "scipy.")


def save(comparison: Comparison, path: str | Path, method: str | None = None) -> Path:
    """Fit the winner on all rows and store it with its preprocessing and a card.

    Parameters
    ----------
    comparison : Comparison
        On one data set.
    path : path
        Where to; ``.skops`` is added if it is not there.
    method : str, default=None
        Another method than the winner.

    Returns
    -------
    path : Path
        The model; the card is beside it, with ``.md``.
    """
    import skops.io

    if len(comparison.tables) != 1:
        raise ValueError("A model is made for one data set; compare on one to save it.")
    (table,) = comparison.tables
    method = method or comparison.winner
    seed = int(comparison.settings.get("seed", 0))
    model = make_model(method, comparison.metric, seed, table.X)
    model.fit(table.X, table.y)
    frame = as_frame(table.X)
    facts = {
        "method": method,
        "columns": [str(name) for name in frame.columns],
        "numbers": [str(n) for n in frame.select_dtypes("number").columns],
        "positive": str(table.positive),
        "negative": str(table.negative),
    }
    path = Path(path)
    path = path if path.suffix == ".skops" else path.with_name(path.name + ".skops")
    path.parent.mkdir(parents=True, exist_ok=True)
    stored = {"facts": json.dumps(facts), "model": to_plain(model)}
    content = skops.io.dumps(stored, compression=ZIP_DEFLATED)
    write(path, content)
    write(path.with_suffix(".md"), _card(comparison, method).encode())
    return path


def load(path: str | Path) -> tuple[dict[str, Any], Any]:
    """A stored model, and what is known of it.

    Parameters
    ----------
    path : path
        What :func:`save` has written.

    Returns
    -------
    facts : dict
        Method, columns and the names of the classes.
    model : Pipeline
        Fitted.
    """
    import skops.io

    path = Path(path)
    if not path.is_file() and path.with_name(path.name + ".skops").is_file():
        path = path.with_name(path.name + ".skops")
    if not path.is_file():
        raise TableError(f"There is no model {str(path)!r}.")
    try:
        kinds = skops.io.get_untrusted_types(file=path)
    except Exception as error:
        raise TableError(f"{str(path)!r} is not a stored model.") from error
    strange = [kind for kind in kinds if not kind.startswith(TRUSTED)]
    if strange:
        raise TableError(
            f"{str(path)!r} holds objects of {', '.join(strange[:3])}, which a model "
            "of this command does not; it is not loaded."
        )
    stored = skops.io.load(path, trusted=kinds)
    return json.loads(stored["facts"]), stored["model"]


def predict(path: str | Path, frame: pd.DataFrame) -> pd.DataFrame:
    """Labels and scores of new rows.

    Parameters
    ----------
    path : path
        A stored model.
    frame : DataFrame
        The rows, with the columns that the model was fitted on; others are passed
        over.

    Returns
    -------
    found : DataFrame
        ``label`` and ``score``, a row each.
    """
    facts, model = load(path)
    columns = facts["columns"]
    frame = frame.rename(columns=str)
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        raise TableError(
            f"The rows lack columns that the model needs: {', '.join(missing[:5])}"
            f"{more}."
        )
    rows: Any = frame[columns]
    for name in facts["numbers"]:
        values = rows[name].dropna()
        strange = values[pd.to_numeric(values, errors="coerce").isna()]
        if len(strange):
            raise TableError(
                f"The column {name!r} held numbers when the model was fitted, and now "
                f"holds {strange.iloc[0]!r}."
            )
    if "columns" not in model.named_steps:  # Fitted on plain numbers.
        rows = rows.to_numpy(float)
    positive = model.predict(rows).astype(bool)
    scores = model.predict_proba(rows)[:, 1]
    labels = np.where(positive, facts["positive"], facts["negative"])
    return pd.DataFrame({"label": labels, "score": scores})


def _card(comparison: Comparison, method: str) -> str:
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
