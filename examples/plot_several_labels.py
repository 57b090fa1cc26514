"""
Several labels
==============

A sample can have several labels, some of them rare. One network has an output for each
label, and is trained for macro F1: the mean over the labels, in which rare labels count
as much as frequent ones.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import f1_score
from sklearn.model_selection import train_test_split

from sk_anyloss import AnyLossClassifier

rng = np.random.default_rng(0)
names = ["urgent", "invoice", "complaint", "legal", "spam"]
X = rng.normal(size=(2400, 8))
score = X @ rng.normal(size=(8, 5)) + rng.normal(size=(2400, 5))
y = (
    score > np.quantile(score, [0.6, 0.75, 0.9, 0.95, 0.97], axis=0).diagonal()
).astype(int)
X, X_test, y, y_test = train_test_split(X, y, random_state=0)

figure, panel = plt.subplots(figsize=(6.6, 3.6), layout="constrained")
trained = {"cross-entropy": {"loss": "cross_entropy"}, "macro F1": {"L": "auto"}}
for i, (name, params) in enumerate(trained.items()):
    model = AnyLossClassifier("f1_macro", hidden=(16,), max_epochs=30, random_state=0)
    y_pred = model.set_params(**params).fit(X, y).predict(X_test)
    of_labels = f1_score(y_test, y_pred, average=None)
    print(f"{name:<14} macro F1 {of_labels.mean():.3f}")
    panel.bar(
        np.arange(5) + 0.4 * i - 0.2,
        of_labels,
        width=0.4,
        color=["#9fb0c0", "#c1440e"][i],
        label=f"trained on {name}: {of_labels.mean():.2f}",
    )
panel.set(ylabel="F1 on held-out samples", ylim=(0, 1))
panel.set_xticks(
    range(5), [f"{n}\n{p:.0%}" for n, p in zip(names, y.mean(axis=0), strict=True)]
)
panel.legend()
plt.show()
