"""Where a stored model decides, and what its scores mean as probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import logit
from sklearn.base import BaseEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from sk_anyloss.compare.errors import TableError
from sk_anyloss.compare.tables.table import Features

if TYPE_CHECKING:
    from sk_anyloss.compare.results.results import Results

__all__ = [
    "Calibration",
    "apply_calibration",
    "calibration_of",
    "decision_threshold",
    "fit_calibration",
]

#: Scores at which calibrated probabilities are stored, between which they are linear.
Calibration = dict[str, list[float]]
#: Held-out samples from which on the calibration is isotonic, of each class.
MIN_ISOTONIC = 500
#: Points of a calibration that is no step function.
N_POINTS = 101


def decision_threshold(model: BaseEstimator, X: Features) -> float | None:
    """The score from which on a model of two classes predicts the positive one.

    Parameters
    ----------
    model : Pipeline
        Fitted, for classes 0 and 1.
    X : DataFrame or ndarray
        Samples on which the threshold is verified.

    Returns
    -------
    threshold : float or None
        None if the labels do not follow from the scores.

    Examples
    --------
    >>> from sk_anyloss.compare import built_in
    >>> from sk_anyloss.compare.model_file.outputs import decision_threshold
    >>> from sk_anyloss.compare.run.models import fit_method
    >>> table = built_in()
    >>> X = table.X.to_numpy()  # As it is fitted where all columns are numbers.
    >>> decision_threshold(fit_method(table, "logistic", "f1"), X)
    0.5
    """
    scores = np.asarray(model.predict_proba(X))[:, 1]
    is_positive = np.asarray(model.predict(X)).astype(int) == 1
    classifier = model.steps[-1][1]
    candidates = [
        getattr(classifier, name)
        for name in ("threshold", "threshold_")
        if hasattr(classifier, name)
    ]
    for threshold in [*candidates, 0.5]:
        # A score that is the threshold may be on either side.
        clear = np.abs(scores - threshold) > 1e-9
        if ((scores >= threshold) == is_positive)[clear].all():
            return float(threshold)
    return None


def fit_calibration(
    scores: np.ndarray, y: np.ndarray, weight: np.ndarray | None = None
) -> Calibration:
    """Probabilities of the positive class as a function of the score.

    Isotonic regression where there are at least 500 samples of each class, else
    Platt's logistic regression on the log-odds of the scores, as scikit-learn advises
    for few samples.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)
        Held-out scores between 0 and 1.
    y : ndarray of int of shape (n_samples,)
        Labels, 0 or 1.
    weight : ndarray of shape (n_samples,), default=None
        Weights of the samples.

    Returns
    -------
    calibration : dict
        ``scores``, ascending, and ``probabilities``.

    Examples
    --------
    >>> import numpy as np
    >>> from sk_anyloss.compare.model_file.outputs import apply_calibration
    >>> from sk_anyloss.compare.model_file.outputs import fit_calibration
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(4000)
    >>> found = fit_calibration(scores, (rng.random(4000) < scores / 2).astype(int))
    >>> apply_calibration(found, np.array([0.2, 0.6])).round(1).tolist()
    [0.1, 0.3]
    """
    if np.bincount(y, minlength=2).min() >= MIN_ISOTONIC:
        isotonic = IsotonicRegression(y_min=0, y_max=1).fit(scores, y, weight)
        points, found = isotonic.X_thresholds_, isotonic.y_thresholds_
    else:
        eps = np.finfo(float).eps
        odds = logit(np.clip(scores, eps, 1 - eps))[:, None]
        platt = LogisticRegression(C=np.inf).fit(odds, y, weight)
        points = np.unique(np.quantile(scores, np.linspace(0, 1, N_POINTS)))
        odds = logit(np.clip(points, eps, 1 - eps))[:, None]
        found = platt.predict_proba(odds)[:, 1]
    return {"scores": points.tolist(), "probabilities": found.tolist()}


def apply_calibration(calibration: Calibration, scores: np.ndarray) -> np.ndarray:
    """Calibrated probabilities of scores."""
    points, found = calibration["scores"], calibration["probabilities"]
    return np.interp(scores, points, found)


def calibration_of(results: Results, method: str) -> Calibration:
    """The calibration of a method from its held-out scores over all folds.

    Parameters
    ----------
    results : Results
        Results on one data set of two classes.
    method : str
        Name of the method.

    Returns
    -------
    calibration : dict
        As :func:`fit_calibration` makes it.
    """
    (table,) = results.tables
    if table.n_classes != 2:
        raise TableError(
            f"Calibrated scores are for two classes, and {table.name} has "
            f"{table.n_classes}; leave out --calibrate (calibrate=True)."
        )
    own = [f for f in results.folds if f.method == method and not f.failed]
    scores = np.concatenate([fold.scores for fold in own])
    if scores.min() < 0 or scores.max() > 1:
        raise TableError(
            f"The scores of {method!r} are not between 0 and 1, so that they cannot be "
            "calibrated; leave out --calibrate (calibrate=True)."
        )
    rows = np.concatenate([fold.rows for fold in own])
    weight = None if table.weight is None else table.weight[rows]
    return fit_calibration(scores, table.y[rows], weight)
