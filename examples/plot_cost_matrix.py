"""
Train for a cost matrix
=======================

A false negative costs 20, a false positive 1, and the cost is to be minimised.
``Savings(fp=1, fn=20)`` is the fraction of the largest possible cost that is saved. Of
the single networks, one on cross-entropy with a tuned threshold costs least here. The
search tries both ways, beside gradient boosting.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import make_classification
from sklearn.metrics import confusion_matrix
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from sk_anyloss import AnyLossClassifier, AnyLossClassifierCV
from sk_anyloss.baselines import get_baseline
from sk_anyloss.metrics import Savings

savings = Savings(fp=1, fn=20)
X, y = make_classification(
    1500, 10, n_informative=5, weights=[0.95], class_sep=0.8, random_state=0
)
models = {
    "trained for savings": AnyLossClassifier(savings, random_state=0),
    "trained for F1": AnyLossClassifier("f1", random_state=0),
    "cross-entropy": get_baseline("bce", random_state=0),
    "same, class weights": get_baseline("bce_class_weight", random_state=0),
    "same, tuned threshold": get_baseline("bce_threshold", savings, random_state=0),
    "AnyLossClassifierCV": AnyLossClassifierCV(savings, random_state=0),
}
folds = StratifiedKFold(3, shuffle=True, random_state=0)
costs = {}
for name, model in models.items():
    y_pred = cross_val_predict(model, X, y, cv=folds)
    tn, fp, fn, tp = confusion_matrix(y, y_pred).ravel()
    costs[name] = savings.fn * fn, savings.fp * fp
    print(
        f"{name:<22} cost {sum(costs[name]):>4.0f}   false negatives {fn:>2}   "
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
    savings.fn * y.sum(), color="0.4", linestyle=":", label="never predicting positive"
)
panel.set_xlabel("cost on held-out samples")
figure.legend(loc="outside lower center", ncols=3, frameon=False)

plt.show()
