"""The model card: what a stored model is for, how good it is, and how to use it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from sk_anyloss.compare.errors import quote_some
from sk_anyloss.compare.methods.registry import get_method
from sk_anyloss.compare.model_file.facts import Facts
from sk_anyloss.compare.recommendation import describe_effect
from sk_anyloss.compare.report.classes import shown_classes
from sk_anyloss.compare.report.text import (
    constraint_text,
    other_texts,
    printable,
    score_text,
)
from sk_anyloss.compare.report.versions import versions
from sk_anyloss.metrics import metric_name

if TYPE_CHECKING:
    from sk_anyloss.compare.results.results import Results

__all__ = ["model_card"]


def model_card(comparison: Results, method: str, facts: Facts, name: str) -> str:
    """The model card of a stored model, in Markdown.

    Parameters
    ----------
    comparison : Results
        Results on one data set.
    method : str
        Name of the method.
    facts : Facts
        What the model file says of the model.
    name : str
        Name of the model file.

    Returns
    -------
    card : str
        Task, effect, scores, checks, how to load it, settings and versions.
    """
    (table,) = comparison.tables
    row = comparison.table.loc[method]
    texts = [score_text(row), *other_texts(comparison, None, row, method)]
    names = [metric_name(comparison.metric), *comparison.other_metrics]
    scores = "\n".join(
        f"| {_escape(name)} | {text} |" for name, text in zip(names, texts, strict=True)
    )
    score = constraint_text(row) or (
        f"{row['mean']:.3f} ± {row['std']:.3f} (mean and standard deviation over the "
        "folds)"
    )
    packages = "\n".join(f"- {name}: {value}" for name, value in versions().items())
    settings = "\n".join(
        f"- {k}: {_escape(str(v))}" for k, v in comparison.settings.items()
    )
    task = f"{_code(table.positive)} (positive) against {_code(table.negative)}"
    if table.n_classes > 2:
        shown = [_code(table.classes[code]) for code in shown_classes(table)]
        more = " and others" if len(shown) < table.n_classes else ""
        task = f"{table.n_classes} classes: {', '.join(shown)}{more}"
    found = comparison.recommendation()
    effect = f"{describe_effect(comparison, method, table.name)}."
    if found is not None:
        # The sentence holds the effect of the method that it is about.
        advice = comparison.advice()
        effect = advice if found.method == method else f"{effect} {advice}"
    threshold = calibrated = ""
    if facts.threshold is not None:
        threshold = (
            f"It predicts {_code(table.positive)} from a score of "
            f"{facts.threshold:.6g} on. "
        )
    if facts.calibration:
        calibrated = (
            "Beside its scores it gives probabilities, calibrated on the held-out "
            "scores of the comparison."
        )
    else:
        calibrated = (
            "Its scores rank the samples; they are not calibrated probabilities."
        )
    warnings = comparison.warnings()
    checks = "\n".join(f"- {_escape(text)}" for text in warnings)
    columns = _escape(quote_some(facts.columns, most=20))
    return f"""# Model card: {_escape(get_method(method).title)}

Classifies {task}.
Fitted on all samples of {_escape(table.describe())}.

Selected by {_escape(comparison.metric_title)} in cross-validation:
{score}.
{_escape(effect)}

| metric | mean over the folds |
|---|---|
{scores}

{threshold}{calibrated}

## Checks

{checks or "No check found anything."}

## Use

    from sk_anyloss.compare import load_model
    model = load_model({name!r})
    model.predict(frame)

The frame has the columns {columns}.
The data had the fingerprint `{facts.data["fingerprint"]}`.

## Settings

{settings}

## Versions

{packages}
"""


def _escape(text: str) -> str:
    """Text of one line that Markdown shows as it is."""
    shown = printable(" ".join(text.split()))
    return re.sub(r"[\\`*\[\]<>|~&]|\b_|_\b", r"\\\g<0>", shown)


def _code(label: object) -> str:
    """A label as code, between more backticks than it has in a row."""
    text = printable(" ".join(str(label).split()))
    marks = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    pad = " " if "`" in text else ""
    return f"{marks}{pad}{text}{pad}{marks}"
