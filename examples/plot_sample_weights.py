"""
Sample weights: count money, not cases
======================================

For fraudulent payments, the amount matters. With the amounts as ``sample_weight``, the
confusion matrix counts money instead of cases, and so does the F1 that the network is
trained for and scored by.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split

from sk_anyloss import AnyLossClassifier, metric_score

rng = np.random.default_rng(0)
n = 3000
amount = np.exp(rng.normal(3, 1.2, n))
fraud = rng.random(n) < 0.06
# Small frauds look one way, large ones another.
small = np.log(amount) < 3
X = rng.normal(size=(n, 2))
X[:, 0] += 2.2 * (fraud & small)
X[:, 1] += 2.2 * (fraud & ~small)
y = fraud.astype(int)
X, X_test, y, y_test, w, w_test = train_test_split(
    X, y, amount, stratify=y, test_size=0.5, random_state=0
)

figure, panels = plt.subplots(
    1, 2, figsize=(9, 4), sharey=True, sharex=True, layout="constrained"
)
grid = np.stack(np.meshgrid(*[np.linspace(-3, 5.5, 150)] * 2), axis=-1)
for panel, weight in zip(panels, [None, w], strict=True):
    model = AnyLossClassifier("f1", L=10, max_epochs=40, random_state=0)
    y_pred = model.fit(X, y, sample_weight=weight).predict(X_test)
    cases = metric_score(y_test, y_pred, metric="f1")
    money = metric_score(y_test, y_pred, metric="f1", sample_weight=w_test)
    name = "each case counts" if weight is None else "money counts"
    print(f"{name:<17} F1 of cases {cases:.2f}   F1 of money {money:.2f}")
    regions = model.predict(grid.reshape(-1, 2)).reshape(150, 150)
    panel.contourf(
        *grid.transpose(2, 0, 1), regions, [0.5, 1.5], colors="#c1440e", alpha=0.15
    )
    for label, colour in ((0, "#4a6a8a"), (1, "#c1440e")):
        of = y_test == label
        panel.scatter(
            *X_test[of].T, s=w_test[of] / 8, color=colour, alpha=0.6, linewidths=0
        )
    panel.set_title(f"{name}\nF1 of cases {cases:.2f}, of money {money:.2f}")
    panel.set(xlabel="feature 1", xlim=(-3, 5.5), ylim=(-3, 5.5))
panels[0].set_ylabel("feature 2")
plt.show()
