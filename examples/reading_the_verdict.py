"""Reading the verdict: three probabilities, and the region of practical equivalence.

A verdict has three probabilities, which sum to one: that a method is better, that the
two are practically equivalent, and that it is worse. You choose the region of practical
equivalence (rope): smaller differences count as none. Saves a figure of the three
probabilities as functions of the rope.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification

from sk_anyloss.compare import compare
from sk_anyloss.compare.verdict import judge

X, y = make_classification(
    500, 8, n_informative=4, weights=[0.9], flip_y=0.05, random_state=1
)
found = compare(X, y, "f1", methods=["anyloss", "logistic_balanced", "bce"], folds=10)
for verdict in found.verdicts().values():
    print(verdict)

scores = found.scores()
ropes = np.linspace(0, 0.1, 41)
figure, both_axes = plt.subplots(
    1, 2, figsize=(10, 3.6), sharey=True, layout="constrained"
)
for axes, other in zip(both_axes, ["logistic_balanced", "bce"], strict=True):
    probabilities = [judge(scores["anyloss"], scores[other], rope) for rope in ropes]
    axes.stackplot(
        ropes,
        np.transpose(probabilities),
        labels=["better", "practically equivalent", "worse"],
        colors=["#3a9a5b", "#c8c8c8", "#c23b3b"],
    )
    axes.set_title(f"AnyLoss against {other}", fontsize=10)
    axes.set_xlabel("half-width of the region of practical equivalence (F1)")
    axes.margins(0)
both_axes[0].set_ylabel("probability")
both_axes[1].legend(loc="center right", framealpha=0.9)

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results")
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "reading_the_verdict.png", dpi=120)
