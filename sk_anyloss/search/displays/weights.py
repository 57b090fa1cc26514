"""A picture of the candidates of a search: scores, standard errors and weights."""

from __future__ import annotations

from textwrap import fill, shorten
from typing import TYPE_CHECKING, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sk_anyloss.metrics import metric_name
from sk_anyloss.search.candidates import describe
from sk_anyloss.search.displays.base import Display
from sk_anyloss.search.search import AnyLossClassifierCV

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["WeightsDisplay"]

#: Characters in a line of a label, and in a note.
LABEL_WIDTH, NOTE_WIDTH = 36, 60


class WeightsDisplay(Display):
    """Scores of all candidates with their standard errors, and their weights.

    Parameters
    ----------
    labels : list of str
        The candidates, the best one first.
    scores, errors : ndarray of shape (n_candidates,)
        Pooled scores and their standard errors; NaN for what failed.
    weights : ndarray of shape (n_candidates,)
        Weights in the ensemble.
    name : str
        The metric.
    notes : list of str, default=None
        Why a candidate has no score: that it failed, or was dropped.

    Attributes
    ----------
    ax_ : matplotlib axes
        Where it was drawn.
    figure_ : matplotlib figure
        The figure around it.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sk_anyloss import AnyLossClassifierCV
    >>> from sk_anyloss.search.displays import WeightsDisplay
    >>> X, y = make_classification(200, weights=[0.8], random_state=0)
    >>> model = AnyLossClassifierCV(
    ...     candidates=[{"hidden": ()}, GaussianNB()], max_epochs=20, random_state=0
    ... )
    >>> display = WeightsDisplay.from_estimator(model.fit(X, y))
    >>> display.labels
    ['GaussianNB()', 'hidden=()']
    """

    def __init__(
        self,
        labels: list[str],
        scores: np.ndarray,
        errors: np.ndarray,
        weights: np.ndarray,
        name: str,
        notes: list[str] | None = None,
    ) -> None:
        self.labels = labels
        self.scores = scores
        self.errors = errors
        self.weights = weights
        self.name = name
        self.notes = [""] * len(labels) if notes is None else notes

    @classmethod
    def from_estimator(
        cls, estimator: AnyLossClassifierCV, *, ax: Axes | None = None
    ) -> Self:
        """Draw what a fitted :class:`sk_anyloss.AnyLossClassifierCV` has tried.

        Parameters
        ----------
        estimator : AnyLossClassifierCV
            Fitted.
        ax : matplotlib axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : WeightsDisplay
            The display.
        """
        check_is_fitted(estimator)
        results = estimator.cv_results_
        order = np.argsort(-results["pooled_test_score"], kind="stable")
        return cls(
            [describe(results["params"][i]) for i in order],
            results["pooled_test_score"][order],
            results["pooled_test_error"][order],
            results["weight"][order],
            metric_name(estimator.metric),
            [results["error"][i] for i in order],
        ).plot(ax)

    def _draw(self, ax: Axes) -> None:
        places = np.arange(len(self.labels))
        ax.errorbar(
            self.scores, places, xerr=self.errors, fmt="none", color="0.7", capsize=2
        )
        # An area for the weight, and a point for what does not decide.
        ax.scatter(self.scores, places, s=10 + 400 * self.weights, color="C0", zorder=3)
        for place, weight in zip(places, self.weights, strict=True):
            if weight > 0:
                ax.annotate(
                    f"{weight:.2f}", (1.01, place), xycoords=("axes fraction", "data"),
                    va="center", fontsize="small",
                )  # fmt: skip
        for place, note in zip(places, self.notes, strict=True):
            if note:
                ax.annotate(
                    shorten(note, NOTE_WIDTH), (0.02, place),
                    xycoords=("axes fraction", "data"), va="center", fontsize="small",
                    color="0.4",
                )  # fmt: skip
        ax.annotate("weight", (1.01, 1.01), xycoords="axes fraction", fontsize="small")
        labels = [
            fill(label, LABEL_WIDTH, break_long_words=False) for label in self.labels
        ]
        ax.set_yticks(places, labels, fontsize="small")
        ax.set_ylim(len(self.labels) - 0.5, -0.5)
        ax.locator_params(axis="x", nbins=5)
        ax.set_xlabel(f"{self.name}, out of fold, ± standard error")
