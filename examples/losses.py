"""Every step and every loss side by side: its value and its pull over the probability.

Above, the steps from a probability to a soft decision. Below, the losses: what becomes
of the loss of a batch as the probability of one of its rows moves from 0 to 1 and all
other rows stay where they are, and how hard the loss then pulls at that row's logit.
Where there is no pull, a row cannot be moved any more, right or wrong.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch

from sk_anyloss.losses import AnyLoss, get_loss, loss_names
from sk_anyloss.losses.steps import Sigmoid, get_step, step_names
from sk_anyloss.metrics import curve_names

POSITIVE, NEGATIVE, PLAIN = "#c1440e", "#4a6a8a", "#333333"
p = torch.linspace(0.002, 0.998, 499, dtype=torch.float64)

# A batch of 40 rows, 8 of them positive, that a half-trained network might give.
rng = np.random.default_rng(0)
y = torch.from_numpy(np.repeat([0.0, 1.0], [32, 8]))
logits = torch.from_numpy(rng.normal(size=40)) + 1.2 * y - 0.8


def moved(loss, row):
    """Loss of the batch, and its slope by the logit of a row, over its probability."""
    z = logits.repeat(len(p), 1)
    z[:, row] = torch.logit(p)
    z.requires_grad_()
    values = loss(z, y)
    (gradient,) = torch.autograd.grad(values.sum(), z)
    return values.detach().numpy(), gradient[:, row].numpy()


def by_name(name):
    """A loss with a metric that it can be trained for, told of the batch."""
    loss = get_loss(name, "roc_auc" if name == "pairs" else "f1", Sigmoid(10))
    loss.prepare(32.0, 8.0)
    return loss


losses = {f"F1, sigmoid step, L={L}": AnyLoss("f1", Sigmoid(L)) for L in (73, 10)}
losses |= {f"{name}, soft curve": AnyLoss(name, Sigmoid(10)) for name in curve_names()}
losses |= {f"loss='{name}'": by_name(name) for name in loss_names()}

columns = 6
rows = 1 + -(-len(losses) // columns)
figure, panels = plt.subplots(
    rows, columns, figsize=(15, 2.5 * rows), sharex=True, layout="constrained"
)
panels = panels.ravel()
print(f"{'':<34}share of p with less than 1 % of the greatest pull")
for panel, name in zip(panels, step_names(), strict=False):
    h, slope = get_step(name)(p), get_step(name).derivative(p)
    panel.fill_between(p, slope / slope.max(), color=PLAIN, alpha=0.15, linewidth=0)
    panel.plot(p, h, color=PLAIN)
    panel.set_title(f"step='{name}'")
    flat = (slope < 0.01 * slope.max()).double().mean().item()
    print(f"{f'step {name}':<34}{flat:.0%}")
for panel, (name, loss) in zip(panels[columns:], losses.items(), strict=False):
    flat = []
    for row, colour in ((40 - 1, POSITIVE), (0, NEGATIVE)):
        values, slope = moved(loss, row)
        pull = np.abs(slope) / np.abs(slope).max()
        values = (values - values.min()) / np.ptp(values)
        panel.fill_between(p, pull, color=colour, alpha=0.18, linewidth=0)
        panel.plot(p, values, color=colour)
        flat.append((pull < 0.01).mean())
    panel.set_title(name)
    print(f"{name:<34}{flat[0]:.0%} positive row, {flat[1]:.0%} negative row")
for panel in panels[columns + len(losses) :]:
    panel.axis("off")
for panel in panels:
    panel.set(xlim=(0, 1), ylim=(0, 1.05), xticks=[0, 0.5, 1], yticks=[])
    panel.title.set_fontsize(10)
    panel.spines[["top", "right"]].set_visible(False)
for panel in panels[-columns:]:
    panel.set_xlabel("probability p")
panels[0].set_ylabel("soft decision")
panels[columns].set_ylabel("loss of the batch")
figure.suptitle(
    "Line: value, scaled to its range.  Area: slope, scaled to its maximum.  "
    "Orange: a positive row is moved; blue: a negative one."
)

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results")
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "losses.png", dpi=100)
print(f"Picture: {folder / 'losses.png'}")
