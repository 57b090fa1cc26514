"""A start on cross-entropy, from which a training on the metric does not collapse.

One minus a metric has almost no gradient where all samples are far on one side of the
threshold, and a network at its initial weights gets there in a few large steps. So the
first epochs are trained on cross-entropy, and three things are placed instead of
learned: the initial output bias, at the class frequencies, and the one that the metric
starts from, at the threshold that is best for the metric on the training samples. The
optimiser starts anew there, at a smaller learning rate: steps that Adam scales by the
small gradients at the end of cross-entropy are too large for those of the metric, which
is to change a network that has learned, not to teach one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from skorch.utils import to_numpy
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from sk_anyloss.losses.base import Loss, align, check_binary
from sk_anyloss.losses.pointwise import BCE
from sk_anyloss.losses.precision import at_least_single
from sk_anyloss.training.network.accumulated import take_part
from sk_anyloss.training.network.output_bias import shift_logits
from sk_anyloss.training.network.outputs import as_logits

if TYPE_CHECKING:
    from sk_anyloss.training.batch_steps import BatchSteps, Input, Labels

__all__ = ["WarmUp"]

#: The threshold is chosen from at most so many samples of the last epoch.
MAX_SAMPLES = 20_000

#: Samples of a batch that show what a bias does.
FEW = slice(0, 4)


class WarmUp:
    """The first epochs of a net, on cross-entropy.

    Parameters
    ----------
    epochs : int
        Number of epochs, at least 1.
    factor : float, default=1
        What the learning rate is multiplied with after them.
    """

    def __init__(self, epochs: int, factor: float = 1.0) -> None:
        self.epochs, self.factor = epochs, factor
        self.is_over = False
        self._criterion: Loss | None = None
        self._seen: list[tuple[Tensor, Tensor, Tensor | None]] = []
        self._n_seen = 0
        self._last_input: Any = None
        self._is_placed = False

    def criterion(self, net: BatchSteps) -> Loss:
        """Cross-entropy, for the kind of target that the net has."""
        if self._criterion is None:
            assert net.target_ is not None
            self._criterion = BCE().for_target(net.target_.name).to(net.device_)
            self._criterion.set_processes(net.processes_)
        return self._criterion

    def loss(
        self, net: BatchSteps, logits: Tensor, y: Tensor, weight: Tensor | None
    ) -> Tensor:
        """Cross-entropy of a batch."""
        target, criterion = net.target_, self.criterion(net)
        assert target is not None
        if (
            target.name == "binary"
            and weight is None
            and criterion.processes.is_alone()
        ):
            # The same in fewer operations.
            logits, y, _ = align(logits, y)
            check_binary(y)
            return binary_cross_entropy_with_logits(logits, y)
        samples = target.samples(y, at_least_single(logits), weight)
        return criterion.apply_steps(target.align(logits), samples).squeeze(0)

    def is_due(self, net: BatchSteps) -> bool:
        """Whether the output bias is still to be placed at the class frequencies."""
        # It was, if there is an epoch from a checkpoint.
        return not self._is_placed and len(net.history) <= 1

    @torch.no_grad()
    def place_bias(
        self, net: BatchSteps, X: Input, y: Labels, logits: Tensor
    ) -> Tensor | None:
        """Place the output bias at the class frequencies, before the first step.

        Otherwise the first steps do it, with all weights of the last layer at once,
        which in a network of ReLU switches units off for good.

        Parameters
        ----------
        net : BatchSteps
            The net.
        X, y
            Samples and labels of the first batch.
        logits : tensor of shape (n,) or (n, C)
            Of these samples.

        Returns
        -------
        shift : tensor of shape () or (C,), or None
            What all logits are larger by now; None if the module has no such bias.
        """
        self._is_placed = True
        labels, weight = net.labels_and_weights(y, X)
        as_logits(logits, len(labels))
        n_outputs = logits.shape[1] if logits.dim() == 2 else 1
        target = net.resolve_target(n_outputs, labels)
        target.samples(labels, logits, weight)  # Refuses labels that are none.
        likelihood = logits.sigmoid()
        if target.name == "multiclass":
            likelihood = logits.softmax(1)
            labels = torch.nn.functional.one_hot(labels.long(), n_outputs)
        labels = labels.reshape(logits.shape).to(logits)
        ones = logits.new_ones(len(logits))
        own = ones if weight is None else weight.to(logits)
        sums = torch.stack((own @ labels, own @ likelihood))
        observed, expected = net.processes_.sum(sums, self)
        weighed, total = net.processes_.sum(torch.stack((own.sum(), ones.sum())), self)
        # As numbers of samples, for which half a sample in each class is little.
        observed, expected = observed / weighed * total, expected / weighed * total
        shift = torch.log((observed + 0.5) / (expected + 0.5))
        if target.name != "multiclass":
            shift -= torch.log((total - observed + 0.5) / (total - expected + 0.5))
        return shift.to(logits) if self._shift(net, shift, X) else None

    def end_batch(self, net: BatchSteps, X: Input, y: Labels, logits: Tensor) -> None:
        """Keep the logits of the last epoch, from which the threshold is chosen."""
        if len(net.history) >= self.epochs and self._n_seen < MAX_SAMPLES:
            self._seen.append((logits.detach(), *net.labels_and_weights(y, X)))
            self._n_seen += len(logits)
            self._last_input = X

    def end_epoch(self, net: BatchSteps) -> None:
        """After the last epoch, place the threshold where the metric is best."""
        if len(net.history) < self.epochs:
            return
        self.is_over = True
        shift = self._best_shift(net)
        if shift is not None and self._last_input is not None:
            self._shift(net, shift, self._last_input)
        net.optimizer_.state.clear()
        for group in net.optimizer_.param_groups:
            group["lr"] *= self.factor
        self._seen, self._last_input = [], None

    def _shift(self, net: BatchSteps, shift: Tensor, X: Input) -> bool:
        """Add a shift to all logits, by the output bias, if there is one."""
        few = take_part(X, FEW)
        return shift_logits(net.module_, shift, lambda: net.infer(few), net.processes_)

    def _best_shift(self, net: BatchSteps) -> Tensor | None:
        gathered = _first_samples(net.processes_.gather(self._seen))
        if not gathered or net.target_ is None:
            return None
        joined: list[Any] = [
            None if parts[0] is None else to_numpy(torch.cat(parts))
            for parts in zip(*gathered, strict=True)
        ]
        logits, y, weight = joined
        target = net.target_
        if target.is_curve(net.metric) or not np.isfinite(logits).all():
            return None
        best, _ = target.best_decision(net.metric, logits, y, weight)
        offset = np.asarray(best.offset) - np.asarray(net.decision.offset)
        return torch.as_tensor(-offset, dtype=torch.float64)


def _first_samples(seen: list[list[Any]]) -> list[Any]:
    """The batches that a single process would have kept, from those of several."""
    found: list[Any] = []
    n = 0
    for parts in zip(*seen, strict=False):
        if n >= MAX_SAMPLES:
            break
        found.extend(parts)
        n += sum(len(logits) for logits, _, _ in parts)
    return found
