"""Settings of the network that a search tries: which there are, and what comes of them.

A candidate is a dict of parameters of :class:`sk_anyloss.AnyLossClassifier`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

from sk_anyloss._names import spelled, unknown
from sk_anyloss.estimators.classifier import AnyLossClassifier
from sk_anyloss.training.mlp import check_hidden

__all__ = ["check_candidates", "describe", "grid"]


def grid(
    hidden: Sequence[tuple[int, ...]],
    steps: Sequence[Any],
    Ls: Sequence[float | str],
    lrs: Sequence[float],
    bins: Sequence[int | None],
    cross_entropy: bool,
) -> list[dict[str, Any]]:
    """All combinations, those of one shape behind each other.

    Parameters
    ----------
    hidden : sequence of tuples of int
        Widths of hidden layers.
    steps : sequence of str or Step
        Steps; ``'sigmoid'`` comes once for each L.
    Ls : sequence of float or 'auto'
        Values of L.
    lrs : sequence of float
        Learning rates.
    bins : sequence of int or None
        In how many pieces columns enter.
    cross_entropy : bool
        Whether to add the network on cross-entropy.

    Returns
    -------
    candidates : list of dict
        Parameters of the estimator.

    Examples
    --------
    >>> from sk_anyloss.search.candidates import describe, grid
    >>> steps = ["identity", "sigmoid"]
    >>> for candidate in grid([(4,)], steps, [5, 73], [0.01], [None, 8], True):
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
    inputs: list[dict[str, Any]] = [{} if n is None else {"n_bins": n} for n in bins]
    return [
        {"hidden": check_hidden(width), **columns, "lr": lr, **loss}
        for width, columns, lr, loss in product(hidden, inputs, lrs, losses)
    ]


def check_candidates(candidates: Iterable[Any]) -> list[dict[str, Any]]:
    """Refuse an empty list, and names that the estimator does not have.

    Examples
    --------
    >>> from sk_anyloss.search.candidates import check_candidates
    >>> check_candidates([{"hiden": (2,)}])
    Traceback (most recent call last):
    ...
    ValueError: Unknown parameter 'hiden'. Did you mean 'hidden'? ...
    """
    result = [dict(candidate) for candidate in candidates]
    if not result:
        raise ValueError(
            "There is no candidate to try: give at least one of hidden, steps, Ls and "
            "lrs, or a candidate in candidates."
        )
    known = AnyLossClassifier().get_params()
    for candidate in result:
        for name in candidate:
            if name not in known:
                otherwise = "these are the parameters of AnyLossClassifier."
                raise ValueError(unknown("parameter", name, known, otherwise))
    return result


def describe(candidate: dict[str, Any]) -> str:
    """A candidate in a word.

    Examples
    --------
    >>> from sk_anyloss.search.candidates import describe
    >>> describe({"hidden": (8,), "step": "sigmoid", "L": 5})
    'hidden=(8,), step=sigmoid, L=5'
    """
    return ", ".join(f"{name}={value}" for name, value in candidate.items())
