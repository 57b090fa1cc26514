"""
Read the verdict of a comparison
================================

The verdict on two methods has three probabilities, which add up to one: that the first
is better, that the two are practically equivalent, and that the first is worse. You
choose which differences count as equivalent: the region of practical equivalence
(ROPE). The picture shows the three probabilities over the size of the ROPE.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification

from sk_anyloss.compare import compare
from sk_anyloss.compare.verdict import judge

X, y = make_classification(
    500, 8, n_informative=4, weights=[0.9], flip_y=0.05, random_state=1
)
methods = ["anyloss", "logistic_balanced", "bce"]
comparison = compare(X, y, "f1", methods=methods, folds=5)
for verdict in comparison.verdicts().values():
    print(verdict)

scores = comparison.scores()
ropes = np.linspace(0, 0.1, 41)
figure, panels = plt.subplots(
    1, 2, figsize=(10, 3.6), sharey=True, layout="constrained"
)
for panel, other in zip(panels, ["logistic_balanced", "bce"], strict=True):
    probabilities = [judge(scores["anyloss"], scores[other], rope) for rope in ropes]
    panel.stackplot(
        ropes,
        np.transpose(probabilities),
        labels=["better", "equivalent", "worse"],
        colors=["#3a9a5b", "#c8c8c8", "#c23b3b"],
    )
    panel.set_title(f"AnyLoss against {other}", fontsize=10)
    panel.set_xlabel("ROPE: difference in F1 that counts as equivalent")
    panel.margins(0)
panels[0].set_ylabel("probability")
panels[1].legend(loc="center right", framealpha=0.9)

plt.show()
