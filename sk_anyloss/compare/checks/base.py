"""What a check is: a code, a title, a severity, and a function that returns a sentence.

A check that finds something returns one sentence for the person who has to decide; one
that finds nothing returns None; one that cannot be made raises :class:`NotApplicable`
with the reason, which is a result too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

if TYPE_CHECKING:
    from sk_anyloss.compare.results.results import Results
    from sk_anyloss.compare.tables.table import Table

__all__ = ["Finding", "NotApplicable", "ResultCheck", "Severity", "TableCheck"]

#: 'high': the scores may be wrong; 'medium': they may mislead; 'low': good to know.
Severity: TypeAlias = Literal["high", "medium", "low"]
#: Outcome of a check.
Status: TypeAlias = Literal["found", "passed", "not applicable"]


class NotApplicable(Exception):  # noqa: N818  It is no error.
    """Why a check cannot be made: a clause."""


@dataclass(frozen=True)
class Finding:
    """The result of a check.

    Parameters
    ----------
    code : str
        Code of the check.
    title : str
        What it looks at.
    severity : {'high', 'medium', 'low'}
        How much a finding matters.
    status : {'found', 'passed', 'not applicable'}
        Whether there is something to see.
    sentence : str
        What was found, or why the check is not applicable; else empty.

    Examples
    --------
    >>> from sk_anyloss.compare.checks import Finding
    >>> print(Finding("T9", "title", "low", "found", "There is something."))
    T9 (low): There is something.
    """

    code: str
    title: str
    severity: Severity
    status: Status
    sentence: str = ""

    def __str__(self) -> str:
        return f"{self.code} ({self.severity}): {self.sentence or self.status}"

    def to_dict(self) -> dict[str, str]:
        """The finding as JSON can hold it."""
        return asdict(self)


class _Check(ABC):
    """The parts that both kinds of checks share."""

    code: ClassVar[str]
    title: ClassVar[str]
    severity: ClassVar[Severity]

    def _finding(self, status: Status, sentence: str = "") -> Finding:
        return Finding(self.code, self.title, self.severity, status, sentence)


class TableCheck(_Check):
    """A check of a table, made before any method is fitted.

    Examples
    --------
    >>> from sk_anyloss.compare import built_in
    >>> from sk_anyloss.compare.checks import TableCheck
    >>> class FewSamples(TableCheck):
    ...     code, title, severity = "X1", "number of samples", "low"
    ...
    ...     def find(self, table, folds):
    ...         few = len(table.y) < 1000
    ...         return f"There are only {len(table.y)} samples." if few else None
    >>> FewSamples().run(built_in(), folds=10).sentence
    'There are only 393 samples.'
    """

    @abstractmethod
    def find(self, table: Table, folds: int) -> str | None:
        """A sentence on what was found, or None.

        Parameters
        ----------
        table : Table
            The data set.
        folds : int
            Number of folds.
        """

    def run(self, table: Table, folds: int) -> Finding:
        """Make the check.

        Parameters
        ----------
        table : Table
            The data set.
        folds : int
            Number of folds.

        Returns
        -------
        finding : Finding
            Its result.
        """
        try:
            sentence = self.find(table, folds)
        except NotApplicable as reason:
            return self._finding("not applicable", str(reason))
        return self._finding("found" if sentence else "passed", sentence or "")


class ResultCheck(_Check):
    """A check of the results on a table."""

    @abstractmethod
    def find(self, results: Results, table: Table) -> str | None:
        """A sentence on what was found, or None.

        Parameters
        ----------
        results : Results
            The results.
        table : Table
            One of their data sets.
        """

    def run(self, results: Results, table: Table) -> Finding:
        """Make the check.

        Parameters
        ----------
        results : Results
            The results.
        table : Table
            One of their data sets.

        Returns
        -------
        finding : Finding
            Its result.
        """
        try:
            if results.best_method(table.name) is None:
                raise NotApplicable("no fit is finished without a failure")
            sentence = self.find(results, table)
        except NotApplicable as reason:
            return self._finding("not applicable", str(reason))
        return self._finding("found" if sentence else "passed", sentence or "")
