"""Every loss there is, for tests that walk them; a new one is found by its name."""

from sk_anyloss.losses import AnyLoss, Focal, Hybrid, Pairs, get_loss, loss_names
from sk_anyloss.losses.steps import LogitSigmoid, step_names
from sk_anyloss.metrics import curve_names, metric_names


def ready(name):
    """A loss by its name, told of a training set with three positives in ten."""
    loss = get_loss(name, metric_of(name))
    loss.prepare(7.0, 3.0)
    return loss


def metric_of(name):
    """A metric that a loss can be trained for."""
    try:
        get_loss(name, "f2")
    except ValueError:  # It is for metrics over thresholds only.
        return "roc_auc"
    return "f2"


FAMILY = [(metric, step) for metric in metric_names() for step in step_names()]
NAMED = [ready(name) for name in loss_names()]
CURVES = [AnyLoss(curve, step) for curve in curve_names() for step in step_names()]
CURVES += [Pairs(curve) for curve in curve_names()]
SPECIAL = [
    *CURVES,
    AnyLoss("roc_auc", "linear", [0.2, 0.8, 0.4]),
    AnyLoss("average_precision", "logit", [0.5]),
    Pairs("average_precision", steepness=3),
    AnyLoss("f1", "linear", [0.3, 0.5, 0.7]),
    AnyLoss("mcc", "sigmoid", (0.4, 0.6)),
    AnyLoss("f1", LogitSigmoid(beta=3, eta=0.5)),
    Focal(gamma=0.5, alpha=0.25),
    Hybrid("gmean", "identity", share=0.3, class_weight=(1, 4)),
    Hybrid("f2", "linear", [0.25, 0.5]),
]
ALL_LOSSES = [AnyLoss(metric, step) for metric, step in FAMILY] + NAMED + SPECIAL
