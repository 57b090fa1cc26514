"""What a skorch net does with one batch: forward pass, loss, gradient, statistics."""

from __future__ import annotations

import inspect
import math
from typing import Any, TypeAlias

import numpy as np
import torch
from scipy.sparse import csr_array, csr_matrix, issparse
from skorch import NeuralNet
from skorch.dataset import unpack_data
from skorch.utils import to_numpy, to_tensor
from torch import Tensor

from sk_anyloss._compat import set_training
from sk_anyloss.losses import AnyLoss
from sk_anyloss.losses.base import AnyStatistics, Loss, align
from sk_anyloss.losses.distributed.processes import Processes, ProcessGroup
from sk_anyloss.losses.precision import at_least_single, full_precision
from sk_anyloss.losses.steps import check_threshold
from sk_anyloss.metrics import Metric, ratio
from sk_anyloss.metrics.class_weights import AnyWeights
from sk_anyloss.metrics.decision import Decision
from sk_anyloss.metrics.derivatives.differentiable import NotFiniteError
from sk_anyloss.training.data.batches import Chunk
from sk_anyloss.training.data.sparse import SparseStack, sparse_tensor
from sk_anyloss.training.distributed.synchronization import sum_gradients
from sk_anyloss.training.network.accumulated import accumulated_backward, take_part
from sk_anyloss.training.network.closed_form import ClosedForm, supports
from sk_anyloss.training.network.mlp import MLP
from sk_anyloss.training.network.outputs import as_logits, refuse_probabilities
from sk_anyloss.training.network.warm_up import WarmUp
from sk_anyloss.training.targets import TargetType, target_type_of

__all__ = ["BatchSteps", "Input", "Labels"]

#: Samples of a batch: one array for the module, or several by name, among them
#: ``sample_weight``.
Input: TypeAlias = (
    "np.ndarray | Tensor | csr_array | csr_matrix | dict[str, np.ndarray | Tensor]"
)
#: Labels or weights of a batch.
Labels: TypeAlias = "np.ndarray | Tensor"


class BatchSteps(NeuralNet):
    """The part of :class:`sk_anyloss.AnyLossNet` that looks at one batch at a time."""

    metric: str | Metric
    threshold: float
    target_type: str | TargetType
    process_group: ProcessGroup
    accumulate: int | None
    criterion_: Any

    def initialize(self) -> BatchSteps:
        """Make module, criterion, optimiser and callbacks anew."""
        check_threshold(self.threshold)
        super().initialize()
        #: Whether the output of the module was seen to be logits.
        self.is_checked_ = False
        #: The start on cross-entropy, while a training is in it.
        self.warm_up_: WarmUp | None = None
        #: The processes that share a batch; gradients are summed over them.
        self.processes_ = Processes(self.process_group, gradients="sum")
        parameters = inspect.signature(self.module_.forward).parameters
        self.takes_weights_ = "sample_weight" in parameters
        self.device_ = None if self.device is None else torch.device(self.device)
        dtypes = (parameter.dtype for parameter in self.module_.parameters())
        self.dtype_: torch.dtype | None = next(
            (dtype for dtype in dtypes if dtype.is_floating_point), None
        )
        #: What the loss has summed in a step, for the loss of the epoch.
        self.summed_: list[AnyStatistics] = []
        # While callbacks look at the batches of a training in closed form:
        self.closed_form_: ClosedForm | None = None
        #: Two classes, several classes or several labels; None until it is known.
        self.target_: TargetType | None = None
        self.adapt_criterion()
        if isinstance(self.target_type, TargetType):
            self.target_ = self.target_type
        elif type(self.module_) is MLP and self.module_.widths[-1] == 1:
            self.resolve_target(1)
        return self

    def resolve_target(self, n_outputs: int, y: Labels | None = None) -> TargetType:
        """The kind of the target, and the loss for it, once outputs are known.

        Parameters
        ----------
        n_outputs : int
            Number of logits that the module gives for each sample.
        y : array or tensor of shape (n,) or (n, Q), default=None
            Labels of some samples; without, several outputs mean classes.

        Returns
        -------
        target : TargetType
            Two classes, several classes, or several labels.
        """
        if self.target_ is None:
            name = self.target_type
            if name == "auto":
                is_matrix = y is not None and len(y.shape) == 2 and y.shape[1] > 1
                name = "multilabel-indicator" if is_matrix else "multiclass"
                name = "binary" if n_outputs == 1 else name
            self.target_ = target_type_of(str(name), n_outputs)
            self.adapt_criterion()
        return self.target_

    def adapt_criterion(self) -> None:
        """Tell the loss the processes, and the kind of the target if it is known."""
        if isinstance(self.criterion_, Loss):
            self.criterion_.set_processes(self.processes_)
            if self.target_ is not None:
                loss = self.criterion_.for_target(self.target_.name)
                self.criterion_ = loss.to(self.device)
        self.closed_form_supported_ = supports(self.module_, self.criterion_)

    @property
    def decision(self) -> Decision:
        """Where the positive class is predicted."""
        return Decision.at(check_threshold(self.threshold))

    def has_closed_form(self, fit_params: dict[str, Any] | None = None) -> bool:
        """Whether the gradient of module and loss is known in closed form.

        Not if parameters are frozen, or a subclass has changed a step.
        """
        return (
            self.closed_form_supported_
            and self.warm_up_ is None
            and self.accumulate is None
            and not fit_params
            and all(
                getattr(type(self), method) is getattr(BatchSteps, method)
                for method in ("get_loss", "infer", "train_step_single")
            )
            and type(self).train_step is NeuralNet.train_step
            and all(p.requires_grad for p in self.module_.parameters())
        )

    def set_training_mode(self) -> None:
        """Set the modules to training mode."""
        if not (self.module_.training and self.criterion_.training):
            set_training(self, True)

    def train_step_single(self, batch: Any, **fit_params: Any) -> dict[str, Any]:
        """Forward and backward pass of one batch."""
        self.set_training_mode()
        X, y = unpack_data(batch)
        if self.has_closed_form(fit_params):
            closed_form = self._closed_form()
            closed_form.flat.adopt()  # The optimiser has dropped its gradients.
            with torch.inference_mode(), full_precision(self.device_):
                if not self.processes_.is_alone():
                    closed_form.processes = self.processes_
                value, logits, S = closed_form([self.chunk(X, y)])
                self.processes_.sum_(closed_form.flat.grads)
            # Copies: the closed form reuses its workspace.
            return {
                "loss": torch.tensor(value),
                "y_pred": logits[0].mT.clone()
                if logits.dim() > 2
                else logits[0].clone(),
                "statistics": S,
            }
        self.summed_.clear()
        if self.accumulate is not None:
            loss, logits = self._accumulated(X, y, fit_params)
        else:
            logits = self.infer(X, **fit_params)
            if self.warm_up_ is not None and self.warm_up_.is_due(self):
                shift = self.warm_up_.place_bias(self, X, y, logits)
                logits = logits if shift is None else logits + shift
            loss = self.get_loss(logits, y, X=X, training=True)
            check_finite(loss)
            with full_precision(logits.device):  # Autocast is for forward passes only.
                loss.backward()
        if not self.processes_.is_alone():
            sum_gradients(self.module_, self.processes_)
        if self.warm_up_ is not None:
            self.warm_up_.end_batch(self, X, y, logits)
        step: dict[str, Any] = {"loss": loss, "y_pred": logits}
        if self.summed_:  # Not in a start on cross-entropy, for one.
            step["statistics"] = self.summed_.pop()
        return step

    def _accumulated(
        self, X: Input, y: Labels, fit_params: dict[str, Any]
    ) -> tuple[Tensor, Tensor]:
        """Loss and logits of a batch that goes through the module in parts."""
        labels, weight = self.labels_and_weights(y, X)

        def logits_of(part: slice) -> Tensor:
            logits = self.infer(take_part(X, part), **fit_params)
            as_logits(logits, len(labels[part]))
            self.resolve_target(_n_outputs(logits), labels)
            return logits

        if self.target_ is None:  # Which form of the loss it is.
            with torch.no_grad():
                logits_of(slice(0, self.accumulate))
        criterion, size = self.criterion_, self.accumulate or len(labels)
        if self.warm_up_ is not None:
            criterion = self.warm_up_.criterion(self)
            if self.warm_up_.is_due(self):
                rows = range(0, max(len(labels), 1), size)
                with torch.no_grad():
                    found = [logits_of(slice(i, i + size)) for i in rows]
                self.warm_up_.place_bias(self, X, y, torch.cat(found))
        if not isinstance(criterion, Loss):
            raise ValueError(
                f"accumulate={self.accumulate} needs a loss of sk_anyloss.losses, but "
                f"criterion={type(criterion).__name__}; use accumulate=None."
            )
        loss, logits = accumulated_backward(
            self.module_, criterion, logits_of, labels, weight, size
        )
        check_finite(loss)
        return loss, logits

    def _closed_form(self) -> ClosedForm:
        """The closed form of module and loss, while a training runs."""
        if self.closed_form_ is None or not self.closed_form_.flat.is_adopted():
            self.release()
            with torch.inference_mode(False), torch.no_grad():
                self.closed_form_ = ClosedForm(self.module_, self.criterion_)
        return self.closed_form_

    def release(self) -> None:
        """Copy the module's parameters out of the memory of the closed form."""
        if self.closed_form_ is not None:
            self.closed_form_.release()
            self.closed_form_ = None

    def chunk(self, X: Input, y: Labels) -> Chunk:
        """A batch as the closed form takes it."""
        like = torch.empty(0, dtype=self.dtype_, device=self.device_)
        classes = self._classes(like, y, X)
        samples: Any = X["X"] if isinstance(X, dict) else X
        if not issparse(samples):
            dense = self.module_.standardize(self._as_input(samples))
            return Chunk(dense, dense.mT, classes, classes.n)
        mean, scale = (
            None if values is None else values.view(1, 1, -1)
            for values in (self.module_.mean, self.module_.scale)
        )
        matrix = samples.astype(to_numpy(like).dtype, copy=False)
        stack = SparseStack([matrix], mean, scale)
        return Chunk.of_sparse(stack, classes)

    def _classes(self, like: Tensor, y: Labels, X: Input | None) -> AnyWeights:
        """Labels and weights of a batch, as losses take them."""
        labels, weight = self.labels_and_weights(y, X)
        n_outputs = self.module_.widths[-1] if type(self.module_) is MLP else 1
        target = self.target_ or self.resolve_target(n_outputs, labels)
        return target.samples(labels, like, weight)

    def validation_step(self, batch: Any, **fit_params: Any) -> dict[str, Any]:
        """Forward pass of one batch, with the confusion matrix of its decisions."""
        set_training(self, False)
        X, y = unpack_data(batch)
        with torch.no_grad():
            logits = self.infer(X, **fit_params)
            S = self._statistics(logits, y, X)
            labels, weight = self.labels_and_weights(y, X)
            target = self.resolve_target(_n_outputs(logits), labels)
            with full_precision(logits.device):
                samples = target.samples(labels, logits, weight)
                counts = target.counts(self.metric, logits, samples, self.decision)
        loss = torch.tensor(self._loss_of(S))
        return {"loss": loss, "y_pred": logits, "statistics": S, "counts": counts}

    def get_loss(
        self,
        y_pred: Tensor,
        y_true: Labels,
        X: Input | None = None,
        training: bool = False,
    ) -> Tensor:
        """Loss of one batch, weighted if its X carries weights.

        A subclass that changes it is trained on what it returns, by autograd.
        """
        y, weight = self.labels_and_weights(y_true, X)
        as_logits(y_pred, len(y))
        target = self.resolve_target(_n_outputs(y_pred), y)
        if not isinstance(self.criterion_, Loss):
            share = self._share(y) if training else 1.0
            return self._loss_of_torch(y_pred, y, weight) * share
        with torch.set_grad_enabled(training and torch.is_grad_enabled()):
            if training and self.warm_up_ is not None:
                return self.warm_up_.loss(self, y_pred, y, weight)
            summed = self.summed_ if training else None
            criterion: Any = self.criterion_
            if type(criterion) is AnyLoss and target.name == "binary":
                loss = criterion.fused(y_pred, y, weight, summed)
                if loss is not None:
                    return loss
            samples = target.samples(y, at_least_single(y_pred), weight)
            logits = target.align(y_pred)
            return criterion.apply_steps(logits, samples, summed).squeeze(0)

    @torch.no_grad()
    def _statistics(self, logits: Tensor, y: Labels, X: Input) -> AnyStatistics:
        """What the loss sums over the samples of a batch."""
        y, weight = self.labels_and_weights(y, X)
        target = self.resolve_target(_n_outputs(logits), y)
        if not isinstance(self.criterion_, Loss):
            # Of another criterion, only the mean over the batch is known.
            loss = logits.new_zeros(())
            if len(y):
                loss = self._loss_of_torch(logits, y, weight)
            return torch.stack((loss * len(y), loss.new_tensor(float(len(y)))))
        with full_precision(logits.device):
            samples = target.samples(y, at_least_single(logits), weight)
            return self.criterion_.statistics(target.align(logits), samples)[0]

    def _loss_of(self, S: AnyStatistics) -> float:
        """The loss that belongs to the statistics."""
        if isinstance(self.criterion_, Loss):
            return float(np.squeeze(self.criterion_.value_and_grad(S)[0]))
        assert isinstance(S, Tensor)
        return float(ratio(*S.tolist()))

    def _share(self, y: Tensor) -> float:
        """Part of this process in the mean over the samples of all of them."""
        if self.processes_.is_alone():
            return 1.0
        n = self.processes_.sum(torch.tensor([len(y)])).item()
        return len(y) / max(n, 1)

    def _loss_of_torch(
        self, logits: Tensor, y: Tensor, weight: Tensor | None
    ) -> Tensor:
        if not len(y):  # The mean over no samples is not a number.
            return logits.sum()
        target = self.resolve_target(_n_outputs(logits), y)
        if target.name == "binary":
            logits, y, weight = align(logits, y, weight)
        elif target.name == "multiclass":  # As torch's own losses expect classes.
            y = y.to(torch.int64)
        else:
            y = y.to(logits.dtype)
        if weight is None:
            return self.criterion_(logits, y)
        if "sample_weight" in inspect.signature(self.criterion_.forward).parameters:
            return self.criterion_(logits, y, sample_weight=weight)
        raise ValueError(
            f"The criterion {type(self.criterion_).__name__} does not take "
            "sample_weight; use one of sk_anyloss.losses, or leave the weights out."
        )

    def infer(self, x: Input, **fit_params: Any) -> Tensor:
        """Logits of shape (n,), or (n, C) for C classes or labels, of one batch."""
        if isinstance(x, dict):
            x = dict(x)
            weight = x.pop("sample_weight", None)
            if weight is not None and self.takes_weights_ and self.module_.training:
                fit_params["sample_weight"] = self._as_input(weight)
            if set(x) == {"X"}:
                x = x["X"]
        # Autocast keeps copies of the weights until its context ends, and a whole fit
        # within one context would train on the first ones.
        torch.clear_autocast_cache()
        logits = as_logits(super().infer(self._as_input(x), **fit_params))
        if not self.is_checked_ and torch.is_grad_enabled():
            refuse_probabilities(logits)
            self.is_checked_ = True
        return at_least_single(logits)

    def labels_and_weights(
        self, y: Labels, X: Input | None
    ) -> tuple[Tensor, Tensor | None]:
        """Labels and weights on the device."""
        weight = X.get("sample_weight") if isinstance(X, dict) else None
        return self._on_device(y), None if weight is None else self._on_device(weight)

    def _on_device(self, x: Any) -> Any:
        # skorch's to_tensor looks at a tensor for longer than a small step takes.
        if isinstance(x, Tensor):
            return x if x.device == self.device_ else x.to(device=self.device_)
        if issparse(x):
            return sparse_tensor(x, self.device_)
        return to_tensor(x, self.device)

    def _as_input(self, x: Any) -> Any:
        """Tensors on the device, those of floats in the module's own dtype."""
        if isinstance(x, dict):
            return {key: self._as_input(value) for key, value in x.items()}
        x = self._on_device(x)
        if not isinstance(x, Tensor) or x.dtype == self.dtype_ or self.dtype_ is None:
            return x
        return x.to(self.dtype_) if x.is_floating_point() else x


def check_finite(loss: Tensor) -> None:
    """Raise an error before a step that would make the weights NaN."""
    if not math.isfinite(loss.item()):
        raise NotFiniteError(f"The loss of a batch became {loss.item()}")


def _n_outputs(logits: Tensor) -> int:
    return logits.shape[1] if logits.dim() == 2 else 1
