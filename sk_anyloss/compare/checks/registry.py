"""All checks, in the order in which they are reported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sk_anyloss.compare.checks.base import Finding, ResultCheck, TableCheck
from sk_anyloss.compare.checks.columns import (
    AlmostEmptyColumns,
    DateColumns,
    GroupColumns,
    IdColumns,
    LeakingColumns,
)
from sk_anyloss.compare.checks.outcomes import (
    OneClassOnly,
    OneMetricOnly,
    PerfectScore,
    TrainingGap,
    UnstableFolds,
    WorseThanDummy,
)
from sk_anyloss.compare.checks.samples import (
    DuplicateSamples,
    LabelOrder,
    SimilarLabels,
    SmallClasses,
    UnlabelledSamples,
)

if TYPE_CHECKING:
    from sk_anyloss.compare.results.results import Results
    from sk_anyloss.compare.tables.table import Table

__all__ = ["RESULT_CHECKS", "TABLE_CHECKS", "check_results", "check_table"]

TABLE_CHECKS: tuple[TableCheck, ...] = (
    LeakingColumns(),
    IdColumns(),
    DateColumns(),
    AlmostEmptyColumns(),
    DuplicateSamples(),
    LabelOrder(),
    SmallClasses(),
    SimilarLabels(),
    UnlabelledSamples(),
    GroupColumns(),
)
RESULT_CHECKS: tuple[ResultCheck, ...] = (
    WorseThanDummy(),
    OneMetricOnly(),
    PerfectScore(),
    OneClassOnly(),
    UnstableFolds(),
    TrainingGap(),
)


def check_table(table: Table, folds: int) -> list[Finding]:
    """All checks of a table; the result is kept with the table.

    Parameters
    ----------
    table : Table
        The data set.
    folds : int
        Number of folds.

    Returns
    -------
    findings : list of Finding
        One for each check.

    Examples
    --------
    >>> from sk_anyloss.compare import built_in
    >>> from sk_anyloss.compare.checks import check_table
    >>> [finding.code for finding in check_table(built_in(), 10)][:3]
    ['T1', 'T2', 'T3']
    """
    if folds not in table.findings:
        table.findings[folds] = [check.run(table, folds) for check in TABLE_CHECKS]
    return table.findings[folds]


def check_results(results: Results, table: Table) -> list[Finding]:
    """All checks of the results on a table.

    Parameters
    ----------
    results : Results
        The results.
    table : Table
        One of their data sets.

    Returns
    -------
    findings : list of Finding
        One for each check.
    """
    return [check.run(results, table) for check in RESULT_CHECKS]
