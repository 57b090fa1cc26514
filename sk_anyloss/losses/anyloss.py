"""AnyLoss: one minus a metric of the soft confusion matrix."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from sk_anyloss.losses.base import Factors, Loss, MovingAverage, options_key
from sk_anyloss.losses.distributed.processes import ProcessGroup
from sk_anyloss.losses.fused import AmplifiedMetric, FusedAnyLoss, keeps_precision
from sk_anyloss.losses.multiclass import DEFAULT_STEP, MulticlassAnyLoss, OneAgainstRest
from sk_anyloss.losses.multilabel import OverLabels
from sk_anyloss.losses.steps import (
    Identity,
    LogitSigmoid,
    Sigmoid,
    Step,
    Threshold,
    check_thresholds,
    get_step,
    is_builtin,
    stack_steps,
    stack_values,
)
from sk_anyloss.metrics import Average, Metric, get_metric, metric_name
from sk_anyloss.metrics.arithmetic import FloatOrArray
from sk_anyloss.metrics.class_weights import (
    LEAST_COUNT,
    ClassWeights,
    without_traces,
)
from sk_anyloss.metrics.curves import Curve
from sk_anyloss.metrics.derivatives.differentiable import (
    StackedMetrics,
    check_metric,
    differentiate,
    not_finite,
)
from sk_anyloss.metrics.multiclass.lookup import is_for_several, matrix_metric_name
from sk_anyloss.metrics.multilabel import label_metric

__all__ = ["AnyLoss"]

#: The thresholds of a metric over thresholds, unless several are given.
CURVE_THRESHOLDS = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1)

#: The factors of the two classes, or a list of them with one entry per threshold.
FactorsByThreshold: TypeAlias = Factors | list[Factors]


class AnyLoss(MovingAverage, Loss[Tensor, Tensor, FactorsByThreshold]):
    """One minus a metric of the soft confusion matrix.

    ``loss = 1 - f(TN, FP, FN, TP)``, where the counts are sums of soft decisions
    ``h = H(sigmoid(logit); t)`` (eqs. 1, 5 and 6 of Han, Moniz and Chawla,
    "AnyLoss: Transforming Classification Metrics into Loss Functions", KDD 2024).

    Parameters
    ----------
    metric : str or callable, default='f1'
        The metric to maximise: a name from :func:`sk_anyloss.metrics.metric_names`,
        ``'f<beta>'``, or a differentiable callable ``f(tn, fp, fn, tp)``; for logits of
        several classes or labels, as :func:`sk_anyloss.metrics.matrix_metric` or
        :func:`sk_anyloss.metrics.multilabel.label_metric` take it. A metric over
        thresholds, ``'roc_auc'`` or ``'average_precision'``, is computed from the soft
        confusion matrices at all of the thresholds.
    step : str or Step, default=Sigmoid(L=10)
        The step H that turns a probability into a soft decision: a name from
        :func:`sk_anyloss.losses.steps.step_names` or an instance. ``'sigmoid'`` is the
        paper's amplifier, ``Sigmoid(L=73)``, with which a network that is wider or
        deeper than the paper's often predicts one class for all samples.
    threshold : float or sequence of floats, default=0.5
        Decision threshold t on the probability of the positive class. With several,
        the loss is the mean of the losses at each. For a metric over thresholds, the
        points of the curve; 0.1, 0.2, ..., 0.9 if it is a single number. Of several
        classes, the one with the largest output is decided for.
    decay : float, default=0
        Decay of an exponential moving average of the confusion tensor over the batches
        of a training, in [0, 1). The gradient is then taken at the average, which
        reduces the noise of small batches. :meth:`reset` discards the average. It is
        neither used nor updated where autograd is disabled, or after ``.eval()``. A
        pickled loss keeps it; it is not part of ``state_dict()``.
    process_group : 'world', torch.distributed.ProcessGroup or None, default='world'
        The processes that a batch is spread over; all of them, once
        :mod:`torch.distributed` is initialised. The loss and its gradient are then
        those of the samples of all processes together, whatever their numbers in each.
        All processes have to call the loss. Where autograd is disabled, or after
        ``.eval()``, it is that of this process alone. None is this process alone,
        always.

    Notes
    -----
    The statistics are the soft confusion tensor M of shape (T, K, 2, 2), for T
    thresholds and K models: ``M[t, k, c, d]`` is the weight of samples of class c that
    are decided as d. The loss depends on the samples through these sums only, so its
    gradient has two factors, one for the positives and one for the negatives:
    ``dloss/dh_i = -w_i (f_TP - f_FN)`` where ``y_i = 1``, and
    ``-w_i (f_FP - f_TN)`` where ``y_i = 0``.

    Examples
    --------
    >>> import torch
    >>> from sk_anyloss.losses import AnyLoss
    >>> logits = torch.tensor([2.0, -1.0, -3.0, 0.5], requires_grad=True)
    >>> y = torch.tensor([1, 1, 0, 0])
    >>> loss = AnyLoss("f1")(logits, y)
    >>> loss.backward()
    >>> f"{loss.item():.3f}"
    '0.445'
    """

    def __init__(
        self,
        metric: str | Metric = "f1",
        step: str | Step = DEFAULT_STEP,
        threshold: float | Sequence[float] = 0.5,
        decay: float = 0.0,
        process_group: ProcessGroup = "world",
    ) -> None:
        super().__init__(process_group=process_group)
        self.set_decay(decay)
        #: As it was given, for several classes or labels too.
        self.given = metric
        self.error: Exception | None = None
        try:
            self.metric = self.goal = check_metric(metric)
            self.value_and_derivatives = differentiate(metric)
            self.name = metric_name(metric)
        except (TypeError, ValueError) as error:
            if not is_for_several(metric):
                raise
            self.error, self.name = error, str(metric)
            self.metric = self.goal = None  # type: ignore[assignment]
        self.set_step(step)
        self.threshold = threshold
        thresholds = check_thresholds(threshold)
        if isinstance(self.metric, Curve):
            if np.ndim(threshold) == 0:
                thresholds = CURVE_THRESHOLDS
            thresholds = tuple(sorted(thresholds, reverse=True))
        self.thresholds: tuple[Threshold, ...] = thresholds
        self.stacked_metrics: StackedMetrics | None = None

    def set_step(self, step: str | Step) -> None:
        """Go on with another step, for several classes or labels too.

        The moving average over the batches is kept.

        Parameters
        ----------
        step : str or Step
            As in the constructor.

        Examples
        --------
        >>> from sk_anyloss.losses import AnyLoss
        >>> from sk_anyloss.losses.steps import Sigmoid
        >>> loss = AnyLoss("f1")
        >>> loss.set_step(Sigmoid(L=20))  # Between epochs: an L that grows.
        >>> loss
        AnyLoss(metric='f1', step=Sigmoid(L=20), threshold=0.5)
        """
        self.step: Step = get_step(step)
        self.gain: FloatOrArray = self.step.gain
        for name, before in self._forms.items():
            self._forms[name] = form = self.for_target(name)
            form.moving_average = before.moving_average

    #: What :meth:`forward` computes in few operations, if it can, and for which step.
    _amplified: AmplifiedMetric | None = None
    _amplified_step: Step | None = None

    def forward(
        self, logits: Tensor, y: Tensor, sample_weight: Tensor | None = None
    ) -> Tensor:
        """Loss of a batch, as for any :class:`sk_anyloss.losses.base.Loss`.

        Parameters
        ----------
        logits : tensor of shape (n,), (n, 1), (n, C) or (n, Q)
            Output of the network for each sample, before any sigmoid or softmax.
        y : tensor of shape (n,), (n, 1) or (n, Q)
            Labels or classes, of any dtype.
        sample_weight : tensor of shape (n,), default=None
            Weights, finite and not negative; a sample of weight 2 counts as two.

        Returns
        -------
        loss : tensor of shape ()
            The loss.
        """
        found = self.fused(logits, y, sample_weight)
        return super().forward(logits, y, sample_weight) if found is None else found

    def fused(
        self,
        logits: Tensor,
        y: Tensor,
        sample_weight: Tensor | None = None,
        collected: list[Any] | None = None,
    ) -> Tensor | None:
        """Loss of a batch in few operations, if it is one that this works for.

        Parameters
        ----------
        logits, y, sample_weight
            As for :meth:`forward`.
        collected : list, default=None
            The statistics of the batch are appended to it.

        Returns
        -------
        loss : tensor of shape () or None
            The loss.
        """
        if self._amplified_step is not self.step:
            self._amplified, self._amplified_step = self._find_amplified(), self.step
        amplified = self._amplified
        if (
            amplified is None
            or self.decay
            or not amplified.accepts(logits, y, sample_weight)
            or (self.trains() and not self.processes.is_alone())
        ):
            return None
        return FusedAnyLoss.apply(logits, y, amplified, collected)

    def _find_amplified(self) -> AmplifiedMetric | None:
        """The loss in a form for :class:`FusedAnyLoss`, if it has one."""
        is_plain = type(self) is AnyLoss and self.stacked_metrics is None
        if not is_plain or self.error is not None or isinstance(self.metric, Curve):
            return None
        if len(self.thresholds) > 1 or not keeps_precision(
            self.step, self.thresholds[0]
        ):
            return None
        assert isinstance(self.step, Sigmoid)
        L, threshold = float(self.step.L), float(self.thresholds[0])
        derivatives = self.value_and_derivatives
        return AmplifiedMetric.of(self.metric, derivatives, self.name, L, threshold)

    def for_classes(self, classes: Sequence[object] | None = None) -> Loss:
        if isinstance(self.step, (Sigmoid, Identity, LogitSigmoid)):
            metric: Any = self.given
            return MulticlassAnyLoss(metric, self.step, classes, self.decay)
        metric = matrix_metric_name(self.given)
        found = get_metric(metric) if isinstance(metric, str) else metric
        if not isinstance(found, Average):
            raise ValueError(
                f"step={self.step!r} decides one class against the rest, which only "
                "averages over classes such as 'f1_macro' can use, but metric="
                f"{self.name!r}; choose step='sigmoid', 'identity' or 'logit'."
            )
        inner = AnyLoss(found.metric, self.step, self.threshold, self.decay)
        return OneAgainstRest(OverLabels(inner, found.average))

    def for_labels(self) -> Loss:
        average = label_metric(self.given)
        inner = AnyLoss(average.metric, self.step, self.threshold, self.decay)
        return OverLabels(inner, average.average)

    def statistics(
        self, logits: Tensor, samples: ClassWeights
    ) -> tuple[Tensor, Tensor]:
        if self.error is not None:
            raise ValueError(
                f"metric={self.name!r} is one of several classes or labels, but there "
                f"is one output for two classes. {self.error}"
            ) from self.error
        if len(self.thresholds) == 1:  # Without copies.
            decisions, derivative = self.step.decide(logits, self.thresholds[0])
            return samples.confusion(decisions), derivative
        if len(logits) == 1 and is_builtin(self.step):
            # At all thresholds together, as models that differ in the threshold.
            ts = logits.new_tensor(self.thresholds).unsqueeze(-1)
            repeated = logits.expand(len(self.thresholds), -1)
            decisions, derivative = self.step.decide(repeated, ts)
            M = samples.confusion(decisions).transpose(0, 1)
            return M, derivative.unsqueeze(1)
        found = [self.step.decide(logits, t) for t in self.thresholds]
        M = samples.confusion(torch.cat([decisions for decisions, _ in found]))
        return M, torch.stack([derivative for _, derivative in found])

    def value_and_grad(self, S: Tensor) -> tuple[FloatOrArray, FactorsByThreshold]:
        if isinstance(self.metric, Curve):
            return self._curve_value_and_grad(S)
        is_single = self.stacked_metrics is None and S.size(1) == 1
        matrices = S.tolist() if is_single else S.unbind()
        if len(matrices) == 1:
            return self._matrix_value_and_grad(matrices[0])
        found = [self._matrix_value_and_grad(M) for M in matrices]
        fraction = 1 / len(found)
        grads = [(fraction * negs, fraction * poss) for _, (negs, poss) in found]
        return fraction * sum(loss for loss, _ in found), grads

    def _matrix_value_and_grad(
        self, M: Tensor | list[list[list[float]]]
    ) -> tuple[FloatOrArray, Factors]:
        """Loss and factors at one threshold, from a matrix for each model."""
        try:
            if isinstance(M, list):
                (((tn, fp), (fn, tp)),) = M
                if min(tn, fp, fn, tp) < LEAST_COUNT:
                    counts = without_traces(np.array((tn, fp, fn, tp)))
                    tn, fp, fn, tp = counts.tolist()
                value, positives, negatives = self.value_and_derivatives(tn, fp, fn, tp)
                finite = math.isfinite(value)
            else:
                counts = M.to("cpu", torch.float64).flatten(1).numpy()
                tn, fp, fn, tp = without_traces(counts).T
                metrics = self.stacked_metrics or StackedMetrics([self.metric] * len(M))
                value, positives, negatives = metrics(tn, fp, fn, tp)
                finite = np.isfinite(value).all()
        except ArithmeticError as error:
            raise not_finite(self.name, (tn, fp, fn, tp)) from error
        if not finite:
            raise not_finite(self.name, (tn, fp, fn, tp))
        return 1 - value, (-self.gain * negatives, -self.gain * positives)

    def _curve_value_and_grad(self, S: Tensor) -> tuple[FloatOrArray, list[Factors]]:
        """Loss, and factors at each threshold, of a metric over thresholds."""
        counts = without_traces(S.to("cpu", torch.float64).flatten(2).numpy())
        # From thresholds, models, counts to (K, T) for each count.
        tn, fp, fn, tp = counts.transpose(2, 1, 0)
        value, positives, negatives = self.value_and_derivatives(tn, fp, fn, tp)
        if len(value) == 1:
            value, positives, negatives = value.item(), positives[0], negatives[0]
        grads = [
            (-self.gain * negative, -self.gain * positive)
            for negative, positive in zip(negatives.T, positives.T, strict=True)
        ]
        return 1 - value, grads

    def backward(
        self,
        cache: Tensor,
        grad: FactorsByThreshold,
        samples: ClassWeights,
        out: Tensor,
    ) -> None:
        if isinstance(grad, tuple):
            torch.mul(cache, samples.scale(*grad), out=out)
            return
        out.zero_()
        derivatives = cache if cache.dim() == out.dim() + 1 else cache.unsqueeze(0)
        for derivative, factors in zip(derivatives, grad, strict=True):
            out.addcmul_(derivative, samples.scale(*factors))

    def soft_counts(self, logits: Tensor, table: Tensor) -> tuple[Tensor, ...]:
        """TN, FP, FN and TP of each sample at each threshold, by autograd.

        Parameters
        ----------
        logits : tensor of shape (..., n)
            Logits.
        table : tensor of shape (..., 2, n)
            Weights of the samples as negatives and as positives.

        Returns
        -------
        counts : tuple of four tensors of shape (T, ..., n)
            To be summed over the samples.
        """
        # The steps' own forms of it have derivatives in closed form instead.
        is_logit = isinstance(self.step, LogitSigmoid)
        decide = LogitSigmoid.decide if is_logit else Step.decide
        found = [decide(self.step, logits, t)[0] for t in self.thresholds]  # type: ignore[arg-type]
        h_not, h = torch.stack(found, dim=1)
        negatives, positives = table.unbind(-2)
        return negatives * h_not, negatives * h, positives * h_not, positives * h

    def differentiable(self, logits: Tensor, table: Tensor) -> Tensor:
        counts = [part.sum(-1) for part in self.soft_counts(logits, table)]
        if isinstance(self.metric, Curve):
            return 1 - self.metric(*counts)
        values = [self.metric(*one) for one in zip(*counts, strict=True)]
        # A branch of the metric may be constant.
        return 1 - sum(values) / len(values) + 0 * sum(counts).sum()  # type: ignore[union-attr]

    @property
    def kind(self) -> tuple[object, ...]:
        curve = self.metric if isinstance(self.metric, Curve) else None
        kind: tuple[object, ...]
        kind = type(self), type(self.step), len(self.thresholds), self.decay, curve
        if type(self) is not AnyLoss:
            kind = (*kind, options_key(self))
        if is_builtin(self.step):
            return kind
        # A user's own step may not take tensors as parameters.
        return (*kind, self.thresholds, repr(sorted(vars(self.step).items())))

    @classmethod
    def stack(cls, losses: Sequence[AnyLoss], like: Tensor) -> AnyLoss:
        # They may differ in the metric, the thresholds and the parameters of the step.
        stacked = copy.copy(losses[0])
        stacked.stacked_metrics = StackedMetrics([loss.metric for loss in losses])
        stacked.step = stack_steps([loss.step for loss in losses], like)
        stacked.gain = np.array([loss.gain for loss in losses])
        by_position = zip(*(loss.thresholds for loss in losses), strict=True)
        stacked.thresholds = tuple(stack_values(ts, like) for ts in by_position)
        stacked.name = ", ".join(dict.fromkeys(loss.name for loss in losses))
        return stacked

    def extra_repr(self) -> str:
        text = f"metric={self.name!r}, step={self.step!r}, threshold={self.threshold}"
        return text + (f", decay={self.decay}" if self.decay else "")
