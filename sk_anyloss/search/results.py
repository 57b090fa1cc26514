"""What a search found, as the table ``cv_results_``, and what it says of failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import rankdata

from sk_anyloss.estimators.tuning.out_of_fold import OutOfFold
from sk_anyloss.search.candidates import describe
from sk_anyloss.search.trials import Trial
from sk_anyloss.search.weights import bootstrap_scores, spread

__all__ = [
    "best_first",
    "dropped_candidates",
    "failure_message",
    "print_weights",
    "results_table",
    "score_trials",
    "standard_errors",
]


def score_trials(
    trials: Sequence[Trial], out_of_fold: OutOfFold
) -> tuple[np.ndarray, np.ndarray]:
    """Scores of all candidates on the samples left out; NaN for those that failed.

    Parameters
    ----------
    trials : sequence of Trial
        The candidates.
    out_of_fold : OutOfFold
        The samples left out.

    Returns
    -------
    folds : ndarray of shape (n_candidates, n_folds)
        The score of each fold.
    pooled : ndarray of shape (n_candidates,)
        The score of all samples together.
    """
    folds = np.full((len(trials), len(out_of_fold.sizes)), np.nan)
    pooled = np.full(len(trials), np.nan)
    for i, trial in enumerate(trials):
        if not trial.error:
            folds[i] = out_of_fold.score_folds(trial.margin)
            pooled[i] = out_of_fold.score(trial.margin)
    return folds, pooled


def standard_errors(trials: Sequence[Trial], out_of_fold: OutOfFold) -> np.ndarray:
    """Bootstrap standard errors of the pooled scores; NaN for candidates that failed.

    Parameters
    ----------
    trials : sequence of Trial
        The candidates.
    out_of_fold : OutOfFold
        The samples left out.

    Returns
    -------
    errors : ndarray of shape (n_candidates,)
        Standard deviation of the score over bootstrap samples.
    """
    errors = np.full(len(trials), np.nan)
    fine = [i for i, trial in enumerate(trials) if not trial.error]
    drawn = bootstrap_scores([trials[i].margin for i in fine], out_of_fold)
    errors[fine] = spread(drawn)
    return errors


def results_table(
    trials: Sequence[Trial],
    folds: np.ndarray,
    pooled: np.ndarray,
    errors: np.ndarray,
) -> dict[str, Any]:
    """The table in the form of scikit-learn's ``cv_results_``.

    Parameters
    ----------
    trials : sequence of Trial
        The candidates.
    folds, pooled : ndarray
        As :func:`score_trials` gives them.
    errors : ndarray of shape (n_candidates,)
        As :func:`standard_errors` gives them.

    Returns
    -------
    table : dict of lists and arrays
        An entry for each candidate in each of its columns.
    """
    params = [trial.params for trial in trials]
    names = sorted({name for candidate in params for name in candidate})
    # What has no score is behind all that have one.
    ranked = np.where(np.isnan(pooled), -np.inf, pooled)
    table = {
        "params": params,
        **{f"param_{name}": _column(params, name) for name in names},
        **{f"split{k}_test_score": scores for k, scores in enumerate(folds.T)},
        **_moments(folds),
        "pooled_test_score": pooled,
        "pooled_test_error": errors,
        "rank_test_score": rankdata(-ranked, method="min").astype(int),
        "threshold": _thresholds(trials),
        "fit_time": np.array([trial.seconds for trial in trials]),
        "error": np.array([trial.error for trial in trials], dtype=object),
    }
    return table


def best_first(trials: Sequence[Trial], pooled: np.ndarray) -> list[int]:
    """Order of the candidates that did not fail; those without a score are last.

    Parameters
    ----------
    trials : sequence of Trial
        All candidates.
    pooled : ndarray of shape (n_candidates,)
        Their scores.

    Returns
    -------
    order : list of int
        Positions of the candidates, the best one first.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.search.results import best_first
    >>> from sk_anyloss.search.trials import Trial
    >>> fine = Trial({"lr": 0.1}, [], np.empty(0), 0.0)
    >>> failed = Trial({"lr": -1}, [], np.empty(0), 0.0, error="lr must be positive.")
    >>> best_first([fine, failed, fine], np.array([0.5, np.nan, 0.6]))
    [2, 0]
    """
    order = np.argsort(-pooled, kind="stable").tolist()
    return [i for i in order if not trials[i].error]


def _moments(folds: np.ndarray) -> dict[str, np.ndarray]:
    """Mean and standard deviation over the folds in which a score is defined."""
    mean, std = np.full((2, len(folds)), np.nan)
    defined = ~np.isnan(folds).all(axis=1)
    mean[defined] = np.nanmean(folds[defined], axis=1)
    std[defined] = np.nanstd(folds[defined], axis=1)
    return {"mean_test_score": mean, "std_test_score": std}


def failure_message(trials: Sequence[Trial]) -> str:
    """One sentence on the candidates that failed; empty if none did.

    Parameters
    ----------
    trials : sequence of Trial
        All candidates.

    Returns
    -------
    message : str
        How many failed and the first reason, or every reason if all of them failed.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.search.results import failure_message
    >>> from sk_anyloss.search.trials import Trial
    >>> fine = Trial({"lr": 0.1}, [], np.empty(0), 0.0)
    >>> failed = Trial({"lr": -1}, [], np.empty(0), 0.0, error="lr must be positive.")
    >>> failure_message([fine, failed])
    '1 of 2 candidates failed and is left out; ... (lr=-1): lr must be positive.'
    """
    failed = [trial for trial in trials if trial.error and not trial.is_dropped]
    if not failed:
        return ""
    reasons = list(dict.fromkeys(trial.error for trial in failed))
    if len(failed) == sum(not trial.is_dropped for trial in trials):
        number = f"all {len(failed)} candidates" if len(failed) > 1 else "the candidate"
        listed = "; ".join(reason.rstrip(".") for reason in reasons)
        return f"The search failed for {number}: {listed}."
    verb = "is" if len(failed) == 1 else "are"
    return (
        f"{len(failed)} of {len(trials)} candidates failed and {verb} left out; "
        f"the first reason ({failed[0].describe()}): {reasons[0]}"
    )


def dropped_candidates(
    candidates: Sequence[Mapping[str, Any]],
    trials: Sequence[Trial],
    weights: np.ndarray,
) -> list[tuple[str, str]]:
    """The candidates that do not decide, and why.

    Parameters
    ----------
    candidates : sequence of dict
        All candidates, those that were not finished last.
    trials : sequence of Trial
        Those that were begun.
    weights : ndarray of shape (n_trials,)
        Their weights in the ensemble.

    Returns
    -------
    dropped : list of pairs of str
        The candidate in one line, and the reason.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.search.results import dropped_candidates
    >>> from sk_anyloss.search.trials import Trial
    >>> fine = Trial({"lr": 0.1}, [], np.empty(0), 0.0)
    >>> dropped_candidates([{"lr": 0.1}, {"lr": 9}], [fine], np.ones(1))
    [('lr=9', 'not finished')]
    """
    dropped = []
    for trial, weight in zip(trials, weights, strict=True):
        if trial.error:
            dropped.append((trial.describe(), trial.error))
        elif weight == 0:
            dropped.append((trial.describe(), "others are better"))
    begun = len(trials)
    return dropped + [
        (describe(params), "not finished") for params in candidates[begun:]
    ]


def print_weights(
    results: Mapping[str, Any],
    indices: Sequence[int],
    dropped: Sequence[tuple[str, str]],
) -> None:
    """Print the candidates that decide, and why others do not.

    Parameters
    ----------
    results : dict
        ``cv_results_``.
    indices : sequence of int
        The candidates that decide.
    dropped : sequence of pairs of str
        The others in one line each, and the reasons.

    Examples
    --------
    >>> from sk_anyloss.search.results import print_weights
    >>> results = {"params": [{"lr": 0.1}], "weight": [1.0]}
    >>> print_weights(results, [0], [("lr=9", "others are better")])
    weight 1.000  lr=0.1
    left out      lr=9: others are better
    """
    for i in indices:
        print(f"weight {results['weight'][i]:.3f}  {describe(results['params'][i])}")
    for line, reason in dropped:
        print(f"left out      {line}: {reason}")


def _thresholds(trials: Sequence[Trial]) -> np.ndarray:
    """Threshold of each candidate; an array of them for classes or labels."""
    found = [np.nan if trial.error else trial.decision.threshold for trial in trials]
    if all(np.ndim(threshold) == 0 for threshold in found):
        return np.array(found)
    column = np.empty(len(found), dtype=object)
    for i, threshold in enumerate(found):
        column[i] = threshold
    return column


def _column(params: list[dict[str, Any]], name: str) -> np.ma.MaskedArray:
    """Values of a parameter, masked where a candidate does not have it."""
    values = np.ma.masked_all(len(params), dtype=object)
    for i, candidate in enumerate(params):
        if name in candidate:
            values[i] = candidate[name]  # Not all at once: tuples would be spread out.
    return values
