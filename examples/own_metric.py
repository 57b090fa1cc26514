"""Your own metric: a cost matrix.

A missed positive costs 20, a false alarm costs 1, and a business wants to save money.
Any function of the four counts can be trained on, as long as it is written with plain
arithmetic; ``ratio`` divides without trouble where a sum of counts is 0.
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from sk_anyloss import AnyLossClassifier
from sk_anyloss.baselines import get_baseline
from sk_anyloss.metrics import ratio

MISS, FALSE_ALARM = 20, 1


def savings(tn, fp, fn, tp):
    """1 minus the cost of the decisions, over the cost of never deciding positive."""
    return 1 - ratio(MISS * fn + FALSE_ALARM * fp, MISS * (fn + tp))


X, y = make_classification(
    1500, 10, n_informative=5, weights=[0.95], class_sep=0.8, random_state=0
)
models = {
    "trained for savings": AnyLossClassifier(savings, random_state=0),
    "trained for F1": AnyLossClassifier("f1", random_state=0),
    "cross-entropy": get_baseline("bce", random_state=0),
    "same, class weights": get_baseline("bce_class_weight", random_state=0),
    "same, tuned threshold": get_baseline("bce_threshold", savings, random_state=0),
}
folds = StratifiedKFold(5, shuffle=True, random_state=0)
costs = {}
for name, model in models.items():
    decided = cross_val_predict(model, X, y, cv=folds)
    tn, fp, fn, tp = confusion_matrix(y, decided).ravel()
    costs[name] = MISS * fn, FALSE_ALARM * fp
    print(
        f"{name:<22} cost {sum(costs[name]):>4}   missed {fn:>2}   "
        f"false alarms {fp:>3}   savings {savings(tn, fp, fn, tp):.2f}"
    )

figure, panel = plt.subplots(figsize=(7, 3), layout="constrained")
names = list(costs)[::-1]
misses = [costs[name][0] for name in names]
alarms = [costs[name][1] for name in names]
panel.barh(names, misses, color="#4a5a6a", label="missed positives")
panel.barh(names, alarms, left=misses, color="#c1440e", label="false alarms")
panel.axvline(MISS * y.sum(), color="0.4", linestyle=":", label="never an alarm")
panel.set_xlabel("cost of the decisions on held-out rows")
figure.legend(loc="outside lower center", ncols=3, frameon=False)

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results")
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "own_metric.png", dpi=110)
print(f"Picture: {folder / 'own_metric.png'}")
