"""
Every step and every loss
=========================

Value and derivative of every step and loss, over the probability. First the steps from
a probability to a soft decision, then the losses: the loss of a batch as the
probability of one of its samples varies from 0 to 1 and the others are fixed, and its
derivative with respect to the logit of that sample. Where the derivative vanishes,
training no longer moves the sample, right or wrong.
"""

import matplotlib.pyplot as plt
import numpy as np
import torch

from sk_anyloss.losses import AnyLoss, get_loss, loss_names
from sk_anyloss.losses.steps import Sigmoid, get_step, step_names
from sk_anyloss.metrics import curve_names
from sk_anyloss.metrics.class_weights import ClassWeights

POSITIVE, NEGATIVE, NEUTRAL = "#c1440e", "#4a6a8a", "#333333"
p = torch.linspace(0.002, 0.998, 499, dtype=torch.float64)

# Logits of a batch of 40 samples, 8 of them positive, of a partly trained network.
rng = np.random.default_rng(0)
y = torch.from_numpy(np.repeat([0.0, 1.0], [32, 8]))
logits = torch.from_numpy(rng.normal(size=40)) + 1.2 * y - 0.8


def vary_sample(loss, i):
    """Loss of the batch, and its derivative, over the probability of sample i."""
    z = logits.repeat(len(p), 1)
    z[:, i] = torch.logit(p)
    z.requires_grad_()
    values = loss.of_batch(z, ClassWeights.of(y))
    (gradient,) = torch.autograd.grad(values.sum(), z)
    return values.detach().numpy(), gradient[:, i].numpy()


def make_loss(name):
    """A loss with a metric that it supports, prepared with the class counts."""
    loss = get_loss(name, "roc_auc" if name == "pairs" else "f1", Sigmoid(10))
    loss.prepare(32.0, 8.0)
    return loss


losses = {f"F1, sigmoid step, L={L}": AnyLoss("f1", Sigmoid(L)) for L in (73, 10)}
losses |= {f"{name}, soft curve": AnyLoss(name, Sigmoid(10)) for name in curve_names()}
# The names with "cross_entropy" are the same losses as those with "bce".
names = [name for name in loss_names() if "cross_entropy" not in name]
losses |= {f"loss='{name}'": make_loss(name) for name in names}

n_columns = 4
n_steps = -(-len(step_names()) // n_columns) * n_columns  # Whole rows of panels.
n_rows = n_steps // n_columns - (-len(losses) // n_columns)
figure, panels = plt.subplots(
    n_rows, n_columns, figsize=(9.5, 2.1 * n_rows), sharex=True, layout="constrained"
)
panels = panels.ravel()
print(f"{'':<34}fraction of p with a derivative below 1 % of its maximum")
for panel, name in zip(panels, step_names(), strict=False):
    h, derivative = get_step(name)(p), get_step(name).derivative(p)
    relative = derivative / derivative.max()
    panel.fill_between(p, relative, color=NEUTRAL, alpha=0.15, linewidth=0)
    panel.plot(p, h, color=NEUTRAL)
    panel.set_title(f"step='{name}'")
    flat = (relative < 0.01).double().mean().item()
    print(f"{f'step {name}':<34}{flat:.0%}")
for panel, (name, loss) in zip(panels[n_steps:], losses.items(), strict=False):
    flat = []
    for i, colour in ((40 - 1, POSITIVE), (0, NEGATIVE)):
        values, derivative = vary_sample(loss, i)
        relative = np.abs(derivative) / np.abs(derivative).max()
        values = (values - values.min()) / np.ptp(values)
        panel.fill_between(p, relative, color=colour, alpha=0.18, linewidth=0)
        panel.plot(p, values, color=colour)
        flat.append((relative < 0.01).mean())
    panel.set_title(name)
    print(f"{name:<34}{flat[0]:.0%} positive sample, {flat[1]:.0%} negative sample")
for panel in (*panels[len(step_names()) : n_steps], *panels[n_steps + len(losses) :]):
    panel.axis("off")
for panel in panels:
    panel.set(xlim=(0, 1), ylim=(0, 1.05), xticks=[0, 0.5, 1], yticks=[])
    panel.title.set_fontsize(10)
    panel.spines[["top", "right"]].set_visible(False)
for panel in panels[-n_columns:]:
    panel.set_xlabel("probability p")
panels[0].set_ylabel("soft decision")
panels[n_steps].set_ylabel("loss of the batch")
figure.suptitle(
    "Line: value, scaled to its range.  Area: derivative, scaled to its maximum.\n"
    "Orange: a positive sample varies; blue: a negative one."
)

plt.show()
