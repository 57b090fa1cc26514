"""Pictures of what a search found, in the convention of scikit-learn's displays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from sk_anyloss._names import spelled
from sk_anyloss.metrics import Metric, get_metric, metric_name
from sk_anyloss.metrics.curves import Curve, counts_at_every_score
from sk_anyloss.metrics.scoring import metric_values
from sk_anyloss.search.candidates import ESTIMATOR
from sk_anyloss.search.search import AnyLossClassifierCV

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

__all__ = ["Display", "SettingsDisplay", "ThresholdDisplay"]


class Display:
    """Base class of the displays: the axes, a new figure unless some are given.

    Attributes
    ----------
    ax_ : matplotlib axes
        Where it was drawn.
    figure_ : matplotlib figure
        The figure around it.
    """

    ax_: Axes
    figure_: Figure | SubFigure

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib axes, default=None
            Where; a new figure by default.

        Returns
        -------
        display : object
            Itself.
        """
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(layout="constrained")[1]
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(ax)
        ax.spines[["top", "right"]].set_visible(False)
        return self

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError


class SettingsDisplay(Display):
    """Scores of the networks of a search, by step and width.

    Candidates of another kind are in
    :class:`sk_anyloss.search.weights_display.WeightsDisplay`.

    Parameters
    ----------
    labels : list of str
        What stands on the axis: a step, an L, a loss.
    networks : list of str
        A line each.
    scores, spreads : ndarray of shape (n_networks, n_labels)
        Pooled scores, and their standard deviation over the folds; NaN for what was
        not tried.
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
    >>> from sklearn.datasets import make_classification
    >>> from sk_anyloss import AnyLossClassifierCV
    >>> from sk_anyloss.search.displays import SettingsDisplay
    >>> X, y = make_classification(200, weights=[0.8], random_state=0)
    >>> model = AnyLossClassifierCV(hidden=[()], max_epochs=20, random_state=0)
    >>> display = SettingsDisplay.from_estimator(model.fit(X, y))
    >>> display.labels
    ['L=5', 'bce']
    """

    def __init__(
        self,
        labels: list[str],
        networks: list[str],
        scores: np.ndarray,
        spreads: np.ndarray,
        name: str,
    ) -> None:
        self.labels = labels
        self.networks = networks
        self.scores = scores
        self.spreads = spreads
        self.name = name

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
        display : SettingsDisplay
            The display.
        """
        check_is_fitted(estimator)
        results = estimator.cv_results_
        kept = [i for i, p in enumerate(results["params"]) if ESTIMATOR not in p]
        tried = [results["params"][i] for i in kept]
        keys = [(_network(params), _kind(params)) for params in tried]
        networks = list(dict.fromkeys(network for network, _ in keys))
        labels = list(dict.fromkeys(label for _, label in keys))
        scores = np.full((len(networks), len(labels)), np.nan)
        spreads = scores.copy()
        for i, (network, label) in zip(kept, keys, strict=True):
            place = networks.index(network), labels.index(label)
            scores[place] = results["pooled_test_score"][i]
            spreads[place] = results["std_test_score"][i]
        name = metric_name(estimator.metric)
        return cls(labels, networks, scores, spreads, name).plot(ax)

    def _draw(self, ax: Axes) -> None:
        places = np.arange(len(self.labels))
        for i, network in enumerate(self.networks):
            shift = (i - (len(self.networks) - 1) / 2) * 0.12
            ax.errorbar(
                places + shift, self.scores[i], self.spreads[i], fmt="o-", capsize=3,
                markersize=5, linewidth=1, label=network,
            )  # fmt: skip
        ax.set_xticks(places, self.labels)
        ax.set_ylabel(f"{self.name}, out of fold; bars: std over folds")
        ax.legend(edgecolor="none", fontsize="small")


def _network(params: dict[str, Any]) -> str:
    rest = [f"{k}={params[k]}" for k in ("n_bins", "lr") if params.get(k) is not None]
    return ", ".join([f"hidden={params.get('hidden', (2,))}", *rest])


def _kind(params: dict[str, Any]) -> str:
    """Of a candidate, what it is trained on."""
    if params.get("loss") is not None:
        return str(params["loss"])
    if spelled(params.get("step", "sigmoid"), ["sigmoid"]) == "sigmoid":
        return f"L={params.get('L', 73)}"
    return str(params["step"])


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
            As for :meth:`SettingsDisplay.from_estimator`.

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
