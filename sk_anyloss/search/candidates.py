"""Candidates of a search: parameters of our network, or classifiers of any kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from sk_anyloss._names import spelled, unknown
from sk_anyloss.estimators.classifier import AnyLossClassifier
from sk_anyloss.losses.steps import Step
from sk_anyloss.training.network.mlp import check_hidden
from sk_anyloss.training.schedules import CosineDecay, LearningRate

__all__ = [
    "ESTIMATOR",
    "accepts_nan",
    "candidate_grid",
    "check_candidates",
    "default_candidates",
    "describe",
]

#: The only key of a candidate that is not a network of this package.
ESTIMATOR = "estimator"

#: The fewest samples for which trees are among the defaults.
TREE_SAMPLES = 100
#: The most inputs that a piecewise-linear encoding may have among the defaults.
MAX_BINS = 1024


def default_candidates(
    hidden: Sequence[tuple[int, ...]],
    n_features: int,
    target_type: str = "binary",
    *,
    n_samples: int = 0,
    smallest_class: int = TREE_SAMPLES,
    is_sparse: bool = False,
) -> list[dict[str, Any]]:
    """The default candidates: networks, and gradient boosting where it helps.

    Parameters
    ----------
    hidden : sequence of tuples of int
        Widths of hidden layers.
    n_features : int
        Number of features; with many, there is no piecewise-linear encoding.
    target_type : str, default='binary'
        ``'binary'``, ``'multiclass'`` or ``'multilabel-indicator'``.
    n_samples : int, default=0
        Number of samples. From 100 on, gradient boosting is tried for classes.
    smallest_class : int, default=100
        Samples of the rarest class. Of fewer than 3, a fold may train on one, which
        gradient boosting cannot split off for early stopping.
    is_sparse : bool, default=False
        Whether the samples are a sparse matrix, which gradient boosting does not take.

    Returns
    -------
    candidates : list of dict
        Each network on the metric and on cross-entropy, on standardised features.
        Beside them, what represents thresholds on single features: gradient boosting
        for two classes, the same networks on 8 bins of each feature otherwise, and
        for more classes both, without the linear network on bins.

    Examples
    --------
    >>> from sk_anyloss.search.candidates import default_candidates, describe
    >>> for candidate in default_candidates([(4,)], n_features=9, n_samples=1000):
    ...     print(describe(candidate))
    HistGradientBoostingClassifier()
    hidden=(4,), lr=CosineDecay(0.03), step=sigmoid, L=5
    hidden=(4,), lr=CosineDecay(0.03), loss=bce
    """
    tries_trees = n_samples >= TREE_SAMPLES and not is_sparse
    # Its early stopping splits samples by class.
    early_stopping = "auto" if smallest_class > 2 else False
    trees: list[dict[str, Any]] = [
        {ESTIMATOR: HistGradientBoostingClassifier(early_stopping=early_stopping)}
    ]
    if target_type == "binary" and tries_trees:
        networks = candidate_grid(hidden, bins=[None])
        # Trees are first, since they are worth most if time is short.
        return trees + networks if networks else []
    bins = [None, 8] if 8 * n_features <= MAX_BINS else [None]
    networks = candidate_grid(hidden, bins=bins)
    if target_type == "multiclass" and tries_trees and networks:
        networks = [p for p in networks if p["hidden"] or "n_bins" not in p]
        return networks + trees  # With a tree for each class in a round.
    return networks


def candidate_grid(
    hidden: Sequence[tuple[int, ...]],
    steps: Sequence[str | Step] = ("sigmoid",),
    Ls: Sequence[float | str] = (5,),
    lrs: Sequence[LearningRate] = (CosineDecay(0.03),),
    bins: Sequence[int | None] = (None, 8),
    cross_entropy: bool = True,
) -> list[dict[str, Any]]:
    """All combinations, ordered so that networks of one shape are adjacent.

    Parameters
    ----------
    hidden : sequence of tuples of int
        Widths of hidden layers.
    steps : sequence of str or Step, default=('sigmoid',)
        Steps; ``'sigmoid'`` comes once for each L.
    Ls : sequence of float or 'auto', default=(5,)
        Values of L.
    lrs : sequence of float or CosineDecay, default=(CosineDecay(0.03),)
        Learning rates.
    bins : sequence of int or None, default=(None, 8)
        Numbers of bins of a piecewise-linear encoding; None for standardised features.
    cross_entropy : bool, default=True
        Whether to add the network on cross-entropy.

    Returns
    -------
    candidates : list of dict
        Parameters of the estimator.

    Examples
    --------
    >>> from sk_anyloss.search.candidates import candidate_grid, describe
    >>> steps = ["identity", "sigmoid"]
    >>> for candidate in candidate_grid([(4,)], steps, [5, 73], [0.01]):
    ...     print(describe(candidate))
    hidden=(4,), lr=0.01, step=identity
    hidden=(4,), lr=0.01, step=sigmoid, L=5
    hidden=(4,), lr=0.01, step=sigmoid, L=73
    hidden=(4,), lr=0.01, loss=bce
    hidden=(4,), n_bins=8, lr=0.01, step=identity
    hidden=(4,), n_bins=8, lr=0.01, step=sigmoid, L=5
    hidden=(4,), n_bins=8, lr=0.01, step=sigmoid, L=73
    hidden=(4,), n_bins=8, lr=0.01, loss=bce
    """
    losses: list[dict[str, Any]] = []
    for step in steps:
        for L in Ls if spelled(step, ["sigmoid"]) == "sigmoid" else [None]:
            losses.append({"step": step} if L is None else {"step": step, "L": L})
    if cross_entropy:
        losses.append({"loss": "bce"})
    encodings: list[dict[str, Any]] = [{} if n is None else {"n_bins": n} for n in bins]
    return [
        {"hidden": check_hidden(width), **encoding, "lr": lr, **loss}
        for width, encoding, lr, loss in product(hidden, encodings, lrs, losses)
    ]


def check_candidates(
    candidates: Iterable[Mapping[str, Any] | BaseEstimator],
) -> list[dict[str, Any]]:
    """Candidates as dicts; refuses an empty list, and names that are unknown.

    Parameters
    ----------
    candidates : iterable of dicts and estimators
        Parameters of :class:`sk_anyloss.AnyLossClassifier`, or classifiers of any
        other kind; ``{'estimator': ...}`` is the same as the classifier itself.

    Returns
    -------
    candidates : list of dict
        Parameters, or ``{'estimator': ...}``.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sk_anyloss.search.candidates import check_candidates
    >>> check_candidates([{"hidden": (2,)}, GaussianNB()])
    [{'hidden': (2,)}, {'estimator': GaussianNB()}]
    >>> check_candidates([{"hiden": (2,)}])
    Traceback (most recent call last):
    ...
    ValueError: Unknown parameter 'hiden'. Did you mean 'hidden'? ...
    """
    result: list[dict[str, Any]] = [
        dict(candidate) if isinstance(candidate, Mapping) else {ESTIMATOR: candidate}
        for candidate in candidates
    ]
    if not result:
        raise ValueError(
            "There is no candidate to try: give at least one network in hidden, or a "
            "candidate in candidates."
        )
    known = AnyLossClassifier().get_params()
    for candidate in result:
        if ESTIMATOR in candidate:
            _check_estimator(candidate)
            continue
        for name in candidate:
            if name not in known:
                otherwise = "these are the parameters of AnyLossClassifier."
                raise ValueError(unknown("parameter", name, known, otherwise))
    return result


def accepts_nan(candidate: Mapping[str, Any] | BaseEstimator) -> bool:
    """Whether a candidate takes missing values, a pipeline by its first step."""
    model = candidate
    if isinstance(candidate, Mapping):
        model = candidate.get(ESTIMATOR)
    while isinstance(model, Pipeline):
        model = next((step for _, step in model.steps if step != "passthrough"), None)
    is_estimator = hasattr(model, "fit") and not isinstance(model, type)
    return is_estimator and get_tags(model).input_tags.allow_nan


def _check_estimator(candidate: Mapping[str, Any]) -> None:
    estimator = candidate[ESTIMATOR]
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise ValueError(
            "A candidate must be a dict of parameters of AnyLossClassifier or a "
            f"classifier, such as HistGradientBoostingClassifier(); got {estimator!r}."
        )
    if len(candidate) > 1:
        others = ", ".join(sorted(set(candidate) - {ESTIMATOR}))
        raise ValueError(
            f"A candidate with an estimator has no other parameters, got {others}; set "
            "them in the estimator itself."
        )


def describe(candidate: Mapping[str, Any]) -> str:
    """A candidate in one line.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sk_anyloss.search.candidates import describe
    >>> describe({"hidden": (8,), "step": "sigmoid", "L": 5})
    'hidden=(8,), step=sigmoid, L=5'
    >>> describe({"estimator": GaussianNB()})
    'GaussianNB()'
    """
    if ESTIMATOR in candidate:
        return " ".join(repr(candidate[ESTIMATOR]).split())
    return ", ".join(f"{name}={value}" for name, value in candidate.items())
