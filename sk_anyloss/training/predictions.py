"""What a skorch net predicts: logits, probabilities, decisions, and their score."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassifierMixin
from skorch.dataset import unpack_data
from skorch.utils import is_dataset, to_numpy

from sk_anyloss.training.data.labels import as_labels
from sk_anyloss.training.epoch_steps import EpochSteps
from sk_anyloss.training.network.mlp import MLP
from sk_anyloss.training.targets import TargetType
from sk_anyloss.training.threads import single_thread

if TYPE_CHECKING:
    from sk_anyloss.training.net import Data

__all__ = ["Predictions"]


class Predictions(ClassifierMixin, EpochSteps):
    """The part of :class:`sk_anyloss.AnyLossNet` that predicts."""

    @property
    def classes_(self) -> np.ndarray:
        """The classes, 0 to C - 1, or the positions of the labels."""
        target: TargetType | None = getattr(self, "target_", None)
        return np.arange(2 if target is None else max(target.n_outputs, 2))

    def logits(self, X: Data) -> np.ndarray:
        """Logits of shape (n,) or (n, C), computed in chunks of samples."""
        self.check_is_fitted(["module_"])
        dataset: Any = X if is_dataset(X) else self.get_dataset(X)
        # Results that stay between chunks would keep their memory from being reused.
        found: np.ndarray | None = None
        stop = 0
        with self.limited_threads():
            for batch in self.get_iterator(dataset, training=False):
                part = to_numpy(self.evaluation_step(batch))
                if found is None:
                    shape = (len(dataset), *part.shape[1:])
                    found = np.empty(shape, dtype=part.dtype)
                start, stop = stop, stop + len(part)
                found[start:stop] = part
        if found is None:
            if self.target_ is None or self.target_.name == "binary":
                return np.empty(0)
            return np.empty((0, self.target_.n_outputs))
        return found[:stop]

    def predict_proba(self, X: Data) -> np.ndarray:
        """Scores of shape (n, 2), (n, C) or (n, Q), of classes or labels.

        They rank the samples, and those of classes sum to one, but training on a metric
        does not make calibrated probabilities of them.
        """
        logits = self.logits(X)
        return self._target_for(logits).probabilities(logits)

    def _target_for(
        self, logits: np.ndarray, y: np.ndarray | None = None
    ) -> TargetType:
        return self.resolve_target(1 if logits.ndim == 1 else logits.shape[1], y)

    def predict(self, X: Data) -> np.ndarray:
        """Classes, 0 or 1 by the threshold or 0 to C - 1, or a matrix of labels."""
        logits = self.logits(X)
        self._target_for(logits)
        return self.decide(logits)

    def score(
        self,
        X: Data,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """The metric of the decisions on X; without y, X is a dataset that has it."""
        weight = None if sample_weight is None else np.asarray(sample_weight)
        labels: Any
        if y is not None:
            logits, labels = self.logits(X), to_numpy(as_labels(y))
        elif is_dataset(X):
            logits, labels = self._logits_and_labels(X)
        else:
            raise ValueError("score needs y, unless X is a dataset that has labels.")
        target = self._target_for(logits, labels)
        return target.evaluate(self.metric, logits, labels, weight, self.decision)

    def _logits_and_labels(self, dataset: Any) -> tuple[np.ndarray, np.ndarray]:
        """Logits of the samples of a dataset, and their labels, in one pass."""
        with self.limited_threads():
            found = [
                (to_numpy(self.evaluation_step(batch)), to_numpy(unpack_data(batch)[1]))
                for batch in self.get_iterator(dataset, training=False)
            ]
        logits, labels = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return logits, labels

    def decide(self, logits: np.ndarray) -> np.ndarray:
        """Classes, or labels, of logits."""
        is_label = self.target_ is not None and self.target_.name != "multiclass"
        if logits.ndim == 1 or is_label:
            return self.decision.is_positive(logits).astype(int)
        return logits.argmax(axis=1)

    def limited_threads(self) -> AbstractContextManager[None]:
        """One thread for our own small network; all that torch has for any other."""
        return single_thread() if type(self.module_) is MLP else nullcontext()
