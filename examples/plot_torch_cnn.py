"""
A small convolutional network
=============================

One digit against the nine others, on scikit-learn's images of digits: the same network
from the same start, trained for F1 with :class:`sk_anyloss.AnyLossNet`, and on
cross-entropy, with the threshold where training leaves it, and tuned. With a tenth of
positives and images as clear as these, all find the digit about equally well.
"""

import matplotlib.pyplot as plt
import torch
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from skorch.helper import predefined_split
from torch import nn
from torch.utils.data import TensorDataset

from sk_anyloss import AnyLossNet, metric_score
from sk_anyloss.losses import BCE
from sk_anyloss.metrics.tuning import best_threshold

# %%
# Images of 8 x 8 pixels, of which a tenth shows an eight.
images, digits = load_digits(return_X_y=True)
X = images.reshape(-1, 1, 8, 8).astype("float32") / 16
y = (digits == 8).astype(int)
X_train, X_test, y_train, y_test = train_test_split(
    X, y, test_size=0.5, stratify=y, random_state=0
)
valid = TensorDataset(torch.from_numpy(X_test), torch.from_numpy(y_test))


# %%
# The module ends in a logit, not in a probability.
def make_cnn():
    """A convolution, and a linear layer."""
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 8, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(8 * 16, 1),
    )


settings = {
    "metric": "f1",
    "lr": 0.01,
    "max_epochs": 16,
    "batch_size": 64,
    "train_split": predefined_split(valid),
    "random_state": 0,
}
nets = {
    "AnyLossNet": AnyLossNet(make_cnn(), **settings),
    # With warm_up, the rival starts from the same output bias, too.
    "cross-entropy": AnyLossNet(make_cnn(), criterion=BCE, warm_up=0.75, **settings),
}
for name, net in nets.items():
    net.fit(X_train, y_train)
    print(f"{name}: F1 {net.score(X_test, y_test):.3f}")
net = nets["cross-entropy"]
cut, _ = best_threshold("f1", net.logits(X_train), y_train)
tuned = metric_score(y_test, (net.logits(X_test) > cut).astype(int), metric="f1")
print(f"cross-entropy, threshold tuned on the training samples: F1 {tuned:.3f}")

# %%
# F1 by epoch, and some decisions of the net for F1. It trains on cross-entropy first,
# so the curves part, by little, in the last quarter of the epochs only.
figure, panels = plt.subplot_mosaic(
    "FFab;FFcd", figsize=(8.5, 4), width_ratios=[1.5, 1.5, 1, 1], layout="constrained"
)
left, small = panels.pop("F"), panels.values()
for name, net in nets.items():
    left.plot(range(1, 17), net.history[:, "valid_score"], marker=".", label=name)
left.axvline(12.5, color="grey", lw=0.8, ls=":")
left.text(12.7, 0.03, "trained for F1", color="grey", fontsize=8)
left.set(xlabel="epoch", ylabel="F1 on validation samples", ylim=(0, 1))
left.legend(loc="center right")
logits = nets["AnyLossNet"].logits(X_test)
shown = {
    "found, highest logit": logits.argmax(),
    "found, lowest logit": (logits + 1e9 * ((y_test == 0) | (logits <= 0))).argmin(),
    "missed": (logits + 1e9 * (y_test == 0)).argmin(),
    "false alarm": (logits - 1e9 * (y_test == 1)).argmax(),
}
for axes, (title, index) in zip(small, shown.items(), strict=True):
    axes.imshow(X_test[index, 0], cmap="gray_r")
    axes.set_title(f"{title}\nlogit {logits[index]:.1f}", fontsize=9)
    axes.axis("off")
plt.show()
