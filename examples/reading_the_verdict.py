"""Reading the verdict: how sure, and what a difference that does not matter changes.

A verdict has three probabilities, which add up to one: that a method is better, that
the two are alike, and that it is worse. What counts as alike is yours to say: the
region of practical equivalence (rope). Saves a picture of the three over the rope.
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
figure, panels = plt.subplots(
    1, 2, figsize=(10, 3.6), sharey=True, layout="constrained"
)
for panel, other in zip(panels, ["logistic_balanced", "bce"], strict=True):
    chances = [judge(scores["anyloss"], scores[other], rope) for rope in ropes]
    panel.stackplot(
        ropes,
        np.transpose(chances),
        labels=["better", "alike", "worse"],
        colors=["#3a9a5b", "#c8c8c8", "#c23b3b"],
    )
    panel.set_title(f"AnyLoss against {other}", fontsize=10)
    panel.set_xlabel("difference in F1 that does not matter (rope)")
    panel.margins(0)
panels[0].set_ylabel("probability")
panels[1].legend(loc="center right", framealpha=0.9)

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results")
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "reading_the_verdict.png", dpi=120)
