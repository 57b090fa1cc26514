"""What an estimator trains on: labels, weights, seeds and held-out samples."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from sk_anyloss.estimators.fitting.continuation import (
    check_same_classes,
    check_same_network,
)
from sk_anyloss.estimators.labels import Labels, check_same
from sk_anyloss.estimators.preparation import (
    class_weights,
    hold_out,
    positive_weights,
    split_seed,
)
from sk_anyloss.training.callbacks import EarlyStopping
from sk_anyloss.training.data.dataset import Subset

if TYPE_CHECKING:
    from sk_anyloss.estimators.classifier import AnyLossClassifier

__all__ = ["Plan", "make_plan"]


class Plan(NamedTuple):
    """What an estimator trains on in ``fit``, once the data were checked."""

    sample: Subset
    held_out: Subset | None
    #: Of the initial weights, of the order of samples, and of those held out.
    seeds: list[int]

    def within(self, index: np.ndarray) -> Plan:
        """The same samples by their positions in a larger set."""
        held_out = None if self.held_out is None else self.held_out.within(index)
        return Plan(self.sample.within(index), held_out, self.seeds)

    def starts(self, n: int) -> list[Plan]:
        """The same plan with n seeds of the initial weights and the order."""
        seeds = np.random.SeedSequence(self.seeds).generate_state((n - 1) * 2).tolist()
        others = zip(seeds[::2], seeds[1::2], strict=True)
        return [self, *(self._replace(seeds=[*p, self.seeds[2]]) for p in others)]


def make_plan(
    model: AnyLossClassifier,
    y: np.ndarray,
    sample_weight: ArrayLike | None,
    dtype: np.dtype,
    is_continued: bool = False,
    partial: bool = False,
    classes: ArrayLike | None = None,
) -> Plan:
    """Settle classes, weights and which samples to train on, without copying any.

    A partial fit may see one class only, and holds nothing out.
    """
    index, weight = positive_weights(y, sample_weight)
    if index is not None:
        y = y[index]
    if is_continued:
        if classes is not None:
            check_same(classes, model.classes_)
        check_same_classes(model, y, partial)
        check_same_network(model)
    else:
        model._labels = Labels.of(y, model.pos_label, classes)
        model.classes_, model.pos_label_ = (
            model._labels.classes,
            model._labels.pos_label,
        )
        model.target_type_ = model._labels.target.name
    model.metric_ = model._labels.target.resolve(model.metric)
    target = model._labels.encode(y, dtype)
    own = weight
    weight = class_weights(model.class_weight, model.classes_, y, own, dtype)
    seeds = split_seed(model.random_state, 3)
    sample, held_out = Subset(index, target, weight, own), None
    stopping = model.early_stopping
    if stopping and not partial:
        if not isinstance(stopping, EarlyStopping):
            stopping = EarlyStopping()
        sample, held_out = hold_out(sample, stopping.validation_fraction, seeds[2])
    return Plan(sample, held_out, seeds)
