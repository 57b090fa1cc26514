"""Checks of tables and of results: what may make the scores of a comparison mislead."""

from sk_anyloss.compare.checks.base import (
    Finding,
    NotApplicable,
    ResultCheck,
    TableCheck,
)
from sk_anyloss.compare.checks.registry import (
    RESULT_CHECKS,
    TABLE_CHECKS,
    check_results,
    check_table,
)

__all__ = [
    "RESULT_CHECKS",
    "TABLE_CHECKS",
    "Finding",
    "NotApplicable",
    "ResultCheck",
    "TableCheck",
    "check_results",
    "check_table",
]
