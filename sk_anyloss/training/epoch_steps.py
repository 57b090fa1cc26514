"""What a skorch net does in one epoch: pass over the batches, sum, score, record."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from skorch.callbacks import Callback
from skorch.dataset import unpack_data
from skorch.history import History
from skorch.utils import to_numpy
from torch import Tensor, nn

from sk_anyloss.metrics import metric_name
from sk_anyloss.metrics.derivatives.differentiable import NotFiniteError, not_finite
from sk_anyloss.training.batch_steps import BatchSteps
from sk_anyloss.training.data.batches import Chunk
from sk_anyloss.training.iterator import Batches
from sk_anyloss.training.network.stacked_parameters import needs_closure

__all__ = ["EpochSteps"]

#: About how many samples wait for their statistics to be summed.
MAX_WAITING = 10_000


class EpochSteps(BatchSteps):
    """The part of :class:`sk_anyloss.AnyLossNet` that looks at one epoch at a time."""

    def initialize_history(self) -> EpochSteps:
        """Start a new history."""
        self.history_ = _QuickHistory()
        return self

    def end_warm_up(self) -> None:
        """Go on with the metric after the last epoch on cross-entropy."""
        if self.warm_up_ is not None:
            self.warm_up_.end_epoch(self)
            if self.warm_up_.is_over:
                self.warm_up_ = None

    def is_observed(self) -> bool:
        """Whether a callback looks at batches, or the optimiser evaluates the loss."""
        return needs_closure(self.optimizer_) or any(
            getattr(type(callback), event) is not getattr(Callback, event)
            for _, callback in self.callbacks_
            for event in ("on_batch_begin", "on_batch_end", "on_grad_computed")
        )

    def closed_form_batches(self, iterator: Any) -> Iterable[Sequence[Chunk]]:
        """The batches of an iterator as the closed form takes them."""
        if isinstance(iterator, Batches):
            stacked = iterator.stacked(self.module_, self.device_)
            if stacked is not None:
                return stacked
        return _Converted(self, iterator)

    def notify(self, method_name: str, **cb_kwargs: Any) -> None:
        """Notify the callbacks; one that ends the training is no interruption."""
        try:
            super().notify(method_name, **cb_kwargs)
        except KeyboardInterrupt:
            self.stopped_ = True
            raise

    def run_single_epoch(
        self, iterator: Any, training: bool, prefix: str, step_fn: Any, **kw: Any
    ) -> None:
        """Pass over the batches once, and record the loss of summed statistics."""
        if iterator is None:
            return
        totals: dict[str, Any] = {}
        whole: list[Any] | None = None
        if not training and self._needs_all_logits():
            whole = []
        waiting: list[tuple[Tensor, Tensor, Tensor | None]] = []
        good = _copied(self.module_) if training else {}
        batch: Any = None
        for number, batch in enumerate(iterator, start=1):
            self.notify("on_batch_begin", batch=batch, training=training)
            try:
                step = step_fn(batch, **kw)
            except NotFiniteError as error:
                if not training:
                    raise
                raise self._stopped_at(number, batch, good, error) from error
            if whole is not None:
                Xi, yi = unpack_data(batch)
                whole.append((step["y_pred"], *self.labels_and_weights(yi, Xi)))
            self.history.record_batch(f"{prefix}_loss", step["loss"].item())
            self.history.record_batch(f"{prefix}_batch_size", len(step["y_pred"]))
            self.notify("on_batch_end", batch=batch, training=training, **step)
            for name in ("statistics", "counts"):
                if name in step:
                    totals[name] = totals.get(name, 0) + step[name]
            if whole is None and "statistics" not in step:
                Xi, yi = unpack_data(batch)
                waiting.append(
                    (step["y_pred"].detach(), *self.labels_and_weights(yi, Xi))
                )
                if len(waiting) * len(step["y_pred"]) > MAX_WAITING:
                    self._sum_waiting(waiting, totals)
        if training:
            self.last_batch_ = batch
        if waiting:
            self._sum_waiting(waiting, totals)
        if whole is not None:
            gathered = self.processes_.gather(whole)
            whole = [batch for own in gathered for batch in own]
            self.record_epoch(prefix, len(iterator), *self._loss_and_score(whole))
            return
        if not self.processes_.is_alone():
            totals = {
                name: self.processes_.sum(value, name) for name, value in totals.items()
            }
        score: float | None = None
        if "counts" in totals:
            assert self.target_ is not None  # Known since the first batch.
            score = self.target_.score(self.metric, totals["counts"])
            if not math.isfinite(score):
                raise not_finite(metric_name(self.metric), totals["counts"])
        loss = self._loss_of(totals["statistics"])
        self.record_epoch(prefix, len(iterator), loss, score)

    @torch.no_grad()
    def _sum_waiting(
        self,
        waiting: list[tuple[Tensor, Tensor, Tensor | None]],
        totals: dict[str, Any],
    ) -> None:
        """Sum the statistics of the waiting batches at once, and drop the batches."""
        logits, y, weight = _joined(waiting)
        S = self._statistics(logits, y, {"sample_weight": weight})
        totals["statistics"] = totals.get("statistics", 0) + S
        waiting.clear()

    def _stopped_at(
        self, number: int, batch: Any, good: dict[str, Tensor], error: NotFiniteError
    ) -> NotFiniteError:
        """The error of a batch, after the weights of the last epoch are restored."""
        epoch = len(self.history)
        self.module_.load_state_dict(good)
        self.optimizer_.state.clear()
        del self.history[-1:]
        X, _ = unpack_data(batch)
        infinite = [
            name
            for name, value in (X if isinstance(X, dict) else {"X": X}).items()
            if isinstance(value, (Tensor, np.ndarray))
            and not bool(torch.isfinite(self._as_input(value)).all())
        ]
        why = f"lower the learning rate (lr={self.lr}), or clip the gradients."
        if not self.processes_.is_alone():
            why = f"{why[:-1]}, or look for such values in X of another process."
        if infinite:
            why = (
                f"{infinite[0]} has values that are not finite in {self.dtype_} in "
                "this batch; replace them."
            )
        return NotFiniteError(
            f"{error.what}, in epoch {epoch}, batch {number}. The net has stopped and "
            f"has the weights from before this epoch",
            why,
        )

    def _needs_all_logits(self) -> bool:
        """Whether loss or metric do not follow from sums over samples."""
        additive = getattr(self.criterion_, "is_additive", True)
        is_curve = self.target_ is not None and self.target_.is_curve(self.metric)
        return not additive or is_curve

    @torch.no_grad()
    def _loss_and_score(self, batches: list[Any]) -> tuple[float, float]:
        """Loss and score of a data set whose logits, labels and weights are given."""
        logits, y, weight = _joined(batches)
        loss = self._loss_of(self._statistics(logits, y, {"sample_weight": weight}))
        weight = None if weight is None else to_numpy(weight)
        logits, y = to_numpy(logits), to_numpy(y)
        target = self.resolve_target(1 if logits.ndim == 1 else logits.shape[1], y)
        score = target.evaluate(self.metric, logits, y, weight, self.decision)
        return loss, score

    def record_epoch(
        self, prefix: str, n_batches: int, loss: float, score: float | None = None
    ) -> None:
        """Record loss and metric of an epoch, unless they are not finite.

        And whether they are the best so far, as ``valid_loss_best`` and
        ``valid_score_best``, which skorch's checkpoints go by.

        Parameters
        ----------
        prefix : 'train' or 'valid'
            Which data set they belong to.
        n_batches : int
            Number of batches.
        loss : float
            The loss.
        score : float, default=None
            The metric of the decisions.
        """
        self.history.record(f"{prefix}_batch_count", n_batches)
        if not math.isfinite(loss):
            raise NotFiniteError(
                f"The {prefix} loss became {loss} in epoch {len(self.history)}",
                f"lower the learning rate (lr={self.lr}), and look for huge values in "
                "X or in the weights.",
            )
        self._record_best(f"{prefix}_loss", loss, sign=-1)
        if score is not None:
            self._record_best(f"{prefix}_score", score, sign=1)

    def _record_best(self, name: str, value: float, sign: int) -> None:
        """Record a value, and whether it is the best so far."""
        is_best = f"{name}_best"
        earlier = (row[name] for row in reversed(self.history) if row.get(is_best))
        best = next(earlier, -sign * math.inf)
        self.history.record(name, value)
        self.history.record(is_best, bool(sign * (value - best) > 0))


def _joined(batches: list[Any]) -> list[Any]:
    """Logits, labels and weights of several batches."""
    return [
        None if parts[0] is None else torch.cat(parts)
        for parts in zip(*batches, strict=True)
    ]


def _copied(module: nn.Module) -> dict[str, Tensor]:
    """Weights and buffers as they are now."""
    return {name: value.clone() for name, value in module.state_dict().items()}


class _Converted:
    """Batches of any iterator, converted one by one."""

    def __init__(self, net: EpochSteps, iterator: Any) -> None:
        self.net, self.iterator = net, iterator

    def __iter__(self) -> Iterator[Sequence[Chunk]]:
        return ([self.net.chunk(X, y)] for X, y in self.iterator)


class _QuickHistory(History):
    """skorch's history, which copies itself to find its last entry."""

    def record(self, attr: str, value: Any) -> None:
        if not self:
            raise ValueError("Call new_epoch before recording for the first time.")
        list.__getitem__(self, -1)[attr] = value
