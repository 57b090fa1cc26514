"""Candidates that are clearly behind on one fold are not trained on the others.

One step of successive halving, by the rule that would weigh them in the end: what is
expected to get less than the least weight of a member is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import expit

from sk_anyloss.estimators.tuning.out_of_fold import OutOfFold
from sk_anyloss.metrics.decision import log_odds
from sk_anyloss.search.candidates import ESTIMATOR
from sk_anyloss.search.trials import CrossValidationData, Trial
from sk_anyloss.search.weights import LEAST_WEIGHT, SHARPNESS, trust

__all__ = ["clearly_behind", "first_fold", "tried"]

#: With fewer samples, trying takes more time than is saved; with fewer of a class in
#: the fold, a difference says little.
MIN_SAMPLES, MIN_OF_CLASS = 1000, 20
#: Part of their epochs in which networks are tried on one fold.
TRIED_EPOCHS = 1 / 3


def first_fold(data: CrossValidationData) -> int | None:
    """The fold that all candidates are trained on, before any is dropped.

    Parameters
    ----------
    data : CrossValidationData
        Samples and folds.

    Returns
    -------
    fold : int or None
        The first of those with most training samples; None if samples are too few to
        drop anything, or there are not two classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.search.effort.halving import first_fold
    >>> from sk_anyloss.search.trials import CrossValidationData
    >>> X, y, a, b = np.eye(2000), np.arange(2000) % 2, np.arange(900), np.arange(2000)
    >>> first_fold(CrossValidationData(X, y, [(a, b[900:]), (b[900:], a)]))
    1
    """
    is_binary = data.y.ndim == 1 and len(np.unique(data.y)) == 2
    if not is_binary or len(data.y) < MIN_SAMPLES or len(data.folds) < 2:
        return None
    fold = int(np.argmax([len(train) for train, _ in data.folds]))
    tested = np.unique(data.y[data.folds[fold][1]], return_counts=True)[1]
    return fold if len(tested) == 2 and tested.min() >= MIN_OF_CLASS else None


def tried(params: dict[str, Any], max_epochs: int) -> dict[str, Any]:
    """A candidate as it is tried on one fold: a network in a third of its epochs.

    Parameters
    ----------
    params : dict
        The candidate.
    max_epochs : int
        Its epochs, unless it has its own.

    Returns
    -------
    params : dict
        The same, for a classifier of another kind.

    Examples
    --------
    >>> from sk_anyloss.search.effort.halving import tried
    >>> tried({"hidden": (8,)}, max_epochs=50)
    {'hidden': (8,), 'max_epochs': 17}
    """
    if ESTIMATOR in params:
        return params
    epochs = int(params.get("max_epochs", max_epochs))
    return {**params, "max_epochs": math.ceil(TRIED_EPOCHS * epochs)}


def clearly_behind(
    trials: Sequence[Trial], out_of_fold: OutOfFold, n_folds: int
) -> set[int]:
    r"""Candidates that will hardly have a weight, as one fold foretells.

    Differences of scores on one of k folds have :math:`\sqrt k` times the standard
    error of those on all folds, so weights follow from them by a factor that is
    :math:`\sqrt k` times as large. Every candidate has the threshold that is best on
    this fold. Networks are one member: all of them are dropped, or none.

    Parameters
    ----------
    trials : sequence of Trial
        All candidates, trained on one fold; those that failed are left out.
    out_of_fold : OutOfFold
        The samples that this fold leaves out.
    n_folds : int
        Number of all folds.

    Returns
    -------
    positions : set of int
        Of the candidates to drop.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.estimators.tuning.out_of_fold import OutOfFold
    >>> from sk_anyloss.search.effort.halving import clearly_behind
    >>> from sk_anyloss.search.trials import Trial
    >>> y = np.arange(1000) % 2.0
    >>> good, bad = np.random.default_rng(0).normal(size=(2, 1000)) + 2 * y - 1
    >>> trials = [Trial({}, [], bad / 9, 0.0), Trial({"estimator": 0}, [], good, 0.0)]
    >>> clearly_behind(trials, OutOfFold(np.arange(1000), y, None, [1000], "f1"), 5)
    set()
    >>> trials[0].log_odds = bad + 2 * np.random.default_rng(1).normal(size=1000)
    >>> clearly_behind(trials, OutOfFold(np.arange(1000), y, None, [1000], "f1"), 5)
    {0}
    """
    fine = [i for i, trial in enumerate(trials) if not trial.error]
    networks = [i for i in fine if trials[i].is_network]
    members = [[i] for i in fine if not trials[i].is_network]
    members = [networks, *members] if networks else members
    if len(members) < 2:
        return set()
    margins = [
        log_odds(np.mean([_scores(trials[i], out_of_fold) for i in member], axis=0))
        for member in members
    ]
    found = trust(margins, out_of_fold, sharpness=SHARPNESS * math.sqrt(n_folds))
    behind = zip(members, found.weights < LEAST_WEIGHT, strict=True)
    return {i for member, is_behind in behind if is_behind for i in member}


def _scores(trial: Trial, out_of_fold: OutOfFold) -> np.ndarray:
    """Scores between 0 and 1, above 0.5 where the best threshold decides so."""
    outputs = trial.log_odds
    if not out_of_fold.target_type.is_curve(out_of_fold.metric):
        outputs = out_of_fold.tune(outputs)[0].margin(outputs)
    return expit(outputs)
