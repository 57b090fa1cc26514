"""Your own metric: a cost matrix.

A false negative costs 20, a false positive 1, and a business wants to minimise cost.
Any function of the four counts can be trained on, as long as it is written with plain
arithmetic; ``ratio`` divides safely where a sum of counts is 0.
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

FN_COST, FP_COST = 20, 1


def savings(tn, fp, fn, tp):
    """1 minus the cost, relative to that of never predicting positive."""
    return 1 - ratio(FN_COST * fn + FP_COST * fp, FN_COST * (fn + tp))


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
    y_pred = cross_val_predict(model, X, y, cv=folds)
    tn, fp, fn, tp = confusion_matrix(y, y_pred).ravel()
    costs[name] = FN_COST * fn, FP_COST * fp
    print(
        f"{name:<22} cost {sum(costs[name]):>4}   false negatives {fn:>2}   "
        f"false positives {fp:>3}   savings {savings(tn, fp, fn, tp):.2f}"
    )

figure, panel = plt.subplots(figsize=(7, 3), layout="constrained")
names = list(costs)[::-1]
false_negatives = [costs[name][0] for name in names]
false_positives = [costs[name][1] for name in names]
panel.barh(names, false_negatives, color="#4a5a6a", label="false negatives")
panel.barh(
    names, false_positives, left=false_negatives, color="#c1440e",
    label="false positives",
)  # fmt: skip
panel.axvline(
    FN_COST * y.sum(), color="0.4", linestyle=":", label="never predicting positive"
)
panel.set_xlabel("cost on held-out samples")
figure.legend(loc="outside lower center", ncols=3, frameon=False)

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "results")
folder.mkdir(parents=True, exist_ok=True)
figure.savefig(folder / "own_metric.png", dpi=110)
print(f"Figure: {folder / 'own_metric.png'}")
