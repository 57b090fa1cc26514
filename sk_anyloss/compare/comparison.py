"""The result of a comparison, and what can be made of it: pictures, a page, a model."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from sk_anyloss.compare.model_file.saved import save
from sk_anyloss.compare.results import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Comparison"]


class Comparison(Results):
    """What :func:`sk_anyloss.compare.compare` found.

    Pictures and pages are drawn with matplotlib, which is imported when the first one
    is asked for: the processes that fit the methods do not need it.
    """

    def plot(self, data: str | None = None) -> Figure:
        """Scores of all methods, the best one on top.

        Parameters
        ----------
        data : str, default=None
            Which data set; all by default.

        Returns
        -------
        figure : matplotlib.figure.Figure
            To show or save.
        """
        from sk_anyloss.compare.report.pictures import scores

        return scores(self, data)

    def report(self, folder: str | Path) -> Path:
        """Write ``report.html``, ``results.csv`` and ``.parquet``, and all pictures.

        Parameters
        ----------
        folder : path
            Where to; made if it is not there.

        Returns
        -------
        page : Path
            The report.
        """
        from sk_anyloss.compare.report.page import write_report

        return write_report(self, Path(folder))

    def save(self, path: str | Path, method: str | None = None) -> Path:
        """Fit a method on all samples and store it, for ``sk_anyloss predict``.

        Parameters
        ----------
        path : path
            Where to; ``.skops`` is added if it is not there.
        method : str, default=None
            Its name; the winner by default.

        Returns
        -------
        path : Path
            The model file, which runs no code when it is loaded; a card is beside it.
        """
        return save(self, path, method)

    def _repr_html_(self) -> str:
        from sk_anyloss.compare.report.page import html_table

        names = [table.name for table in self.tables]
        parts = [
            f"<h4>{escape(name)}</h4>{html_table(self, name)}"
            f"<p>{escape(self.verdict(name))}</p>"
            for name in names
        ]
        return "".join(parts)
