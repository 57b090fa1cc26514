"""Methods of a comparison as cross-validation reports of skore."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sk_anyloss.compare.errors import TableError
from sk_anyloss.compare.folds.outer import make_splits
from sk_anyloss.compare.methods.registry import get_method
from sk_anyloss.compare.run.labelled import LabelledClassifier, as_object
from sk_anyloss.compare.run.models import make_tuned_model
from sk_anyloss.compare.tables.table import as_frame

if TYPE_CHECKING:
    from sk_anyloss.compare.results.results import Results

__all__ = ["to_skore"]


def to_skore(
    results: Results,
    methods: Sequence[str] | None = None,
    data: str | None = None,
    n_jobs: int | None = None,
) -> Any:
    """Reports of skore on methods of a comparison, on the same folds.

    skore takes estimators and not their predictions, so each method is fitted again on
    every fold, with the same seed.

    Parameters
    ----------
    results : Results
        The results.
    methods : sequence of str, default=None
        Names of compared methods; by default the recommended one and the one with the
        best mean of the others.
    data : str, default=None
        Name of a data set; may be omitted if there is only one.
    n_jobs : int, default=None
        Number of processes.

    Returns
    -------
    report : skore.ComparisonReport or skore.CrossValidationReport
        The latter for a single method.
    """
    try:
        import skore
    except ImportError as error:
        raise ImportError("Reports of skore need skore: pip install skore") from error
    table = results.table_of(data)
    if table.has_labels:
        raise TableError("skore has no reports on targets of several labels.")
    for option in ("groups", "time", "weight"):
        if getattr(table, option) is not None:
            raise TableError(
                f"skore passes no {option} to the tuning of a method, so that its "
                f"scores would be others; compare without {option} for its reports."
            )
    if methods is None:
        recommended = results.chosen_method(None, table.name)
        means = results.ranking(table.name)["mean"].dropna()
        others = [str(name) for name in means.index if name != recommended]
        methods = [recommended, *others[:1]]
    settings = results.settings
    seed = int(settings.get("seed", 0))
    splits = make_splits(
        table, int(settings.get("folds", 10)), int(settings.get("repeats", 1)), seed
    )
    X = as_frame(table.X)
    reports = {}
    for name in methods:
        model = make_tuned_model(
            table, results.check_compared(name), results.metric, seed
        )
        classifier = LabelledClassifier(model, table.classes, [str(c) for c in X])
        labels = as_object(table.classes)[table.y]
        reports[get_method(name).title] = skore.CrossValidationReport(
            classifier, X, labels, pos_label=table.positive, splitter=splits,
            n_jobs=n_jobs,
        )  # fmt: skip
    if len(reports) == 1:
        return next(iter(reports.values()))
    return skore.ComparisonReport(reports, n_jobs=n_jobs)
