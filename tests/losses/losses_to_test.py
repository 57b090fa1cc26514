"""Losses that represent all combinations, since the gradient factorises.

A loss is ``1 - f(counts(step(logits)))``, so every metric f with one step and every
step with one metric, and a few other pairs, cover the code of all pairs.
"""

import numpy as np
import torch

from sk_anyloss.losses import AnyLoss, Focal, Hybrid, Pairs, get_loss, loss_names
from sk_anyloss.losses.steps import LogitSigmoid, step_names
from sk_anyloss.metrics import metric_names


def make_prepared(name):
    """A loss by its name, prepared for a training set with three positives in ten."""
    loss = get_loss(name, metric_of(name))
    loss.prepare(7.0, 3.0)
    return loss


def metric_of(name):
    """A metric that a loss can optimise."""
    try:
        get_loss(name, "f2")
    except ValueError:  # It is for metrics over thresholds only.
        return "roc_auc"
    return "f2"


METRICS = [AnyLoss(metric) for metric in metric_names()]
STEPS = [AnyLoss("f1", step) for step in step_names()]
CROSSES = [AnyLoss("mcc", "linear"), AnyLoss("gmean", "cosine")]
NAMED = [make_prepared(name) for name in loss_names()]
#: Losses with statistics or a formula of their own.
SPECIAL = [
    AnyLoss("roc_auc"),
    AnyLoss("average_precision", "linear", [0.2, 0.8, 0.4]),
    Pairs("average_precision", steepness=3),
    AnyLoss("mcc", "sigmoid", (0.4, 0.6)),
    AnyLoss("f1", LogitSigmoid(beta=3, eta=0.5)),
    Focal(gamma=0.5, alpha=0.25),
    Hybrid("gmean", "identity", share=0.3, class_weight=(1, 4)),
    Hybrid("f2", "linear", [0.25, 0.5]),
]
#: One of each kind of statistics.
KINDS = [*STEPS, *NAMED, *SPECIAL[:4]]
#: Every metric with one step, and every other step with one metric.
FAMILY = [*METRICS, *(loss for loss in STEPS if str(loss) != str(AnyLoss("f1")))]
OTHERS = [*CROSSES, *NAMED, *SPECIAL]
ALL_LOSSES = [*FAMILY, *OTHERS]


def batch(n=12, seed=0, spread=1.0):
    rng = np.random.default_rng(seed)
    z = torch.from_numpy(rng.normal(size=n) * spread)
    y = torch.from_numpy((rng.random(n) < 0.4).astype(float))
    w = torch.from_numpy(rng.integers(1, 4, n).astype(float))
    return z.requires_grad_(), y, w
