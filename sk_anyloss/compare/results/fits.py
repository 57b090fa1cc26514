"""Which fits of a comparison are finished, missing or failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from sk_anyloss.compare.methods.registry import get_method
from sk_anyloss.compare.run.store import Fold, Settings
from sk_anyloss.compare.tables.table import Table

__all__ = ["Fits"]


class Fits:
    """Fits of methods on the folds of data sets.

    Parameters
    ----------
    tables : sequence of Table
        The data sets.
    folds : sequence of Fold
        Predictions of every method on every fold.
    methods : sequence of str
        Names of the methods.
    settings : dict
        Settings of the comparison.

    Examples
    --------
    >>> from sk_anyloss.compare import built_in
    >>> from sk_anyloss.compare.results.fits import Fits
    >>> fits = Fits([built_in()], [], ["logistic"], {"folds": 5})
    >>> fits.partial().split(". ")[1]
    'Missing: logistic 5'
    """

    def __init__(
        self,
        tables: Sequence[Table],
        folds: Sequence[Fold],
        methods: Sequence[str],
        settings: Settings | None = None,
    ) -> None:
        self.tables, self.methods = list(tables), list(methods)
        order = {name: i for i, name in enumerate(methods)}
        self.folds = sorted(folds, key=lambda f: (f.data, f.fold, order[f.method]))
        self.settings = settings or {}

    def table_of(self, data: str | None) -> Table:
        """The data set of a name.

        Parameters
        ----------
        data : str or None
            Its name; None for the only one.

        Returns
        -------
        table : Table
            The data set.
        """
        (table,) = (t for t in self.tables if data is None or t.name == data)
        return table

    def check_compared(self, method: str | None) -> str:
        """The name of a method, if it was compared.

        Parameters
        ----------
        method : str or None
            Its name; None if every method failed.

        Returns
        -------
        method : str
            The same name.
        """
        if method is None:
            raise ValueError(f"Every method failed: {self.reasons()}.")
        if method not in self.methods:
            raise ValueError(
                f"method={method!r} was not compared; use one of "
                f"{', '.join(self.methods)}."
            )
        return method

    def failures(self) -> list[str]:
        """Which methods failed, how often and why.

        Returns
        -------
        sentences : list of str
            One per data set, method and reason.
        """
        failed = (fold for fold in self.folds if fold.failed)
        found = Counter((fold.data, fold.method, fold.failed) for fold in failed)
        return [
            f"{get_method(method).title} failed on {n} folds of {data}: {why}"
            for (data, method, why), n in found.items()
        ]

    def reasons(self) -> str:
        """Why methods failed, each reason once, with the methods in brackets.

        Returns
        -------
        text : str
            The reasons, with semicolons between them.
        """
        found: dict[str, dict[str, None]] = {}
        for fold in self.folds:
            if fold.failed:
                why = fold.failed.rstrip(". ")
                found.setdefault(why, {})[get_method(fold.method).title] = None
        return "; ".join(f"{why} ({', '.join(who)})" for why, who in found.items())

    def unfinished(self, data: str | None = None) -> tuple[int, int]:
        """Fits that a stopped run has not made.

        Parameters
        ----------
        data : str, default=None
            Name of a data set; all by default.

        Returns
        -------
        missing, expected : int
            Number of missing fits and of all fits; failed ones are not missing.
        """
        tables = self.tables if data is None else [self.table_of(data)]
        names = {table.name for table in tables}
        done = sum(fold.data in names for fold in self.folds)
        n_folds = self.settings.get("folds", 0) * self.settings.get("repeats", 1)
        expected = n_folds * len(self.methods) * len(tables) or done
        return expected - done, expected

    def partial(self, data: str | None = None) -> str:
        """Which fits a stopped run has not made.

        Parameters
        ----------
        data : str, default=None
            Name of a data set; all by default.

        Returns
        -------
        sentence : str
            Empty for a run that is complete.
        """
        missing, expected = self.unfinished(data)
        if not missing:
            return ""
        tables = self.tables if data is None else [self.table_of(data)]
        n_folds = self.settings.get("folds", 0) * self.settings.get("repeats", 1)
        done = Counter(
            fold.method
            for fold in self.folds
            if fold.data in {table.name for table in tables}
        )
        lacking = {name: n_folds * len(tables) - done[name] for name in self.methods}
        parts = [f"{get_method(k).title} {n:,}" for k, n in lacking.items() if n]
        return (
            f"Partial run: {expected - missing:,} of {expected:,} fits are finished. "
            f"Missing: {', '.join(parts)}. The same command resumes."
        )
