"""Whether a network has ended with one class for all samples."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning
from skorch.dataset import unpack_data
from skorch.utils import is_dataset, to_numpy

from sk_anyloss.losses import AnyLoss, MulticlassAnyLoss
from sk_anyloss.losses.multilabel import OverLabels
from sk_anyloss.training.network.accumulated import take_part
from sk_anyloss.training.network.start import warm_up_epochs

if TYPE_CHECKING:
    from sk_anyloss.training.net import AnyLossNet, Data

__all__ = ["warn_if_constant"]


def warn_if_constant(net: AnyLossNet, X: Data, y: ArrayLike | None) -> None:
    """Warn if all samples get one decision, though they are not of one class.

    Of several labels, the decision is all of them together.
    """
    if net.target_ is None:
        return
    if net.last_batch_ is not None and _decides_for_several(net):
        return
    dataset: Any = X if is_dataset(X) else net.get_dataset(X, y)
    decisions: set[Any] = set()
    labels: set[Any] = set()
    is_unit = True
    with net.limited_threads():
        for batch in net.get_iterator(dataset, training=False):
            logits = to_numpy(net.evaluation_step(batch))
            is_unit &= bool(((logits >= 0) & (logits <= 1)).all())
            decisions |= _distinct(net.decide(logits))
            labels |= _distinct(to_numpy(unpack_data(batch)[1]))
            if len(decisions) > 1:
                return
    if len(decisions) == 1 and len(labels) > 1:
        probabilities = ""
        if is_unit:
            probabilities = (
                "All outputs of the module lie between 0 and 1: if they are "
                "probabilities p, let it give logits instead, such as "
                "torch.logit(p, eps=1e-6). "
            )
        warnings.warn(
            f"The model predicts {decisions.pop()} for every training sample. "
            f"{probabilities}Try {_suggestions(net)}another learning rate "
            f"(lr={net.lr}) or more epochs (max_epochs={net.max_epochs}).",
            ConvergenceWarning,
            stacklevel=3,
        )


def _suggestions(net: AnyLossNet) -> str:
    """Settings with which the training is less likely to end with one class."""
    criterion = net.criterion_
    if isinstance(criterion, OverLabels):
        criterion = criterion.loss
    if not isinstance(criterion, (AnyLoss, MulticlassAnyLoss)):
        return ""
    start = "" if warm_up_epochs(net) else "a start on cross-entropy (warm_up=0.75), "
    if net.criterion is not AnyLoss:
        return f"{start}a criterion with step=Sigmoid(L=10) or 'identity', "
    if hasattr(net, "criterion__step"):
        return f"{start}a gentler criterion__step (Sigmoid(L=10) or 'identity'), "
    L = min(getattr(criterion.step, "L", 20) / 2, 10)
    return f"{start}a smaller L (L={L:g}), "


def _decides_for_several(net: AnyLossNet) -> bool:
    """Whether a few samples of each class of the last batch get several decisions.

    A pass over all samples is needed only if they do not.
    """
    X, y = unpack_data(net.last_batch_)
    labels = to_numpy(y)
    if not len(labels):  # The other processes had that batch.
        return False
    if labels.ndim > 1:
        index = np.unique(labels, axis=0, return_index=True)[1][:64]
    else:
        few = [np.flatnonzero(labels == label)[:8] for label in np.unique(labels)]
        index = np.concatenate(few)
    with net.limited_threads():
        logits = to_numpy(net.evaluation_step((take_part(X, index), y[index])))
    return len(_distinct(net.decide(logits))) > 1


def _distinct(values: np.ndarray) -> set[Any]:
    """The different entries, or the different rows."""
    if values.ndim == 1:
        return set(np.unique(values).tolist())
    return set(map(tuple, np.unique(values, axis=0).tolist()))
