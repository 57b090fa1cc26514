"""
Precision at a recall of 0.8
============================

"Find four in five of the positives, with as few false alarms as possible" is a metric
with a constraint: ``'precision@recall>=0.8'``. The network is trained for it, and its
output bias is tuned so that the training samples meet the constraint. On new samples
the constraint holds on average, so about half of the splits miss it, unless it is set
higher than needed.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification
from sklearn.metrics import PrecisionRecallDisplay, precision_score, recall_score
from sklearn.model_selection import StratifiedShuffleSplit

from sk_anyloss import AnyLossClassifier

X, y = make_classification(
    2000, 10, n_informative=5, weights=[0.9], flip_y=0.03, random_state=2
)
figure, panel = plt.subplots(figsize=(6, 4.4), layout="constrained")
splits = StratifiedShuffleSplit(6, test_size=0.5, random_state=0).split(X, y)
found = {"precision@recall>=0.8": [], "f0.5": []}
for train, test in splits:
    for metric, points in found.items():
        model = AnyLossClassifier(metric, L="auto", max_epochs=30, random_state=0)
        y_pred = model.fit(X[train], y[train]).predict(X[test])
        points.append((recall_score(y[test], y_pred), precision_score(y[test], y_pred)))
        if metric != "f0.5":
            PrecisionRecallDisplay.from_estimator(
                model, X[test], y[test], ax=panel, color="0.75", lw=0.8, label="_"
            )
for (metric, points), colour in zip(found.items(), ["#c1440e", "#4a6a8a"], strict=True):
    recall, precision = np.mean(points, axis=0)
    print(f"{metric:<23} recall {recall:.2f}   precision {precision:.2f}")
    panel.plot(*np.transpose(points), "o", color=colour, label=f"trained for {metric}")
panel.axvline(0.8, color="0.4", ls=":", lw=1)
panel.set(
    xlabel="recall on held-out samples", ylabel="precision", title="Six random splits"
)
panel.legend(loc="lower left")
plt.show()
