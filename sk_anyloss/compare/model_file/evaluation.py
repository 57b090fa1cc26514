"""How good a stored model is on new samples whose labels are known."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.metrics import confusion_matrix

from sk_anyloss.compare.errors import TableError, TableWarning, quote_some
from sk_anyloss.compare.metrics import (
    AnyMetric,
    check_metric,
    metric_for_classes,
    metric_from_text,
    score_counts,
)
from sk_anyloss.compare.model_file.facts import Facts
from sk_anyloss.compare.model_file.loading import apply_model, load
from sk_anyloss.compare.report.text import metric_title, missed_text
from sk_anyloss.compare.report.thresholds import total_cost
from sk_anyloss.compare.results.scores import ALSO, ALSO_MULTICLASS
from sk_anyloss.compare.tables.labels import as_labels, match_label
from sk_anyloss.metrics import Savings, metric_name

__all__ = ["Evaluation", "evaluate_model", "evaluate_parts"]

#: Names of the negative class that stands for all labels but the positive one.
OTHERS = ("others", "all others")


@dataclass(frozen=True)
class Evaluation:
    """Scores of a stored model on new samples.

    Parameters
    ----------
    matrix : DataFrame of shape (C, C)
        The confusion matrix, true classes in rows.
    scores : dict of str to float
        Metrics by their names, that which the model was chosen by first. One with a
        constraint that is missed has the negative shortfall as its score.
    n_unlabelled : int
        Samples without a label, which are left out.
    """

    matrix: pd.DataFrame
    scores: dict[str, float]
    n_unlabelled: int = 0

    def to_dict(self) -> dict[str, object]:
        """The scores as JSON can hold them."""
        return {
            "classes": [str(label) for label in self.matrix.index],
            "confusion_matrix": self.matrix.to_numpy().tolist(),
            "scores": self.scores,
            "unlabelled": self.n_unlabelled,
        }

    def __str__(self) -> str:
        M = self.matrix.to_numpy()
        labels = [str(label) for label in self.matrix.index]
        if len(labels) == 2:
            alarms = "1 false alarm" if M[0, 1] == 1 else f"{M[0, 1]:,} false alarms"
            lines = [
                f"Of {M[1].sum():,} samples labelled {labels[1]} it finds {M[1, 1]:,}, "
                f"with {alarms} among {M[0].sum():,} others."
            ]
        else:
            lines = [f"Of {M.sum():,} samples it labels {M.trace():,} correctly."]
        if self.n_unlabelled:
            lines.append(f"{self.n_unlabelled:,} samples without a label are left out.")
        titles = {name: metric_title(name) for name in self.scores}
        width = max(map(len, titles.values()))
        values = {k: missed_text(k, v) or f"{v:.3f}" for k, v in self.scores.items()}
        lines += [
            "",
            *(f"  {titles[k]:<{width}}  {value}" for k, value in values.items()),
        ]
        return "\n".join([*lines, "", self.matrix.to_string()])


def evaluate_model(
    path: str | Path,
    frame: pd.DataFrame,
    target: ArrayLike,
    metrics: Sequence[AnyMetric] = (),
) -> Evaluation:
    """Apply a stored model to new samples and score its labels.

    Parameters
    ----------
    path : path
        A model file.
    frame : DataFrame
        The samples.
    target : array-like of shape (n_samples,)
        Their true labels; missing ones are left out.
    metrics : sequence of str or callable, default=()
        Metrics besides the common ones and that which the model was chosen by.

    Returns
    -------
    evaluation : Evaluation
        Confusion matrix and scores.
    """
    return evaluate_parts(path, [(frame, target)], metrics)


def evaluate_parts(
    path: str | Path,
    parts: Iterable[tuple[pd.DataFrame, ArrayLike]],
    metrics: Sequence[AnyMetric] = (),
) -> Evaluation:
    """The same for samples that come in parts, of which one is in memory at a time.

    Parameters
    ----------
    path : path
        A model file.
    parts : iterable of pairs
        Samples and their labels.
    metrics : sequence of str or callable, default=()
        Metrics besides the common ones and that which the model was chosen by.

    Returns
    -------
    evaluation : Evaluation
        Of all samples.
    """
    facts, model = load(path)
    if len(facts.classes) > 2 and any(isinstance(m, Savings) for m in metrics):
        raise TableError("--cost is for two classes, and the model has more.")
    M, n_unlabelled = np.zeros((len(facts.classes),) * 2, dtype=int), 0
    for frame, target in parts:
        labels = as_labels(target)
        present = labels.notna().to_numpy(bool)
        n_unlabelled += int(np.count_nonzero(~present))
        texts = _as_classes(labels[present], facts)
        if len(texts):
            samples = frame[present].reset_index(drop=True)
            predicted = apply_model(facts, model, samples, str(path))["label"]
            M += confusion_matrix(texts, predicted, labels=facts.classes)
    if not M.any():
        raise TableError("There is no sample with a label to evaluate the model on.")
    common = ALSO if len(facts.classes) == 2 else ALSO_MULTICLASS
    counts, scores = M.ravel(), {}
    for metric in [*_selected_by(facts), *metrics, *common]:
        cost = total_cost(metric, counts)
        if cost is None:
            metric = metric_for_classes(metric, len(facts.classes))
        # Costs have no name, but a title.
        name = metric_title(metric) if cost is not None else metric_name(metric)
        scores[name] = score_counts(metric, counts.tolist(), facts.classes)
        if cost is not None:
            scores[name.replace("savings", "cost", 1)] = float(cost)
    index = pd.Index(facts.classes)
    matrix = pd.DataFrame(M, index.rename("true"), index.rename("predicted"))
    return Evaluation(matrix, scores, n_unlabelled)


def _selected_by(facts: Facts) -> list[AnyMetric]:
    """The metric that the model was chosen by, if it can be scored here."""
    try:
        metric = metric_from_text(facts.data.get("selected_by", ""))
        if metric:
            check_metric(metric, facts.classes)
            return [metric]
    except ValueError:
        pass  # It was registered where the model was stored.
    if "selected_by" in facts.data:
        warnings.warn(
            f"The model was chosen by {facts.data.get('metric')!r}, a function that "
            "its file does not hold; it is not scored here.",
            TableWarning,
            stacklevel=4,
        )
    return []


def _as_classes(labels: pd.Series, facts: Facts) -> pd.Series:
    """Labels as the model writes them, all of which it knows."""
    has_others = facts.classes[0] in OTHERS and len(facts.classes) == 2
    texts = labels.map(str).reset_index(drop=True)
    known, unknown = {}, []
    for text in texts.unique():
        try:
            known[text] = match_label(text, facts.classes)
        except TableError:
            known[text] = facts.classes[0]
            unknown.append(text)
    if unknown and not has_others:
        raise TableError(
            f"The target holds {quote_some(unknown)}, which the model does not know; "
            f"it was fitted on {quote_some(facts.classes)}."
        )
    return texts.map(known)
