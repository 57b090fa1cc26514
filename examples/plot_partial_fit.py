"""
Samples that arrive in parts
============================

Each call of ``partial_fit`` makes one pass over a part of a stream. Here the class
frequencies drift, and on day 60 the positives move. With a moving average of the
confusion matrix (``decay``), the loss takes into account more positives than one part
has.
"""

from functools import partial

import matplotlib.pyplot as plt
import numpy as np

from sk_anyloss import AnyLossClassifier, metric_score
from sk_anyloss.losses import AnyLoss

rng = np.random.default_rng(0)


def draw(day):
    """200 samples of a day: the positives get rarer, and move on day 60."""
    y = (rng.random(200) < 0.15 - 0.001 * day).astype(int)
    centre = np.array([1.8, 0.0]) if day < 60 else np.array([0.0, 1.8])
    return rng.normal(size=(200, 2)) + np.outer(y, centre), y


stream = [draw(day) for day in range(100)]
models = {
    "trained once, on the first 20 days": None,
    "partial_fit": AnyLossClassifier("f1", L=10, random_state=0),
    "partial_fit, decay 0.9": AnyLossClassifier(
        "f1", L=10, loss=partial(AnyLoss, decay=0.9), random_state=0
    ),
}
once = AnyLossClassifier("f1", L=10, max_epochs=30, random_state=0)
once.fit(*map(np.concatenate, zip(*stream[:20], strict=True)))

figure, panel = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
for (name, model), colour in zip(
    models.items(), ["0.6", "#4a6a8a", "#c1440e"], strict=True
):
    predicted = []
    for X, y in stream:  # Each day is predicted before its labels are known.
        known = once if model is None else model
        is_fitted = hasattr(known, "classes_")
        predicted.append(known.predict(X) if is_fitted else np.zeros_like(y))
        if model is not None:
            for _ in range(3):
                model.partial_fit(X, y, classes=[0, 1])
    scores = []
    for day in range(25, 100):  # F1 of a week: one day has few positives.
        days = range(day - 6, day + 1)
        y = np.concatenate([stream[d][1] for d in days])
        y_pred = np.concatenate([predicted[d] for d in days])
        scores.append(metric_score(y, y_pred, metric="f1"))
    print(f"{name:<36} last week {scores[-1]:.2f}")
    panel.plot(range(25, 100), scores, color=colour, label=name)
panel.axvline(60, color="0.4", ls=":", lw=1)
panel.set(xlabel="day", ylabel="F1 of the last seven days", ylim=(0, 1))
panel.legend(loc="lower left")
plt.show()
