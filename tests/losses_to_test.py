"""Every loss there is, for tests that walk them; a new one is found by its name."""

from sk_anyloss.losses import AnyLoss, Focal, Hybrid, get_loss, loss_names
from sk_anyloss.metrics import metric_names
from sk_anyloss.steps import LogitSigmoid, step_names


def ready(name):
    """A loss by its name, told of a training set with three positives in ten."""
    loss = get_loss(name)
    loss.prepare(7.0, 3.0)
    return loss


FAMILY = [(metric, step) for metric in metric_names() for step in step_names()]
NAMED = [ready(name) for name in loss_names()]
SPECIAL = [
    AnyLoss("f1", "linear", [0.3, 0.5, 0.7]),
    AnyLoss("mcc", "sigmoid", (0.4, 0.6)),
    AnyLoss("f1", LogitSigmoid(beta=3, eta=0.5)),
    Focal(gamma=0.5, alpha=0.25),
    Hybrid("gmean", "identity", share=0.3, class_weight=(1, 4)),
    Hybrid("f2", "linear", [0.25, 0.5]),
]
ALL_LOSSES = [AnyLoss(metric, step) for metric, step in FAMILY] + NAMED + SPECIAL
