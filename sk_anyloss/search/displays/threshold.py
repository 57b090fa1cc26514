"""A picture of a metric over the threshold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sk_anyloss.metrics import Metric, get_metric, metric_name
from sk_anyloss.metrics.curves import Curve, counts_at_every_score
from sk_anyloss.metrics.evaluation import metric_values
from sk_anyloss.search.displays.base import Display
from sk_anyloss.search.search import AnyLossClassifierCV

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["ThresholdDisplay"]


class ThresholdDisplay(Display):
    """A metric over the threshold, with the one that is used.

    Parameters
    ----------
    thresholds, values : ndarray of shape (m,)
        Scores, and the metric if samples above them are predicted positive.
    threshold : float or None
        The one that is used.
    name : str
        The metric.

    Attributes
    ----------
    ax_ : matplotlib axes
        Where it was drawn.
    figure_ : matplotlib figure
        The figure around it.

    Examples
    --------
    >>> from sk_anyloss.search.displays import ThresholdDisplay
    >>> display = ThresholdDisplay.from_predictions(
    ...     [0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], metric="f1", threshold=0.5
    ... )
    >>> display.values.round(2).tolist()
    [0.67, 0.5, 0.8, 0.67]
    """

    def __init__(
        self,
        thresholds: np.ndarray,
        values: np.ndarray,
        threshold: float | None,
        name: str,
    ) -> None:
        self.thresholds = thresholds
        self.values = values
        self.threshold = threshold
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator: AnyLossClassifierCV, *, ax: Axes | None = None
    ) -> Self:
        """Draw the metric on the samples that a fitted search had left out.

        Parameters
        ----------
        estimator, ax
            As for :meth:`sk_anyloss.search.displays.SettingsDisplay.from_estimator`.

        Returns
        -------
        display : ThresholdDisplay
            With the threshold of the search.
        """
        check_is_fitted(estimator)
        return cls.from_predictions(
            estimator.oof_target_,
            estimator.oof_proba_,
            metric=estimator.metric,
            sample_weight=estimator.oof_weight_,
            threshold=estimator.threshold_,
            ax=ax,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_proba: ArrayLike,
        *,
        metric: str | Metric = "f1",
        sample_weight: ArrayLike | None = None,
        threshold: float | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the metric of scores.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Labels, 0 or 1.
        y_proba : array-like of shape (n,)
            Scores for the label 1.
        metric : str or callable, default='f1'
            A metric of the confusion matrix.
        sample_weight : array-like of shape (n,), default=None
            Weights of the samples.
        threshold : float, default=None
            The threshold that is used, to be marked.
        ax : matplotlib axes, default=None
            Where to draw; a new figure by default.

        Returns
        -------
        display : ThresholdDisplay
            The display.
        """
        if isinstance(get_metric(metric), Curve):
            raise ValueError(
                f"{metric_name(metric)} looks at all thresholds at once, so it has "
                "none of its own; choose a metric of the confusion matrix."
            )
        scores, weight = np.asarray(y_proba, dtype=float), None
        if sample_weight is not None:
            weight = np.asarray(sample_weight, dtype=float)
        counts = counts_at_every_score(scores, np.asarray(y_true), weight)
        values = metric_values(metric, *counts)
        thresholds = np.unique(scores)[::-1]
        return cls(thresholds, values, threshold, metric_name(metric)).plot(ax)

    def _draw(self, ax: Axes) -> None:
        ax.step(self.thresholds, self.values, where="pre", linewidth=1.5)
        if self.threshold is not None:
            ax.axvline(self.threshold, color="0.4", linestyle="--", linewidth=1)
            ax.annotate(
                f"threshold {self.threshold:.3f}", (self.threshold, 0.02),
                xycoords=("data", "axes fraction"), xytext=(4, 0),
                textcoords="offset points", color="0.3",
            )  # fmt: skip
        ax.set(xlim=(0, 1), xlabel="threshold", ylabel=self.name)
