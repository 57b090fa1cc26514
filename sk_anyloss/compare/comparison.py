"""The results of a comparison, with figures, a report and a model file."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sk_anyloss.compare.explanation import Explanation, explain
from sk_anyloss.compare.exports.mlflow import log_to_mlflow
from sk_anyloss.compare.exports.skore import to_skore
from sk_anyloss.compare.model_file.saved import save
from sk_anyloss.compare.report.html.findings import html_checks, html_recommendation
from sk_anyloss.compare.report.html.tables import html_table
from sk_anyloss.compare.report.summary import summarize
from sk_anyloss.compare.report.thresholds import threshold_table
from sk_anyloss.compare.results.results import Results
from sk_anyloss.compare.run.labelled import LabelledClassifier
from sk_anyloss.compare.run.models import fit_method
from sk_anyloss.compare.run.store import Store
from sk_anyloss.compare.tables.table import as_frame

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

__all__ = ["Comparison"]


class Comparison(Results):
    """Results of :func:`sk_anyloss.compare.compare`.

    matplotlib is imported with the first figure or report: the processes that fit the
    methods do not need it.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sk_anyloss.compare import compare
    >>> X, y = make_classification(200, weights=[0.8], random_state=0)
    >>> found = compare(X, y, methods=["logistic", "logistic_balanced"], folds=2)
    >>> sorted(found.table.index)
    ['logistic', 'logistic_balanced']
    """

    #: Where results are stored; nowhere by default.
    store = Store(None, {})

    def plot(self, data: str | None = None) -> Figure:
        """Plot the scores of all methods, the best one at the top.

        Parameters
        ----------
        data : str, default=None
            Name of a data set; all by default.

        Returns
        -------
        figure : matplotlib.figure.Figure
            To show or save.
        """
        from sk_anyloss.compare.report.pictures import plot_scores

        return plot_scores(self, data)

    def report(self, folder: str | Path) -> Path:
        """Write the page, the results as files and all figures.

        The files are ``report.html``, ``summary.json``, ``results.csv``,
        ``results.parquet`` and those of the folder ``pictures``.

        Parameters
        ----------
        folder : path
            The output folder, which is created if needed. Existing files are replaced
            only if this package has written them, and they were not changed since.

        Returns
        -------
        page : Path
            The path of the report.
        """
        from sk_anyloss.compare.report.html.page import write_report

        return write_report(self, Path(folder))

    def summary(self) -> dict[str, Any]:
        """The recommendation, notes and ranking as ``summary.json`` has them.

        Returns
        -------
        summary : dict
            Of text, numbers, lists and dicts.

        Examples
        --------
        >>> from sk_anyloss.compare import built_in, compare_tables
        >>> found = compare_tables([built_in()], methods=["logistic"], folds=2)
        >>> found.summary()["recommendation"]["leader"]
        'logistic'
        """
        return summarize(self)

    def thresholds(
        self, method: str | None = None, data: str | None = None
    ) -> pd.DataFrame:
        """What a method would do at other thresholds, over all folds.

        Parameters
        ----------
        method : str, default=None
            Name of a compared method; by default the recommended one.
        data : str, default=None
            Name of a data set of two classes; may be omitted if there is only one.

        Returns
        -------
        table : DataFrame
            One row per threshold: ``threshold``, ``tn``, ``fp``, ``fn``, ``tp``,
            ``precision``, ``recall``, the metric, and ``cost`` with a metric of costs.

        Examples
        --------
        >>> from sk_anyloss.compare import built_in, compare_tables
        >>> found = compare_tables([built_in()], methods=["logistic"], folds=2)
        >>> bool(found.thresholds()["recall"].is_monotonic_decreasing)
        True
        """
        return threshold_table(self, method, data)

    def explain(
        self,
        method: str | None = None,
        data: str | None = None,
        n_jobs: int | None = None,
        time_limit: float | None = None,
    ) -> Explanation:
        """What a method relies on, and whether more samples would help.

        The method is fitted nine times, on a quarter, a half and all training samples
        of three folds; a report that is written afterwards has the figures. They are
        stored in the output folder, if there is one, so that a resumed run has them.

        Parameters
        ----------
        method : str, default=None
            Name of a compared method; by default the recommended one.
        data : str, default=None
            Name of a data set; may be omitted if there is only one.
        n_jobs : int, default=None
            Number of processes.
        time_limit : float, default=None
            Seconds that the fits may take: a fold that would take longer is not
            started. TimeoutError if that holds for all of them.

        Returns
        -------
        explanation : Explanation
            Permutation importances of the columns, and a learning curve.

        Examples
        --------
        >>> from sk_anyloss.compare import built_in, compare_tables
        >>> found = compare_tables([built_in()], methods=["logistic"], folds=3)
        >>> found.explain().learning["samples"].tolist()
        [65, 131, 262]
        """
        name = self.table_of(data).name
        method = self.chosen_method(method, name)
        stored = self.store.find_explanation(name, method)
        if stored is None:
            explanation = explain(self, method, name, n_jobs, time_limit)
            if not explanation.note:  # A run with more time has all folds.
                self.store.save_explanation(name, method, explanation.to_dict())
        else:
            explanation = Explanation.from_dict(stored)
        self.explanations[name] = explanation
        return explanation

    def best_estimator(
        self, method: str | None = None, data: str | None = None
    ) -> LabelledClassifier:
        """Fit a method on all samples of a data set.

        Parameters
        ----------
        method : str, default=None
            Name of a compared method; by default the one recommended there.
        data : str, default=None
            Name of a data set; may be omitted if there is only one.

        Returns
        -------
        model : LabelledClassifier
            A fitted scikit-learn estimator with its preprocessing, which predicts the
            labels of the data set.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from sk_anyloss.compare import compare
        >>> X, y = load_wine(return_X_y=True, as_frame=True)
        >>> found = compare(X, y, methods=["logistic"], folds=2)
        >>> float(found.best_estimator().score(X, y)) > 0.95
        True
        """
        if data is None and len(self.tables) > 1:
            names = ", ".join(table.name for table in self.tables)
            raise ValueError(
                "A model is fitted on one data set; name it with data=, one of "
                f"{names}."
            )
        table = self.table_of(data)
        method = self.chosen_method(method, table.name)
        model = fit_method(
            table, method, self.metric, int(self.settings.get("seed", 0))
        )
        columns = [str(name) for name in as_frame(table.X).columns]
        return LabelledClassifier(
            model, table.classes, columns, is_fitted=True, has_labels=table.has_labels
        )

    def save(
        self,
        path: str | Path,
        method: str | None = None,
        *,
        calibrate: bool = False,
        onnx: bool = False,
    ) -> Path:
        """Fit a method on all samples and store it, for ``sk_anyloss predict``.

        Parameters
        ----------
        path : path
            The model file; ``.skops`` is appended if it is missing. Existing files are
            replaced only if this package has written them, as :meth:`report` does.
        method : str, default=None
            Name of the method; the recommended one by default.
        calibrate : bool, default=False
            Whether predictions also have a probability, calibrated on the held-out
            scores of the comparison.
        onnx : bool, default=False
            Whether the model is also written as ONNX, with the suffix ``.onnx``; its
            labels and scores in onnxruntime are verified.

        Returns
        -------
        path : Path
            The model file, which runs no code when it is loaded; a model card with the
            suffix ``.md`` is written beside it.
        """
        return save(self, path, method, calibrate=calibrate, onnx=onnx)

    def to_skore(
        self,
        methods: Sequence[str] | None = None,
        data: str | None = None,
        n_jobs: int | None = None,
    ) -> Any:
        """Reports of skore on some methods, on the same folds.

        skore takes estimators and not their predictions, so each method is fitted again
        on every fold, with the same seed. Needs ``pip install skore``.

        Parameters
        ----------
        methods : sequence of str, default=None
            Names of compared methods; by default the recommended one and the one with
            the best mean of the others.
        data : str, default=None
            Name of a data set; may be omitted if there is only one.
        n_jobs : int, default=None
            Number of processes.

        Returns
        -------
        report : skore.ComparisonReport or skore.CrossValidationReport
            The latter for a single method.
        """
        return to_skore(self, methods, data, n_jobs)

    def log_to_mlflow(
        self,
        experiment: str = "sk_anyloss",
        run_name: str | None = None,
        tracking_uri: str | None = None,
    ) -> str:
        """Log the comparison to MLflow: a run, and in it one for each method.

        Needs ``pip install mlflow-skinny``.

        Parameters
        ----------
        experiment : str, default='sk_anyloss'
            Name of the experiment, which is created if needed.
        run_name : str, default=None
            Name of the run; by default the names of the data sets.
        tracking_uri : str, default=None
            Where to log; by default what MLflow is configured for.

        Returns
        -------
        run_id : str
            The run of the comparison, with its settings, recommendation, the scores of
            the recommended method, and the report and results as artifacts.
        """
        return log_to_mlflow(self, experiment, run_name, tracking_uri)

    def _repr_html_(self) -> str:
        names = [table.name for table in self.tables]
        parts = [
            f"<h4>{escape(name)}</h4>{html_recommendation(self, name)}"
            f"{html_checks(self, name)}"
            f"{html_table(self, name)}<p>{escape(self.verdict(name))}</p>"
            for name in names
        ]
        return "".join(parts)
