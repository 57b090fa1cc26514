"""A picture of the networks of a search, by step and width."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from sk_anyloss._names import spelled
from sk_anyloss.metrics import metric_name
from sk_anyloss.search.candidates import ESTIMATOR
from sk_anyloss.search.displays.base import Display
from sk_anyloss.search.search import AnyLossClassifierCV

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["SettingsDisplay"]


class SettingsDisplay(Display):
    """Scores of the networks of a search, by step and width.

    Candidates of another kind are in
    :class:`sk_anyloss.search.displays.WeightsDisplay`.

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
