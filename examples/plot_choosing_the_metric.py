"""
Train for five metrics
======================

One data set, five metrics, five decision boundaries: the same network is trained on the
same samples for five metrics. The metric determines how many false positives the
network accepts to find one more positive.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.metrics import precision_score, recall_score

from sk_anyloss import AnyLossClassifier

rng = np.random.default_rng(0)
negatives = rng.normal(0, 1, size=(900, 2))
positives = rng.normal((1.6, 1.2), (0.6, 0.9), size=(100, 2))
X = np.vstack((negatives, positives))
y = np.repeat([0, 1], [900, 100])

metrics = ("accuracy", "f0.5", "f1", "f2", "gmean")
figure, panels = plt.subplots(
    1, 5, figsize=(11, 2.7), sharey=True, layout="constrained"
)
for panel, metric in zip(panels, metrics, strict=True):
    model = AnyLossClassifier(metric, hidden=(4,), L=20, lr=0.02, random_state=0).fit(
        X, y
    )
    y_pred = model.predict(X)
    precision, recall = precision_score(y, y_pred), recall_score(y, y_pred)
    print(
        f"{metric:<9} {model.score(X, y):.3f}   predicted positive {y_pred.sum():>3}   "
        f"precision {precision:.2f}   recall {recall:.2f}"
    )
    DecisionBoundaryDisplay.from_estimator(
        model,
        X,
        response_method="predict",
        plot_method="pcolormesh",
        cmap="Oranges",
        alpha=0.35,
        ax=panel,
    )
    panel.scatter(*X[y == 0].T, s=5, color="#4a5a6a", alpha=0.5, linewidths=0)
    panel.scatter(*X[y == 1].T, s=9, color="#c1440e", linewidths=0)
    panel.set(title=f"trained for {metric}", xticks=[], yticks=[])
    panel.set_xlabel(f"precision {precision:.2f}, recall {recall:.2f}")

plt.show()
