"""Results for a terminal: titles of metrics, and the ranking in columns."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from textwrap import wrap
from typing import TYPE_CHECKING

from sk_anyloss.compare.report.classes import ClassSection, class_section
from sk_anyloss.metrics import Metric, Savings, metric_name
from sk_anyloss.metrics.multiclass.averages import AVERAGES
from sk_anyloss.metrics.multiclass.lookup import split_constraint

if TYPE_CHECKING:
    import pandas as pd

    from sk_anyloss.compare.results.results import Results

__all__ = [
    "constraint_text",
    "format_recommendation",
    "format_results",
    "has_constraint",
    "metric_title",
    "missed_text",
    "number_text",
    "other_texts",
    "printable",
    "score_text",
    "wrap_finding",
]

TITLES = {
    "f1": "F1",
    "gmean": "G-mean",
    "balanced_accuracy": "balanced accuracy",
    "mcc": "MCC",
    "roc_auc": "ROC AUC",
}
#: Shorter headings in a terminal.
HEADS = {"balanced_accuracy": "bal. acc.", "average_precision": "avg. prec."}


#: In the name of an average over classes.
AVERAGED = re.compile(rf"_({'|'.join(AVERAGES)})\b")
#: Characters of a line that a terminal shows.
MAX_WIDTH = 100
#: Characters of a label in rows and at the head of a column.
MAX_LABEL, MAX_COLUMN = 24, 10
#: Characters of the title of a row without a model, which names a class.
MAX_TITLE = 32


#: Characters that move the cursor, colour text or reverse it, and how they are shown.
CONTROL = {
    number: chr(number).encode("unicode_escape").decode()
    for number in (
        *range(0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)
    )
}  # fmt: skip


def printable(text: str, keep: str = "\t\n") -> str:
    r"""Text with its control characters as escape sequences, for terminals.

    Examples
    --------
    >>> from sk_anyloss.compare.report.text import printable
    >>> print(printable("\x1b[31mred"))
    \x1b[31mred
    """
    kept = {ord(character): character for character in keep}
    return text.translate({**CONTROL, **kept})


def metric_title(metric: str | Metric) -> str:
    """The name of a metric in sentences, tables and figures.

    Parameters
    ----------
    metric : str or callable
        The metric.

    Returns
    -------
    title : str
        Its name without underscores, except for an average over classes, whose name
        is the one in scikit-learn.

    Examples
    --------
    >>> from sk_anyloss.compare.report.text import metric_title
    >>> metric_title("gmean"), metric_title("youden_j"), metric_title("f1_macro")
    ('G-mean', 'youden j', 'f1_macro')
    """
    if isinstance(metric, Savings):
        costs = {"fp": metric.fp, "fn": metric.fn, "tn": metric.tn, "tp": metric.tp}
        given = ", ".join(f"{key}={cost:g}" for key, cost in costs.items() if cost)
        return f"savings ({given})"
    name = metric_name(metric)
    if name in TITLES:
        return TITLES[name]
    has_name = AVERAGED.search(name) or "[" in name
    return name if has_name else name.replace("_", " ")


def has_constraint(metric: str | Metric) -> bool:
    """Whether a metric has a floor under another one.

    A fold that misses it has the negative shortfall as its score, which is no value of
    the metric and is not shown as one.

    Examples
    --------
    >>> from sk_anyloss.compare.report.text import has_constraint
    >>> has_constraint("precision@recall>=0.8"), has_constraint("precision")
    (True, False)
    """
    return "@" in metric_title(metric)


def constraint_text(row: Mapping[str, float]) -> str:
    """In how many folds a constraint is met, if not in all of them.

    Parameters
    ----------
    row : mapping
        A row of a ranking, with ``met`` and ``scored`` if there is a constraint.

    Returns
    -------
    text : str
        Empty if there is none, or none that is missed.

    Examples
    --------
    >>> from sk_anyloss.compare.report.text import constraint_text
    >>> constraint_text({"met": 2, "scored": 3}), constraint_text({"mean": 0.5})
    ('met in 2 of 3 folds', '')
    """
    met, scored = row.get("met", 0), row.get("scored", 0)
    return f"met in {met:.0f} of {scored:.0f} folds" if met < scored else ""


def missed_text(metric: str | Metric, score: float) -> str:
    """By how much a constraint is missed; empty if it is met, or if there is none.

    Parameters
    ----------
    metric : str or callable
        The metric.
    score : float
        Its value, which is the negative shortfall where the constraint is missed.

    Returns
    -------
    text : str
        A clause.

    Examples
    --------
    >>> from sk_anyloss.compare.report.text import missed_text
    >>> missed_text("precision@recall>=0.8", -0.024)
    'recall 0.776 misses 0.8 by 0.024'
    >>> missed_text("precision@recall>=0.8", 0.3), missed_text("mcc", -0.1)
    ('', '')
    """
    if not has_constraint(metric) or not score < 0:
        return ""
    parts = split_constraint(metric_name(metric))
    if parts is None:  # Of several labels, it is a mean over them.
        return f"it is missed by {-score:.3f}"
    _, name, floor = parts
    return f"{metric_title(name)} {floor + score:.3f} misses {floor:g} by {-score:.3f}"


def other_texts(
    results: Results, data: str | None, row: pd.Series, method: str | None = None
) -> list[str]:
    """The other metrics of a row of a ranking.

    Parameters
    ----------
    results : Results
        The results.
    data : str or None
        Name of a data set; None for all.
    row : Series
        The means.
    method : str, default=None
        Name of the method; None for a prediction without a model.

    Returns
    -------
    texts : list of str
        The means; of a metric with a constraint in how many folds it is met, if not
        in all of them.
    """
    texts = []
    for name in results.other_metrics:
        text = number_text(row[name])
        if has_constraint(name) and method is not None:
            folds = results.results
            own = (folds["metric"] == name) & (folds["method"] == method)
            own &= True if data is None else folds["data"] == data
            scores = folds.loc[own, "score"].dropna()
            if (scores < 0).any():
                text = f"met {(scores >= 0).sum()}/{len(scores)}"
        elif has_constraint(name) and row[name] < 0:
            text = "missed"
        texts.append(text)
    return texts


def format_results(
    results: Results, headline: bool = True, table_checks: bool = True
) -> str:
    """Recommendation, ranking and verdict of every data set, and of all together.

    Parameters
    ----------
    results : Results
        Results on one or more data sets.
    headline : bool, default=True
        Whether each data set is named and described first.
    table_checks : bool, default=True
        Whether findings on the data sets themselves are shown beside those on the
        scores.

    Returns
    -------
    text : str
        Several lines.
    """
    lines = []
    for table in results.tables:
        lines += [table.describe(), ""] if headline else []
        lines += [*format_recommendation(results, table.name), ""]
        if warnings := results.warnings(table.name, table_checks):
            lines += [line for text in warnings for line in wrap_finding(text)]
            lines.append("")
        lines += [_format_ranking(results, table.name), ""]
        lines += [*_wrap(results.verdict(table.name)), ""]
        explained = results.explanations.get(table.name)
        if text := str(explained or results.unexplained.get(table.name, "")):
            lines += [*_wrap(text), ""]
        if section := class_section(results, table.name):
            lines += [*_format_classes(section), ""]
    if len(results.tables) > 1:
        lines += [f"All {len(results.tables)} data sets", ""]
        lines += [*format_recommendation(results, None), ""]
        lines += [_format_ranking(results, None), "", *_wrap(results.verdict()), ""]
    return printable("\n".join(lines + results.failures()).rstrip())


def format_recommendation(results: Results, data: str | None) -> list[str]:
    """The recommendation in lines of a terminal.

    Parameters
    ----------
    results : Results
        The results.
    data : str or None
        Name of a data set; None for all.

    Returns
    -------
    lines : list of str
        At most 100 characters each, unless a word is longer.
    """
    return _wrap(results.advice(data))


def wrap_finding(text: str) -> list[str]:
    """A finding in indented lines of a terminal.

    Parameters
    ----------
    text : str
        The finding.

    Returns
    -------
    lines : list of str
        At most 100 characters each, unless a word is longer.
    """
    return _wrap(text, "  ", "    ")


def _wrap(text: str, first: str = "", later: str = "") -> list[str]:
    """Lines of a terminal, in which words stay whole."""
    return wrap(
        text,
        MAX_WIDTH,
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _format_ranking(results: Results, data: str | None) -> str:
    ranking, dummies = results.ranking(data), results.dummies(data)
    titles = [_short(title, MAX_TITLE) for title in dummies["title"]]
    width = max(len(title) for title in [*ranking["title"], *titles])
    others = results.other_metrics
    heads = [results.metric_title, "rank", *map(_head, others), "s/fit"]
    first = max(15, len(heads[0]) + 2)
    widths = [first, 6, *(max(len(head), 6) + 2 for head in heads[2:])]
    lines = ["  " + " " * width + _align(heads, widths)]
    for name, row in ranking.iterrows():
        cells = [_mean_and_std(row), number_text(row["rank"], 1)]
        cells += other_texts(results, data, row, str(name))
        cells.append(number_text(row["seconds"], 2))
        failed = f"  {row['failed']} failed" if row["failed"] else ""
        lines.append(
            f"  {row['title']:<{width}}{_align(cells, widths)}{failed}".rstrip()
        )
    if titles:
        lines.append("  Without a model:")
    for title, (_, row) in zip(titles, dummies.iterrows(), strict=True):
        cells = [_mean_and_std(row), "", *other_texts(results, data, row), ""]
        lines.append(f"  {title:<{width}}{_align(cells, widths)}".rstrip())
    return "\n".join(lines)


def _head(metric: str) -> str:
    return HEADS.get(metric, metric_title(metric))


def score_text(row: Mapping[str, float]) -> str:
    """The mean score of a row of a ranking, or how often its constraint is met.

    Examples
    --------
    >>> from sk_anyloss.compare.report.text import score_text
    >>> score_text({"mean": 0.25}), score_text({"mean": -0.1, "met": 2, "scored": 3})
    ('0.250', 'met 2/3')
    """
    if constraint_text(row):
        return f"met {row['met']:.0f}/{row['scored']:.0f}"
    return number_text(row["mean"])


def _mean_and_std(row: Mapping[str, float]) -> str:
    mean, std = score_text(row), number_text(row["std"])
    if not std or constraint_text(row):
        return mean
    return f"{mean} {_plus_minus()} {std}"


def number_text(value: float, digits: int = 3) -> str:
    """The number, and nothing where there is none.

    Examples
    --------
    >>> from sk_anyloss.compare.report.text import number_text
    >>> number_text(2.5), number_text(-0.0001), number_text(float("nan"))
    ('2.500', '0.000', '')
    """
    # Adding 0 turns -0 into 0.
    return "" if value != value else f"{round(value, digits) + 0:.{digits}f}"


def _format_classes(section: ClassSection) -> list[str]:
    """Scores of each class or label, and the confusion matrix where it fits."""
    labels = [_short(label) for label in section.report.index]
    width = max(map(len, labels))
    widths = [11, 8, 8, 9]
    heads = ["precision", "recall", "F1", "support"]
    title = f"{section.kind}, by {section.method} over all folds."
    last = "" if section.matrix is None else "  mistaken for"
    lines = [f"{title} {section.note}".rstrip()]
    lines += ["", " " * (width + 2) + _align(heads, widths) + last]
    rows = section.report.to_dict("records")
    for label, row in zip(labels, rows, strict=True):
        cells = [f"{row[name]:.3f}" for name in ("precision", "recall", "f1")]
        cells.append(f"{row['support']:,}")
        mistaken = _short(row.get("mistaken", ""))
        lines.append(f"  {label:<{width}}{_align(cells, widths)}  {mistaken}".rstrip())
    if section.matrix is None:
        return lines
    counts = section.matrix.to_numpy()
    columns = [_short(label, MAX_COLUMN) for label in section.matrix.columns]
    one = max(len(f"{counts.max():,}"), *map(len, columns)) + 2
    if one * len(labels) + width + 2 <= MAX_WIDTH:
        lines += ["", "Confusion matrix, true classes in rows:", ""]
        lines.append(" " * (width + 2) + _align(columns, [one] * len(labels)))
        lines += [
            f"  {label:<{width}}{_align([f'{n:,}' for n in row], [one] * len(labels))}"
            for label, row in zip(labels, counts, strict=True)
        ]
    return lines


def _short(label: object, most: int = MAX_LABEL) -> str:
    text = printable(" ".join(str(label).split()))
    return text if len(text) <= most else f"{text[: most - 2]}.."


def _align(cells: list[str], widths: list[int]) -> str:
    pairs = zip(cells, widths, strict=True)
    return "".join(f"{cell:>{width}}" for cell, width in pairs)


def _plus_minus() -> str:
    """The sign, or ASCII for a terminal whose encoding lacks it."""
    try:
        "±".encode(getattr(sys.stdout, "encoding", None) or "utf-8")
    except (UnicodeError, LookupError):
        return "+/-"
    return "±"
