"""The candidates of a search as tasks of scikit-learn's callbacks."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from typing import Any

import numpy as np

from sk_anyloss.estimators.tuning.out_of_fold import OutOfFold
from sk_anyloss.metrics.decision import Decision
from sk_anyloss.search.ensemble import DecidesByEnsemble
from sk_anyloss.search.trials import Trial

__all__ = ["CandidateTasks"]

#: What an ensemble decides by.
ATTRIBUTES = ("estimators_", "estimator_offsets_", "estimator_weights_", "decision_")


class CandidateTasks:
    """Tell the callbacks of an estimator of every candidate that is finished.

    Candidates of one shape are trained together, and in several processes, so each is
    a task that begins and ends when its result is there.

    Parameters
    ----------
    model : estimator
        The search that is fitted.
    context : sklearn.callback.CallbackContext or None
        That of its fit; None for scikit-learn below 1.9.
    data : mapping
        ``X``, ``y`` and ``metadata`` of the fit.
    out_of_fold : OutOfFold
        The samples that candidates are scored on.
    n_candidates : int
        How many there are.
    """

    def __init__(
        self,
        model: DecidesByEnsemble,
        context: Any,
        data: Mapping[str, Any],
        out_of_fold: OutOfFold,
        n_candidates: int,
    ) -> None:
        self.model, self.context, self.data = model, context, data
        self.out_of_fold, self.n_left = out_of_fold, n_candidates
        self.best: Trial | None = None
        self.best_score = -np.inf
        if context is not None:
            context.max_subtasks = n_candidates
            context.call_on_fit_task_begin(estimator=model, **data)

    def end(self, trial: Trial) -> bool:
        """Tell of a candidate, and return whether the search is to end with it.

        Parameters
        ----------
        trial : Trial
            The candidate, which may have failed.

        Returns
        -------
        stops : bool
            Whether a callback asks for that, and there is a candidate to keep.
        """
        if self.context is None or not self.n_left:
            return False
        self.n_left -= 1
        score = -np.inf if trial.error else self.out_of_fold.score(trial.margin)
        if score > self.best_score:
            self.best, self.best_score = trial, score
        task = self.context.subcontext(task_name="candidate")
        for call in (task.call_on_fit_task_begin, task.call_on_fit_task_end):
            stops = call(
                estimator=self.model,
                **self.data,
                reconstruction_attributes=self._as_if_fitted,
            )
        return bool(stops) and self.best is not None

    def finish(self) -> None:
        """Tell of the end of the search."""
        if self.context is not None:
            self.context.call_on_fit_task_end(
                estimator=self.model, **self.data, reconstruction_attributes={}
            )

    def _as_if_fitted(self) -> dict[str, Any] | None:
        """Attributes of the best candidate so far, as of an ensemble."""
        if self.best is None:
            return None
        twin = copy(self.model)
        twin._take([self.best], np.ones(1))
        twin.decision_ = Decision()
        return {name: getattr(twin, name) for name in ATTRIBUTES}
